//! The dashboard of the gateway: every server with its state, and what a person can do about it.
//!
//! Pages are rendered here and work without a script; one small script keeps them up to date. What
//! is shown and done comes through a [`DashboardBackend`]. A browser gets in with a one-time link and stays
//! by a cookie; neither opens anything else of the gateway, and no gateway token opens the dashboard.

mod actions;
pub mod activity;
pub mod administration;
mod answers;
mod backend;
mod browser_session;
mod changes;
pub mod consent_pages;
mod cut;
mod form;
mod html;
mod live;
mod management;
mod message_log;
mod pages;
mod paths;
mod policy_actions;
mod result;
mod sessions;
mod sparkline;
pub mod team;
mod team_actions;
mod timeouts;
pub mod trace_parent;
pub mod traces;
mod words;

use std::sync::{Arc, OnceLock};

use http::{Method, StatusCode};
use keyway_secret::Secret;
use keyway_transport::{Inbound, Peer, Reply};
use tokio::sync::{Semaphore, watch};

pub use self::backend::{
    Consent, DashboardBackend, ProbedServer, ServerId, ServerView, Tool, WantedBy,
};
pub use self::changes::{ChangeCounter, Changes};
pub use self::timeouts::BUTTON_TIMEOUT;

use self::browser_session::BrowserSession;
use self::pages::Look;
use self::paths::DashboardRoute;
use self::sessions::BrowserSessions;
use crate::activity::Activity;
use crate::administration::Administration;
use crate::team::TeamBackend;
use keyway_policy::Policies;

/// The dashboard.
#[derive(Debug)]
pub struct Dashboard {
    backend: Arc<dyn DashboardBackend>,
    activity: Arc<Activity>,
    policies: Option<Arc<Policies>>,
    administration: Option<Arc<Administration>>,
    team: Option<Arc<dyn TeamBackend>>,
    sessions: BrowserSessions,
    port: OnceLock<u16>,
    own_port: OnceLock<u16>,
    reopening: OnceLock<Reopening>,
    /// A permit for each event stream, held by the task that writes it.
    streams: Arc<Semaphore>,
    stopping: watch::Sender<bool>,
}

/// How a person whose browser was refused gets a new link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reopening {
    /// By `keyway open`.
    Usual,
    /// By `keyway open` with the socket that the gateway was given.
    Named,
    /// Only by a gateway that is started again.
    Restart,
}

impl Dashboard {
    /// Shows what `backend` looks after, and what is recorded in `activity`.
    #[must_use]
    pub fn new(backend: Arc<dyn DashboardBackend>, activity: Arc<Activity>) -> Self {
        Self {
            backend,
            activity,
            policies: None,
            administration: None,
            team: None,
            sessions: BrowserSessions::default(),
            port: OnceLock::new(),
            own_port: OnceLock::new(),
            reopening: OnceLock::new(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            stopping: watch::Sender::new(false),
        }
    }

    /// Shows the rules for tools and the calls that wait for a person, and lets both be answered.
    #[must_use]
    pub fn with_policies(mut self, policies: Arc<Policies>) -> Self {
        self.policies = Some(policies);
        self
    }

    /// Adds the pages on which a person manages tokens, servers of their own and clients.
    #[must_use]
    pub fn with_administration(mut self, administration: Arc<Administration>) -> Self {
        self.administration = Some(administration);
        self
    }

    /// Says at which port clients reach the gateway, and the dashboard unless it has a port
    /// [of its own](Self::opens_at); told once.
    pub fn listens_at(&self, port: u16) {
        let _first = self.port.set(port);
    }

    /// Says at which port it is reached apart from clients, which is told once.
    pub fn opens_at(&self, port: u16) {
        let _first = self.own_port.set(port);
    }

    /// Says how a new link is had, which is told once.
    pub fn opened_by(&self, reopening: Reopening) {
        let _first = self.reopening.set(reopening);
    }

    fn refused(&self) -> Reply {
        let reopening = self.reopening.get().copied();
        pages::refused(reopening.unwrap_or(Reopening::Usual))
    }

    /// Makes a link that signs one browser in, once and within five minutes; `None` before the port
    /// is known.
    #[must_use]
    pub fn link(&self) -> Option<Secret<String>> {
        let port = self.own_port.get().or(self.port.get())?;
        let token = self.sessions.new_link()?;
        let token = token.expose();
        let link = format!("http://127.0.0.1:{port}/dashboard/enter/{token}");
        Some(Secret::new(link))
    }

    /// Says whether a path is the dashboard's.
    #[must_use]
    pub fn is_own(path: &str) -> bool {
        paths::is_own(path)
    }

    /// Ends the streams that would never end.
    pub fn stop_streams(&self) {
        self.stopping.send_replace(true);
    }

    /// Answers a request that names this machine and comes from no foreign page.
    ///
    /// Cancel safety: dropped when the browser goes away. What an action started continues as
    /// [`DashboardBackend`] says; the notice about its result is lost.
    pub async fn answer(self: &Arc<Self>, request: Inbound) -> Reply {
        let outside = paths::outside(request.uri.path());
        if request.peer == Peer::SameUser {
            return self.by_socket(&request.method, outside.as_ref());
        }
        // Whatever they got hold of.
        if request.is_from_other_user() {
            return self.refused();
        }
        match (&outside, &request.method) {
            (Some(DashboardRoute::Enter(token)), _) => return self.enter(&request, token),
            // These are not secret, and the page for refused requests uses them too.
            (Some(DashboardRoute::Style), &Method::GET) => {
                return answers::asset("text/css; charset=utf-8", STYLE);
            }
            (Some(DashboardRoute::Script), &Method::GET) => {
                return answers::asset("text/javascript; charset=utf-8", SCRIPT);
            }
            (Some(DashboardRoute::Icon), &Method::GET) => {
                return answers::asset("image/svg+xml", ICON);
            }
            _ => {}
        }
        let path = request.uri.path().to_owned();
        let Some((path_key, rest)) = paths::split(&path) else {
            return self.refused();
        };
        let Some(browser) = self.browser(&request, path_key) else {
            return self.refused();
        };
        let Some(place) = paths::find(rest) else {
            return pages::not_found(&browser);
        };
        match request.method {
            Method::GET => self.show(&browser, place, request.uri.query()).await,
            Method::POST => self.act(&browser, place, request).await,
            _ => answers::plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n"),
        }
    }

    /// Our own user gets a link over the socket, and nothing else.
    fn by_socket(&self, method: &Method, place: Option<&DashboardRoute>) -> Reply {
        match (method, place) {
            (&Method::POST, Some(DashboardRoute::Link)) => match self.link() {
                Some(link) => answers::plain(StatusCode::OK, format!("{}\n", link.expose())),
                None => answers::plain(StatusCode::SERVICE_UNAVAILABLE, "no port\n"),
            },
            _ => answers::plain(StatusCode::NOT_FOUND, "not found\n"),
        }
    }

    async fn show(
        self: &Arc<Self>,
        browser: &BrowserSession,
        place: DashboardRoute,
        query: Option<&str>,
    ) -> Reply {
        match place {
            DashboardRoute::Events => self.events(browser, query),
            DashboardRoute::Overview => {
                let look = self.look().await;
                let notice = self.sessions.notice(browser.cookie());
                let html = pages::overview(&look, browser, notice.as_ref());
                answers::page(StatusCode::OK, html)
            }
            DashboardRoute::Server(id) => {
                let look = self.look().await;
                let Some(view) = look.find(&id) else {
                    return pages::not_found(browser);
                };
                let notice = self.sessions.notice(browser.cookie());
                let html = pages::server(&look, view, browser, notice.as_ref());
                answers::page(StatusCode::OK, html)
            }
            DashboardRoute::Plugin(name) => {
                let look = self.look().await;
                if !look.servers.iter().any(|view| view.id.plugin == name) {
                    return pages::not_found(browser);
                }
                let notice = self.sessions.notice(browser.cookie());
                let html = pages::plugin(&look, &name, browser, notice.as_ref());
                answers::page(StatusCode::OK, html)
            }
            DashboardRoute::Tool(id, name) => self.tool(browser, &id, &name).await,
            DashboardRoute::People => self.show_team(browser, query).await,
            place @ (DashboardRoute::Tokens
            | DashboardRoute::Add
            | DashboardRoute::Clients
            | DashboardRoute::Client(_)
            | DashboardRoute::History) => self.show_management(browser, &place).await,
            _ => pages::not_found(browser),
        }
    }

    async fn tool(&self, browser: &BrowserSession, id: &ServerId, name: &str) -> Reply {
        let look = self.look().await;
        let found = look
            .find(id)
            .and_then(|view| Some((view, view.tool(name)?)));
        let Some((view, tool)) = found else {
            return pages::not_found(browser);
        };
        let notice = self.sessions.notice(browser.cookie());
        let html = pages::tool(&look, (view, tool), browser, notice.as_ref());
        answers::page(StatusCode::OK, html)
    }

    async fn look(&self) -> Look {
        Look {
            servers: self.backend.servers().await,
            recent: self.activity.recent(),
            policies: self.policies.clone(),
            history: self.backend.history(),
            activity: Arc::clone(&self.activity),
        }
    }
}

/// How many browser windows are kept up to date at once.
const MOST_STREAMS: usize = 32;
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
const ICON: &str = include_str!("icon.svg");
