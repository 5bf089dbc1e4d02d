//! One tool: a form for its arguments, and what the last call brought.

use super::parts::{mark, problem};
use super::{Look, policy};
use crate::backend::{ServerView, Tool};
use crate::browser_session::BrowserSession;
use crate::form::fields;
use crate::html::{Html, Lines, html};
use crate::paths;
use crate::result::{Called, LastCall};
use keyway_mcp::schema::Schema;

pub(super) fn page(look: &Look, view: &ServerView, tool: &Tool, browser: &BrowserSession) -> Html {
    let last = browser.session.last_call.as_deref();
    let last = last.filter(|call| call.server == view.id && call.tool == tool.name);
    html!(
        "<p class=\"path\"><a href=\"{}/\">Servers</a> <span aria-hidden=\"true\">/</span> \
         <a href=\"{}\">{}</a></p>\n<h1>{}</h1>\n{}{}\
         <form method=\"post\" action=\"{}\" class=\"panel call\">{}{}\
         <div class=\"buttons\"><button class=\"main\" id=\"call\">Call</button></div></form>\n{}{}",
        browser.base(),
        paths::server(browser.base(), &view.id),
        view.id.name,
        tool.name,
        tool.title
            .as_ref()
            .map(|title| html!("<p class=\"soft\">{}</p>\n", title)),
        tool.description
            .as_ref()
            .map(|text| html!("<p class=\"about\">{}</p>\n", Lines(text))),
        paths::tool(browser.base(), &view.id, &tool.name),
        mark(browser),
        fields(Schema::new(&tool.schema), last.map(|call| &call.fields)),
        last.map(result),
        policy::panel(look, view, tool, browser),
    )
}

fn result(call: &LastCall) -> Html {
    let (class, head, body) = match &call.outcome {
        Called::Misfit(problems) => {
            let items: Html = problems
                .iter()
                .map(|problem| html!("<li>{}</li>", problem))
                .collect();
            let body = html!("<ul>{}</ul>", items);
            ("ask", "Nothing was sent: the arguments do not fit", body)
        }
        Called::Failed(found) => ("bad", "There was no answer", problem(found)),
        Called::Answered(answer) if answer.is_error => ("bad", "The tool failed", answer.html()),
        Called::Answered(answer) => ("good", "Result", answer.html()),
    };
    html!(
        "<section class=\"panel {}\" id=\"result\" tabindex=\"-1\"><h2>{}</h2>{}</section>",
        class,
        head,
        body,
    )
}
