//! Clients up to 2025-11-25: a session begins with `initialize` and has one connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use keyway_auth::oauth::random_token;
use keyway_transport::{Envelope, Reply};

use super::Gateway;
use super::client_message::{ClientMessage, asked, prefers_events, takes_events};
use super::client_session::{ClientSession, SessionOwner};
use super::event_streams::Priming;
use super::exchange::{Exchange, OnDisconnect};
use super::gateway_token::TokenHash;
use super::principal::{Principal, TokenTable};
use super::reply::{self, INVALID_REQUEST, LAST_EVENT_ID, NO_SESSION, SESSION_ID, VERSION};
use super::routes::Route;
use super::served_servers::{ServedServer, Validity};
use super::upstream_connection::{CloseOnDrop, Delivery};
use crate::activity;
use keyway_mcp::eras::names::{LEGACY, NEWEST_LEGACY};

/// The sessions that are open.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<Box<str>, Arc<Session>>>);

/// One client.
#[derive(Debug)]
struct Session {
    client: Arc<ClientSession>,
    /// Whose it is; nobody else may use it, even who knows its id.
    owner: Option<TokenHash>,
    route: Route,
}

impl Gateway {
    /// Serves a message of a legacy client.
    pub(super) async fn legacy(&self, message: &ClientMessage, envelope: &Envelope<'_>) -> Reply {
        let id = envelope.id();
        let refuse =
            |status, code, what: &str| reply::error(status, id.as_ref(), &reply::fault(code, what));
        let Some(session_id) = message.headers.get(SESSION_ID) else {
            return match envelope.method.as_deref() {
                Some("initialize") if id.is_some() => self.initialize(message, envelope).await,
                _ => refuse(
                    StatusCode::BAD_REQUEST,
                    INVALID_REQUEST,
                    "a session begins with `initialize`, and its id has to be sent along",
                ),
            };
        };
        if !has_known_version(&message.headers) {
            let what = "unknown MCP-Protocol-Version";
            return refuse(StatusCode::BAD_REQUEST, INVALID_REQUEST, what);
        }
        let session = self
            .sessions
            .find(session_id, &message.principal, &message.route);
        let Some(session) = session else {
            return refuse(
                StatusCode::NOT_FOUND,
                NO_SESSION,
                "there is no such session",
            );
        };
        let Some(connection) = session.client.reconnect_if_needed(&self.router).await else {
            return refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended");
        };
        let Some(asked) = asked(envelope, &message.headers) else {
            session.client.observe_notification(envelope);
            let sent = connection.send_notification(message.frame.clone()).await;
            return match sent {
                Ok(()) => Reply::new(StatusCode::ACCEPTED),
                Err(_) => refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended"),
            };
        };
        let deliveries = match connection.register(&asked) {
            Ok(deliveries) => deliveries,
            Err(refused) => return refused.reply(&asked.id),
        };
        let exchange = Exchange::new(connection, asked.id, OnDisconnect::Continue, deliveries)
            .takes_events(asked.takes_events)
            .prefers_events(prefers_events(&message.headers))
            .priming(priming(&message.headers))
            .observed_by(message.recorder.clone());
        exchange.send(message.frame.clone()).await;
        exchange.reply().await
    }

    async fn initialize(&self, message: &ClientMessage, envelope: &Envelope<'_>) -> Reply {
        let busy = || reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions\n");
        let Some(asked) = asked(envelope, &message.headers) else {
            return busy();
        };
        if !self.sessions.may_start(message.principal.id()) {
            return busy();
        }
        let owner = SessionOwner::of(message);
        let Ok((connection, mut deliveries)) = owner
            .open_connection(&self.router, &message.frame, &asked)
            .await
        else {
            return busy();
        };
        // Whoever asked may go away before there is a session.
        let close_on_drop = CloseOnDrop::new(Arc::clone(&connection));
        // Nothing that a server says before has to be known before the session is.
        let answer = loop {
            match deliveries.recv().await {
                Some(Delivery::Interim(_)) => {}
                Some(Delivery::Response(frame, code)) => break Some((frame, code)),
                None => break None,
            }
        };
        let Some((frame, code)) = answer else {
            return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
        };
        if let Some(recorder) = &message.recorder {
            recorder.end(activity::outcome(&frame, code));
        }
        let body = reply::message(StatusCode::OK, frame.bytes().clone());
        let is_accepted = code.is_none() && frame.envelope().is_ok_and(|it| it.result.is_some());
        if !is_accepted {
            return body;
        }
        let client = ClientSession::start(connection, owner, &message.frame);
        client.initialized_with(&frame);
        let session = Session {
            client,
            owner: message.principal.id(),
            route: message.route.clone(),
        };
        match self.sessions.begin(session) {
            Some(id) => {
                close_on_drop.keep();
                body.header(SESSION_ID, id)
            }
            None => busy(),
        }
    }

    /// Opens the stream for what belongs to no request, or takes up any that broke off.
    pub(super) fn listen(
        &self,
        principal: &Principal,
        route: &Route,
        headers: &HeaderMap,
    ) -> Reply {
        let Some(id) = headers.get(SESSION_ID) else {
            return reply::wrong_method();
        };
        let Some(session) = self.sessions.find(id, principal, route) else {
            return reply::plain(StatusCode::NOT_FOUND, "there is no such session\n");
        };
        if !takes_events(headers) {
            let what = "the client has to accept text/event-stream\n";
            return reply::plain(StatusCode::NOT_ACCEPTABLE, what);
        }
        let Some(last) = headers.get(LAST_EVENT_ID) else {
            return reply::events(session.client.connection().listen(priming(headers)));
        };
        let resumed = last
            .to_str()
            .ok()
            .and_then(|it| session.client.connection().resume(it));
        resumed.map_or_else(
            || {
                reply::plain(
                    StatusCode::BAD_REQUEST,
                    "the stream is not known any more\n",
                )
            },
            reply::events,
        )
    }

    /// Ends a session.
    pub(super) async fn end(
        &self,
        principal: &Principal,
        route: &Route,
        headers: &HeaderMap,
    ) -> Reply {
        let Some(id) = headers.get(SESSION_ID) else {
            return reply::wrong_method();
        };
        match self.sessions.find(id, principal, route) {
            Some(session) => {
                self.sessions.forget(id);
                session.client.close().await;
                Reply::new(StatusCode::NO_CONTENT)
            }
            None => reply::plain(StatusCode::NOT_FOUND, "there is no such session\n"),
        }
    }
}

impl Sessions {
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Keeps streams alive.
    pub(super) fn run_maintenance(&self) {
        for session in self.all() {
            session.client.connection().streams.run_maintenance();
        }
    }

    /// Ends the streams that belong to no request.
    pub(super) fn stop_streams(&self) {
        for session in self.all() {
            session.client.connection().streams.stop_listening();
        }
    }

    /// Forgets sessions that nobody uses, or may use any more, and returns them.
    pub(super) fn sweep(&self, tokens: &TokenTable) -> Vec<Arc<ClientSession>> {
        self.extract(|session| {
            let is_allowed = session.owner.is_none_or(|owner| tokens.has(owner));
            let client = &session.client;
            !is_allowed || client.is_over() || client.connection().idle_time() >= IDLE_TIME
        })
    }

    /// Forgets the sessions that cannot lead where they should any more, and returns them.
    pub(super) fn drop_stale(&self, servers: &[Arc<ServedServer>]) -> Vec<Arc<ClientSession>> {
        self.extract(|session| session.client.validity(servers) == Validity::Expired)
    }

    /// Returns the sessions that need another connection.
    pub(super) fn to_migrate(&self, servers: &[Arc<ServedServer>]) -> Vec<Arc<ClientSession>> {
        let mut all = self.all();
        all.retain(|session| session.client.validity(servers) == Validity::Reconnect);
        all.iter().map(|it| Arc::clone(&it.client)).collect()
    }

    /// Forgets all sessions, and returns them.
    pub(super) fn take(&self) -> Vec<Arc<ClientSession>> {
        self.extract(|_| true)
    }

    fn extract(&self, which: impl Fn(&Session) -> bool) -> Vec<Arc<ClientSession>> {
        let mut sessions = self.lock();
        let ended = sessions.extract_if(|_, session| which(session));
        ended.map(|(_, it)| Arc::clone(&it.client)).collect()
    }

    fn begin(&self, session: Session) -> Option<HeaderValue> {
        let id = random_token().ok()?;
        let mut value = HeaderValue::from_str(id.expose()).ok()?;
        value.set_sensitive(true);
        let mut sessions = self.lock();
        // Many may have been let in while none of them had begun.
        if !has_capacity(&sessions, session.owner) {
            return None;
        }
        sessions.insert(id.expose().as_str().into(), Arc::new(session));
        Some(value)
    }

    /// Says whether there is a place for one more session of somebody.
    fn may_start(&self, owner: Option<TokenHash>) -> bool {
        has_capacity(&self.lock(), owner)
    }

    fn find(&self, id: &HeaderValue, owner: &Principal, route: &Route) -> Option<Arc<Session>> {
        let session = self.lock().get(id.to_str().ok()?).cloned()?;
        let is_theirs = session.owner == owner.id() && session.route == *route;
        (is_theirs && !session.client.is_over()).then_some(session)
    }

    fn forget(&self, id: &HeaderValue) {
        if let Ok(id) = id.to_str() {
            self.lock().remove(id);
        }
    }

    fn all(&self) -> Vec<Arc<Session>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Our own user may have all places.
fn has_capacity(sessions: &HashMap<Box<str>, Arc<Session>>, owner: Option<TokenHash>) -> bool {
    let of_owner = || sessions.values().filter(|it| it.owner == owner).count();
    sessions.len() < MAX_SESSIONS && (owner.is_none() || of_owner() < MAX_OF_ONE)
}

/// Without the header a client of 2025-03-26 is assumed (2025-11-25, "Protocol Version Header").
fn has_known_version(headers: &HeaderMap) -> bool {
    let sent = headers.get(VERSION);
    sent.is_none_or(|sent| LEGACY.iter().any(|version| sent == version))
}

/// Empty events are known since 2025-11-25.
fn priming(headers: &HeaderMap) -> Priming {
    match headers.get(VERSION) {
        Some(sent) if sent == NEWEST_LEGACY => Priming::Event,
        _ => Priming::None,
    }
}

const MAX_SESSIONS: usize = 4096;
/// So many may one holder have, so that the others have a place.
const MAX_OF_ONE: usize = MAX_SESSIONS / 4;
/// How long a session without a stream is kept.
const IDLE_TIME: Duration = Duration::from_secs(30 * 60);
