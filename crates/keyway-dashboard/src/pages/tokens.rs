//! Gateway tokens: who has one, what it opens, when it was last used; a new one is shown once.

use std::time::{SystemTime, UNIX_EPOCH};

use keyway::events::rfc3339;
use keyway_secret::Secret;

use super::parts::{copied, mark, servers_to_choose};
use crate::backend::ServerView;
use crate::browser_session::BrowserSession;
use crate::html::{Html, html};
use keyway_policy::{GatewayToken, TokenScope};

/// A token that was just issued, and where it is used.
#[derive(Debug)]
pub(crate) struct IssuedToken<'a> {
    pub(crate) name: &'a str,
    pub(crate) token: &'a Secret<String>,
    pub(crate) url: String,
}

pub(super) fn page(
    tokens: &[(GatewayToken, Option<SystemTime>)],
    servers: &[ServerView],
    issued: Option<&IssuedToken<'_>>,
    browser: &BrowserSession,
) -> Html {
    let rows: Html = tokens.iter().map(|it| row(it, browser)).collect();
    let table = if tokens.is_empty() {
        html!("<p class=\"soft\">None yet. A client needs one to connect to this gateway.</p>")
    } else {
        html!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Gateway tokens\">\
             <table><thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Opens</th>\
             <th scope=\"col\">Created</th><th scope=\"col\">Last used</th>\
             <th scope=\"col\"><span class=\"unseen\">Revoke</span></th></tr></thead>\
             <tbody>{}</tbody></table></div>",
            rows,
        )
    };
    html!(
        "<h1>Gateway tokens</h1>\n{}{}\
         <section class=\"panel\"><h2>New token</h2>\
         <form method=\"post\" action=\"{}/tokens\">{}\
         <div class=\"field\"><label for=\"token-name\">Name of the client</label>\
         <p class=\"hint\" id=\"token-name-hint\">Up to 64 characters, without blanks.</p>\
         <input id=\"token-name\" name=\"name\" required maxlength=\"64\" pattern=\"\\S+\" \
         autocomplete=\"off\" aria-describedby=\"token-name-hint\"></div>\
         <fieldset><legend>What it opens</legend>\
         <label class=\"choice\"><input type=\"radio\" name=\"scope\" value=\"some\" checked> \
         These servers</label>{}\
         <label class=\"choice\"><input type=\"radio\" name=\"scope\" value=\"all\"> \
         Every server of this gateway, also later ones</label></fieldset>\
         <details><summary>It is for a job without a person</summary>\
         <div class=\"field\"><label for=\"token-account\">Account</label>\
         <p class=\"hint\" id=\"token-account-hint\">A service account uses the sign-in of this \
         account, as given to <code>keyway login SERVER --account NAME</code>, and no other. It opens \
         one server and asks no person.</p>\
         <input id=\"token-account\" name=\"account\" maxlength=\"64\" autocomplete=\"off\" \
         aria-describedby=\"token-account-hint\"></div></details>\
         <div class=\"buttons\"><button class=\"main\" name=\"do\" value=\"new\">Make token</button>\
         </div></form></section>",
        issued.map(shown_once),
        table,
        browser.base(),
        mark(browser),
        servers_to_choose(servers),
    )
}

fn shown_once(issued: &IssuedToken<'_>) -> Html {
    html!(
        "<section class=\"panel good\" id=\"issued\" tabindex=\"-1\"><h2>The token of {}</h2>\
         <p>It is shown only this once. Copy it now.</p><p>{}</p>\
         <h3>A client sends it as a header</h3><p>{}</p>\
         <p class=\"hint\">to <code>{}</code></p></section>\n",
        issued.name,
        copied(issued.token.expose()),
        copied(&format!("Authorization: Bearer {}", issued.token.expose())),
        issued.url,
    )
}

fn row((token, last): &(GatewayToken, Option<SystemTime>), browser: &BrowserSession) -> Html {
    let scopes = token.servers.as_deref();
    let opens = scopes.map(|all| {
        let all: Vec<String> = all.iter().map(TokenScope::to_string).collect();
        all.join(", ")
    });
    let account = token.account().map(|it| format!(" as {it}"));
    html!(
        "<tr><td><strong>{}</strong></td><td>{}{}</td><td class=\"soft\">{}</td>\
         <td class=\"soft\">{}</td><td><form method=\"post\" action=\"{}/tokens\">{}\
         <input type=\"hidden\" name=\"name\" value=\"{}\">\
         <button class=\"plain\" name=\"do\" value=\"revoke\">Revoke\
         <span class=\"unseen\"> {}</span></button></form></td></tr>",
        token.name,
        opens.unwrap_or_else(|| "every server".to_owned()),
        account.unwrap_or_default(),
        token.created_at().map_or_else(|| "–".to_owned(), day),
        last.map_or_else(|| "never".to_owned(), day),
        browser.base(),
        mark(browser),
        token.name,
        token.name,
    )
}

/// Writes a time to the minute, in UTC.
fn day(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let text = rfc3339(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    let minute = text.get(..16).unwrap_or(&text);
    minute.replace('T', " ")
}
