//! The consent page: what is asked for, by which client, and one button.

use http::StatusCode;
use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use keyway_transport::Reply;

use super::http::{whole, with};

/// Where the button leads.
pub(super) const CONSENT: &str = "/consent";

/// Asks the person; `question` is what the answer is given under.
pub(super) fn consent(client: &str, resource: &str, question: &str) -> Reply {
    let client = escaped(client);
    let resource = escaped(resource);
    let main = format!(
        "{KEY}\n<h1>{client} asks to use docs</h1>\n\
         <p>This is a server of the demo. It runs on this machine for as long as the demo \
         does.</p>\n\
         <dl>\n<div><dt>Server</dt><dd>{resource}</dd></div>\n\
         <div><dt>May</dt><dd>list and call its tools</dd></div>\n\
         <div><dt>Until</dt><dd>you sign out, or the demo ends</dd></div>\n</dl>\n\
         <form method=\"post\" action=\"{CONSENT}\">\n\
         <input type=\"hidden\" name=\"question\" value=\"{question}\">\n\
         <button>Allow</button>\n</form>\n\
         <p class=\"small\">You did not expect this? Close the page and nothing happens.</p>"
    );
    page(StatusCode::OK, "Allow access", &main)
}

/// Says why there is nothing to agree to.
pub(super) fn problem(why: &str) -> Reply {
    let main = format!(
        "<h1>This does not work</h1>\n<p>{}</p>\n\
         <p class=\"small\">Go back to the program that sent you here, and start again.</p>",
        escaped(why)
    );
    page(StatusCode::BAD_REQUEST, "This does not work", &main)
}

fn page(status: StatusCode, title: &str, main: &str) -> Reply {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} – Keyway demo</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <main>\n{main}\n</main>\n<footer>Keyway demo</footer>\n</body>\n</html>\n"
    );
    let answer = whole(status, "text/html; charset=utf-8", html);
    let answer = with(answer, CONTENT_SECURITY_POLICY, POLICY);
    let answer = with(answer, X_CONTENT_TYPE_OPTIONS, "nosniff");
    let answer = with(answer, http::header::CACHE_CONTROL, "no-store");
    // The form has to say where it comes from, and only to us.
    with(answer, REFERRER_POLICY, "same-origin")
}

/// Writes text so that it stays text.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

const KEY: &str = "<svg viewBox=\"0 0 24 24\" fill=\"none\" stroke=\"currentColor\" \
stroke-width=\"2\" stroke-linecap=\"round\" aria-hidden=\"true\"><circle cx=\"7.5\" cy=\"16.5\" r=\"4\"/>\
<path d=\"M10.5 13.5 20 4M16 8l3 3M13 11l2 2\"/></svg>";

const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#f6f7f9;--sheet:#fff;--ink:#1c2127;--soft:#5b6570;\
--edge:#dfe3e8;--act:#1f5fbf;--on:#fff}\
@media (prefers-color-scheme:dark){:root{--ground:#14171b;--sheet:#1d2126;--ink:#eceff2;\
--soft:#a3adb8;--edge:#2e343b;--act:#8ab8ff;--on:#10141a}}\
*{box-sizing:border-box}\
body{margin:0;min-height:100vh;display:flex;flex-direction:column;align-items:center;\
justify-content:center;gap:1.5rem;padding:1.5rem;background:var(--ground);color:var(--ink);\
font:16px/1.55 system-ui,sans-serif}\
main{width:100%;max-width:28rem;padding:2.5rem 2rem;background:var(--sheet);\
border:1px solid var(--edge);border-radius:12px}\
h1{margin:0 0 .5rem;font-size:1.375rem;line-height:1.3;overflow-wrap:anywhere}\
p{margin:0;color:var(--soft)}b{color:var(--ink)}\
svg{display:block;width:2.5rem;height:2.5rem;margin:0 0 1rem;color:var(--act)}\
dl{margin:1.5rem 0;border-top:1px solid var(--edge)}\
dl div{display:flex;gap:1rem;padding:.625rem 0;border-bottom:1px solid var(--edge)}\
dt{flex:0 0 4rem;color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\
button{width:100%;padding:.75rem 1rem;border:0;border-radius:8px;background:var(--act);\
color:var(--on);font:inherit;font-weight:600;cursor:pointer}\
button:hover{filter:brightness(1.08)}\
button:focus-visible{outline:3px solid var(--ink);outline-offset:3px}\
.small{margin-top:1rem;font-size:.875rem;text-align:center}\
footer{color:var(--soft);font-size:.8125rem;letter-spacing:.04em}";

/// The style above, and a form that leads back to a program on this machine.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
form-action 'self' http://localhost:* http://127.0.0.1:*; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_client_stays_text() {
        let answer = consent("<script>\"'&", "http://127.0.0.1/mcp", "question");
        let html = answer.whole_body().expect("a page is not a stream");
        let html = String::from_utf8(html.to_vec()).unwrap();
        assert!(!html.contains("<script>"), "{html}");
        assert!(html.contains("&lt;script&gt;&quot;&#39;&amp;"), "{html}");
    }
}
