//! HTTP with SSE, the transport of protocol version 2024-11-05.
//!
//! One stream brings everything that the server says; its first event names the address to which
//! messages are posted. That address is in the origin of the stream or the connection is refused:
//! the credential goes with every message. A stream that ends takes its session along.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method};
use keyway_auth::{Authorizer, BoxFuture};
use keyway_secret::Secret;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use url::Url;

use crate::answer::{one_line, read_error, with_id};
use crate::connection::{Connection, EVENT_QUEUE, Event, Link};
use crate::error::TransportError;
use crate::event_stream::{EventStream, StreamEvent};
use crate::frame::{Frame, RequestId};
use crate::http_client::{HttpClient, Media, Response};
use crate::in_flight::InFlight;
use crate::peer::{Call, Peer, is_repeatable};
use crate::turn::{Place, Turns};

/// Opens the stream of a server and waits for the address to post to.
///
/// # Errors
///
/// Returns [`TransportError::Protocol`] if that address is in another origin, and otherwise why
/// there is no stream.
pub async fn connect_sse(
    url: &Secret<String>,
    authorizer: Arc<dyn Authorizer>,
    client: &HttpClient,
) -> Result<Connection, TransportError> {
    let peer = Peer::new(client.clone(), client.endpoint(url)?, authorizer);
    let opening = async {
        let mut reader = Reader::open(&peer).await?;
        let endpoint = reader.endpoint(peer.url()).await?;
        Ok((reader, endpoint))
    };
    let (reader, endpoint) =
        timeout(OPEN_TIME, opening)
            .await
            .unwrap_or(Err(TransportError::Timeout {
                seconds: OPEN_TIME.as_secs(),
            }))?;
    let (sender, events) = mpsc::channel(EVENT_QUEUE);
    let shared = Arc::new(Shared {
        peer,
        endpoint,
        events: sender,
        in_flight: InFlight::default(),
        turns: Turns::new(),
        reader: OnceLock::new(),
    });
    let reading = tokio::spawn(Arc::clone(&shared).read(reader));
    shared.reader.get_or_init(|| reading.abort_handle());
    let link = Arc::new(LegacyLink(shared));
    Ok(Connection::new(link, events))
}

/// The sending side.
struct LegacyLink(Arc<Shared>);

struct Shared {
    peer: Peer,
    endpoint: Url,
    events: mpsc::Sender<Event>,
    in_flight: InFlight,
    turns: Turns,
    reader: OnceLock<AbortHandle>,
}

impl Link for LegacyLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.0.accept(frame))
    }

    fn abandon(&self, id: &RequestId) {
        self.0.in_flight.abandon(id);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        // Closing the stream ends the session; the reader may be the one who closes.
        for id in self.0.stop() {
            let error = TransportError::Closed;
            drop(self.0.events.try_send(Event::Failed { id, error }));
        }
        drop(self.0.events.try_send(Event::Closed(None)));
        Box::pin(std::future::ready(()))
    }
}

impl Drop for LegacyLink {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl fmt::Debug for LegacyLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.0.peer.origin();
        f.debug_tuple("LegacyLink").field(&origin).finish()
    }
}

impl Shared {
    async fn accept(self: &Arc<Self>, frame: Frame) -> Result<(), TransportError> {
        let (id, place, is_repeatable) = describe(&frame)?;
        let turn = self.turns.wait(place).await?;
        if self.in_flight.is_closed() {
            return Err(TransportError::Closed);
        }
        let shared = Arc::clone(self);
        let own = id.clone();
        let post = async move {
            let posted = shared.post(&frame, own.as_ref(), is_repeatable).await;
            drop(turn);
            if let (Err(error), Some(id)) = (posted, own)
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

    async fn post(
        &self,
        frame: &Frame,
        id: Option<&RequestId>,
        is_repeatable: bool,
    ) -> Result<(), TransportError> {
        let call = Call {
            method: Method::POST,
            url: &self.endpoint,
            headers: &[(CONTENT_TYPE, JSON), (ACCEPT, ANY)],
            body: frame.bytes().clone(),
            is_repeatable,
        };
        let mut response = self.peer.call(&call).await?;
        if (200..300).contains(&response.status()) {
            response.finish().await;
            return Ok(());
        }
        let error = response.status_error();
        let body = timeout(ERROR_TIME, response.collect(MAX_ERROR_BYTES)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        match id.and_then(|id| read_error(body, id)) {
            Some(frame) => {
                if id.is_some_and(|id| self.in_flight.end(id)) {
                    self.report(Event::Frame(frame)).await;
                }
                Ok(())
            }
            None => Err(error),
        }
    }

    /// Passes on what the stream brings, then says that it has ended.
    async fn read(self: Arc<Self>, mut reader: Reader) {
        let error = loop {
            match reader.next().await {
                Ok(event) if event.name.is_some() => {}
                Ok(event) => {
                    if let Err(error) = self.pass_on(event.data).await {
                        break error;
                    }
                }
                Err(error) => break error,
            }
        };
        for id in self.in_flight.close() {
            let error = TransportError::Closed;
            self.report(Event::Failed { id, error }).await;
        }
        self.report(Event::Closed(Some(error))).await;
    }

    async fn pass_on(&self, data: Bytes) -> Result<(), TransportError> {
        let frame = Frame::new(one_line(data))?;
        let (id, is_answer) = {
            let envelope = frame.envelope()?;
            (envelope.id(), envelope.method.is_none())
        };
        if !is_answer {
            self.report(Event::Frame(frame)).await;
            return Ok(());
        }
        // An answer that nobody waits for any more has been answered otherwise.
        let Some(id) = id else { return Ok(()) };
        if let Some(own) = self.in_flight.end_like(&id) {
            let frame = if own == id {
                frame
            } else {
                with_id(&frame, &own)?
            };
            self.report(Event::Frame(frame)).await;
        }
        Ok(())
    }

    fn stop(&self) -> Vec<RequestId> {
        if let Some(reader) = self.reader.get() {
            reader.abort();
        }
        self.in_flight.close()
    }

    async fn report(&self, event: Event) {
        drop(self.events.send(event).await);
    }
}

/// The stream of a server.
struct Reader {
    response: Response,
    stream: EventStream,
}

impl Reader {
    async fn open(peer: &Peer) -> Result<Self, TransportError> {
        let call = Call {
            method: Method::GET,
            url: peer.url(),
            headers: &[(ACCEPT, EVENTS), (CACHE_CONTROL, NO_STORE)],
            body: Bytes::new(),
            is_repeatable: true,
        };
        let response = peer.call(&call).await?;
        if !(200..300).contains(&response.status()) {
            return Err(response.status_error());
        }
        if response.media() != Media::EventStream {
            return Err(TransportError::Protocol {
                what: "the answer is no event stream",
            });
        }
        let stream = EventStream::new();
        Ok(Self { response, stream })
    }

    /// Waits for the address to post to, which the server has to name first.
    async fn endpoint(&mut self, base: &Url) -> Result<Url, TransportError> {
        let event = self.next().await?;
        if event.name.as_deref() != Some(b"endpoint") {
            return Err(TransportError::Protocol {
                what: "the stream does not begin with an endpoint",
            });
        }
        let text = std::str::from_utf8(&event.data).ok();
        let endpoint = text.and_then(|text| base.join(text.trim()).ok());
        endpoint
            .filter(|url| url.origin() == base.origin() && url.username().is_empty())
            .ok_or(TransportError::Protocol {
                what: "the endpoint is in another origin, which would get the credential",
            })
    }

    async fn next(&mut self) -> Result<StreamEvent, TransportError> {
        loop {
            if let Some(event) = self.stream.next_event()? {
                return Ok(event);
            }
            let piece = self.response.chunk().await?;
            self.stream.push(piece.ok_or(TransportError::Closed)?);
        }
    }
}

/// Reads the id of a request, where it queues, and whether it may be sent twice.
fn describe(frame: &Frame) -> Result<(Option<RequestId>, Place, bool), TransportError> {
    let envelope = frame.envelope()?;
    let id = envelope.id().filter(|_| envelope.method.is_some());
    let place = match envelope.method.as_deref() {
        None => Place::Answer,
        Some("initialize") => Place::HandshakeRequest,
        Some("notifications/initialized") => Place::HandshakeNote,
        Some(_) if id.is_some() => Place::Request,
        Some(_) => Place::Note,
    };
    let is_repeatable = envelope.method.as_deref().is_some_and(is_repeatable);
    Ok((id, place, is_repeatable))
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const ANY: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const CACHE_CONTROL: HeaderName = http::header::CACHE_CONTROL;
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const OPEN_TIME: Duration = Duration::from_secs(30);
const ERROR_TIME: Duration = Duration::from_secs(10);
const MAX_ERROR_BYTES: usize = 1024 * 1024;

#[cfg(test)]
mod tests;
