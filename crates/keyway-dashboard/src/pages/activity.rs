//! What was asked lately, as a table.

use crate::activity::ActivityEntry;
use crate::html::{Html, html};
use crate::words;

/// Shows requests, latest first.
pub(super) fn table<'a>(entries: impl Iterator<Item = &'a ActivityEntry>) -> Html {
    let rows: Html = entries.take(SHOWN).map(row).collect();
    if rows.as_str().is_empty() {
        return html!(
            "<p class=\"soft\">Nothing yet. Client requests appear here as they arrive.</p>"
        );
    }
    html!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Latest requests\">\
         <table><thead><tr><th scope=\"col\">UTC</th><th scope=\"col\">Server</th>\
         <th scope=\"col\">Request</th><th scope=\"col\">By</th>\
         <th scope=\"col\" class=\"number\">Took</th><th scope=\"col\">Outcome</th></tr></thead>\
         <tbody>{}</tbody></table></div>",
        rows,
    )
}

fn row(entry: &ActivityEntry) -> Html {
    let asked = &entry.request;
    let server = match &asked.server {
        Some((plugin, name)) => html!("<span class=\"soft\">{}:</span>{}", plugin, name),
        None => html!("all"),
    };
    let class = if entry.outcome.is_good() { "" } else { "bad" };
    html!(
        "<tr><td class=\"soft\">{}</td><td>{}</td><td>{}{}</td><td class=\"soft\">{}</td>\
         <td class=\"number\">{}</td><td class=\"{}\">{}</td></tr>",
        words::clock(entry.at),
        server,
        asked.method,
        asked
            .tool
            .as_ref()
            .map(|tool| html!(" <code>{}</code>", tool)),
        asked.by,
        words::took(entry.took),
        class,
        words::outcome(entry.outcome),
    )
}

/// How many requests a page shows.
const SHOWN: usize = 20;
