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
use super::client_message::{ClientMessage, asked, takes_events};
use super::client_session::{ClientSession, SessionOwner};
use super::closing_tasks::ClosingTasks;
use super::gateway_token::TokenHash;
use super::principal::{Principal, TokenTable};
use super::reply::{self, INVALID_REQUEST, METHOD_NOT_FOUND, NO_SESSION, PARSE_ERROR};
use super::routes::{self, Route};
use super::served_servers::{ServedServer, Validity};
use super::upstream_connection::{CloseOnDrop, Delivery, UpstreamConnection};
use crate::activity::RequestRecorder;

/// The streams that are open.
#[derive(Debug, Default)]
pub(super) struct SseSessions(Mutex<HashMap<Box<str>, Arc<SseSession>>>);

/// One client.
#[derive(Debug)]
struct SseSession {
    out: mpsc::Sender<Bytes>,
    /// Begun by the first message.
    client: OnceCell<Arc<ClientSession>>,
    /// Held by whoever opens the room, or still has an answer to write.
    busy: Arc<()>,
    owner: Option<TokenHash>,
    route: Route,
    begun: Instant,
}

impl Gateway {
    /// Returns where a path of an old client leads.
    pub(super) fn sse_route(&self, path: &str, principal: &Principal) -> Option<Route> {
        let path = path.strip_suffix("/sse")?;
        routes::find(path, &self.servers(), principal).ok()
    }

    /// Serves an old client: a stream, or a message to be answered on one.
    pub(super) async fn sse(&self, request: Inbound, principal: Principal, route: Route) -> Reply {
        match request.method {
            Method::GET => self.open_stream(&request, &principal, route),
            Method::POST => {
                let Some(id) = session_id(request.uri.query()) else {
                    // A newer client that tries the newer transport first.
                    return reply::wrong_method();
                };
                let Some(session) = self.sse_sessions.find(id, &principal, &route) else {
                    let what = "there is no such session\n";
                    return reply::plain(StatusCode::NOT_FOUND, what);
                };
                match ClientMessage::read(request, principal, route).await {
                    Ok(message) => self.posted(message, session).await,
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
        let session = SseSession {
            out: out.clone(),
            client: OnceCell::new(),
            busy: Arc::default(),
            owner: principal.id(),
            route,
            begun: Instant::now(),
        };
        let Some(id) = self.sse_sessions.begin(session) else {
            return reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions\n");
        };
        let path = request.uri.path();
        let first = format!("event: endpoint\ndata: {path}?{SESSION_ID}={id}\n\n");
        drop(out.try_send(first.into()));
        reply::events(pieces)
    }

    async fn posted(&self, mut message: ClientMessage, session: Arc<SseSession>) -> Reply {
        let frame = message.frame.clone();
        let Ok(envelope) = frame.envelope() else {
            let error = reply::fault(PARSE_ERROR, "not a JSON-RPC message");
            return reply::error(StatusCode::BAD_REQUEST, None, &error);
        };
        let id = envelope.id();
        let refuse =
            |status, code, what: &str| reply::error(status, id.as_ref(), &reply::fault(code, what));
        message.recorder = self.begin(&message, &envelope);
        let Some(client) = session.client.get() else {
            return match envelope.method.as_deref() {
                Some("initialize") if id.is_some() => {
                    self.open_upstream(message, &envelope, &session).await
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
        let Some(connection) = client.reconnect_if_needed(&self.router).await else {
            return refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended");
        };
        let Some(mut asked) = asked(&envelope, &message.headers) else {
            client.observe_notification(&envelope);
            return match connection.send_notification(frame.clone()).await {
                Ok(()) => Reply::new(StatusCode::ACCEPTED),
                Err(_) => refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended"),
            };
        };
        // Everything comes on the one stream.
        asked.takes_events = false;
        let deliveries = match connection.register(&asked) {
            Ok(deliveries) => deliveries,
            Err(refused) => return refused.reply(&asked.id),
        };
        let busy = Arc::clone(&session.busy);
        drop(tokio::spawn(pass_on(
            deliveries,
            Arc::clone(&connection),
            message.recorder,
            busy,
        )));
        connection.send_request(frame.clone(), &asked.id).await;
        Reply::new(StatusCode::ACCEPTED)
    }

    /// Connects to the server, which is told of the client by its first message.
    async fn open_upstream(
        &self,
        message: ClientMessage,
        envelope: &Envelope<'_>,
        session: &Arc<SseSession>,
    ) -> Reply {
        let Some(mut asked) = asked(envelope, &message.headers) else {
            return reply::wrong_method();
        };
        asked.takes_events = false;
        let busy = Arc::clone(&session.busy);
        let owner = SessionOwner::of(&message);
        let Ok((connection, deliveries)) = owner
            .open_connection(&self.router, &message.frame, &asked)
            .await
        else {
            return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
        };
        let close_on_drop = CloseOnDrop::new(Arc::clone(&connection));
        let client = ClientSession::start(Arc::clone(&connection), owner, &message.frame);
        if session.client.set(Arc::clone(&client)).is_err() {
            // Two of them at once.
            return reply::plain(StatusCode::BAD_REQUEST, "the session has begun\n");
        }
        if !self.sse_sessions.has(session) {
            // It ended meanwhile, and whoever ended it saw no room.
            return reply::plain(StatusCode::NOT_FOUND, "the session has ended\n");
        }
        close_on_drop.keep();
        connection.streams.attach(session.out.clone());
        let recorder = message.recorder;
        drop(tokio::spawn(async move {
            if let Some(result) = pass_on(deliveries, connection, recorder, busy).await {
                client.initialized_with(&result);
            }
        }));
        Reply::new(StatusCode::ACCEPTED)
    }
}

/// Writes the answer of a request to the stream, and returns it; of the request nothing is kept.
async fn pass_on(
    mut deliveries: mpsc::Receiver<Delivery>,
    connection: Arc<UpstreamConnection>,
    recorder: Option<Arc<RequestRecorder>>,
    _busy: Arc<()>,
) -> Option<Frame> {
    while let Some(item) = deliveries.recv().await {
        match item {
            Delivery::Interim(frame) => connection.streams.note(&frame).await,
            Delivery::Response(frame, code) => {
                if let Some(recorder) = &recorder {
                    connection.note(recorder, &frame, code);
                }
                connection.streams.note(&frame).await;
                return Some(frame);
            }
        }
    }
    None
}

impl SseSessions {
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Keeps streams alive.
    pub(super) fn run_maintenance(&self) {
        for session in self.lock().values() {
            drop(session.out.try_send(reply::STILL_HERE));
        }
    }

    /// Forgets sessions whose stream has ended, that were never begun, or that nobody may use any
    /// more, and returns their stays.
    pub(super) fn sweep(&self, tokens: &TokenTable) -> Vec<Arc<ClientSession>> {
        let mut sessions = self.lock();
        let ended = sessions.extract_if(|_, session| {
            let is_allowed = session.owner.is_none_or(|owner| tokens.has(owner));
            !is_allowed || session.is_over()
        });
        ended
            .filter_map(|(_, session)| session.client.get().cloned())
            .collect()
    }

    /// Ends the sessions that cannot lead where they should any more, after the calls under way.
    pub(super) fn drop_stale(&self, servers: &[Arc<ServedServer>], closing: &ClosingTasks) {
        let is_wrong = |session: &SseSession| {
            let client = session.client.get();
            client.is_some_and(|client| client.validity(servers) == Validity::Expired)
        };
        self.finish(closing, is_wrong);
    }

    /// Returns the sessions that need another connection.
    pub(super) fn to_migrate(&self, servers: &[Arc<ServedServer>]) -> Vec<Arc<ClientSession>> {
        let sessions = self.lock();
        let clients = sessions.values().filter_map(|it| it.client.get());
        let moving = clients.filter(|client| client.validity(servers) == Validity::Reconnect);
        moving.cloned().collect()
    }

    /// Ends all sessions after the calls under way.
    pub(super) fn stop(&self, closing: &ClosingTasks) {
        self.finish(closing, |_| true);
    }

    fn finish(&self, closing: &ClosingTasks, which: impl Fn(&SseSession) -> bool) {
        let mut sessions = self.lock();
        for (_, session) in sessions.extract_if(|_, session| which(session)) {
            closing.spawn(finish(session));
        }
    }

    fn begin(&self, session: SseSession) -> Option<String> {
        let id = random_token().ok()?;
        let mut sessions = self.lock();
        let is_same = |it: &&Arc<SseSession>| it.owner == session.owner;
        let of_owner = || sessions.values().filter(is_same).count();
        // Our own user may have all places.
        let is_one_too_many = session.owner.is_some() && of_owner() >= MAX_OF_ONE;
        if sessions.len() >= MAX_SESSIONS || is_one_too_many {
            return None;
        }
        sessions.insert(id.expose().as_str().into(), Arc::new(session));
        Some(id.expose().clone())
    }

    fn find(&self, id: &str, owner: &Principal, route: &Route) -> Option<Arc<SseSession>> {
        let session = self.lock().get(id).cloned()?;
        let is_theirs = session.owner == owner.id() && session.route == *route;
        (is_theirs && !session.is_over()).then_some(session)
    }

    /// Says whether a session is still one of them.
    fn has(&self, session: &Arc<SseSession>) -> bool {
        self.lock().values().any(|it| Arc::ptr_eq(it, session))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<SseSession>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SseSession {
    fn is_over(&self) -> bool {
        self.out.is_closed()
            || match self.client.get() {
                Some(client) => client.is_over(),
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
        if let Some(client) = self.client.get() {
            client.close().await;
        }
    }
}

/// Ends a session that nobody finds any more, once the calls under way have their answers.
async fn finish(session: Arc<SseSession>) {
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
