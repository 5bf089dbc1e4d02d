//! Streamable HTTP as a [`Link`], for all protocol versions since 2025-03-26.
//!
//! Which era a message belongs to is read from the message: since 2026-07-28 every request carries
//! its version and stands alone; before, `initialize` begins a session. Each message is a `POST` of
//! its own, each request a task of its own, and every request ends in exactly one event.

mod exchange;
mod header_value;
mod listen;
mod outgoing;
mod request_metadata;
mod session;
mod tool_headers;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::Method;
use keyway_auth::{Authorizer, BoxFuture};
use keyway_secret::Secret;
use tokio::task::AbortHandle;

pub use self::header_value::decode as read_header_text;
use self::outgoing::{MessageKind, Outgoing};
pub use self::request_metadata::RequestMetadata;
use self::session::Sessions;
pub use self::tool_headers::ToolHeaders;
use crate::authorized_client::{AuthorizedClient, OutboundRequest};
use crate::connection::{Connection, EVENT_QUEUE, Event, EventSender, Link};
use crate::error::TransportError;
use crate::frame::{Frame, RequestId};
use crate::http_client::HttpClient;
use crate::in_flight::InFlight;
use crate::queue::queue;
use crate::send_queue::{MessageClass, SendPermit, SendQueue};
use crate::timeouts::CLOSE_TIMEOUT;

/// Prepares a connection to a server; nothing is sent before the first message.
///
/// # Errors
///
/// Returns [`TransportError::Settings`] or [`TransportError::Forbidden`] if `url` cannot be used.
pub fn connect_http(
    url: &Secret<String>,
    authorizer: Arc<dyn Authorizer>,
    client: &HttpClient,
) -> Result<Connection, TransportError> {
    let url = client.endpoint(url)?;
    let (sender, events) = queue(EVENT_QUEUE);
    let server = AuthorizedClient::for_url(client.clone(), url, authorizer);
    let shared = StreamableShared::new(server, sender);
    let link = Arc::new(StreamableLink(Arc::new(shared)));
    Ok(Connection::new(link, events))
}

/// The sending side; the tasks of its requests share what is inside.
struct StreamableLink(Arc<StreamableShared>);

/// What the tasks of one connection share.
struct StreamableShared {
    server: AuthorizedClient,
    events: EventSender,
    sessions: Sessions,
    tools: ToolHeaders,
    in_flight: InFlight,
    send_queue: SendQueue,
    /// The task of the `GET` stream; held for a look only. The locks of `in_flight` and `sessions`
    /// are taken under it, never the other way round.
    listener: Mutex<Option<AbortHandle>>,
    /// Whether the last request was of 2026-07-28 or later. Acquire and release order it with the
    /// session that `initialize` puts in force, which another task may read next.
    is_modern: AtomicBool,
}

impl Link for StreamableLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.0.accept(frame))
    }

    fn abandon(&self, id: &RequestId) {
        self.0.in_flight.abandon(id);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.close())
    }

    fn end_session(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.end_session())
    }
}

impl Drop for StreamableLink {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl fmt::Debug for StreamableLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StreamableLink")
            .field(&self.0.server.origin())
            .finish()
    }
}

impl StreamableShared {
    fn new(server: AuthorizedClient, events: EventSender) -> Self {
        Self {
            server,
            events,
            sessions: Sessions::default(),
            tools: ToolHeaders::default(),
            in_flight: InFlight::default(),
            send_queue: SendQueue::new(),
            listener: Mutex::new(None),
            is_modern: AtomicBool::new(false),
        }
    }

    /// Starts a task for a message, once it is its turn.
    async fn accept(self: &Arc<Self>, frame: Frame) -> Result<(), TransportError> {
        if self.in_flight.is_closed() {
            return Err(TransportError::Closed);
        }
        let message = Outgoing::read(frame, self.sessions.current().is_some())?;
        if message.routing.is_some() {
            self.is_modern.store(true, Ordering::Release);
        }
        let is_modern = self.is_modern.load(Ordering::Acquire);
        let class = match &message.kind {
            MessageKind::Cancelled(id) if is_modern => {
                // Since 2026-07-28 closing the stream is the cancellation, and all there is.
                if let Some(id) = id {
                    self.in_flight.abandon(id);
                }
                return Ok(());
            }
            MessageKind::Initialize(_) => {
                self.is_modern.store(false, Ordering::Release);
                MessageClass::HandshakeRequest
            }
            MessageKind::Initialized => MessageClass::HandshakeNotification,
            MessageKind::Request { .. } => MessageClass::Request,
            MessageKind::Cancelled(_) | MessageKind::Notification => MessageClass::Notification,
            MessageKind::Response => MessageClass::Response,
        };
        let turn = self.send_queue.wait(class).await?;
        match message.id().cloned() {
            Some(id) => self.start_request(message, id, turn),
            None => {
                let shared = Arc::clone(self);
                drop(tokio::spawn(async move {
                    shared.post_notification(&message).await;
                    drop(turn);
                }));
                Ok(())
            }
        }
    }

    fn start_request(
        self: &Arc<Self>,
        message: Outgoing,
        id: RequestId,
        turn: SendPermit,
    ) -> Result<(), TransportError> {
        let shared = Arc::clone(self);
        let task_id = id.clone();
        let exchange = async move {
            shared.exchange(&message, &task_id).await;
            drop(turn);
        };
        self.in_flight
            .begin(id, || tokio::spawn(exchange).abort_handle())
    }

    fn stop(&self) -> Vec<RequestId> {
        // In this order, so that `listen` does not begin again in between.
        let ended = self.in_flight.close();
        self.stop_listening();
        ended
    }

    fn stop_listening(&self) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = listener.take() {
            task.abort();
        }
    }

    async fn close(&self) {
        // The reader may be the task that closes, so nothing here waits for it.
        for id in self.stop() {
            let error = TransportError::Closed;
            drop(self.events.try_send(Event::Failed { id, error }));
        }
        self.end_session().await;
        drop(self.events.try_send(Event::Closed(None)));
    }

    /// Tells the server that the session is over; the next request begins another.
    async fn end_session(&self) {
        let session = self.sessions.current().filter(|session| session.end());
        // The stream would reconnect, and ask for a sign-in that the person does not want. After the session has ended,
        // so that `listen` does not begin again in between.
        self.stop_listening();
        let Some(session) = session else {
            return;
        };
        if session.id.is_none() {
            return;
        }
        let call = OutboundRequest {
            method: Method::DELETE,
            url: self.server.url(),
            headers: &session.headers(),
            body: Bytes::new(),
            is_idempotent: false,
            is_opening: false,
        };
        // A server that does not end sessions says 405, or nothing.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, self.server.call_once(&call)).await);
    }
}
