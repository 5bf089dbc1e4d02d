//! The MCP clients of this machine: which of them use Keyway, what would be written, and its undoing.

use keyway_clients::clients::CLIENTS;
use keyway_clients::install::Installation;
use keyway_config::names::server_id;
use keyway_secret::shell_word;

use super::parts::{copied, mark, servers_to_choose};
use crate::administration::{ClientView, shown};
use crate::backend::{ServerId, ServerView};
use crate::browser_session::BrowserSession;
use crate::html::{Html, Lines, html};
use crate::paths;

pub(super) fn list(found: &[ClientView], browser: &BrowserSession) -> Html {
    let here: Html = found.iter().map(|it| item(it, browser)).collect();
    let is_here = |name: &str| found.iter().any(|it| it.client.name == name);
    let others = CLIENTS.iter().filter(|it| !is_here(it.name));
    let others: Html = others
        .map(|it| {
            html!(
                "<li><a href=\"{}\"><strong>{}</strong></a></li>",
                paths::client(browser.base(), it.name),
                it.title,
            )
        })
        .collect();
    let here = match found.is_empty() {
        true => html!("<p class=\"soft\">None was found here.</p>"),
        false => html!("<ul class=\"tools\">{}</ul>", here),
    };
    html!(
        "<h1>Connect a client</h1>\n<p>A client starts <code>keyway run</code> for each server that \
         you choose. No credential is written into its file.</p>\
         <section><h2>Found here</h2>{}</section>\n\
         <section><h2>Others</h2><ul class=\"tools\">{}</ul></section>",
        here,
        others,
    )
}

fn item(view: &ClientView, browser: &BrowserSession) -> Html {
    let ours = match view.ours.len() {
        0 => "not connected".to_owned(),
        1 => "1 server by Keyway".to_owned(),
        several => format!("{several} servers by Keyway"),
    };
    html!(
        "<li><a href=\"{}\"><strong>{}</strong> <span class=\"soft\">{}</span></a></li>",
        paths::client(browser.base(), view.client.name),
        view.client.title,
        ours,
    )
}

/// What is to be written into a client's file, and for which servers.
#[derive(Debug)]
pub(crate) struct Preview<'a> {
    pub(crate) work: &'a Installation,
    pub(crate) servers: &'a [ServerId],
}

pub(super) fn page(
    view: &ClientView,
    servers: &[ServerView],
    preview: Option<&Preview<'_>>,
    browser: &BrowserSession,
) -> Html {
    let at = paths::client(browser.base(), view.client.name);
    let problem = view.problem.as_ref();
    html!(
        "<p class=\"path\"><a href=\"{}/clients\">Clients</a> \
         <span aria-hidden=\"true\">/</span> {}</p>\n<h1>{}</h1>\n\
         <p class=\"soft\">Its file: <code>{}</code></p>{}{}{}\
         <section class=\"panel\"><h2>Add servers</h2><form method=\"post\" action=\"{}\">{}\
         <fieldset><legend>Servers</legend>{}</fieldset>\
         <div class=\"buttons\"><button class=\"{}\" name=\"do\" value=\"show\">\
         Show what is written</button></div></form></section>\n\
         <section class=\"panel\"><h2>By hand</h2><p>{}</p>\
         <p class=\"hint\">In the folder of the plugin; it shows the difference and asks.</p></section>",
        browser.base(),
        view.client.name,
        view.client.title,
        view.file,
        problem.map(|it| html!("<p class=\"notice bad\" role=\"alert\">{}</p>", it)),
        preview.map(|it| shown_before(view, it, &at, browser)),
        installed(view, &at, browser),
        at,
        mark(browser),
        servers_to_choose(servers),
        if preview.is_some() { "plain" } else { "main" },
        copied(&format!(
            "keyway install {} --all",
            shell_word(view.client.name)
        )),
    )
}

fn shown_before(
    view: &ClientView,
    preview: &Preview<'_>,
    at: &str,
    browser: &BrowserSession,
) -> Html {
    let inserted: Vec<&str> = preview.work.inserted().collect();
    let file = shown(preview.work.file().path());
    if inserted.is_empty() {
        return html!(
            "<section class=\"panel good\"><h2>Nothing to write</h2>\
             <p>{} has these servers already.</p></section>\n",
            view.client.title,
        );
    }
    let chosen: Html = preview
        .servers
        .iter()
        .map(|id| {
            html!(
                "<input type=\"hidden\" name=\"server\" value=\"{}\">",
                value(id)
            )
        })
        .collect();
    html!(
        "<section class=\"panel ask\" id=\"preview\" tabindex=\"-1\"><h2>This is added to the file</h2>\
         <p><code>{}</code>, and nothing else in it changes.</p><pre tabindex=\"0\">{}</pre>\
         <form method=\"post\" action=\"{}\" class=\"buttons\">{}{}\
         <button class=\"main\" name=\"do\" value=\"write\">Write it</button>\
         <a class=\"button plain\" href=\"{}\">Leave it</a></form></section>\n",
        file,
        Lines(&inserted.join("\n")),
        at,
        mark(browser),
        chosen,
        at,
    )
}

fn installed(view: &ClientView, at: &str, browser: &BrowserSession) -> Html {
    if view.ours.is_empty() {
        return html!(
            "<p>No entry of Keyway; {} of its own.</p>",
            match view.others {
                0 => "none".to_owned(),
                some => some.to_string(),
            },
        );
    }
    let rows: Html = view
        .ours
        .iter()
        .map(|(name, wrong)| {
            html!(
                "<li><form method=\"post\" action=\"{}\" class=\"row\">{}\
                 <input type=\"hidden\" name=\"entry\" value=\"{}\"><strong>{}</strong>{}\
                 <button class=\"plain\" name=\"do\" value=\"undo\">Remove\
                 <span class=\"unseen\"> {}</span></button></form></li>",
                at,
                mark(browser),
                name,
                name,
                wrong.map(|wrong| html!(" <span class=\"bad\">{}</span>", wrong)),
                name,
            )
        })
        .collect();
    html!(
        "<section class=\"panel\"><h2>Servers by Keyway</h2><ul class=\"plain\">{}</ul>\
         <p class=\"hint\">Removing one restores what was there before.</p></section>\n",
        rows,
    )
}

/// How a form names a server.
pub(crate) fn value(id: &ServerId) -> String {
    server_id(&id.plugin, &id.name)
}
