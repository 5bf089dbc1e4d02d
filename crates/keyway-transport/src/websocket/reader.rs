//! The reading half of a WebSocket: passes messages on, watches for silence, and ends it all.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::SplitStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::close_reason::CloseReason;
use super::liveness::LivenessCheck;
use super::{Phase, Socket, WebSocketShared};
use crate::connection::{Event, EventSender};
use crate::error::TransportError;
use crate::frame::Frame;
use crate::message_memory::MemoryReservation;
use crate::responses::{answer_event, without_line_breaks};
use crate::timeouts::CLOSE_TIMEOUT;

/// Everything that is read comes through here.
pub(super) struct Reader {
    shared: Arc<WebSocketShared>,
    stream: SplitStream<Socket>,
    events: EventSender,
    watch: LivenessCheck,
    ticks: Interval,
}

impl Reader {
    pub(super) fn new(
        shared: Arc<WebSocketShared>,
        stream: SplitStream<Socket>,
        events: EventSender,
        ping_time: Duration,
    ) -> Self {
        let mut ticks = interval_at(Instant::now() + ping_time, ping_time);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            shared,
            stream,
            events,
            watch: LivenessCheck::default(),
            ticks,
        }
    }

    /// Passes on what comes, then ends the connection and every request on it.
    pub(super) async fn run(mut self, writing: JoinHandle<()>) {
        let ending = self.forward().await;
        self.shared.end(Phase::Closing(ending.code));
        // Reading continues, since the server may not read before it has written.
        let drained = async { while let Some(Ok(_)) = self.stream.next().await {} };
        let closing = async { tokio::join!(writing, drained) };
        drop(timeout(CLOSE_TIMEOUT, closing).await);
        drop(self.stream);
        let failed = self.shared.in_flight.close();
        self.shared.phase.send_replace(Phase::Done);
        for id in failed {
            let error = TransportError::Closed;
            drop(self.events.send(Event::Failed { id, error }).await);
        }
        drop(self.events.send(Event::Closed(ending.error)).await);
    }

    /// Passes messages on until there is a reason to end.
    async fn forward(&mut self) -> CloseReason {
        let shared = Arc::clone(&self.shared);
        let events = self.events.clone();
        let ending = shared.ending();
        tokio::pin!(ending);
        loop {
            // Room first: what has been read is never thrown away, and a slow reader of the
            // events slows the server down.
            let room = tokio::select! {
                phase = &mut ending => return ended(phase),
                room = events.reserve() => room,
            };
            let Ok(room) = room else {
                return CloseReason::normal();
            };
            // A message that is half read stays in the socket's buffer. One that is complete and
            // still being parsed is dropped if the end begins; its request then fails as closed.
            let read = tokio::select! {
                phase = &mut ending => return ended(phase),
                read = self.next() => read,
            };
            match read {
                Ok(Some(frame)) => {
                    // A large one may need more than this place.
                    drop(room);
                    // Room first: what was read is delivered even if the end has begun. While
                    // there is no room for it, the end wins and the frame is dropped; the request
                    // that it answers still waits then, and fails as closed.
                    let place = tokio::select! {
                        biased;
                        place = events.reserve_sized(frame.bytes().len()) => place,
                        phase = &mut ending => return ended(phase),
                    };
                    let Ok(place) = place else {
                        return CloseReason::normal();
                    };
                    if let Some(event) = shared.event(frame) {
                        place.send(event);
                    }
                }
                Ok(None) => {}
                Err(ending) => return ending,
            }
        }
    }

    /// Waits for a message; `None` is one that is not passed on.
    async fn next(&mut self) -> Result<Option<Frame>, CloseReason> {
        // Messages first: while they come, no ping has to check that the server is alive.
        let message = tokio::select! {
            biased;
            message = self.stream.next() => message,
            _ = self.ticks.tick() => {
                if !self.watch.is_alive(&self.shared.traffic) {
                    return Err(CloseReason::lost());
                }
                self.shared.ping.notify_one();
                return Ok(None);
            }
        };
        match message {
            None => Err(CloseReason::lost()),
            Some(Err(error)) => Err(CloseReason::from_error(&error)),
            Some(Ok(Message::Text(text))) => {
                let read = self.read(text.into()).await;
                read.map_err(|error| CloseReason::failed(CloseCode::Invalid, error))
            }
            Some(Ok(Message::Binary(_))) => {
                let what = "a binary message";
                let error = TransportError::Protocol { what };
                Err(CloseReason::failed(CloseCode::Unsupported, error))
            }
            Some(Ok(Message::Close(frame))) => Err(CloseReason::from_server(frame.as_ref())),
            // A ping has been answered by the time it is seen here.
            Some(Ok(_)) => Ok(None),
        }
    }

    async fn read(&self, text: Bytes) -> Result<Option<Frame>, TransportError> {
        // The library has read it as a whole: what waits here is the next one.
        let mut reservation = MemoryReservation::default();
        reservation.grow_to(text.len()).await?;
        let frame = Frame::new(reservation.attach(without_line_breaks(text)))?;
        frame.read_ahead().await;
        // What is not a message is refused here, before there is room for it.
        frame.envelope()?;
        Ok(Some(frame))
    }
}

impl WebSocketShared {
    /// Returns what is reported of a message, and ends the request that it answers; `None` is an
    /// answer that nothing waits for any more.
    fn event(&self, frame: Frame) -> Option<Event> {
        let answered = {
            let envelope = frame.envelope().ok()?;
            envelope.method.is_none().then(|| envelope.id())
        };
        let Some(id) = answered else {
            return Some(Event::Frame(frame));
        };
        let id = id?;
        let own = self.in_flight.end_like(&id)?;
        Some(answer_event(frame, &id, own))
    }
}

/// Explains an end that the other tasks began.
fn ended(phase: Phase) -> CloseReason {
    match phase {
        Phase::Broken => CloseReason::lost(),
        _ => CloseReason::normal(),
    }
}
