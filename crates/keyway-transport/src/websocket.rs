//! WebSocket (RFC 6455): one text message per frame, in both directions at once.
//!
//! The connection begins as a request of the guarded HTTP client, so addresses, TLS, proxies and
//! the rules about a refused credential are the same as everywhere; the credential goes with that
//! request only. Afterwards one task reads and one writes, and the reader decides about the end.

mod close_reason;
mod handshake;
mod liveness;
mod reader;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use keyway_auth::{Authorizer, BoxFuture};
use keyway_secret::Secret;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use self::liveness::{CountingStream, Traffic};
use self::reader::Reader;
use self::writer::Writer;
use crate::authorized_client::AuthorizedClient;
use crate::connection::{Connection, EVENT_QUEUE, Link};
use crate::error::TransportError;
use crate::frame::{Frame, FrameError, MAX_FRAME_BYTES, RequestId};
use crate::http_client::{HttpClient, Upgraded};
use crate::in_flight::InFlight;
use crate::queue::queue as event_queue;
use crate::timeouts::{CLOSE_TIMEOUT, OPEN_TIMEOUT, PING_INTERVAL};

/// Connects to a WebSocket server.
///
/// # Errors
///
/// Returns [`TransportError::Protocol`] if the server answers with another subprotocol than `mcp`
/// or with an extension, and otherwise why there is no connection.
///
/// Cancel safety: dropping the future closes the connection.
pub async fn connect_ws(
    url: &Secret<String>,
    authorizer: Arc<dyn Authorizer>,
    client: &HttpClient,
) -> Result<Connection, TransportError> {
    connect(url, authorizer, client, PING_INTERVAL).await
}

async fn connect(
    url: &Secret<String>,
    authorizer: Arc<dyn Authorizer>,
    client: &HttpClient,
    ping_time: Duration,
) -> Result<Connection, TransportError> {
    let url = client.upgrade_endpoint(url)?;
    let server = AuthorizedClient::for_url(client.for_upgrade()?, url, authorizer);
    let seconds = OPEN_TIMEOUT.as_secs();
    let upgraded = timeout(OPEN_TIMEOUT, handshake::open(&server)).await;
    let upgraded = upgraded.unwrap_or(Err(TransportError::Timeout { seconds }))?;
    Ok(start(upgraded, server.origin(), ping_time).await)
}

/// Starts the two tasks of a connection.
async fn start(upgraded: Upgraded, origin: String, ping_time: Duration) -> Connection {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(Some(MAX_FRAME_BYTES))
        .max_frame_size(Some(MAX_FRAME_BYTES));
    let traffic = Arc::new(Traffic::default());
    let stream = CountingStream::new(upgraded, Arc::clone(&traffic));
    let socket = WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await;
    let (sink, stream) = socket.split();
    let (queue, queued) = mpsc::channel(SEND_QUEUE);
    let (sender, events) = event_queue(EVENT_QUEUE);
    let shared = Arc::new(WebSocketShared {
        origin,
        in_flight: InFlight::default(),
        phase: watch::Sender::new(Phase::Open),
        ping: Notify::new(),
        traffic,
    });
    let writer = Writer::new(Arc::clone(&shared), sink, queued);
    let writing = tokio::spawn(writer.run());
    let reader = Reader::new(Arc::clone(&shared), stream, sender, ping_time);
    drop(tokio::spawn(reader.run(writing)));
    let link = Arc::new(WsLink { shared, queue });
    Connection::new(link, events)
}

/// The sending side.
struct WsLink {
    shared: Arc<WebSocketShared>,
    /// Bounded, so that a slow server slows the sender down.
    queue: mpsc::Sender<Utf8Bytes>,
}

/// What the link and the two tasks have in common.
struct WebSocketShared {
    origin: String,
    in_flight: InFlight,
    phase: watch::Sender<Phase>,
    /// Asks the writer for a ping.
    ping: Notify,
    traffic: Arc<Traffic>,
}

/// How far a connection is.
///
/// ```text
///   Open ──close, dropped, or the reader ends──▶ Closing(code) ──close frames──▶ Done
///     └──a write fails──▶ Broken ───────────────────────────────────────────────▶ Done
/// ```
///
/// Only the first step out of `Open` counts. `Done` comes after CLOSE_TIMEOUT at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Messages go both ways.
    Open,
    /// One of our sides wants to end it and says why.
    Closing(CloseCode),
    /// It cannot be written to any more.
    Broken,
    /// Nothing more comes or goes.
    Done,
}

impl WebSocketShared {
    /// Begins the end, unless it has begun.
    fn end(&self, phase: Phase) {
        self.phase.send_if_modified(|current| {
            let is_first = *current == Phase::Open;
            if is_first {
                *current = phase;
            }
            is_first
        });
    }

    /// Waits for the end to begin.
    async fn ending(&self) -> Phase {
        let mut phase = self.phase.subscribe();
        let changed = phase.wait_for(|phase| *phase != Phase::Open).await;
        changed.map_or(Phase::Done, |phase| *phase)
    }
}

impl WsLink {
    async fn accept(&self, frame: Frame) -> Result<(), TransportError> {
        let id = {
            let envelope = frame.envelope()?;
            envelope.id().filter(|_| envelope.method.is_some())
        };
        let text =
            Utf8Bytes::try_from(frame.bytes().clone()).map_err(|_| FrameError::NotJsonRpc)?;
        // A server that does not read must not hold a sender back once the connection ends.
        // Not biased: a message that is queued as the end begins is still written before the close
        // frame, or its request fails as closed.
        let place = tokio::select! {
            place = self.queue.reserve() => place.map_err(|_| TransportError::Closed)?,
            _ = self.shared.ending() => return Err(TransportError::Closed),
        };
        let enqueue = || place.send(text);
        self.shared.in_flight.begin_queued(id, enqueue)
    }
}

impl Link for WsLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.accept(frame))
    }

    fn abandon(&self, id: &RequestId) {
        self.shared.in_flight.abandon(id);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.shared.end(Phase::Closing(CloseCode::Normal));
        Box::pin(async {
            let mut phase = self.shared.phase.subscribe();
            let done = phase.wait_for(|phase| *phase == Phase::Done);
            // The tasks give up after the same time by themselves.
            drop(timeout(CLOSE_TIMEOUT, done).await);
        })
    }
}

impl Drop for WsLink {
    fn drop(&mut self) {
        self.shared.end(Phase::Closing(CloseCode::Normal));
    }
}

impl fmt::Debug for WsLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WsLink").field(&self.shared.origin).finish()
    }
}

type Socket = WebSocketStream<CountingStream<Upgraded>>;

const BUFFER_BYTES: usize = 32 * 1024;

/// How many messages may wait for a slow server.
const SEND_QUEUE: usize = 64;

#[cfg(test)]
mod tests;
