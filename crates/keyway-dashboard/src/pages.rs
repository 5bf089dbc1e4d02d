//! The pages, and which parts of them are kept up to date.

mod activity;
mod add;
mod approval;
mod clients;
mod history;
mod messages;
mod overview;
mod parts;
mod policy;
mod server;
mod team;
mod tokens;
mod tool;

use std::sync::Arc;
use std::time::SystemTime;

use http::StatusCode;
use keyway::events::Event;
use keyway_policy::Policies;
use keyway_transport::Reply;

pub(super) use self::clients::{Preview, value as server_value};
pub(super) use self::tokens::IssuedToken;

use super::backend::{ServerId, ServerView, Tool};
use super::browser_session::BrowserSession;
use super::html::{Html, html};
use super::paths::DashboardRoute;
use super::sessions::{Notice, PendingServer};
use super::{Reopening, answers};
use crate::activity::{Activity, ActivityEntry};
use crate::administration::ClientView;
use crate::team::TeamView;
use keyway_policy::GatewayToken;

/// Everything that pages are made of, at one moment.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) servers: Vec<ServerView>,
    /// Latest first.
    pub(super) recent: Vec<Arc<ActivityEntry>>,
    pub(super) policies: Option<Arc<Policies>>,
    /// Latest first.
    pub(super) history: Vec<Event>,
    /// For the messages of one server, if they are recorded.
    pub(super) activity: Arc<Activity>,
}

impl Look {
    pub(super) fn find(&self, id: &ServerId) -> Option<&ServerView> {
        self.servers.iter().find(|view| view.id == *id)
    }

    /// Returns what was asked of one server, latest first.
    fn of(&self, id: &ServerId) -> impl DoubleEndedIterator<Item = &ActivityEntry> {
        let is_its = move |entry: &&Arc<ActivityEntry>| {
            let server = entry.request.server.as_ref();
            server.is_some_and(|(plugin, name)| *plugin == id.plugin && *name == id.name)
        };
        self.recent.iter().filter(is_its).map(AsRef::as_ref)
    }
}

/// A part of a page that is replaced when it changes.
#[derive(Debug)]
pub(super) struct Region {
    /// The id of the element.
    pub(super) id: String,
    /// The element.
    pub(super) html: Html,
}

/// Returns the parts of a page that are kept up to date.
pub(super) fn regions(
    look: &Look,
    place: &DashboardRoute,
    browser: &BrowserSession,
) -> Vec<Region> {
    match place {
        DashboardRoute::Overview => overview::regions(look, browser),
        DashboardRoute::Server(id) => match look.find(id) {
            Some(view) => server::regions(look, view, browser),
            None => Vec::new(),
        },
        DashboardRoute::Plugin(name) => approval::regions(look, name, browser),
        DashboardRoute::History => history::regions(look),
        _ => Vec::new(),
    }
}

/// All servers.
pub(super) fn overview(look: &Look, browser: &BrowserSession, notice: Option<&Notice>) -> Html {
    let body = overview::page(look, browser);
    framed("Servers", &body, browser, notice)
}

/// One server.
pub(super) fn server(
    look: &Look,
    view: &ServerView,
    browser: &BrowserSession,
    notice: Option<&Notice>,
) -> Html {
    let body = server::page(look, view, browser);
    framed(&view.id.name, &body, browser, notice)
}

/// All that waits for an approval in one plugin.
pub(super) fn plugin(
    look: &Look,
    plugin: &str,
    browser: &BrowserSession,
    notice: Option<&Notice>,
) -> Html {
    let body = approval::page(look, plugin, browser);
    framed(plugin, &body, browser, notice)
}

/// One tool.
pub(super) fn tool(
    look: &Look,
    (view, tool): (&ServerView, &Tool),
    browser: &BrowserSession,
    notice: Option<&Notice>,
) -> Html {
    let body = tool::page(look, view, tool, browser);
    framed(&tool.name, &body, browser, notice)
}

/// The gateway tokens, and the one that was just issued.
pub(super) fn tokens(
    (tokens, servers): (&[(GatewayToken, Option<SystemTime>)], &[ServerView]),
    issued: Option<&IssuedToken<'_>>,
    browser: &BrowserSession,
    notice: Option<&Notice>,
) -> Html {
    let body = tokens::page(tokens, servers, issued, browser);
    framed("Tokens", &body, browser, notice)
}

/// A server that is to be added.
pub(super) fn add(
    pending: Option<&PendingServer>,
    browser: &BrowserSession,
    notice: Option<&Notice>,
) -> Html {
    framed(
        "Add a server",
        &add::page(pending, browser),
        browser,
        notice,
    )
}

/// The clients that were found.
pub(super) fn clients(
    found: &[ClientView],
    browser: &BrowserSession,
    notice: Option<&Notice>,
) -> Html {
    framed("Clients", &clients::list(found, browser), browser, notice)
}

/// One client, and what would be written into its file.
pub(super) fn client(
    (view, servers): (&ClientView, &[ServerView]),
    preview: Option<&Preview<'_>>,
    browser: &BrowserSession,
    notice: Option<&Notice>,
) -> Html {
    let body = clients::page(view, servers, preview, browser);
    framed(view.client.title, &body, browser, notice)
}

/// What happened.
pub(super) fn history(look: &Look, browser: &BrowserSession, notice: Option<&Notice>) -> Html {
    framed("History", &history::page(look), browser, notice)
}

/// The people of a team.
pub(super) fn team(
    view: &TeamView,
    part: &str,
    browser: &BrowserSession,
    notice: Option<&Notice>,
) -> Html {
    framed("People", &team::page(view, part, browser), browser, notice)
}

/// The answer to a request without a session: only how to get one.
pub(super) fn refused(reopening: Reopening) -> Reply {
    let how = match reopening {
        Reopening::Usual => html!("Get a new one with</p><p><code>keyway open</code></p>"),
        // Only the person who started the gateway may know where the socket is.
        Reopening::Named => html!(
            "Get a new one, with the socket that <code>keyway serve</code> was given, by</p>\
             <p><code>keyway open --socket PATH</code></p>"
        ),
        Reopening::Restart => {
            html!("<code>keyway serve</code> prints a new one when it is started again.</p>")
        }
    };
    let html = bare(
        "Not signed in",
        &html!(
            "<p>This dashboard opens with a link that works once. {}",
            how
        ),
    );
    answers::page(StatusCode::FORBIDDEN, html)
}

/// There is no such page.
pub(super) fn not_found(browser: &BrowserSession) -> Reply {
    let back = html!(
        "<p><a href=\"{}/\">Back to all servers</a></p>",
        browser.base(),
    );
    answers::page(StatusCode::NOT_FOUND, bare("Nothing here", &back))
}

/// A page without anything that needs a session; its style is the browser's.
fn bare(title: &str, body: &Html) -> Html {
    html!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{} – Keyway</title>\n\
         <link rel=\"stylesheet\" href=\"/dashboard/style.css\">\n\
         <script src=\"/dashboard/script.js\" defer></script>\n</head>\n\
         <body class=\"bare\"><main id=\"main\">\n<h1>{}</h1>\n{}\n</main></body>\n</html>\n",
        title,
        title,
        *body,
    )
}

fn framed(title: &str, body: &Html, browser: &BrowserSession, notice: Option<&Notice>) -> Html {
    html!(
        "<!doctype html>\n<html lang=\"en\" data-at=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} – Keyway</title>\n\
         <link rel=\"icon\" type=\"image/svg+xml\" href=\"/dashboard/icon.svg\">\n\
         <link rel=\"stylesheet\" href=\"/dashboard/style.css\">\n\
         <script src=\"/dashboard/script.js\" defer></script>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to content</a>\n\
         <header class=\"top\"><a class=\"brand\" href=\"{}/\">\
         <svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M12 2a6 6 0 0 0-2.6 11.4L8 22h8\
         l-1.4-8.6A6 6 0 0 0 12 2z\"/></svg>Keyway</a>\
         {}<span id=\"live\" class=\"live\" hidden>live</span>\
         <form method=\"post\" action=\"{}/leave\">{}\
         <button class=\"plain\">Close session</button></form></header>\n\
         <main id=\"main\" tabindex=\"-1\">\n{}{}\n</main>\n\
         <p id=\"announce\" class=\"unseen\" role=\"status\" aria-live=\"polite\"></p>\n\
         </body>\n</html>\n",
        browser.base(),
        title,
        browser.base(),
        (browser.manages || browser.has_team).then(|| navigation(title, browser)),
        browser.base(),
        parts::mark(browser),
        notice.map(shown),
        *body,
    )
}

/// The pages beside those of single servers.
fn navigation(title: &str, browser: &BrowserSession) -> Html {
    let links: Html = [
        ("/", "Servers", true),
        ("/add", "Add a server", browser.manages),
        ("/clients", "Clients", browser.manages),
        ("/tokens", "Tokens", browser.manages),
        ("/people", "People", browser.has_team),
        ("/history", "History", browser.manages),
    ]
    .into_iter()
    .filter_map(|(path, label, is_there)| is_there.then_some((path, label)))
    .map(|(path, label)| {
        let is_here = label == title;
        html!(
            "<li><a href=\"{}{}\"{}>{}</a></li>",
            browser.base(),
            path,
            is_here.then(|| html!(" aria-current=\"page\"")),
            label,
        )
    })
    .collect();
    html!("<nav aria-label=\"Pages\"><ul>{}</ul></nav>", links)
}

fn shown(notice: &Notice) -> Html {
    match notice {
        Notice::Good(words) => {
            html!("<p class=\"notice good\" role=\"status\">{}</p>\n", words)
        }
        Notice::Bad(found) => parts::problem(found),
    }
}
