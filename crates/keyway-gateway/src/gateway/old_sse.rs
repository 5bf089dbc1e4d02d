//! Clients of 2024-11-05: one stream brings everything, and its first event says where to post to.
//!
//! A session begins with its stream and ends with it. The address to post to holds an id that
//! cannot be guessed, and opens nothing to anybody but the holder who opened the stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use keyway_auth::oauth::random_token;
use keyway_transport::{Envelope, Frame, Inbound, Reply, RequestId};
use tokio::sync::{OnceCell, mpsc};
use tokio::time::{Instant, sleep};

use super::Gateway;
use super::capability::Hash;
use super::closing::Closings;
use super::holders::{Holders, Principal};
use super::incoming::{Incoming, asked, takes_events};
use super::reply::{self, INVALID_REQUEST, METHOD_NOT_FOUND, NO_SESSION, PARSE_ERROR};
use super::room::{Item, Room, Unkept};
use super::roster::{Hold, Served};
use super::routes::{self, Route};
use super::stay::{Guest, Stay};
use crate::activity::Ticket;

/// The streams that are open.
#[derive(Debug, Default)]
pub(super) struct OldSessions(Mutex<HashMap<Box<str>, Arc<OldSession>>>);

/// One client.
#[derive(Debug)]
struct OldSession {
    out: mpsc::Sender<Bytes>,
    /// Begun by the first message.
    stay: OnceCell<Arc<Stay>>,
    /// Held by whoever opens the room, or still has an answer to write.
    busy: Arc<()>,
    owner: Option<Hash>,
    route: Route,
    begun: Instant,
}

impl Gateway {
    /// Returns where a path of an old client leads.
    pub(super) fn old_route(&self, path: &str, principal: &Principal) -> Option<Route> {
        let path = path.strip_suffix("/sse")?;
        routes::find(path, &self.servers(), principal).ok()
    }

    /// Serves an old client: a stream, or a message to be answered on one.
    pub(super) async fn old(&self, request: Inbound, principal: Principal, route: Route) -> Reply {
        match request.method {
            Method::GET => self.open_stream(&request, &principal, route),
            Method::POST => {
                let Some(id) = session_id(request.uri.query()) else {
                    // A newer client that tries the newer transport first.
                    return reply::wrong_method();
                };
                let Some(session) = self.old_sessions.find(id, &principal, &route) else {
                    let what = "there is no such session\n";
                    return reply::plain(StatusCode::NOT_FOUND, what);
                };
                match Incoming::read(request, principal, route).await {
                    Ok(incoming) => self.posted(incoming, session).await,
                    Err(refusal) => refusal,
                }
            }
            _ => reply::wrong_method(),
        }
    }

    fn open_stream(&self, request: &Inbound, principal: &Principal, route: Route) -> Reply {
        if !takes_events(&request.headers) {
            let what = "the client has to accept text/event-stream\n";
            return reply::plain(StatusCode::NOT_ACCEPTABLE, what);
        }
        let (out, pieces) = mpsc::channel(QUEUE);
        let session = OldSession {
            out: out.clone(),
            stay: OnceCell::new(),
            busy: Arc::default(),
            owner: principal.id(),
            route,
            begun: Instant::now(),
        };
        let Some(id) = self.old_sessions.begin(session) else {
            return reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions\n");
        };
        let path = request.uri.path();
        let first = format!("event: endpoint\ndata: {path}?{SESSION_ID}={id}\n\n");
        drop(out.try_send(first.into()));
        reply::events(pieces)
    }

    async fn posted(&self, mut incoming: Incoming, session: Arc<OldSession>) -> Reply {
        let frame = incoming.frame.clone();
        let Ok(envelope) = frame.envelope() else {
            let error = reply::fault(PARSE_ERROR, "not a JSON-RPC message");
            return reply::error(StatusCode::BAD_REQUEST, None, &error);
        };
        let id = envelope.id();
        let refuse =
            |status, code, what: &str| reply::error(status, id.as_ref(), &reply::fault(code, what));
        incoming.ticket = self.begin(&incoming, &envelope);
        let Some(stay) = session.stay.get() else {
            return match envelope.method.as_deref() {
                Some("initialize") if id.is_some() => {
                    self.open_room(incoming, &envelope, &session).await
                }
                // A newer client asks which era is spoken here before it begins.
                Some("server/discover") if id.is_some() => {
                    session.refuse(id.as_ref(), "a session begins with `initialize`");
                    Reply::new(StatusCode::ACCEPTED)
                }
                _ => refuse(
                    StatusCode::BAD_REQUEST,
                    INVALID_REQUEST,
                    "a session begins with `initialize`",
                ),
            };
        };
        let Some(room) = stay.settled(&self.ways).await else {
            return refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended");
        };
        let Some(mut asked) = asked(&envelope, &incoming.headers) else {
            stay.heard(&envelope);
            return match room.tell(frame.clone()).await {
                Ok(()) => Reply::new(StatusCode::ACCEPTED),
                Err(_) => refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended"),
            };
        };
        // Everything comes on the one stream.
        asked.takes_events = false;
        let items = match room.enter(&asked) {
            Ok(items) => items,
            Err(refused) => return refused.reply(&asked.id),
        };
        let busy = Arc::clone(&session.busy);
        drop(tokio::spawn(pass_on(
            items,
            Arc::clone(&room),
            incoming.ticket,
            busy,
        )));
        room.ask(frame.clone(), &asked.id).await;
        Reply::new(StatusCode::ACCEPTED)
    }

    /// Connects to the server, which is told of the client by its first message.
    async fn open_room(
        &self,
        incoming: Incoming,
        envelope: &Envelope<'_>,
        session: &Arc<OldSession>,
    ) -> Reply {
        let Some(mut asked) = asked(envelope, &incoming.headers) else {
            return reply::wrong_method();
        };
        asked.takes_events = false;
        let busy = Arc::clone(&session.busy);
        let guest = Guest::of(&incoming);
        let Ok((room, items)) = guest.enter(&self.ways, &incoming.frame, &asked).await else {
            return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
        };
        let unkept = Unkept::new(Arc::clone(&room));
        let stay = Stay::begin(Arc::clone(&room), guest, &incoming.frame);
        if session.stay.set(Arc::clone(&stay)).is_err() {
            // Two of them at once.
            return reply::plain(StatusCode::BAD_REQUEST, "the session has begun\n");
        }
        if !self.old_sessions.has(session) {
            // It ended meanwhile, and whoever ended it saw no room.
            return reply::plain(StatusCode::NOT_FOUND, "the session has ended\n");
        }
        unkept.keep();
        room.streams.attach(session.out.clone());
        let ticket = incoming.ticket;
        drop(tokio::spawn(async move {
            if let Some(welcome) = pass_on(items, room, ticket, busy).await {
                stay.welcomed(&welcome);
            }
        }));
        Reply::new(StatusCode::ACCEPTED)
    }
}

/// Writes the answer of a request to the stream, and returns it; of the request nothing is kept.
async fn pass_on(
    mut items: mpsc::Receiver<Item>,
    room: Arc<Room>,
    ticket: Option<Arc<Ticket>>,
    _busy: Arc<()>,
) -> Option<Frame> {
    while let Some(item) = items.recv().await {
        match item {
            Item::Note(frame) => room.streams.note(&frame).await,
            Item::Answer(frame, code) => {
                if let Some(ticket) = &ticket {
                    room.note(ticket, &frame, code);
                }
                room.streams.note(&frame).await;
                return Some(frame);
            }
        }
    }
    None
}

impl OldSessions {
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Keeps streams alive.
    pub(super) fn tend(&self) {
        for session in self.lock().values() {
            drop(session.out.try_send(reply::STILL_HERE));
        }
    }

    /// Forgets sessions whose stream has ended, that were never begun, or that nobody may use any
    /// more, and returns their stays.
    pub(super) fn sweep(&self, holders: &Holders) -> Vec<Arc<Stay>> {
        let mut sessions = self.lock();
        let ended = sessions.extract_if(|_, session| {
            let is_allowed = session.owner.is_none_or(|owner| holders.has(owner));
            !is_allowed || session.is_over()
        });
        ended
            .filter_map(|(_, session)| session.stay.get().cloned())
            .collect()
    }

    /// Ends the sessions that cannot lead where they should any more, after the calls under way.
    pub(super) fn let_go(&self, servers: &[Arc<Served>], closings: &Closings) {
        let is_wrong = |session: &OldSession| {
            let stay = session.stay.get();
            stay.is_some_and(|stay| stay.hold(servers) == Hold::Ends)
        };
        self.finish(closings, is_wrong);
    }

    /// Returns the sessions that need another connection.
    pub(super) fn to_move(&self, servers: &[Arc<Served>]) -> Vec<Arc<Stay>> {
        let sessions = self.lock();
        let stays = sessions.values().filter_map(|it| it.stay.get());
        let moving = stays.filter(|stay| stay.hold(servers) == Hold::Moves);
        moving.cloned().collect()
    }

    /// Ends all sessions after the calls under way.
    pub(super) fn stop(&self, closings: &Closings) {
        self.finish(closings, |_| true);
    }

    fn finish(&self, closings: &Closings, which: impl Fn(&OldSession) -> bool) {
        let mut sessions = self.lock();
        for (_, session) in sessions.extract_if(|_, session| which(session)) {
            closings.begin(finish(session));
        }
    }

    fn begin(&self, session: OldSession) -> Option<String> {
        let id = random_token().ok()?;
        let mut sessions = self.lock();
        let is_same = |it: &&Arc<OldSession>| it.owner == session.owner;
        let of_owner = || sessions.values().filter(is_same).count();
        // Our own user may have all places.
        let is_one_too_many = session.owner.is_some() && of_owner() >= MAX_OF_ONE;
        if sessions.len() >= MAX_SESSIONS || is_one_too_many {
            return None;
        }
        sessions.insert(id.expose().as_str().into(), Arc::new(session));
        Some(id.expose().clone())
    }

    fn find(&self, id: &str, owner: &Principal, route: &Route) -> Option<Arc<OldSession>> {
        let session = self.lock().get(id).cloned()?;
        let is_theirs = session.owner == owner.id() && session.route == *route;
        (is_theirs && !session.is_over()).then_some(session)
    }

    /// Says whether a session is still one of them.
    fn has(&self, session: &Arc<OldSession>) -> bool {
        self.lock().values().any(|it| Arc::ptr_eq(it, session))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<OldSession>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OldSession {
    fn is_over(&self) -> bool {
        self.out.is_closed()
            || match self.stay.get() {
                Some(stay) => stay.is_over(),
                None => !self.is_busy() && self.begun.elapsed() > BEGIN_TIME,
            }
    }

    /// Says whether its room is being opened, or an answer is still to come.
    fn is_busy(&self) -> bool {
        Arc::strong_count(&self.busy) > 1
    }

    /// Tells the client on its stream that a method is not known.
    fn refuse(&self, id: Option<&RequestId>, what: &str) {
        let error = reply::fault(METHOD_NOT_FOUND, what);
        let id = id.map_or("null", RequestId::as_json);
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        if let Ok(frame) = Frame::new(text) {
            drop(self.out.try_send(reply::event(&frame, None)));
        }
    }

    async fn close(&self) {
        if let Some(stay) = self.stay.get() {
            stay.close().await;
        }
    }
}

/// Ends a session that nobody finds any more, once the calls under way have their answers.
async fn finish(session: Arc<OldSession>) {
    let deadline = Instant::now() + GRACE;
    while session.is_busy() && Instant::now() < deadline {
        sleep(PAUSE).await;
    }
    session.close().await;
}

fn session_id(query: Option<&str>) -> Option<&str> {
    let mut pairs = query?.split('&');
    pairs.find_map(|pair| pair.strip_prefix(SESSION_ID)?.strip_prefix('='))
}

const SESSION_ID: &str = "sessionId";
const MAX_SESSIONS: usize = 1024;
/// So many may one holder have, so that the others have a place.
const MAX_OF_ONE: usize = MAX_SESSIONS / 4;
/// How much may wait for a client that reads slowly.
const QUEUE: usize = 64;
/// How long a stream may be open before its session begins.
const BEGIN_TIME: Duration = Duration::from_secs(30);
/// How long calls under way may take when everything else has ended.
const GRACE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
