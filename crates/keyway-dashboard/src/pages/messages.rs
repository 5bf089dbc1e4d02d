//! The messages of a server, while a person has them recorded.

use std::time::Instant;

use super::Look;
use super::parts::button;
use crate::backend::ServerView;
use crate::browser_session::BrowserSession;
use crate::html::{Html, Lines, html};
use crate::message_log::Exchange;
use crate::paths::Action;
use crate::words;

pub(super) fn section(look: &Look, view: &ServerView, browser: &BrowserSession) -> Html {
    let recorded = look.activity.messages().of(&view.id, Instant::now());
    let make = |action, label| button(&view.id, action, label, "plain", browser);
    let body = match recorded {
        None => html!(
            "<p class=\"hint\">They are not recorded. If you record them, the last 50 requests of \
             clients and their answers are kept in memory for an hour at most, with tokens and \
             variables masked. What else is private in them is shown. Recording another server \
             ends this one.</p>{}",
            make(Action::Record, "Record messages"),
        ),
        Some(exchanges) => {
            let rows: Html = exchanges.iter().map(|it| row(it)).collect();
            let none = exchanges.is_empty().then(|| {
                html!("<p class=\"soft\">None yet. Load this page again to see more.</p>")
            });
            html!(
                "{}{}{}",
                make(Action::Forget, "Stop and forget"),
                none,
                rows
            )
        }
    };
    html!(
        "<section id=\"messages\"><h2>Messages</h2>{}</section>",
        body
    )
}

fn row(exchange: &Exchange) -> Html {
    let answer = exchange.answer.as_deref();
    html!(
        "<details><summary>{} {} <span class=\"soft\">by {}</span></summary>\
         <pre tabindex=\"0\">{}</pre><pre tabindex=\"0\">{}</pre></details>",
        words::clock(exchange.at),
        exchange.method,
        exchange.by,
        Lines(&exchange.request),
        Lines(answer.unwrap_or("(no answer)")),
    )
}
