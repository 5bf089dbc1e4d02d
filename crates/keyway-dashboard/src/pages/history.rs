//! What happened since the gateway started: sign-ins, renewals, approvals and refusals.

use std::time::SystemTime;

use keyway::events::{Event, Kind};

use super::{Look, Region};
use crate::activity::{ActivityEntry, Outcome};
use crate::html::{Html, html};
use crate::words;
use keyway_mcp::jsonrpc::TOOL_DENIED;

pub(super) fn page(look: &Look) -> Html {
    html!(
        "<h1>History</h1>\n<p>Since the gateway started, latest first. \
         <code>keyway serve --events FILE</code> keeps it.</p>\n{}",
        table(look),
    )
}

pub(super) fn regions(look: &Look) -> Vec<Region> {
    vec![Region {
        id: "history".to_owned(),
        html: table(look),
    }]
}

fn table(look: &Look) -> Html {
    let events = look.history.iter().map(|event| (event.at, of_event(event)));
    let refused = look.recent.iter().filter(|it| is_refused(it));
    let refused = refused.map(|entry| (entry.at, of_refusal(entry)));
    let mut rows: Vec<(SystemTime, Html)> = events.chain(refused).collect();
    rows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let rows: Html = rows.into_iter().take(SHOWN).map(|(_, row)| row).collect();
    let body = match rows.as_str().is_empty() {
        true => html!("<p class=\"soft\">Nothing yet.</p>"),
        false => html!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What happened\">\
             <table><thead><tr><th scope=\"col\">UTC</th><th scope=\"col\">Server</th>\
             <th scope=\"col\">What</th><th scope=\"col\">By</th></tr></thead>\
             <tbody>{}</tbody></table></div>",
            rows,
        ),
    };
    html!("<div id=\"history\">{}</div>", body)
}

/// Says whether a request was refused by a policy, or for want of a token.
fn is_refused(entry: &ActivityEntry) -> bool {
    matches!(
        entry.outcome,
        Outcome::Error(TOOL_DENIED) | Outcome::Status(401 | 403)
    )
}

fn of_event(event: &Event) -> Html {
    let server = match (&event.plugin, &event.server) {
        (Some(plugin), Some(server)) => {
            html!("<span class=\"soft\">{}:</span>{}", &**plugin, &**server)
        }
        (None, Some(server)) => html!("{}", &**server),
        _ => html!("–"),
    };
    let (words, class) = happened(event.kind);
    let code = event.code;
    row(
        (event.at, server),
        &html!(
            "<span class=\"{}\">{}</span>{}",
            class,
            words,
            code.map(|code| html!(" <code>{}</code>", code)),
        ),
        event.client.as_deref().unwrap_or(""),
    )
}

fn of_refusal(entry: &ActivityEntry) -> Html {
    let asked = &entry.request;
    let server = match &asked.server {
        Some((plugin, name)) => html!("<span class=\"soft\">{}:</span>{}", plugin, name),
        None => html!("all"),
    };
    let what = html!(
        "<span class=\"bad\">{} refused</span>{}",
        asked.method,
        asked
            .tool
            .as_ref()
            .map(|tool| html!(" <code>{}</code>", tool)),
    );
    row((entry.at, server), &what, &asked.by)
}

fn row((at, server): (SystemTime, Html), what: &Html, by: &str) -> Html {
    html!(
        "<tr><td class=\"soft\">{}</td><td>{}</td><td>{}</td><td class=\"soft\">{}</td></tr>",
        words::clock(at),
        server,
        *what,
        by,
    )
}

/// Says what happened, and whether that is good, bad or neither.
const fn happened(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::AuthRequired => ("needs a sign-in", ""),
        Kind::AuthStarted => ("sign-in began", ""),
        Kind::AuthCompleted => ("signed in", "good"),
        Kind::AuthFailed => ("sign-in failed", "bad"),
        Kind::TokenRefreshed => ("token renewed", "good"),
        Kind::TokenRefreshFailed => ("token not renewed", "bad"),
        Kind::TokenCleared => ("signed out", ""),
        Kind::TokenHandedOut => ("access token handed to a client", ""),
        Kind::HelperRan => ("helper ran", ""),
        Kind::HelperFailed => ("helper failed", "bad"),
        Kind::IsolationReduced => ("starts with less isolation", "bad"),
        Kind::TrustRequested => ("needs approval", ""),
        Kind::TrustDecided => ("approval answered", ""),
        Kind::ServerFailed => ("does not work", "bad"),
        Kind::ConfigSkipped => ("entry left out", "bad"),
        // Also what a later version may add.
        _ => ("changed", ""),
    }
}

const SHOWN: usize = 200;
