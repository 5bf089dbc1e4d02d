//! What the person sees in the browser. Nothing of the request is ever on it.

use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Response, StatusCode};

/// The pages there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    /// The answer with a code.
    SignedIn,
    /// The answer with an error.
    Refused,
    /// No answer to this sign-in.
    Malformed,
    /// A request that a foreign page or name led here.
    Forbidden,
    /// Something else than the callback.
    NotFound,
    /// Something else than `GET`.
    WrongMethod,
}

impl Page {
    pub(super) fn response(self) -> Response<String> {
        let mut response = Response::new(self.html());
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        for (name, value) in [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (CACHE_CONTROL, "no-store"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if self == Self::WrongMethod {
            headers.insert(ALLOW, HeaderValue::from_static("GET"));
        }
        response
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::SignedIn | Self::Refused => StatusCode::OK,
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        }
    }

    /// Returns the mark, the heading and the sentence below.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::SignedIn => (
                "<p class=\"mark good\" aria-hidden=\"true\">✓</p>",
                "You are signed in",
                "You can close this window and go back to where you came from.",
            ),
            Self::Refused => (
                "<p class=\"mark bad\" aria-hidden=\"true\">✕</p>",
                "Sign-in was refused",
                "The server did not grant access. You can close this window; the program \
                 that asked says why.",
            ),
            Self::Malformed => (
                "<p class=\"mark bad\" aria-hidden=\"true\">?</p>",
                "This is not the expected answer",
                "It belongs to another sign-in, or to none. Nothing has changed. Go back to \
                 the page that asked you to sign in, or start again.",
            ),
            Self::Forbidden => (
                "",
                "Not from here",
                "Only your browser may deliver an answer.",
            ),
            Self::NotFound => (
                "",
                "Nothing here",
                "This address only receives sign-in answers.",
            ),
            Self::WrongMethod => ("", "Not like this", "An answer must be a GET request."),
        }
    }

    fn html(self) -> String {
        let (mark, title, text) = self.words();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title} – Keyway</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <main>\n{mark}\n<h1>{title}</h1>\n<p>{text}</p>\n</main>\n\
             <footer>Keyway</footer>\n</body>\n</html>\n"
        )
    }
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#f6f7f9;--sheet:#fff;--ink:#1c2127;--soft:#5b6570;\
--edge:#dfe3e8;--good:#1a7f4b;--bad:#b3372f}\
@media (prefers-color-scheme:dark){:root{--ground:#14171b;--sheet:#1d2126;--ink:#eceff2;\
--soft:#a3adb8;--edge:#2e343b;--good:#4cc38a;--bad:#f0776c}}\
*{box-sizing:border-box}\
body{margin:0;min-height:100vh;display:flex;flex-direction:column;align-items:center;\
justify-content:center;gap:1.5rem;padding:1.5rem;background:var(--ground);color:var(--ink);\
font:16px/1.55 system-ui,sans-serif}\
main{width:100%;max-width:26rem;padding:2.5rem 2rem;text-align:center;background:var(--sheet);\
border:1px solid var(--edge);border-radius:12px}\
h1{margin:0 0 .5rem;font-size:1.375rem;line-height:1.3}\
p{margin:0;color:var(--soft)}\
.mark{width:3rem;height:3rem;margin:0 auto 1rem;border:2px solid;border-radius:50%;\
font-size:1.5rem;line-height:2.75rem}\
.good{color:var(--good)}.bad{color:var(--bad)}\
footer{color:var(--soft);font-size:.8125rem;letter-spacing:.04em}";

/// Nothing but the style above, known by its hash.
const POLICY: &str = "default-src 'none'; style-src 'sha256-kwzYO5/vbUrjvl6qsZNi/Q1iNFe666gpSGUKz9l2etQ='; base-uri 'none'; \
form-action 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    const ALL: [Page; 6] = [
        Page::SignedIn,
        Page::Refused,
        Page::Malformed,
        Page::Forbidden,
        Page::NotFound,
        Page::WrongMethod,
    ];

    #[test]
    fn b7_the_only_style_a_browser_applies_is_ours() {
        let suite = rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
        let sha256 = suite.tls13().unwrap().common.hash_provider;
        let mut hash = sha256.start();
        hash.update(STYLE.as_bytes());
        let digest = BASE64_STANDARD.encode(hash.finish().as_ref());
        assert!(POLICY.contains(&format!("'sha256-{digest}'")), "{digest}");
    }

    #[test]
    fn b7_pages_hold_no_script_no_link_and_nothing_to_load() {
        for page in ALL {
            let html = page.response().into_body();
            for forbidden in [
                "<script", "href", "src=", "url(", "http:", "https:", "<form",
            ] {
                assert!(!html.contains(forbidden), "{page:?}: {forbidden}");
            }
        }
    }
}
