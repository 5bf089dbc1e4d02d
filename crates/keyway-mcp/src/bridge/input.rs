//! What a client writes, line by line: messages, batches taken apart, and lines that are refused.
//!
//! Every line that asks for something gets an answer. A line that cannot be read as a message is
//! answered with an error without an id, as JSON-RPC 2.0 has it (section 5).

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use keyway_transport::{Frame, MAX_FRAME_BYTES, MemoryReservation, ReadBytes};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::read_buffer::ReadBuffer;
use super::traffic_observer::TrafficObserver;
use crate::jsonrpc::{self, INVALID_REQUEST, PARSE_ERROR};

/// What a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a reader has to answer what is refused"
)]
pub enum Incoming {
    /// A message; its envelope can be read.
    Message(Frame),
    /// A line that is not passed on, and has to be answered.
    Refused(Refusal),
}

/// Why a line is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Larger than [`MAX_FRAME_BYTES`], or than the memory that is left for large messages; it was read to its end and dropped.
    TooLarge,
    /// Not JSON, or neither an object nor an array.
    NotJson,
    /// A batch, in a version that has none: they are part of 2025-03-26 alone.
    Batch,
    /// A batch without messages, or with more than [`MAX_BATCH`].
    BatchSize,
}

impl Refusal {
    /// Writes the answer.
    #[must_use]
    pub fn to_json(self) -> String {
        let too_large = format!("the message is larger than {} MiB", MAX_FRAME_BYTES >> 20);
        let batch_size = format!("a batch has 1 to {MAX_BATCH} messages");
        let (code, what) = match self {
            Self::TooLarge => (INVALID_REQUEST, too_large.as_str()),
            Self::NotJson => (PARSE_ERROR, "not a JSON-RPC message"),
            Self::Batch => (
                INVALID_REQUEST,
                "this protocol version has no batches: send each message on a line of its own",
            ),
            Self::BatchSize => (INVALID_REQUEST, batch_size.as_str()),
        };
        jsonrpc::error(None, &jsonrpc::error_object(code, what))
    }
}

/// Takes a batch apart; `None` if it has no messages, too many, or is not JSON.
#[must_use]
pub fn split_batch(frame: &Frame) -> Option<Vec<Frame>> {
    let text = str::from_utf8(frame.bytes()).ok()?;
    let messages: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    if !(1..=MAX_BATCH).contains(&messages.len()) {
        return None;
    }
    // Copied: one small message must not hold the memory of the whole batch.
    let frames = messages
        .into_iter()
        .map(|it| Frame::new(it.get().to_owned()));
    frames.collect::<Result<_, _>>().ok()
}

/// Messages of a client, one per line.
pub struct Input<R> {
    /// What comes before anything that is read.
    front: VecDeque<Incoming>,
    lines: ReadBuffer<R>,
    line: Vec<u8>,
    /// For the line that is being read.
    reservation: MemoryReservation,
    /// The rest of the line is dropped up to its end: it is too long.
    is_skipping: bool,
    /// The client asked for the one version that has batches.
    has_batches: bool,
    observer: Option<Arc<dyn TrafficObserver>>,
}

impl<R> std::fmt::Debug for Input<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Messages may hold what a person typed.
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

impl<R: ReadBytes> Input<R> {
    /// Reads messages from `input`, one on each line.
    pub fn new(input: R) -> Self {
        Self {
            front: VecDeque::new(),
            lines: ReadBuffer::new(input, READ_BYTES),
            line: Vec::new(),
            reservation: MemoryReservation::default(),
            is_skipping: false,
            has_batches: false,
            observer: None,
        }
    }

    /// Lets an observer see each message.
    pub(super) fn observed_by(mut self, observer: Arc<dyn TrafficObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Lets frames come before everything that is still to be read, but after those that were put
    /// back earlier.
    pub fn put_back(&mut self, frames: impl IntoIterator<Item = Frame>) {
        self.front.extend(frames.into_iter().map(Incoming::Message));
    }

    /// Returns a message that needs no waiting; what has to be answered is left for
    /// [`Self::next`].
    pub fn cached(&mut self) -> Option<Frame> {
        if !self.line.is_empty() || self.is_skipping || !self.front.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.lines.bytes())?;
        let line = self.lines.bytes().get(..end)?.to_vec();
        let frame = Frame::new(line).ok().filter(|it| it.envelope().is_ok())?;
        self.lines.consume(end.saturating_add(1));
        Some(frame)
    }

    /// Returns what the client sent next, or `None` when it has gone away.
    ///
    /// # Errors
    ///
    /// Returns why the client cannot be read.
    ///
    /// Cancel safety: cancel safe; what was read of a line is kept.
    pub async fn next(&mut self) -> io::Result<Option<Incoming>> {
        loop {
            if let Some(incoming) = self.front.pop_front() {
                return Ok(Some(incoming));
            }
            match self.read_line().await? {
                LineEnd::Line => {}
                LineEnd::TooLong => return Ok(Some(Incoming::Refused(Refusal::TooLarge))),
                LineEnd::Closed => return Ok(None),
            }
            // Nothing is awaited between here and the end but the reading of a large message, whose
            // loss on cancellation is the loss of a client that is not served any more.
            let line = Bytes::from(std::mem::take(&mut self.line));
            let Ok(frame) = Frame::new(self.reservation.attach(line)) else {
                return Ok(Some(Incoming::Refused(Refusal::TooLarge)));
            };
            if frame.bytes().is_empty() {
                continue;
            }
            frame.read_ahead().await;
            self.sort(frame);
        }
    }

    /// Puts what a line holds into the queue.
    fn sort(&mut self, frame: Frame) {
        if let Ok(envelope) = frame.envelope() {
            if envelope.method.as_deref() == Some("initialize") {
                let version = envelope
                    .params
                    .map(|params| requested_version(params.get()));
                self.has_batches = version.is_some_and(|it| it.as_deref() == Some(BATCH_VERSION));
            }
            drop(envelope);
            return self.accept(frame);
        }
        let refusal = match frame.bytes().first() {
            Some(b'[') if !self.has_batches => Refusal::Batch,
            Some(b'[') => match split_batch(&frame) {
                Some(messages) => {
                    for message in messages {
                        self.accept(message);
                    }
                    return;
                }
                None => Refusal::BatchSize,
            },
            _ => Refusal::NotJson,
        };
        self.front.push_back(Incoming::Refused(refusal));
    }

    fn accept(&mut self, frame: Frame) {
        if frame.envelope().is_err() {
            let refused = Incoming::Refused(Refusal::NotJson);
            return self.front.push_back(refused);
        }
        if let Some(observer) = &self.observer {
            observer.client_sent(&frame);
        }
        self.front.push_back(Incoming::Message(frame));
    }

    /// Reads up to the end of a line, holding no more of it than a message may have.
    async fn read_line(&mut self) -> io::Result<LineEnd> {
        loop {
            let length = self.line.len() + READ_BYTES;
            let room = self.reservation.grow_to(length).await;
            // Before anything is taken out of the buffer, so that stopping to wait loses nothing.
            let available = self.lines.fill().await?;
            if available.is_empty() {
                // A last line without a line break counts.
                return Ok(match std::mem::take(&mut self.is_skipping) {
                    true => LineEnd::TooLong,
                    false if self.line.is_empty() => LineEnd::Closed,
                    false => LineEnd::Line,
                });
            }
            let end = memchr::memchr(b'\n', available);
            let piece = available.get(..end.unwrap_or(available.len()));
            let piece = piece.unwrap_or_default();
            let is_too_long = self.line.len() + piece.len() > MAX_FRAME_BYTES + LINE_END;
            if self.is_skipping || is_too_long || room.is_err() {
                self.is_skipping = true;
                self.line = Vec::new();
                self.reservation = MemoryReservation::default();
            } else {
                self.line.extend_from_slice(piece);
            }
            let used = end.map_or(available.len(), |end| end + 1);
            self.lines.consume(used);
            if end.is_some() {
                return Ok(match std::mem::take(&mut self.is_skipping) {
                    true => LineEnd::TooLong,
                    false => LineEnd::Line,
                });
            }
        }
    }
}

/// How reading a line ended.
enum LineEnd {
    Line,
    TooLong,
    Closed,
}

/// Returns the version that the parameters of `initialize` ask for.
fn requested_version(params: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "protocolVersion")]
        version: Option<String>,
    }
    serde_json::from_str::<Params>(params).ok()?.version
}

/// The one version with batches (2025-03-26, "Batching"; removed in 2025-06-18).
pub const BATCH_VERSION: &str = "2025-03-26";
/// How many messages one batch may have.
pub const MAX_BATCH: usize = 256;
const READ_BYTES: usize = 64 * 1024;
/// A carriage return before the line break is not part of the message.
const LINE_END: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &[u8]) -> Vec<Result<String, Refusal>> {
        let (mut input, mut seen) = (Input::new(text), Vec::new());
        while let Some(incoming) = input.next().await.unwrap() {
            seen.push(match incoming {
                Incoming::Message(frame) => Ok(String::from_utf8(frame.bytes().to_vec()).unwrap()),
                Incoming::Refused(refusal) => Err(refusal),
            });
        }
        seen
    }

    fn initialize(version: &str) -> String {
        format!(r#"{{"id":1,"method":"initialize","params":{{"protocolVersion":"{version}"}}}}"#)
    }

    const BATCH: &str = r#"[{"id":2,"method":"a"}, {"method":"n"},7]"#;

    #[tokio::test]
    async fn batch_is_taken_apart_in_the_one_version_that_has_batches() {
        let hello = initialize(BATCH_VERSION);
        let seen = all(format!("{hello}\n{BATCH}\n[]\n").as_bytes()).await;
        assert_eq!(
            seen,
            [
                Ok(hello),
                Ok(r#"{"id":2,"method":"a"}"#.to_owned()),
                Ok(r#"{"method":"n"}"#.to_owned()),
                Err(Refusal::NotJson),
                Err(Refusal::BatchSize),
            ]
        );
    }

    #[tokio::test]
    async fn batch_is_refused_in_every_other_version() {
        for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
            let hello = initialize(version);
            let seen = all(format!("{hello}\n{BATCH}\n").as_bytes()).await;
            assert_eq!(seen, [Ok(hello), Err(Refusal::Batch)], "{version}");
        }
        assert_eq!(all(BATCH.as_bytes()).await, [Err(Refusal::Batch)]);
    }

    #[tokio::test]
    async fn line_above_the_limit_is_refused_and_the_next_is_read() {
        let mut text = vec![b'x'; MAX_FRAME_BYTES + 2];
        text.extend_from_slice(b"\n{\"id\":1}\nnonsense\n{\"id\":2}");
        let seen = all(&text).await;
        assert_eq!(
            seen,
            [
                Err(Refusal::TooLarge),
                Ok("{\"id\":1}".to_owned()),
                Err(Refusal::NotJson),
                Ok("{\"id\":2}".to_owned()),
            ]
        );
        assert_eq!(all(&vec![b'x'; MAX_FRAME_BYTES + 2]).await.len(), 1);
    }

    #[test]
    fn batch_of_too_many_messages_is_not_taken_apart() {
        let batch =
            |count: usize| Frame::new(format!("[{}]", vec!["{}"; count].join(","))).unwrap();
        assert_eq!(split_batch(&batch(MAX_BATCH)).unwrap().len(), MAX_BATCH);
        for other in [batch(MAX_BATCH + 1), batch(0), Frame::new("[{}").unwrap()] {
            assert!(split_batch(&other).is_none(), "{other:?}");
        }
    }
}
