//! A server that a person adds by its address: first it is looked at, then it is added.

use keyway::diagnosis::Diagnosis;
use keyway_code::Code;
use keyway_mcp::states::State;

use super::parts::mark;
use crate::dashboard::browser_session::BrowserSession;
use crate::dashboard::html::{Html, Ticked, html};
use crate::dashboard::sessions::PendingServer;

pub(super) fn page(pending: Option<&PendingServer>, browser: &BrowserSession) -> Html {
    let body = match pending {
        Some(pending) => found(pending, browser),
        None => html!(
            "<p>It is kept in a plugin of your own, as <code>keyway add</code> keeps it.</p>\
             <form method=\"post\" action=\"{}/add\" class=\"call\">{}\
             <div class=\"field\"><label for=\"url\">Address of the MCP server</label>\
             <input id=\"url\" name=\"url\" type=\"url\" required autocomplete=\"off\" \
             placeholder=\"https://mcp.example.com/mcp\"></div>\
             <button class=\"main\" name=\"do\" value=\"probe\">Look at it</button></form>",
            browser.base(),
            mark(browser),
        ),
    };
    html!("<h1>Add a server</h1>\n{}", body)
}

/// What the server said, and what is still to be asked. Of the address only its origin is shown: the
/// rest may hold a key.
fn found(pending: &PendingServer, browser: &BrowserSession) -> Html {
    let wants_key = wants_key(&pending.found);
    html!(
        "<section class=\"panel {}\"><h2>{}</h2>{}</section>\n\
         <form method=\"post\" action=\"{}/add\" class=\"call\">{}\
         <section class=\"panel\"><h2>Add it</h2>\
         <div class=\"field\"><label for=\"name\">Name</label>\
         <input id=\"name\" name=\"name\" value=\"{}\" maxlength=\"64\" autocomplete=\"off\"></div>\
         <details{}><summary>It takes a key in a header</summary>\
         <div class=\"field\"><label for=\"header\">Header</label>\
         <input id=\"header\" name=\"header\" value=\"Authorization\" autocomplete=\"off\"></div>\
         <div class=\"field\"><label for=\"value\">Value</label>\
         <p class=\"hint\" id=\"value-hint\">Goes to the vault and is never shown again.</p>\
         <input id=\"value\" name=\"value\" type=\"password\" autocomplete=\"off\" \
         aria-describedby=\"value-hint\"></div></details>\
         <div class=\"buttons\"><button class=\"main\" name=\"do\" value=\"save\">Add server</button>\
         <button class=\"plain\" name=\"do\" value=\"discard\">Another address</button></div>\
         <p class=\"hint\">You sign in, or approve what it sends, on its page.</p></section></form>",
        class(&pending.found),
        pending.origin,
        outcome(&pending.found),
        browser.base(),
        mark(browser),
        pending.server.name(),
        wants_key.then(|| html!(" open")),
    )
}

fn class(found: &Diagnosis) -> &'static str {
    match (found.state.state, found.code) {
        (State::Connected, _) => "good",
        (_, Some(Code::SignInRequired)) => "ask",
        _ => "bad",
    }
}

fn outcome(found: &Diagnosis) -> Html {
    if found.state.state == State::Connected {
        let offer = found.offer.as_ref().map(|offer| offer.summary.as_str());
        return html!(
            "<p>It answers without a sign-in: {}.</p>",
            offer.unwrap_or("nothing listed")
        );
    }
    if found.code == Some(Code::SignInRequired) {
        return html!("<p>It asks you to sign in, which you can do once it is added.</p>");
    }
    html!(
        "<p><strong>{}</strong> <code>{}</code></p>{}<p>It can be added all the same.</p>",
        Ticked(&found.message),
        found.code.map_or("", |code| code.as_str()),
        wants_key(found).then(|| html!("<p>It may take a key; give it below.</p>")),
    )
}

/// Says whether it refused a request without a credential, and offers no sign-in.
fn wants_key(found: &Diagnosis) -> bool {
    let is_refused = found.http.as_ref().is_some_and(|http| matches!(http.status, Some(401 | 403)));
    is_refused && found.code != Some(Code::SignInRequired)
}
