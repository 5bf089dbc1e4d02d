//! Clients up to 2025-11-25: a session begins with `initialize` and has one connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use keyway_auth::oauth::random_token;
use keyway_transport::{Envelope, Reply};

use super::Gateway;
use super::capability::Hash;
use super::exchange::{Exchange, GoingAway};
use super::holders::{Holders, Principal};
use super::incoming::{Incoming, asked, prefers_events, takes_events};
use super::reply::{self, INVALID_REQUEST, LAST_EVENT_ID, NO_SESSION, SESSION_ID, VERSION};
use super::room::{Item, Unkept};
use super::roster::{Hold, Served};
use super::routes::Route;
use super::stay::{Guest, Stay};
use super::streams::Priming;
use crate::activity;
use keyway_mcp::eras::names::{LEGACY, NEWEST_LEGACY};

/// The sessions that are open.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<Box<str>, Arc<Session>>>);

/// One client.
#[derive(Debug)]
struct Session {
    stay: Arc<Stay>,
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
        let Some(room) = session.stay.settled(&self.ways).await else {
            return refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended");
        };
        let Some(asked) = asked(envelope, &incoming.headers) else {
            session.stay.heard(envelope);
            let told = room.tell(incoming.frame.clone()).await;
            return match told {
                Ok(()) => Reply::new(StatusCode::ACCEPTED),
                Err(_) => refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended"),
            };
        };
        let items = match room.enter(&asked) {
            Ok(items) => items,
            Err(refused) => return refused.reply(&asked.id),
        };
        let exchange = Exchange::new(room, asked.id, GoingAway::MeansNothing, items)
            .takes_events(asked.takes_events)
            .prefers_events(prefers_events(&incoming.headers))
            .priming(priming(&incoming.headers))
            .noted(incoming.ticket.clone());
        exchange.send(incoming.frame.clone()).await;
        exchange.reply().await
    }

    async fn initialize(&self, incoming: &Incoming, envelope: &Envelope<'_>) -> Reply {
        let busy = || reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions\n");
        let Some(asked) = asked(envelope, &incoming.headers) else {
            return busy();
        };
        if !self.sessions.may_begin(incoming.principal.id()) {
            return busy();
        }
        let guest = Guest::of(incoming);
        let Ok((room, mut items)) = guest.enter(&self.ways, &incoming.frame, &asked).await else {
            return busy();
        };
        // Whoever asked may go away before there is a session.
        let unkept = Unkept::new(Arc::clone(&room));
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
        if let Some(ticket) = &incoming.ticket {
            ticket.end(activity::outcome(&frame, code));
        }
        let body = reply::message(StatusCode::OK, frame.bytes().clone());
        let is_welcome = code.is_none() && frame.envelope().is_ok_and(|it| it.result.is_some());
        if !is_welcome {
            return body;
        }
        let stay = Stay::begin(room, guest, &incoming.frame);
        stay.welcomed(&frame);
        let session = Session {
            stay,
            owner: incoming.principal.id(),
            route: incoming.route.clone(),
        };
        match self.sessions.begin(session) {
            Some(id) => {
                unkept.keep();
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
            return reply::events(session.stay.room().listen(priming(headers)));
        };
        let resumed = last
            .to_str()
            .ok()
            .and_then(|it| session.stay.room().resume(it));
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
                session.stay.close().await;
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
            session.stay.room().streams.tend();
        }
    }

    /// Ends the streams that belong to no request.
    pub(super) fn stop_streams(&self) {
        for session in self.all() {
            session.stay.room().streams.stop_listening();
        }
    }

    /// Forgets sessions that nobody uses, or may use any more, and returns them.
    pub(super) fn sweep(&self, holders: &Holders) -> Vec<Arc<Stay>> {
        self.extract(|session| {
            let is_allowed = session.owner.is_none_or(|owner| holders.has(owner));
            let stay = &session.stay;
            !is_allowed || stay.is_over() || stay.room().idle_time() >= IDLE_TIME
        })
    }

    /// Forgets the sessions that cannot lead where they should any more, and returns them.
    pub(super) fn let_go(&self, servers: &[Arc<Served>]) -> Vec<Arc<Stay>> {
        self.extract(|session| session.stay.hold(servers) == Hold::Ends)
    }

    /// Returns the sessions that need another connection.
    pub(super) fn to_move(&self, servers: &[Arc<Served>]) -> Vec<Arc<Stay>> {
        let mut all = self.all();
        all.retain(|session| session.stay.hold(servers) == Hold::Moves);
        all.iter().map(|it| Arc::clone(&it.stay)).collect()
    }

    /// Forgets all sessions, and returns them.
    pub(super) fn take(&self) -> Vec<Arc<Stay>> {
        self.extract(|_| true)
    }

    fn extract(&self, which: impl Fn(&Session) -> bool) -> Vec<Arc<Stay>> {
        let mut sessions = self.lock();
        let ended = sessions.extract_if(|_, session| which(session));
        ended.map(|(_, it)| Arc::clone(&it.stay)).collect()
    }

    fn begin(&self, session: Session) -> Option<HeaderValue> {
        let id = random_token().ok()?;
        let mut value = HeaderValue::from_str(id.expose()).ok()?;
        value.set_sensitive(true);
        let mut sessions = self.lock();
        // Many may have been let in while none of them had begun.
        if !has_place(&sessions, session.owner) {
            return None;
        }
        sessions.insert(id.expose().as_str().into(), Arc::new(session));
        Some(value)
    }

    /// Says whether there is a place for one more session of somebody.
    fn may_begin(&self, owner: Option<Hash>) -> bool {
        has_place(&self.lock(), owner)
    }

    fn find(&self, id: &HeaderValue, owner: &Principal, route: &Route) -> Option<Arc<Session>> {
        let session = self.lock().get(id.to_str().ok()?).cloned()?;
        let is_theirs = session.owner == owner.id() && session.route == *route;
        (is_theirs && !session.stay.is_over()).then_some(session)
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
fn has_place(sessions: &HashMap<Box<str>, Arc<Session>>, owner: Option<Hash>) -> bool {
    let of_owner = || sessions.values().filter(|it| it.owner == owner).count();
    sessions.len() < MAX_SESSIONS && (owner.is_none() || of_owner() < MAX_OF_ONE)
}

/// Without the header a client of 2025-03-26 is assumed (2025-11-25, "Protocol Version Header").
fn has_known_version(headers: &HeaderMap) -> bool {
    let told = headers.get(VERSION);
    told.is_none_or(|told| LEGACY.iter().any(|version| told == version))
}

/// Empty events are known since 2025-11-25.
fn priming(headers: &HeaderMap) -> Priming {
    match headers.get(VERSION) {
        Some(told) if told == NEWEST_LEGACY => Priming::Event,
        _ => Priming::None,
    }
}

const MAX_SESSIONS: usize = 4096;
/// So many may one holder have, so that the others have a place.
const MAX_OF_ONE: usize = MAX_SESSIONS / 4;
/// How long a session without a stream is kept.
const IDLE_TIME: Duration = Duration::from_secs(30 * 60);
