//! Clients up to 2025-11-25: a session begins with `initialize` and has one connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use keyway_auth::oauth::random_token;
use keyway_transport::{Envelope, Reply};

use super::capability::Hash;
use super::exchange::{Exchange, GoingAway};
use super::holders::{Holders, Principal};
use super::reply::{self, INVALID_REQUEST, NO_SESSION, SESSION_ID, VERSION};
use super::room::{Item, Room};
use super::routes::Route;
use super::{Gateway, Incoming, asked, takes_events};
use crate::eras::{Spoken, names::LEGACY};

/// The sessions that are open.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<Box<str>, Arc<Session>>>);

/// One client.
#[derive(Debug)]
struct Session {
    room: Arc<Room>,
    /// Whose it is; nobody else may use it, even who knows its id.
    owner: Option<Hash>,
    route: Route,
}

impl Gateway {
    /// Serves a message of a legacy client.
    pub(super) async fn legacy(&self, incoming: &Incoming, envelope: &Envelope<'_>) -> Reply {
        let id = envelope.id();
        let refuse =
            |status, code, what: &str| reply::error(status, id.as_ref(), &reply::fault(code, what));
        let Some(session_id) = incoming.headers.get(SESSION_ID) else {
            return match envelope.method.as_deref() {
                Some("initialize") if id.is_some() => self.initialize(incoming, envelope).await,
                _ => refuse(
                    StatusCode::BAD_REQUEST,
                    INVALID_REQUEST,
                    "a session begins with `initialize`, and its id has to be sent along",
                ),
            };
        };
        if !has_known_version(&incoming.headers) {
            let what = "unknown MCP-Protocol-Version";
            return refuse(StatusCode::BAD_REQUEST, INVALID_REQUEST, what);
        }
        let session = self
            .sessions
            .find(session_id, &incoming.principal, &incoming.route);
        let Some(session) = session else {
            return refuse(
                StatusCode::NOT_FOUND,
                NO_SESSION,
                "there is no such session",
            );
        };
        let Some(asked) = asked(envelope, &incoming.headers) else {
            let told = session.room.tell(incoming.frame.clone()).await;
            return match told {
                Ok(()) => Reply::new(StatusCode::ACCEPTED),
                Err(_) => refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended"),
            };
        };
        let Some(items) = session.room.enter(&asked) else {
            let what = "a request with this id or progress token is under way";
            return refuse(StatusCode::BAD_REQUEST, INVALID_REQUEST, what);
        };
        let room = Arc::clone(&session.room);
        let exchange = Exchange::new(room, asked.id, GoingAway::MeansNothing, items)
            .takes_events(asked.takes_events);
        exchange.send(incoming.frame.clone()).await;
        exchange.reply().await
    }

    async fn initialize(&self, incoming: &Incoming, envelope: &Envelope<'_>) -> Reply {
        let busy = || reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions\n");
        let Some(asked) = asked(envelope, &incoming.headers) else {
            return busy();
        };
        if self.sessions.count() >= MAX_SESSIONS {
            return busy();
        }
        let connection = self.connect(&incoming.route).await;
        let frame = incoming.frame.clone();
        let opened = Room::open(connection, frame, Spoken::Legacy, &asked).await;
        let Ok((room, mut items)) = opened else {
            return busy();
        };
        // Nothing that a server says before has to be known before the session is.
        let answer = loop {
            match items.recv().await {
                Some(Item::Note(_)) => {}
                Some(Item::Answer(frame, code)) => break Some((frame, code)),
                None => break None,
            }
        };
        let Some((frame, code)) = answer else {
            return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
        };
        let body = reply::message(StatusCode::OK, frame.bytes().clone());
        let is_welcome = code.is_none() && frame.envelope().is_ok_and(|it| it.result.is_some());
        if !is_welcome {
            room.close().await;
            return body;
        }
        let owner = incoming.principal.id();
        let route = incoming.route.clone();
        match self.sessions.begin(Session { room, owner, route }) {
            Some(id) => body.header(SESSION_ID, id),
            None => busy(),
        }
    }

    /// Opens the stream for what belongs to no request.
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
        reply::events(session.room.listen())
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
                session.room.close().await;
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
    pub(super) fn tend(&self) {
        for session in self.all() {
            session.room.tend();
        }
    }

    /// Ends the streams that belong to no request.
    pub(super) fn stop_streams(&self) {
        for session in self.all() {
            session.room.stop_listening();
        }
    }

    /// Ends sessions that nobody uses, or may use any more.
    pub(super) async fn sweep(&self, holders: &Holders) {
        let mut ended = Vec::new();
        self.lock().retain(|_, session| {
            let is_allowed = session.owner.is_none_or(|owner| holders.has(owner));
            let room = &session.room;
            let stays = is_allowed && !room.is_over() && room.idle_time() < IDLE_TIME;
            if !stays {
                ended.push(Arc::clone(session));
            }
            stays
        });
        for session in ended {
            session.room.close().await;
        }
    }

    pub(super) async fn close(&self) {
        for session in self.all() {
            session.room.close().await;
        }
        self.lock().clear();
    }

    fn begin(&self, session: Session) -> Option<HeaderValue> {
        let id = random_token().ok()?;
        let mut value = HeaderValue::from_str(id.expose()).ok()?;
        value.set_sensitive(true);
        self.lock()
            .insert(id.expose().as_str().into(), Arc::new(session));
        Some(value)
    }

    fn find(&self, id: &HeaderValue, owner: &Principal, route: &Route) -> Option<Arc<Session>> {
        let session = self.lock().get(id.to_str().ok()?).cloned()?;
        let is_theirs = session.owner == owner.id() && session.route == *route;
        (is_theirs && !session.room.is_over()).then_some(session)
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

/// Without the header a client of 2025-03-26 is assumed (2025-11-25, "Protocol Version Header").
fn has_known_version(headers: &HeaderMap) -> bool {
    let told = headers.get(VERSION);
    told.is_none_or(|told| LEGACY.iter().any(|version| told == version))
}

const MAX_SESSIONS: usize = 4096;
/// How long a session without a stream is kept.
const IDLE_TIME: Duration = Duration::from_secs(30 * 60);
