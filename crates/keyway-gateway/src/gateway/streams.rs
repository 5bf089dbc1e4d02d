//! Event streams of a session that can be taken up again where a connection broke.
//!
//! Every event has an id that names its stream and its place in it, and the latest events are kept
//! (2025-11-25, "Resumability and Redelivery"). What is kept is bounded for the session as a whole:
//! streams that have ended go first, and then the oldest events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use keyway_transport::{Frame, RequestId};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::reply::{self, EventId};

/// The streams of one session.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<Tracks>);

#[derive(Debug, Default)]
struct Tracks {
    /// Boxed, for there is mostly one, and a tree has places for many.
    by_number: BTreeMap<u64, Box<Track>>,
    begun: u64,
    /// What is kept of all of them.
    bytes: usize,
    events: usize,
}

/// One stream: who reads it, and what it brought of late.
#[derive(Debug)]
struct Track {
    reader: Option<mpsc::Sender<Bytes>>,
    kept: VecDeque<(u64, Bytes)>,
    /// The number of the latest event.
    latest: u64,
    /// The latest event that somebody was there to read.
    given: u64,
    is_over: bool,
    /// Whether nothing is kept, because nobody can come back for it.
    is_fleeting: bool,
    /// Since when nobody reads, or nothing more comes.
    left_at: Instant,
}

/// How a client is told where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Priming {
    /// By an event with an id and nothing else, so that the stream can be taken up from there.
    Event,
    /// Not at all: clients from before 2025-11-25 take an empty event for a broken message.
    None,
}

impl Streams {
    /// Begins a stream that ends with the answer to a request.
    pub(super) fn begin(&self, priming: Priming) -> (u64, mpsc::Receiver<Bytes>) {
        let mut tracks = self.lock();
        tracks.begun += 1;
        let number = tracks.begun;
        let (out, pieces) = mpsc::channel(QUEUE);
        let mut track = Box::<Track>::default();
        track.begin(number, priming, out);
        tracks.by_number.insert(number, track);
        tracks.make_room();
        (number, pieces)
    }

    /// Opens the stream for what belongs to no request, beginning with what nobody has read; one
    /// that was open ends.
    pub(super) fn listen(&self, priming: Priming) -> mpsc::Receiver<Bytes> {
        let mut tracks = self.lock();
        let track = tracks.by_number.entry(UNASKED).or_default();
        let (out, pieces) = mpsc::channel(QUEUE + track.kept.len());
        track.begin(UNASKED, priming, out);
        track.give_after(track.given);
        pieces
    }

    /// Lets what belongs to no request be read on a stream that is there already, and that nobody
    /// comes back to.
    pub(super) fn attach(&self, out: mpsc::Sender<Bytes>) {
        let mut tracks = self.lock();
        let track = tracks.by_number.entry(UNASKED).or_default();
        track.reader = Some(out);
        track.give_after(track.given);
        track.is_fleeting = true;
        tracks.forget_kept(UNASKED);
    }

    /// Takes a stream up after the event with this id; `None` if there is no such stream any more.
    pub(super) fn resume(&self, last: &str) -> Option<mpsc::Receiver<Bytes>> {
        let EventId { stream, number } = EventId::read(last)?;
        let mut tracks = self.lock();
        let track = tracks.by_number.get_mut(&stream)?;
        if number > track.latest {
            return None;
        }
        let (out, pieces) = mpsc::channel(QUEUE + track.kept.len());
        drop(out.try_send(reply::STILL_HERE));
        track.reader = Some(out);
        track.give_after(number);
        if track.is_over {
            track.reader = None;
        }
        Some(pieces)
    }

    /// Writes what belongs to no request.
    pub(super) async fn note(&self, frame: &Frame) {
        self.write(UNASKED, frame).await;
    }

    /// Writes a message; where nobody reads, it is only kept.
    pub(super) async fn write(&self, stream: u64, frame: &Frame) {
        let ready = self.lock().add(stream, frame);
        if let Some((out, event)) = ready {
            give(&out, event).await;
        }
    }

    /// Writes the answer, with which a stream ends.
    ///
    /// One that is too large to be kept is kept as an error, so that nobody waits for it in vain.
    pub(super) async fn finish(&self, stream: u64, id: &RequestId, frame: &Frame) {
        let ready = {
            let mut tracks = self.lock();
            let ready = tracks.add(stream, frame);
            if frame.bytes().len() > MAX_EVENT_BYTES {
                tracks.keep_instead(stream, id);
            }
            if let Some(track) = tracks.by_number.get_mut(&stream) {
                track.is_over = true;
                track.reader = None;
                track.left_at = Instant::now();
            }
            ready
        };
        if let Some((out, event)) = ready {
            give(&out, event).await;
        }
    }

    /// Ends a stream without an answer, and forgets it.
    pub(super) fn forget(&self, stream: u64) {
        self.lock().remove(stream);
    }

    /// Says whether somebody has read a stream in the last minutes.
    pub(super) fn is_wanted(&self, stream: u64) -> bool {
        let mut tracks = self.lock();
        let Some(track) = tracks.by_number.get_mut(&stream) else {
            return false;
        };
        track.notice();
        track.is_read() || track.left_at.elapsed() < RESUME_TIME
    }

    /// Says whether somebody reads any of them.
    pub(super) fn are_read(&self) -> bool {
        self.lock().by_number.values().any(|track| track.is_read())
    }

    /// Keeps streams alive, notices that readers are gone, and forgets what is over for long.
    pub(super) fn tend(&self) {
        let mut tracks = self.lock();
        let mut old = Vec::new();
        for (number, track) in &mut tracks.by_number {
            track.notice();
            match &track.reader {
                Some(reader) => drop(reader.try_send(reply::STILL_HERE)),
                None if track.is_over && track.left_at.elapsed() >= RESUME_TIME => {
                    old.push(*number);
                }
                None => {}
            }
        }
        for number in old {
            tracks.remove(number);
        }
    }

    /// Ends the connection of the stream that would never end.
    pub(super) fn stop_listening(&self) {
        if let Some(track) = self.lock().by_number.get_mut(&UNASKED) {
            track.reader = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tracks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tracks {
    /// Numbers and keeps an event; returns it with who is there to read it.
    fn add(&mut self, stream: u64, frame: &Frame) -> Option<(mpsc::Sender<Bytes>, Bytes)> {
        if stream == UNASKED {
            self.by_number.entry(UNASKED).or_default();
        }
        let track = self.by_number.get_mut(&stream)?;
        track.latest += 1;
        let number = track.latest;
        let event = reply::event(frame, Some(EventId { stream, number }));
        let reader = track.reader.clone().filter(|reader| !reader.is_closed());
        if reader.is_some() {
            track.given = number;
        }
        if frame.bytes().len() <= MAX_EVENT_BYTES && !track.is_fleeting {
            track.kept.push_back((number, event.clone()));
            self.bytes += event.len();
            self.events += 1;
            self.make_room();
        }
        Some((reader?, event))
    }

    fn keep_instead(&mut self, stream: u64, id: &RequestId) {
        let Some(track) = self.by_number.get_mut(&stream) else {
            return;
        };
        let error = reply::fault(reply::INTERNAL_ERROR, "the answer was too large to be kept");
        let id = id.as_json();
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        let Ok(frame) = Frame::new(text) else {
            return;
        };
        let number = track.latest;
        let event = reply::event(&frame, Some(EventId { stream, number }));
        self.bytes += event.len();
        self.events += 1;
        track.kept.push_back((number, event));
        self.make_room();
    }

    /// Forgets the oldest until what is kept is within its bounds.
    fn make_room(&mut self) {
        while self.by_number.len() > MAX_STREAMS || self.is_above() {
            let mut all = self.by_number.iter();
            if let Some(number) = all.find_map(|(number, it)| it.is_over.then_some(*number)) {
                self.remove(number);
                continue;
            }
            if !self.is_above() {
                // Each of them has a request under way, and a room has a bound for those.
                return;
            }
            let Some(event) = self
                .by_number
                .values_mut()
                .find_map(|track| track.kept.pop_front())
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
        self.forget_kept(number);
        self.by_number.remove(&number);
    }

    fn forget_kept(&mut self, number: u64) {
        if let Some(track) = self.by_number.get_mut(&number) {
            let kept = std::mem::take(&mut track.kept);
            self.events -= kept.len();
            self.bytes -= kept.iter().map(|(_, it)| it.len()).sum::<usize>();
        }
    }
}

impl Default for Track {
    fn default() -> Self {
        Self {
            reader: None,
            kept: VecDeque::new(),
            latest: 0,
            given: 0,
            is_over: false,
            is_fleeting: false,
            left_at: Instant::now(),
        }
    }
}

impl Track {
    /// Lets somebody read from now on.
    fn begin(&mut self, stream: u64, priming: Priming, out: mpsc::Sender<Bytes>) {
        let number = self.given;
        // A client waits for the first byte before it goes on.
        let first = match priming {
            Priming::Event => reply::priming_event(EventId { stream, number }),
            Priming::None => reply::STILL_HERE,
        };
        drop(out.try_send(first));
        self.reader = Some(out);
    }

    /// Gives the reader what is kept after an event.
    fn give_after(&mut self, number: u64) {
        let Some(reader) = &self.reader else {
            return;
        };
        for (_, event) in self.kept.iter().filter(|(it, _)| *it > number) {
            drop(reader.try_send(event.clone()));
        }
        self.given = self.latest;
    }

    /// Notices that the reader is gone.
    fn notice(&mut self) {
        if self.reader.as_ref().is_some_and(mpsc::Sender::is_closed) {
            self.reader = None;
            self.left_at = Instant::now();
        }
    }

    fn is_read(&self) -> bool {
        self.reader.as_ref().is_some_and(|it| !it.is_closed())
    }
}

/// Gives something to who waits; who does not take it in time has given up.
pub(super) async fn give<T>(out: &mpsc::Sender<T>, item: T) {
    if let Err(mpsc::error::TrySendError::Full(item)) = out.try_send(item) {
        // Boxed like everything rare: whoever gives anything would be as large.
        drop(Box::pin(timeout(READ_TIME, out.send(item))).await);
    }
}

/// The stream for what belongs to no request.
const UNASKED: u64 = 0;
/// How much may wait for a client that reads slowly.
const QUEUE: usize = 64;
const READ_TIME: Duration = Duration::from_secs(30);
/// How long a stream waits for its client to come back.
const RESUME_TIME: Duration = Duration::from_secs(2 * 60);
/// Bounds of what is kept for a session.
const MAX_BYTES: usize = 1024 * 1024;
const MAX_EVENTS: usize = 256;
const MAX_STREAMS: usize = 64;
/// The largest message that is kept.
const MAX_EVENT_BYTES: usize = MAX_BYTES / 2;

#[cfg(test)]
mod tests;
