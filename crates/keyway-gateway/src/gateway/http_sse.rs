//! Clients of 2024-11-05 (HTTP+SSE): one stream carries every message of the server, and its first
//! event names the address to post to.
//!
//! A session is its stream, and ends with it. The address holds an id that cannot be guessed, and
//! opens nothing to another principal than the one that opened the stream.

use std::sync::Arc;

use http::{Method, StatusCode};
use keyway_secret::random;
use keyway_transport::{Envelope, Frame, Inbound, Reply};
use tokio::sync::mpsc;

use super::Gateway;
use super::admission;
use super::client_message::{ClientMessage, asked, takes_events};
use super::client_session::{ClientSession, SessionOwner};
use super::limits::Permits;
use super::principal::Principal;
use super::reply::{self, NO_SESSION};
use super::routes::{self, Route};
use super::session_store::SessionKind;
use super::sse_stream::SseStream;
use super::upstream_connection::{CloseOnDrop, Delivery, UpstreamConnection};
use keyway_dashboard::activity::RequestRecorder;
use keyway_mcp::jsonrpc::{self, INVALID_REQUEST, PARSE_ERROR};

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
                let Some(stream) = self.sessions.sse(id, &principal, &route) else {
                    let what = "there is no such session\n";
                    return reply::plain(StatusCode::NOT_FOUND, what);
                };
                match ClientMessage::read(request, (principal, route), &self.shares).await {
                    Ok(message) => self.posted(message, stream).await,
                    Err(refusal) => refusal,
                }
            }
            _ => reply::wrong_method(),
        }
    }

    fn open_stream(&self, request: &Inbound, principal: &Principal, route: Route) -> Reply {
        if !takes_events(&request.headers) {
            let what = "the client must accept text/event-stream\n";
            return reply::plain(StatusCode::NOT_ACCEPTABLE, what);
        }
        let (out, pieces) = mpsc::channel(QUEUE);
        let stream = Arc::new(SseStream::new(out.clone()));
        let id = random::token().ok();
        let Some(id) = self.sessions.insert(
            id,
            (principal, route),
            SessionKind::Sse(stream),
            &self.router.closing,
        ) else {
            return reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions\n");
        };
        let (path, id) = (request.uri.path(), id.expose());
        let first = format!("event: endpoint\ndata: {path}?{SESSION_ID}={id}\n\n");
        drop(out.try_send(first.into()));
        reply::events(pieces)
    }

    async fn posted(&self, mut message: ClientMessage, stream: Arc<SseStream>) -> Reply {
        let frame = message.frame.clone();
        let Ok(envelope) = frame.envelope() else {
            let error = jsonrpc::error_object(PARSE_ERROR, "not a JSON-RPC message");
            return reply::error(StatusCode::BAD_REQUEST, None, &error);
        };
        let id = envelope.id();
        let refuse = |status, code, what: &str| reply::refusal(status, id.as_ref(), code, what);
        if admission::lacks_id(&envelope) {
            return refuse(
                StatusCode::BAD_REQUEST,
                INVALID_REQUEST,
                admission::LACKS_ID,
            );
        }
        message.permits = match self.admit(&message, &envelope) {
            Ok(permits) => Some(permits),
            Err(refused) => return refused.reply(id.as_ref()),
        };
        message.recorder = self.begin(&message, &envelope);
        let Some(client) = stream.client.get() else {
            return match envelope.method.as_deref() {
                Some("initialize") if id.is_some() => {
                    self.open_upstream(message, &envelope, &stream).await
                }
                // A newer client asks which era is spoken here before it begins.
                Some("server/discover") if id.is_some() => {
                    stream.refuse(id.as_ref(), "a session begins with `initialize`");
                    Reply::new(StatusCode::ACCEPTED)
                }
                _ => refuse(
                    StatusCode::BAD_REQUEST,
                    INVALID_REQUEST,
                    "a session begins with `initialize`",
                ),
            };
        };
        let Some(connection) = client.connection_for(&self.router, &envelope).await else {
            return refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended");
        };
        let Some(mut asked) = asked(&envelope, &message.headers) else {
            let connection = client.observe_notification(&envelope, connection);
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
        let busy = stream.busy();
        drop(tokio::spawn(pass_on(
            deliveries,
            Arc::clone(&connection),
            message.recorder,
            (busy, message.permits),
        )));
        // Aside: a client that does not wait for the answer to its post must not leave a request
        // behind that was never sent, and gets no answer.
        let frame = frame.clone();
        let sending = tokio::spawn(async move { connection.send_request(frame, &asked.id).await });
        let _panicked = sending.await;
        Reply::new(StatusCode::ACCEPTED)
    }

    /// Connects to the server, which is told of the client by its first message.
    async fn open_upstream(
        &self,
        message: ClientMessage,
        envelope: &Envelope<'_>,
        stream: &Arc<SseStream>,
    ) -> Reply {
        let Some(mut asked) = asked(envelope, &message.headers) else {
            return reply::wrong_method();
        };
        asked.takes_events = false;
        let busy = stream.busy();
        let owner = SessionOwner::of(&message.principal, &message.route);
        let Ok((connection, deliveries)) = owner
            .open_connection(&self.router, &message.frame, &asked)
            .await
        else {
            return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
        };
        let close_on_drop = CloseOnDrop::new(Arc::clone(&connection));
        let client = ClientSession::start(Arc::clone(&connection), owner, &message.frame);
        if stream.client.set(Arc::clone(&client)).is_err() {
            // Another `initialize` was faster.
            return reply::plain(StatusCode::BAD_REQUEST, "the session has begun\n");
        }
        if !self.sessions.has_stream(stream) {
            // It was taken out meanwhile, by a task that saw no client to close.
            return reply::plain(StatusCode::NOT_FOUND, "the session has ended\n");
        }
        close_on_drop.keep();
        connection.streams.attach(stream.events.clone());
        let (recorder, held) = (message.recorder, (busy, message.permits));
        drop(tokio::spawn(async move {
            if let Some(result) = pass_on(deliveries, connection, recorder, held).await {
                client.initialized_with(&result);
            }
        }));
        Reply::new(StatusCode::ACCEPTED)
    }
}

/// Writes the answer of a request to the stream, and returns it; of the request nothing is kept but what
/// it holds until then.
async fn pass_on(
    mut deliveries: mpsc::Receiver<Delivery>,
    connection: Arc<UpstreamConnection>,
    recorder: Option<Arc<RequestRecorder>>,
    _held: (Arc<()>, Option<Arc<Permits>>),
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

fn session_id(query: Option<&str>) -> Option<&str> {
    let mut pairs = query?.split('&');
    pairs.find_map(|pair| pair.strip_prefix(SESSION_ID)?.strip_prefix('='))
}

const SESSION_ID: &str = "sessionId";
/// How many events may wait for a client that reads slowly.
const QUEUE: usize = 64;
