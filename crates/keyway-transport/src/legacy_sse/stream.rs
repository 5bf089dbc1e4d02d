//! The stream in force, and how another begins after a sign-out has ended it or the server has
//! dropped it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use url::Url;

use super::SseShared;
use super::message::Message;
use super::reader::Reader;
use crate::error::TransportError;
use crate::frame::{Frame, RequestId};
use crate::responses::{same_id, without_line_breaks};
use crate::send_queue::MessageClass;
use crate::timeouts::{MAX_REOPEN_DELAY, NEW_SESSION_TIMEOUT, REOPEN_DELAY};

/// The stream in force and what was said to begin its session.
///
/// ```text
/// open ──sign-out──────────────────▶ none ──next request──▶ opening ──▶ open
///   ├─ lost, reopening enabled ──────▲                          └─ 3 failures ──▶ none
///   └─ lost otherwise, or close ──▶ closed
/// ```
#[derive(Debug, Default)]
pub(super) struct CurrentStream {
    /// Held for a look only. Taken before the lock of [`InFlight`](crate::in_flight::InFlight),
    /// never after it.
    state: Mutex<StreamState>,
    /// Held while another stream is opened, so that one serves all.
    opening: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct StreamState {
    stream: Option<Stream>,
    initialize: Option<Frame>,
    initialized: Option<Frame>,
    losses: Losses,
}

#[derive(Debug)]
struct Stream {
    endpoint: Url,
    reading: JoinHandle<()>,
}

/// Why a stream is opened.
pub(super) enum Opening {
    /// The connection begins.
    First,
    /// Another was lost; `initialize` and `notifications/initialized` are repeated on it, if the
    /// client has sent them.
    Again(Option<(Frame, Option<Frame>)>),
}

impl CurrentStream {
    /// Keeps what begins a session.
    pub(super) fn note(&self, message: &Message) {
        match message.class {
            MessageClass::HandshakeRequest => {
                self.lock().initialize = Some(message.frame.detached());
            }
            MessageClass::HandshakeNotification => {
                self.lock().initialized = Some(message.frame.detached());
            }
            _ => {}
        }
    }

    /// Removes the stream; the next request opens another.
    pub(super) fn end(&self) -> Option<JoinHandle<()>> {
        self.lock().stream.take().map(|stream| stream.reading)
    }

    /// Lets the connection outlast its streams.
    pub(super) fn enable_reopening(&self) {
        self.lock().losses.is_enabled = true;
    }

    /// Notes that the server answered.
    pub(super) fn reset_losses(&self) {
        self.lock().losses.count = 0;
    }

    fn endpoint(&self) -> Option<Url> {
        let state = self.lock();
        state.stream.as_ref().map(|stream| stream.endpoint.clone())
    }

    fn handshake(&self) -> Option<(Frame, Option<Frame>)> {
        let state = self.lock();
        Some((state.initialize.clone()?, state.initialized.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SseShared {
    /// Opens the stream, and begins its session as the client did before, if it did.
    pub(super) async fn open(
        self: &Arc<Self>,
        opening: Opening,
        limit: Duration,
    ) -> Result<Url, TransportError> {
        let opening = async {
            let is_first = matches!(opening, Opening::First);
            let mut reader = Reader::open(&self.server, is_first).await?;
            let endpoint = reader.endpoint(self.server.url()).await?;
            if let Opening::Again(Some((initialize, initialized))) = opening {
                self.initialize_again(&mut reader, &endpoint, &initialize)
                    .await?;
                if let Some(initialized) = initialized {
                    let response = self.send(&endpoint, &initialized, false).await?;
                    response.finish().await;
                }
            }
            Ok((reader, endpoint))
        };
        let (reader, endpoint) =
            timeout(limit, opening)
                .await
                .unwrap_or(Err(TransportError::Timeout {
                    seconds: limit.as_secs(),
                }))?;
        let mut state = self.current.lock();
        // A task that closes removes the stream afterwards.
        if self.in_flight.is_closed() {
            return Err(TransportError::Closed);
        }
        let reading = tokio::spawn(Arc::clone(self).read(reader));
        state.stream = Some(Stream {
            endpoint: endpoint.clone(),
            reading,
        });
        Ok(endpoint)
    }

    /// Returns where a message goes; `None` for a notification without an open session, which does
    /// not begin one.
    pub(super) async fn endpoint_for(
        self: &Arc<Self>,
        message: &Message,
    ) -> Result<Option<Url>, TransportError> {
        match self.current.endpoint() {
            None if message.id.is_none() => Ok(None),
            // Boxed because it is rare, and the task of every message would be as large.
            None => Box::pin(self.reopen(message.class)).await.map(Some),
            known => Ok(known),
        }
    }

    /// Removes a stream that broke off, and returns the requests that waited for an answer; `None`
    /// if the connection ends with it.
    pub(super) fn stream_lost(&self, error: &TransportError) -> Option<Vec<RequestId>> {
        let mut state = self.current.lock();
        if !state.losses.is_enabled || !error.is_transient() || self.in_flight.is_closed() {
            return None;
        }
        state.stream = None;
        state.losses.add();
        // Within the lock: a later request opens another stream, and does not fail with this one.
        Some(self.in_flight.drain())
    }

    async fn reopen(self: &Arc<Self>, class: MessageClass) -> Result<Url, TransportError> {
        let known = self.current.lock().losses.failed_rounds;
        let _opening = self.current.opening.lock().await;
        if let Some(endpoint) = self.current.endpoint() {
            return Ok(endpoint);
        }
        if self.current.lock().losses.failed_rounds != known {
            // The first request has tried it for all that waited.
            return Err(TransportError::StreamLost);
        }
        let mut left = TRIES;
        loop {
            let pause = self.current.lock().losses.pause();
            tokio::time::sleep_until(pause).await;
            let handshake_to_repeat = match class {
                MessageClass::HandshakeRequest => None,
                _ => self.current.handshake(),
            };
            let error = match self
                .open(Opening::Again(handshake_to_repeat), NEW_SESSION_TIMEOUT)
                .await
            {
                Ok(endpoint) => return Ok(endpoint),
                Err(error) => error,
            };
            let losses = &mut self.current.lock().losses;
            if !losses.is_enabled || !error.is_transient() {
                return Err(error);
            }
            losses.add();
            left -= 1;
            if left == 0 {
                losses.failed_rounds += 1;
                return Err(error);
            }
        }
    }

    /// Sends the first request of a session again and waits for its answer, which the client has.
    async fn initialize_again(
        &self,
        reader: &mut Reader,
        endpoint: &Url,
        initialize: &Frame,
    ) -> Result<(), TransportError> {
        let response = self.send(endpoint, initialize, false).await?;
        if !(200..300).contains(&response.status()) {
            return Err(response.status_error());
        }
        response.finish().await;
        let own = initialize.envelope()?.id();
        loop {
            let event = reader.next().await?;
            if event.name.is_some() {
                continue;
            }
            let frame = Frame::new(without_line_breaks(event.data))?;
            frame.read_ahead().await;
            let envelope = frame.envelope()?;
            let answered = envelope.id().filter(|_| envelope.method.is_none());
            match (answered, &own) {
                (Some(id), Some(own)) if same_id(own, &id) => {
                    return envelope.result.map(drop).ok_or(TransportError::Protocol {
                        what: "it rejected the `initialize` that replaces a lost session",
                    });
                }
                // What is said before the session begins concerns none that the client knows.
                _ => {}
            }
        }
    }
}

/// The streams that the server dropped or did not give since it last answered.
#[derive(Debug, Default)]
struct Losses {
    /// Whether another is opened at all.
    is_enabled: bool,
    count: u32,
    last: Option<Instant>,
    /// How often all tries of a request failed.
    failed_rounds: u64,
}

impl Losses {
    fn add(&mut self) {
        self.count = self.count.saturating_add(1);
        self.last = Some(Instant::now());
    }

    /// Returns when another may be opened: at once after the first, then later and later.
    fn pause(&self) -> Instant {
        let doublings = match self.count {
            0 | 1 => return Instant::now(),
            count => count.saturating_sub(2).min(16),
        };
        let pause = REOPEN_DELAY.saturating_mul(1 << doublings);
        let last = self.last.unwrap_or_else(Instant::now);
        last.checked_add(pause.min(MAX_REOPEN_DELAY))
            .unwrap_or(last)
    }
}

/// How often a request tries to open a stream.
const TRIES: u32 = 3;
