//! Event streams of a session that can be taken up again where a connection broke.
//!
//! Every event has an id that names its stream and its place in it, and the latest events are kept
//! (2025-11-25, "Resumability and Redelivery"). What is kept is bounded for the session as a whole:
//! streams that have ended go first, and then the oldest events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use keyway_transport::{Frame, RequestId};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::reply::{self, EventId};
use crate::timeouts::{STREAM_READ_TIMEOUT, STREAM_RESUME_TIMEOUT};
use keyway_mcp::jsonrpc::{self, INTERNAL_ERROR};

/// The streams of one session.
///
/// The lock is never held across an await: an event is numbered and kept under it, and delivered
/// after it. The stream of a request has one writer, so that its events are delivered in order. The
/// standalone stream has several, and two events written at once may be delivered in either order.
#[derive(Debug, Default)]
pub(super) struct EventStreams(Mutex<StreamTable>);

#[derive(Debug, Default)]
struct StreamTable {
    /// Boxed, for there is mostly one, and a tree has places for many.
    by_number: BTreeMap<u64, Box<EventStream>>,
    begun: u64,
    /// What is kept of all of them.
    bytes: usize,
    events: usize,
}

/// One stream: its reader, and its latest events.
///
/// ```text
///   begin ──▶ read ──reader gone──▶ unread ──resume──▶ read
///               │ finish              ├──finish──▶ over
///               ▼                     └──not resumed in STREAM_RESUME_TIMEOUT──▶ forgotten
///             over: can be resumed for STREAM_RESUME_TIMEOUT ──▶ forgotten
/// ```
#[derive(Debug)]
struct EventStream {
    reader: Option<mpsc::Sender<Bytes>>,
    kept: VecDeque<(u64, Bytes)>,
    /// The number of the latest event.
    latest: u64,
    /// The latest event that had a reader.
    delivered: u64,
    is_over: bool,
    /// Whether nothing is kept, because no client can resume the stream.
    is_unbuffered: bool,
    /// Since when it has no reader, or nothing more comes.
    idle_since: Instant,
}

/// How a client is told where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Priming {
    /// By an event with an id and nothing else, so that the stream can be taken up from there.
    Event,
    /// Not at all: clients from before 2025-11-25 take an empty event for a broken message.
    None,
}

impl EventStreams {
    /// Begins a stream that ends with the answer to a request.
    pub(super) fn begin(&self, priming: Priming) -> (u64, mpsc::Receiver<Bytes>) {
        let mut table = self.lock();
        table.begun += 1;
        let number = table.begun;
        let (out, pieces) = mpsc::channel(QUEUE);
        let mut stream_state = Box::<EventStream>::default();
        stream_state.begin(number, priming, out);
        table.by_number.insert(number, stream_state);
        table.evict();
        (number, pieces)
    }

    /// Opens the stream for what belongs to no request, beginning with what was not read yet; one
    /// that was open ends.
    pub(super) fn listen(&self, priming: Priming) -> mpsc::Receiver<Bytes> {
        let mut table = self.lock();
        let stream_state = table.by_number.entry(STANDALONE).or_default();
        let (out, pieces) = mpsc::channel(QUEUE + stream_state.kept.len());
        stream_state.begin(STANDALONE, priming, out);
        stream_state.replay_after(stream_state.delivered);
        pieces
    }

    /// Sends what belongs to no request on a stream that is open already and cannot be resumed.
    pub(super) fn attach(&self, out: mpsc::Sender<Bytes>) {
        let mut table = self.lock();
        let stream_state = table.by_number.entry(STANDALONE).or_default();
        stream_state.reader = Some(out);
        stream_state.replay_after(stream_state.delivered);
        stream_state.is_unbuffered = true;
        table.drop_buffer(STANDALONE);
    }

    /// Takes a stream up after the event with this id; `None` if there is no such stream any more.
    pub(super) fn resume(&self, last: &str) -> Option<mpsc::Receiver<Bytes>> {
        let EventId { stream, number } = EventId::read(last)?;
        let mut table = self.lock();
        let stream_state = table.by_number.get_mut(&stream)?;
        if number > stream_state.latest {
            return None;
        }
        let (out, pieces) = mpsc::channel(QUEUE + stream_state.kept.len());
        drop(out.try_send(reply::KEEP_ALIVE));
        stream_state.reader = Some(out);
        stream_state.replay_after(number);
        if stream_state.is_over {
            stream_state.reader = None;
        }
        Some(pieces)
    }

    /// Writes what belongs to no request.
    pub(super) async fn note(&self, frame: &Frame) {
        self.write(STANDALONE, frame).await;
    }

    /// Writes a message; without a reader, it is only kept.
    pub(super) async fn write(&self, stream: u64, frame: &Frame) {
        let ready = self.lock().add(stream, frame);
        if let Some((out, event)) = ready {
            deliver(&out, event).await;
        }
    }

    /// Writes the answer, with which a stream ends.
    ///
    /// One that is too large to be kept is kept as an error, so that the client does not wait for
    /// it forever.
    pub(super) async fn finish(&self, stream: u64, id: &RequestId, frame: &Frame) {
        let ready = {
            let mut table = self.lock();
            let ready = table.add(stream, frame);
            if frame.bytes().len() > MAX_EVENT_BYTES {
                table.keep_error_instead(stream, id);
            }
            if let Some(stream_state) = table.by_number.get_mut(&stream) {
                stream_state.is_over = true;
                stream_state.reader = None;
                stream_state.idle_since = Instant::now();
            }
            ready
        };
        if let Some((out, event)) = ready {
            deliver(&out, event).await;
        }
    }

    /// Ends a stream without an answer, and forgets it.
    pub(super) fn forget(&self, stream: u64) {
        self.lock().remove(stream);
    }

    /// Says whether a stream had a reader in the last minutes.
    pub(super) fn is_awaited(&self, stream: u64) -> bool {
        let mut table = self.lock();
        let Some(stream_state) = table.by_number.get_mut(&stream) else {
            return false;
        };
        stream_state.detect_disconnect();
        stream_state.is_read() || stream_state.idle_since.elapsed() < STREAM_RESUME_TIMEOUT
    }

    /// Says whether any stream has a reader.
    pub(super) fn has_reader(&self) -> bool {
        self.lock()
            .by_number
            .values()
            .any(|stream_state| stream_state.is_read())
    }

    /// Keeps streams alive, notices that readers are gone, and forgets what is over for long.
    pub(super) fn keep_alive(&self) {
        let mut table = self.lock();
        let mut old = Vec::new();
        for (number, stream_state) in &mut table.by_number {
            stream_state.detect_disconnect();
            match &stream_state.reader {
                Some(reader) => drop(reader.try_send(reply::KEEP_ALIVE)),
                None if stream_state.is_over
                    && stream_state.idle_since.elapsed() >= STREAM_RESUME_TIMEOUT =>
                {
                    old.push(*number);
                }
                None => {}
            }
        }
        for number in old {
            table.remove(number);
        }
    }

    /// Ends the connection of the stream that would never end.
    pub(super) fn stop_listening(&self) {
        if let Some(stream_state) = self.lock().by_number.get_mut(&STANDALONE) {
            stream_state.reader = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamTable {
    /// Numbers and keeps an event; returns it with its reader, if there is one.
    fn add(&mut self, stream: u64, frame: &Frame) -> Option<(mpsc::Sender<Bytes>, Bytes)> {
        if stream == STANDALONE {
            self.by_number.entry(STANDALONE).or_default();
        }
        let stream_state = self.by_number.get_mut(&stream)?;
        stream_state.latest += 1;
        let number = stream_state.latest;
        let event = reply::event(frame, Some(EventId { stream, number }));
        let reader = stream_state
            .reader
            .clone()
            .filter(|reader| !reader.is_closed());
        if reader.is_some() {
            stream_state.delivered = number;
        }
        if frame.bytes().len() <= MAX_EVENT_BYTES && !stream_state.is_unbuffered {
            stream_state.kept.push_back((number, event.clone()));
            self.bytes += event.len();
            self.events += 1;
            self.evict();
        }
        Some((reader?, event))
    }

    fn keep_error_instead(&mut self, stream: u64, id: &RequestId) {
        let Some(stream_state) = self.by_number.get_mut(&stream) else {
            return;
        };
        let error = jsonrpc::error_object(INTERNAL_ERROR, "the answer was too large to be kept");
        let Ok(frame) = Frame::new(jsonrpc::error(Some(id), &error)) else {
            return;
        };
        let number = stream_state.latest;
        let event = reply::event(&frame, Some(EventId { stream, number }));
        self.bytes += event.len();
        self.events += 1;
        stream_state.kept.push_back((number, event));
        self.evict();
    }

    /// Forgets the oldest until what is kept is within its bounds.
    fn evict(&mut self) {
        while self.by_number.len() > MAX_STREAMS || self.is_above() {
            let mut all = self.by_number.iter();
            if let Some(number) = all.find_map(|(number, it)| it.is_over.then_some(*number)) {
                self.remove(number);
                continue;
            }
            if !self.is_above() {
                // Each of them has a request under way, and a connection has a limit for those.
                return;
            }
            let Some(event) = self
                .by_number
                .values_mut()
                .find_map(|stream_state| stream_state.kept.pop_front())
            else {
                return;
            };
            self.bytes -= event.1.len();
            self.events -= 1;
        }
    }

    const fn is_above(&self) -> bool {
        self.bytes > MAX_BYTES || self.events > MAX_EVENTS
    }

    fn remove(&mut self, number: u64) {
        self.drop_buffer(number);
        self.by_number.remove(&number);
    }

    fn drop_buffer(&mut self, number: u64) {
        if let Some(stream_state) = self.by_number.get_mut(&number) {
            let kept = std::mem::take(&mut stream_state.kept);
            self.events -= kept.len();
            self.bytes -= kept.iter().map(|(_, it)| it.len()).sum::<usize>();
        }
    }
}

impl Default for EventStream {
    fn default() -> Self {
        Self {
            reader: None,
            kept: VecDeque::new(),
            latest: 0,
            delivered: 0,
            is_over: false,
            is_unbuffered: false,
            idle_since: Instant::now(),
        }
    }
}

impl EventStream {
    /// Attaches a reader.
    fn begin(&mut self, stream: u64, priming: Priming, out: mpsc::Sender<Bytes>) {
        let number = self.delivered;
        // A client waits for the first byte before it continues.
        let first = match priming {
            Priming::Event => reply::priming_event(EventId { stream, number }),
            Priming::None => reply::KEEP_ALIVE,
        };
        drop(out.try_send(first));
        self.reader = Some(out);
    }

    /// Gives the reader what is kept after an event.
    fn replay_after(&mut self, number: u64) {
        let Some(reader) = &self.reader else {
            return;
        };
        for (_, event) in self.kept.iter().filter(|(it, _)| *it > number) {
            drop(reader.try_send(event.clone()));
        }
        self.delivered = self.latest;
    }

    /// Notices that the reader is gone.
    fn detect_disconnect(&mut self) {
        if self.reader.as_ref().is_some_and(mpsc::Sender::is_closed) {
            self.reader = None;
            self.idle_since = Instant::now();
        }
    }

    fn is_read(&self) -> bool {
        self.reader.as_ref().is_some_and(|it| !it.is_closed())
    }
}

/// Sends an item to its receiver; drops it if the receiver does not take it in time.
pub(super) async fn deliver<T>(out: &mpsc::Sender<T>, item: T) {
    if let Err(mpsc::error::TrySendError::Full(item)) = out.try_send(item) {
        // Boxed because it is rare: otherwise every caller's future would be as large.
        drop(Box::pin(timeout(STREAM_READ_TIMEOUT, out.send(item))).await);
    }
}

/// The stream for what belongs to no request.
const STANDALONE: u64 = 0;
/// How much may wait for a client that reads slowly.
const QUEUE: usize = 64;
/// Bounds of what is kept for a session.
const MAX_BYTES: usize = 1024 * 1024;
const MAX_EVENTS: usize = 256;
const MAX_STREAMS: usize = 64;
/// The largest message that is kept.
const MAX_EVENT_BYTES: usize = MAX_BYTES / 2;

#[cfg(test)]
mod tests;
