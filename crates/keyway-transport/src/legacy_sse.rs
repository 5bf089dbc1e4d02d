//! HTTP with SSE, the transport of protocol version 2024-11-05.
//!
//! One stream brings everything that the server says; its first event names the address to which
//! messages are posted. That address is in the origin of the stream or the connection is refused:
//! the credential goes with every message. A stream that ends also ends its session. The next
//! request reopens one that a sign-out ended, and one that the server dropped if the client wants
//! the connection to outlast it.

mod message;
mod reader;
mod stream;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method};
use keyway_auth::{Authorizer, BoxFuture};
use keyway_secret::Secret;
use tokio::time::timeout;
use url::Url;

use self::message::Message;
use self::reader::Reader;
use self::stream::{CurrentStream, Opening};
use crate::authorized_client::{AuthorizedClient, OutboundRequest};
use crate::connection::{Connection, EVENT_QUEUE, Event, EventSender, Link};
use crate::error::TransportError;
use crate::frame::{Frame, RequestId};
use crate::http_client::{HttpClient, Response};
use crate::in_flight::InFlight;
use crate::queue::queue;
use crate::responses::{answer_event, error_response, without_line_breaks};
use crate::send_queue::SendQueue;
use crate::timeouts::{CLOSE_TIMEOUT, ERROR_BODY_TIMEOUT, OPEN_TIMEOUT};

/// Opens the stream of a server and waits for the address to post to.
///
/// # Errors
///
/// Returns [`TransportError::Protocol`] if that address is in another origin, and otherwise why
/// there is no stream.
///
/// Cancel safety: dropping the future closes the stream; nothing was posted.
pub async fn connect_sse(
    url: &Secret<String>,
    authorizer: Arc<dyn Authorizer>,
    client: &HttpClient,
) -> Result<Connection, TransportError> {
    let server = AuthorizedClient::for_url(client.clone(), client.endpoint(url)?, authorizer);
    let (sender, events) = queue(EVENT_QUEUE);
    let link = LegacyLink(Arc::new(SseShared {
        server,
        events: sender,
        in_flight: InFlight::default(),
        send_queue: SendQueue::new(),
        current: CurrentStream::default(),
    }));
    link.0.open(Opening::First, OPEN_TIMEOUT).await?;
    Ok(Connection::new(Arc::new(link), events))
}

/// The sending side.
struct LegacyLink(Arc<SseShared>);

struct SseShared {
    server: AuthorizedClient,
    events: EventSender,
    in_flight: InFlight,
    send_queue: SendQueue,
    current: CurrentStream,
}

impl Link for LegacyLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.0.accept(frame))
    }

    fn abandon(&self, id: &RequestId) {
        self.0.in_flight.abandon(id);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        // Closing the stream ends the session; the reader may be the task that closes.
        for id in self.0.stop() {
            let error = TransportError::Closed;
            drop(self.0.events.try_send(Event::Failed { id, error }));
        }
        drop(self.0.events.try_send(Event::Closed(None)));
        Box::pin(std::future::ready(()))
    }

    fn end_session(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.end_session())
    }

    fn reopen_lost_streams(&self) {
        self.0.current.enable_reopening();
    }
}

impl Drop for LegacyLink {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl fmt::Debug for LegacyLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.0.server.origin();
        f.debug_tuple("LegacyLink").field(&origin).finish()
    }
}

impl SseShared {
    async fn accept(self: &Arc<Self>, frame: Frame) -> Result<(), TransportError> {
        let message = Message::read(frame)?;
        let turn = self.send_queue.wait(message.class).await?;
        if self.in_flight.is_closed() {
            return Err(TransportError::Closed);
        }
        self.current.note(&message);
        let shared = Arc::clone(self);
        let id = message.id.clone();
        let post = async move {
            let posted = shared.post(&message).await;
            drop(turn);
            if let (Err(error), Some(id)) = (posted, message.id)
                && shared.in_flight.end(&id)
            {
                shared.report(Event::Failed { id, error }).await;
            }
        };
        match id {
            Some(id) => self
                .in_flight
                .begin(id, || tokio::spawn(post).abort_handle()),
            None => {
                drop(tokio::spawn(post));
                Ok(())
            }
        }
    }

    async fn post(self: &Arc<Self>, message: &Message) -> Result<(), TransportError> {
        let Some(endpoint) = self.endpoint_for(message).await? else {
            return Ok(());
        };
        let sent = self.send(&endpoint, &message.frame, message.is_idempotent);
        let mut response = sent.await?;
        if (200..300).contains(&response.status()) {
            response.finish().await;
            return Ok(());
        }
        let id = message.id.as_ref();
        let error = response.status_error();
        let body = timeout(ERROR_BODY_TIMEOUT, response.collect(MAX_ERROR_BYTES)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        match id.and_then(|id| error_response(body, id)) {
            Some(frame) => {
                if id.is_some_and(|id| self.in_flight.end(id)) {
                    self.report(Event::Frame(frame)).await;
                }
                Ok(())
            }
            None => Err(error),
        }
    }

    async fn send(
        &self,
        endpoint: &Url,
        frame: &Frame,
        is_idempotent: bool,
    ) -> Result<Response, TransportError> {
        let call = OutboundRequest {
            method: Method::POST,
            url: endpoint,
            headers: &[(CONTENT_TYPE, JSON), (ACCEPT, ANY)],
            body: frame.bytes().clone(),
            is_idempotent,
            is_opening: false,
        };
        self.server.call(&call).await
    }

    /// Passes on what the stream brings, then says that it has ended.
    async fn read(self: Arc<Self>, mut reader: Reader) {
        let error = loop {
            match reader.next().await {
                Ok(event) if event.name.is_some() => {}
                Ok(event) => {
                    if let Err(error) = self.forward(event.data).await {
                        break error;
                    }
                }
                Err(error) => break error,
            }
        };
        if let Some(ended) = self.stream_lost(&error) {
            for id in ended {
                let error = TransportError::StreamLost;
                self.report(Event::Failed { id, error }).await;
            }
            return;
        }
        for id in self.in_flight.close() {
            let error = TransportError::Closed;
            self.report(Event::Failed { id, error }).await;
        }
        self.report(Event::Closed(Some(error))).await;
    }

    async fn forward(&self, data: Bytes) -> Result<(), TransportError> {
        let frame = Frame::new(without_line_breaks(data))?;
        frame.read_ahead().await;
        let (id, is_answer) = {
            let envelope = frame.envelope()?;
            (envelope.id(), envelope.method.is_none())
        };
        if !is_answer {
            self.report(Event::Frame(frame)).await;
            return Ok(());
        }
        let Some(id) = id else { return Ok(()) };
        // Room first: a sign-out may drop this while it waits, and then the request must still be
        // among those that are told of the end.
        let Ok(place) = self.events.reserve_sized(frame.bytes().len()).await else {
            return Ok(());
        };
        // A request that does not wait any more has been answered otherwise.
        if let Some(own) = self.in_flight.end_like(&id) {
            self.current.reset_losses();
            place.send(answer_event(frame, &id, own));
        }
        Ok(())
    }

    fn stop(&self) -> Vec<RequestId> {
        let ended = self.in_flight.close();
        if let Some(reading) = self.current.end() {
            reading.abort();
        }
        ended
    }

    /// Closes the stream, which ends the session; what waits for an answer gets none.
    async fn end_session(self: &Arc<Self>) {
        let Some(reading) = self.current.end() else {
            return;
        };
        reading.abort();
        // The server sees the end before anything else happens to the sign-in.
        drop(timeout(CLOSE_TIMEOUT, reading).await);
        let (shared, ended) = (Arc::clone(self), self.in_flight.drain());
        // In a task: a sign-out does not wait for a client that is slow to read.
        drop(tokio::spawn(async move {
            for id in ended {
                let error = TransportError::Closed;
                shared.report(Event::Failed { id, error }).await;
            }
        }));
    }

    async fn report(&self, event: Event) {
        self.events.deliver(event).await;
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const ANY: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const MAX_ERROR_BYTES: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
