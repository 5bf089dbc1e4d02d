//! Server-sent events, read piece by piece as they arrive and bounded in every dimension.
//!
//! Follows the HTML standard, section "Interpreting an event stream", but leaves text as bytes: what
//! an event carries is a JSON-RPC message, and its reader decides about UTF-8. Data of one line
//! that arrives in one piece is not copied.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr2;
use thiserror::Error;

use crate::body_buffer::BodyBuffer;
use crate::frame::{FrameError, MAX_FRAME_BYTES};
use crate::message_memory::MemoryReservation;
use crate::timeouts::MAX_HOLD;

/// A reader of one event stream.
///
/// Feed it with [`Self::push`], then call [`Self::next_event`] until it has nothing more.
#[derive(Debug, Default)]
pub struct EventStream {
    /// What has arrived and is not looked at yet.
    input: Bytes,
    /// The beginning of a line whose end has not arrived.
    line: BodyBuffer,
    after_cr: bool,
    past_bom: bool,
    data: Data,
    name: Option<Bytes>,
    id: Option<Bytes>,
    last_id: Option<Bytes>,
    retry: Option<Duration>,
    /// For the event that is being read.
    reservation: MemoryReservation,
}

/// One event that carries something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamEvent {
    /// The name, if it is not `message`.
    pub name: Option<Bytes>,
    /// The data, its lines joined.
    pub data: Bytes,
}

impl EventStream {
    /// Returns a reader at the beginning of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece of the stream.
    pub fn push(&mut self, piece: Bytes) {
        if self.input.is_empty() {
            self.input = piece;
        } else {
            let mut joined = BytesMut::from(std::mem::take(&mut self.input));
            joined.extend_from_slice(&piece);
            self.input = joined.freeze();
        }
    }

    /// Takes the next piece once there is memory for it, if it is part of a large event.
    ///
    /// Cancel safety: dropping the future drops the piece.
    pub(crate) async fn feed(&mut self, piece: Bytes) -> Result<(), FrameError> {
        let bytes = self.line.len() + self.data.len() + self.input.len() + piece.len();
        self.reservation.grow_to(bytes).await?;
        self.push(piece);
        Ok(())
    }

    /// Returns the next event with data, or nothing until more has been pushed.
    ///
    /// # Errors
    ///
    /// Returns [`StreamError`] if a line, an event or a field is larger than allowed. The stream
    /// is of no use afterwards.
    pub fn next_event(&mut self) -> Result<Option<StreamEvent>, StreamError> {
        while let Some(line) = self.next_line()? {
            if let Some(event) = self.take_line(line)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Frees the read buffer, for a stream that may now be silent for long.
    pub fn rest(&mut self) {
        if self.input.is_empty() {
            self.input = Bytes::new();
        }
    }

    /// Returns the id to resume after, if the server gave one.
    #[must_use]
    pub const fn last_id(&self) -> Option<&Bytes> {
        self.last_id.as_ref()
    }

    /// Returns how long the server asks to wait before reconnecting.
    #[must_use]
    pub const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn next_line(&mut self) -> Result<Option<Bytes>, StreamError> {
        if self.after_cr && !self.input.is_empty() {
            self.after_cr = false;
            if self.input.starts_with(b"\n") {
                self.input.advance(1);
            }
        }
        let Some(end) = memchr2(b'\r', b'\n', &self.input) else {
            self.keep_beginning()?;
            return Ok(None);
        };
        let tail = self.input.split_to(end);
        self.after_cr = self.input.starts_with(b"\r");
        self.input.advance(1);
        self.line.push(tail);
        let mut line = std::mem::take(&mut self.line).finish();
        if line.len() > MAX_LINE {
            return Err(StreamError::LineTooLong);
        }
        if !self.past_bom {
            self.past_bom = true;
            if line.starts_with(BOM) {
                line.advance(BOM.len());
            }
        }
        Ok(Some(line))
    }

    fn keep_beginning(&mut self) -> Result<(), StreamError> {
        let rest = std::mem::take(&mut self.input);
        if self.line.len() + rest.len() > MAX_LINE {
            return Err(StreamError::LineTooLong);
        }
        self.line.push(rest);
        Ok(())
    }

    fn take_line(&mut self, mut line: Bytes) -> Result<Option<StreamEvent>, StreamError> {
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let colon = memchr::memchr(b':', &line).unwrap_or(line.len());
        let mut start = (colon + 1).min(line.len());
        if line.get(start) == Some(&b' ') {
            start += 1;
        }
        let value = line.get(start..).unwrap_or_default();
        match line.get(..colon).unwrap_or_default() {
            b"data" => {
                line.advance(start);
                self.data.add(line)?;
            }
            b"event" if value.is_empty() || value == b"message" => self.name = None,
            b"event" => self.name = Some(small(value)?),
            // A NUL in an id makes the field void.
            b"id" if !value.contains(&0) => self.id = Some(small(value)?),
            b"retry" => self.take_retry(value),
            // A comment begins with the colon; other fields are for others.
            _ => {}
        }
        Ok(None)
    }

    fn take_retry(&mut self, value: &[u8]) {
        let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(value).ok().filter(|_| is_number);
        if let Some(milliseconds) = number.and_then(|text| text.parse().ok()) {
            self.retry = Some(Duration::from_millis(milliseconds).min(MAX_HOLD));
        }
    }

    fn dispatch(&mut self) -> Option<StreamEvent> {
        if let Some(id) = self.id.take() {
            // An empty id resets the last one.
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let name = self.name.take();
        let data = std::mem::take(&mut self.data).finish();
        let data = self.reservation.attach(data);
        (!data.is_empty()).then_some(StreamEvent { name, data })
    }
}

/// The data of an event so far.
#[derive(Debug, Default)]
enum Data {
    #[default]
    Nothing,
    OneLine(Bytes),
    Lines(BytesMut),
}

impl Data {
    fn add(&mut self, value: Bytes) -> Result<(), StreamError> {
        let so_far = match self.len() {
            0 => 0,
            bytes => bytes + 1,
        };
        if so_far + value.len() > MAX_FRAME_BYTES {
            return Err(StreamError::EventTooLarge);
        }
        *self = match std::mem::take(self) {
            Self::Nothing => Self::OneLine(value),
            Self::OneLine(first) => {
                let mut lines = BytesMut::with_capacity(first.len() + value.len() + 1);
                lines.extend_from_slice(&first);
                Self::Lines(joined(lines, &value))
            }
            Self::Lines(lines) => Self::Lines(joined(lines, &value)),
        };
        Ok(())
    }

    fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::OneLine(line) => line.len(),
            Self::Lines(lines) => lines.len(),
        }
    }

    fn finish(self) -> Bytes {
        match self {
            Self::Nothing => Bytes::new(),
            Self::OneLine(line) => line,
            Self::Lines(lines) => lines.freeze(),
        }
    }
}

fn joined(mut lines: BytesMut, value: &[u8]) -> BytesMut {
    lines.extend_from_slice(b"\n");
    lines.extend_from_slice(value);
    lines
}

/// Copies a short field, so that it does not keep the piece it came in alive.
fn small(value: &[u8]) -> Result<Bytes, StreamError> {
    if value.len() > MAX_FIELD {
        return Err(StreamError::FieldTooLong);
    }
    Ok(Bytes::copy_from_slice(value))
}

/// Which limit a stream broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A line without end.
    #[error("a line of the event stream is too long")]
    LineTooLong,
    /// An event above [`MAX_FRAME_BYTES`].
    #[error("an event of the event stream is too large")]
    EventTooLarge,
    /// A name or an id that is not one.
    #[error("a field of the event stream is too long")]
    FieldTooLong,
}

const BOM: &[u8] = b"\xef\xbb\xbf";
const MAX_LINE: usize = MAX_FRAME_BYTES + 16;
const MAX_FIELD: usize = 4 * 1024;

#[cfg(test)]
mod tests;
