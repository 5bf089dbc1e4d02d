//! Access to the dashboard: one-time links, the sessions that they begin, and what every
//! form of a session has to carry.
//!
//! Nothing that opens anything is kept: links and sessions are known by their hashes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};
use keyway::diagnosis::Diagnosis;
use keyway_clients::new_server::NewServer;
use keyway_secret::{Secret, constant_time_eq, random};
use tokio::time::Instant;

use super::backend::ProbedServer;
use super::result::LastCall;
use crate::timeouts::{BROWSER_IDLE_TIMEOUT, BROWSER_SESSION_TIMEOUT, LINK_TIMEOUT};

/// Links and sessions.
/// The lock is held for one look or one change.
///
/// ```text
///   link ──opened in time, once──▶ session ──used──▶ session, until later
///     └──LINK_TIMEOUT──▶ gone        └──left, idle for too long, or too old──▶ gone
/// ```
#[derive(Default)]
pub(super) struct BrowserSessions(Mutex<Table>);

#[derive(Default)]
struct Table {
    links: Vec<DashboardSession>,
    sessions: Vec<DashboardSession>,
}

struct DashboardSession {
    hash: [u8; 32],
    csrf: Secret<String>,
    path_key: Secret<String>,
    until: Instant,
    /// However much it is used, it ends then.
    at_last: Instant,
    notice: Option<Notice>,
    last_call: Option<Arc<LastCall>>,
    pending_server: Option<Arc<PendingServer>>,
}

/// A server that was looked at and is not added yet. It is kept here and not in the form: its address
/// may hold a key.
#[derive(Debug)]
pub(super) struct PendingServer {
    pub(super) server: NewServer,
    /// Its address without path and query.
    pub(super) origin: String,
    pub(super) probed: ProbedServer,
}

/// What became of what a person did, to be shown once.
#[derive(Debug, Clone)]
pub(super) enum Notice {
    /// It worked.
    Good(String),
    /// It did not.
    Bad(Box<Diagnosis>),
}

/// A session, as a request shows it.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// What a form has to carry.
    pub(super) csrf: Secret<String>,
    /// Where its pages lie.
    pub(super) path_key: Secret<String>,
    /// What the last call of a tool brought.
    pub(super) last_call: Option<Arc<LastCall>>,
    /// The server that is to be added.
    pub(super) pending_server: Option<Arc<PendingServer>>,
}

impl fmt::Debug for BrowserSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sessions")
    }
}

impl BrowserSessions {
    /// Makes a link that works once and soon ends; `None` without randomness.
    pub(super) fn new_link(&self) -> Option<Secret<String>> {
        let token = random::token().ok()?;
        let kept = DashboardSession::new("link", &token, LINK_TIMEOUT, LINK_TIMEOUT)?;
        let mut table = self.lock();
        table.links.push(kept);
        // Beyond the limit, the oldest links end.
        let more = table.links.len().saturating_sub(MOST_LINKS);
        table.links.drain(..more);
        Some(token)
    }

    /// Begins a session with a link, which ends thereby; returns what the cookie holds, and where
    /// the session's pages lie.
    pub(super) fn enter(&self, token: &str) -> Option<(Secret<String>, Secret<String>)> {
        let hash = hash("link", token);
        let mut table = self.lock();
        let at = position(&table.links, &hash)?;
        let link = table.links.remove(at);
        if link.is_over() {
            return None;
        }
        let cookie = random::token().ok()?;
        let session = DashboardSession::new(
            "session",
            &cookie,
            BROWSER_IDLE_TIMEOUT,
            BROWSER_SESSION_TIMEOUT,
        )?;
        let path_key = session.path_key.clone();
        table.sessions.retain(|session| !session.is_over());
        table.sessions.push(session);
        let more = table.sessions.len().saturating_sub(MOST_SESSIONS);
        table.sessions.drain(..more);
        Some((cookie, path_key))
    }

    /// Finds the session of a cookie, and keeps it alive.
    pub(super) fn find(&self, cookie: &str) -> Option<Session> {
        let hash = hash("session", cookie);
        let mut table = self.lock();
        let at = position(&table.sessions, &hash)?;
        let found = table.sessions.get_mut(at)?;
        if found.is_over() {
            table.sessions.remove(at);
            return None;
        }
        found.until = (Instant::now() + BROWSER_IDLE_TIMEOUT).min(found.at_last);
        Some(Session {
            csrf: found.csrf.clone(),
            path_key: found.path_key.clone(),
            last_call: found.last_call.clone(),
            pending_server: found.pending_server.clone(),
        })
    }

    /// Says whether a session is still open; that alone keeps nothing alive.
    pub(super) fn is_open(&self, cookie: &str) -> bool {
        let table = self.lock();
        let at = position(&table.sessions, &hash("session", cookie));
        at.and_then(|at| table.sessions.get(at))
            .is_some_and(|session| !session.is_over())
    }

    /// Keeps what is to be shown on the next page.
    pub(super) fn tell(&self, cookie: &str, notice: Notice) {
        self.with(cookie, |session| session.notice = Some(notice));
    }

    /// Returns what is to be shown now, once.
    pub(super) fn notice(&self, cookie: &str) -> Option<Notice> {
        self.with(cookie, |session| session.notice.take()).flatten()
    }

    /// Keeps what a call brought.
    pub(super) fn remember_tools(&self, cookie: &str, call: LastCall) {
        self.with(cookie, |session| session.last_call = Some(Arc::new(call)));
    }

    /// Keeps the server that is to be added, or forgets it.
    pub(super) fn set_pending(&self, cookie: &str, pending: Option<PendingServer>) {
        let pending = pending.map(Arc::new);
        self.with(cookie, |session| session.pending_server = pending);
    }

    fn with<T>(&self, cookie: &str, change: impl FnOnce(&mut DashboardSession) -> T) -> Option<T> {
        let hash = hash("session", cookie);
        let mut table = self.lock();
        let at = position(&table.sessions, &hash)?;
        table.sessions.get_mut(at).map(change)
    }

    /// Ends a session.
    pub(super) fn leave(&self, cookie: &str) {
        let hash = hash("session", cookie);
        let mut table = self.lock();
        if let Some(at) = position(&table.sessions, &hash) {
            table.sessions.remove(at);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DashboardSession {
    fn new(kind: &str, token: &Secret<String>, idle: Duration, longest: Duration) -> Option<Self> {
        let now = Instant::now();
        Some(Self {
            hash: hash(kind, token.expose()),
            csrf: random::token().ok()?,
            path_key: random::token().ok()?,
            until: now + idle,
            at_last: now + longest,
            notice: None,
            last_call: None,
            pending_server: None,
        })
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

/// Looks at all of them, whichever it is.
fn position(all: &[DashboardSession], hash: &[u8; 32]) -> Option<usize> {
    let mut found = None;
    for (at, kept) in all.iter().enumerate() {
        if constant_time_eq(&kept.hash, hash) {
            found = Some(at);
        }
    }
    found
}

/// Hashes a token of 256 random bits, which needs no salt.
fn hash(kind: &str, token: &str) -> [u8; 32] {
    let mut hasher = Blake2b::<U32>::new();
    hasher.update(b"keyway dashboard 1\0");
    hasher.update(kind.as_bytes());
    hasher.update(b"\0");
    hasher.update(token.as_bytes());
    hasher.finalize().into()
}

const MOST_LINKS: usize = 16;
const MOST_SESSIONS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(sessions: &BrowserSessions) -> Secret<String> {
        let link = sessions.new_link().unwrap();
        sessions.enter(link.expose()).unwrap().0
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_works_once_and_not_for_long() {
        let sessions = BrowserSessions::default();
        let link = sessions.new_link().unwrap();
        assert!(link.expose().len() >= 43, "256 bits");
        assert!(sessions.enter(link.expose()).is_some());
        assert!(sessions.enter(link.expose()).is_none());
        let late = sessions.new_link().unwrap();
        tokio::time::advance(LINK_TIMEOUT).await;
        assert!(sessions.enter(late.expose()).is_none());
    }

    #[test]
    fn a_link_is_not_accepted_as_a_session_nor_a_session_as_a_link() {
        let sessions = BrowserSessions::default();
        let link = sessions.new_link().unwrap();
        assert!(sessions.find(link.expose()).is_none());
        let cookie = entered(&sessions);
        assert!(sessions.enter(cookie.expose()).is_none());
        for guess in ["", "x", &cookie.expose()[1..]] {
            assert!(sessions.find(guess).is_none(), "{guess}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_lives_while_it_is_used_and_ends_in_any_case() {
        let sessions = BrowserSessions::default();
        let cookie = entered(&sessions);
        for _ in 0..7 * 4 - 1 {
            tokio::time::advance(Duration::from_secs(6 * 60 * 60)).await;
            assert!(sessions.find(cookie.expose()).is_some());
        }
        tokio::time::advance(Duration::from_secs(6 * 60 * 60)).await;
        assert!(sessions.find(cookie.expose()).is_none());
        let idle = entered(&sessions);
        tokio::time::advance(BROWSER_IDLE_TIMEOUT).await;
        assert!(sessions.find(idle.expose()).is_none());
    }

    #[test]
    fn every_session_has_a_mark_of_its_own_and_leaving_ends_one() {
        let sessions = BrowserSessions::default();
        let (one, other) = (entered(&sessions), entered(&sessions));
        let mark = |cookie: &Secret<String>| sessions.find(cookie.expose()).unwrap().csrf;
        assert!(!mark(&one).is_same_as(&mark(&other)));
        sessions.leave(one.expose());
        assert!(sessions.find(one.expose()).is_none());
        assert!(sessions.find(other.expose()).is_some());
    }

    #[test]
    fn links_and_sessions_do_not_pile_up() {
        let sessions = BrowserSessions::default();
        let first = sessions.new_link().unwrap();
        for _ in 0..MOST_LINKS {
            sessions.new_link().unwrap();
        }
        assert!(sessions.enter(first.expose()).is_none());
        let first = entered(&sessions);
        for _ in 0..MOST_SESSIONS {
            entered(&sessions);
        }
        assert!(sessions.find(first.expose()).is_none());
        assert!(!format!("{sessions:?}").contains(first.expose()));
    }
}
