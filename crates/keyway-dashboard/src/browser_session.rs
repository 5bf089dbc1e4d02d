//! Which requests may see the dashboard, and which may change something by it.
//!
//! Browsers tell cookies apart by host and path, not by port: another server of this machine counts
//! as the same site. So a cookie is sent only to the pages of its session, at an address that no
//! other process knows; and it alone never changes anything: a form has to come from our very own
//! page (`Origin`) and carry the mark of its session.

use std::sync::Arc;

use http::header::{COOKIE, HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method, StatusCode};
use keyway_secret::Secret;
use keyway_transport::{Inbound, Peer, Reply};

use super::sessions::Session;
use super::{Dashboard, answers, paths};

/// A browser with a session.
#[derive(Debug, Clone)]
pub(super) struct BrowserSession {
    cookie: Secret<String>,
    base: String,
    /// The session.
    pub(super) session: Session,
    /// Whether there are pages beside those of single servers.
    pub(super) manages: bool,
    /// Whether there is a page of people.
    pub(super) has_team: bool,
}

impl BrowserSession {
    /// Returns what tells the session apart.
    pub(super) fn cookie(&self) -> &str {
        self.cookie.expose()
    }

    /// Returns where the pages of the session lie.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Returns what every form carries.
    pub(super) fn mark(&self) -> &str {
        self.session.csrf.expose()
    }
}

impl Dashboard {
    /// Lets a browser in by a link, and takes the link out of its address bar.
    ///
    /// Whichever site linked here, the next request comes from a page of ours: browsers do not send
    /// the cookie with requests of other sites.
    pub(super) fn enter(&self, request: &Inbound, token: &str) -> Reply {
        if request.method != Method::GET {
            return answers::plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
        }
        match (self.sessions.enter(token), cookie_name(request.peer)) {
            (Some((cookie, path_key)), Some(name)) => {
                let backend = Arc::clone(&self.backend);
                drop(tokio::spawn(async move { backend.opened().await }));
                let base = paths::base(path_key.expose());
                let reply = answers::entered(&base);
                answers::with_cookie(reply, (&name, &base), Some(&cookie))
            }
            _ => self.refused(),
        }
    }

    /// Returns the session of a request to a session's pages; `None` if it has no session, or that
    /// of other pages, or comes from a foreign page.
    pub(super) fn browser(&self, request: &Inbound, path_key: &str) -> Option<BrowserSession> {
        if !is_from_us(&request.headers) {
            return None;
        }
        let name = cookie_name(request.peer)?;
        let cookie = cookie(&request.headers, &name)?;
        let session = self.sessions.find(cookie.expose())?;
        let path_key = Secret::new(path_key.to_owned());
        session
            .path_key
            .is_same_as(&path_key)
            .then(|| BrowserSession {
                cookie,
                base: paths::base(path_key.expose()),
                session,
                manages: self.administration.is_some(),
                has_team: self.team.is_some(),
            })
    }

    /// Ends a session.
    pub(super) fn leave(&self, browser: &BrowserSession, peer: Peer) -> Reply {
        self.sessions.leave(browser.cookie());
        match cookie_name(peer) {
            Some(name) => answers::with_cookie(answers::see("/"), (&name, browser.base()), None),
            None => answers::see("/"),
        }
    }
}

/// Says whether a form was sent by our own page: `Origin` is there and is where the request went.
pub(super) fn is_own_form(headers: &HeaderMap) -> bool {
    let (Some(origin), Some(host)) = (only(headers, &ORIGIN), only(headers, &HOST)) else {
        return false;
    };
    origin.strip_prefix("http://") == Some(host)
}

/// Says whether the browser, if it tells, says that our own page or the person led here.
fn is_from_us(headers: &HeaderMap) -> bool {
    if !headers.contains_key(&FETCH_SITE) {
        return true;
    }
    matches!(only(headers, &FETCH_SITE), Some("same-origin" | "none"))
}

/// Another gateway of this machine has another port, and must not take our cookie away.
fn cookie_name(peer: Peer) -> Option<String> {
    match peer {
        Peer::Loopback { port } => Some(format!("keyway_dashboard_{port}")),
        _ => None,
    }
}

/// Returns a cookie that is there once.
fn cookie(headers: &HeaderMap, name: &str) -> Option<Secret<String>> {
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines.filter_map(|line| line.to_str().ok());
    let pairs = pairs.flat_map(|line| line.split(';'));
    let mut found = pairs.filter_map(|pair| {
        let (own, value) = pair.trim().split_once('=')?;
        (own == name).then(|| Secret::new(value.to_owned()))
    });
    found.next().filter(|_| found.next().is_none())
}

fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
