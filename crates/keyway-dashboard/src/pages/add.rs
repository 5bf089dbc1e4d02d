//! A server that a person adds: by its address, where it is looked at first, or as a program.

use keyway_code::Code;
use keyway_mcp::states::State;

use super::parts::mark;
use crate::backend::ProbedServer;
use crate::browser_session::BrowserSession;
use crate::html::{Html, Ticked, html};
use crate::sessions::PendingServer;

pub(super) fn page(pending: Option<&PendingServer>, browser: &BrowserSession) -> Html {
    let body = match pending {
        Some(pending) => found(pending, browser),
        None => html!(
            "<p>It is kept in a plugin of your own, as <code>keyway add</code> keeps it.</p>\
             <form method=\"post\" action=\"{}/add\" class=\"call\">{}\
             <div class=\"field\"><label for=\"url\">Address of the MCP server</label>\
             <input id=\"url\" name=\"url\" type=\"url\" required autocomplete=\"off\" \
             placeholder=\"https://mcp.example.com/mcp\"></div>\
             <button class=\"main\" name=\"do\" value=\"probe\">Look at it</button></form>\
             <form method=\"post\" action=\"{}/add\" class=\"call\">{}\
             <details><summary>It is a program on this machine</summary>\
             <div class=\"field\"><label for=\"command\">Program and arguments</label>\
             <p class=\"hint\" id=\"command-hint\">One on each line, the program first. It runs only \
             after you have approved it on the next page.</p>\
             <textarea id=\"command\" name=\"command\" rows=\"4\" required spellcheck=\"false\" \
             placeholder=\"npx&#10;-y&#10;@modelcontextprotocol/server-everything\" \
             aria-describedby=\"command-hint\"></textarea></div>\
             <div class=\"field\"><label for=\"program-name\">Name</label>\
             <p class=\"hint\" id=\"program-name-hint\">Without one, the command gives it.</p>\
             <input id=\"program-name\" name=\"name\" maxlength=\"64\" autocomplete=\"off\" \
             aria-describedby=\"program-name-hint\"></div>\
             <button class=\"main\" name=\"do\" value=\"program\">Add program</button></details></form>",
            browser.base(),
            mark(browser),
            browser.base(),
            mark(browser),
        ),
    };
    html!("<h1>Add a server</h1>\n{}", body)
}

/// What the server said, and what is still to be asked. Of the address only its origin is shown: the
/// rest may hold a key.
fn found(pending: &PendingServer, browser: &BrowserSession) -> Html {
    let wants_key = wants_key(&pending.probed);
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
        class(&pending.probed),
        pending.origin,
        outcome(&pending.probed),
        browser.base(),
        mark(browser),
        pending.server.name(),
        wants_key.then(|| html!(" open")),
    )
}

fn class(probed: &ProbedServer) -> &'static str {
    match probed.diagnosis.state.state {
        State::Connected => "good",
        _ if probed.offers_sign_in => "ask",
        _ => "bad",
    }
}

fn outcome(probed: &ProbedServer) -> Html {
    let found = &probed.diagnosis;
    if found.state.state == State::Connected {
        let offer = found.offer.as_ref().map(|offer| offer.summary.as_str());
        return html!(
            "<p>It answers without a sign-in: {}.</p>",
            offer.unwrap_or("nothing listed")
        );
    }
    if probed.offers_sign_in {
        return html!("<p>It asks you to sign in, which you can do once it is added.</p>");
    }
    if wants_key(probed) {
        return html!(
            "<p>It refuses requests without a key and offers no sign-in. Give it its key below.</p>"
        );
    }
    html!(
        "<p><strong>{}</strong> <code>{}</code></p><p>You can add it anyway.</p>",
        Ticked(&found.message),
        found.code.map_or("", |code| code.as_str()),
    )
}

/// Says whether it refused a request without a credential, and offers no sign-in.
fn wants_key(probed: &ProbedServer) -> bool {
    let found = &probed.diagnosis;
    let http = found.http.as_ref();
    let is_refused = http.is_some_and(|http| matches!(http.status, Some(401 | 403)))
        || found.code == Some(Code::SignInRequired);
    is_refused && !probed.offers_sign_in
}
