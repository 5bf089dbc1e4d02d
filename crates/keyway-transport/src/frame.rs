//! One JSON-RPC message as bytes, and the little of it that is ever read.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

/// The bytes of one JSON-RPC message, without a line break around or inside.
///
/// It is parsed once, however often its envelope is read. `Debug` shows the length only: arguments
/// and results are confidential.
#[derive(Clone)]
pub struct Frame(Arc<Inner>);

/// Behind a pointer: queues have places for many messages, most of them empty.
struct Inner {
    bytes: Bytes,
    /// `None` if the bytes are not a message.
    parts: OnceLock<Option<Parts>>,
}

impl Frame {
    /// Takes the bytes of one message as a peer sent them.
    ///
    /// # Errors
    ///
    /// Returns [`FrameError::TooLarge`] above [`MAX_FRAME_BYTES`]. The content is not looked at.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, FrameError> {
        let bytes = bytes.into();
        if bytes.len() > MAX_FRAME_BYTES {
            return Err(FrameError::TooLarge { bytes: bytes.len() });
        }
        let end = bytes.trim_ascii_end().len();
        let start = bytes.len() - bytes.trim_ascii_start().len();
        Ok(Self(Arc::new(Inner {
            bytes: bytes.slice(start.min(end)..end),
            parts: OnceLock::new(),
        })))
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// Returns a copy for keeping: the bytes alone, without the buffer that they arrived in.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Arc::new(Inner {
            bytes: Bytes::copy_from_slice(&self.0.bytes),
            parts: self.0.parts.clone(),
        }))
    }

    /// Returns the same message with a value that lives as long as its bytes.
    #[must_use]
    pub fn along_with(&self, companion: impl Send + 'static) -> Self {
        let bytes = self.0.bytes.clone();
        Self(Arc::new(Inner {
            bytes: Bytes::from_owner(Accompanied {
                bytes,
                _companion: companion,
            }),
            parts: self.0.parts.clone(),
        }))
    }

    /// Reads the envelope ahead of its first use: here if that takes no time, and on another thread
    /// if the message is so large that every other connection would wait meanwhile.
    ///
    /// Cancel safety: cancel safe; a message that was not read ahead is read when it is used.
    pub async fn read_ahead(&self) {
        if self.0.parts.get().is_none() {
            self.read_with(|frame| drop(frame.envelope())).await;
        }
    }

    /// Runs `read` on the message, on another thread if it is large.
    ///
    /// Cancel safety: a large message is read to its end, and the result dropped.
    pub async fn read_with<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        if self.0.bytes.len() <= READ_INLINE_BYTES {
            return read(self);
        }
        let frame = self.clone();
        match tokio::task::spawn_blocking(move || read(&frame)).await {
            Ok(read) => read,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down, and this task with it.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Returns the envelope, read in one pass without copying or interpreting what it carries.
    ///
    /// # Errors
    ///
    /// Returns [`FrameError::NotJsonRpc`] if it is not one JSON object.
    pub fn envelope(&self) -> Result<Envelope<'_>, FrameError> {
        let Inner { bytes, parts } = &*self.0;
        let parts = parts.get_or_init(|| Parts::read(bytes));
        let parts = parts.as_ref().ok_or(FrameError::NotJsonRpc)?;
        let raw = |part: Option<Part>| Some(Raw(bytes.get(part?.range())?));
        Ok(Envelope {
            id: parts.id.as_ref(),
            method: parts.method.as_deref().map(Cow::Borrowed),
            params: raw(parts.params),
            result: raw(parts.result),
            error: raw(parts.error),
        })
    }
}

struct Accompanied<T> {
    bytes: Bytes,
    _companion: T,
}

impl<T> AsRef<[u8]> for Accompanied<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        self.0.bytes == other.0.bytes
    }
}

impl Eq for Frame {}

/// The members that decide where a message goes, and where those are that it carries. Every task on a
/// message's way asks for id and method, so that both are made once.
#[derive(Debug, Clone)]
struct Parts {
    id: Option<RequestId>,
    method: Option<Arc<str>>,
    params: Option<Part>,
    result: Option<Part>,
    error: Option<Part>,
}

/// A part of a message, which is never as large as four gigabytes.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// A member is never the first byte.
    start: NonZeroU32,
    end: u32,
}

impl Parts {
    fn read(bytes: &Bytes) -> Option<Self> {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(borrow)]
            id: Option<&'a RawValue>,
            #[serde(borrow)]
            method: Option<&'a RawValue>,
            #[serde(borrow)]
            params: Option<&'a RawValue>,
            #[serde(borrow)]
            result: Option<&'a RawValue>,
            #[serde(borrow)]
            error: Option<&'a RawValue>,
        }
        let members: Members<'_> = serde_json::from_slice(bytes).ok()?;
        let part = |raw: Option<&RawValue>| Part::of(raw?.get(), bytes);
        let method = match members.method {
            Some(raw) => Some(string(raw.get())?.into()),
            None => None,
        };
        Some(Self {
            id: members.id.map(|raw| RequestId(raw.get().into())),
            method,
            params: part(members.params),
            result: part(members.result),
            error: part(members.error),
        })
    }
}

impl Part {
    /// Returns where `text` is, which was borrowed from `bytes`.
    fn of(text: &str, bytes: &Bytes) -> Option<Self> {
        let start = text.as_ptr().addr().checked_sub(bytes.as_ptr().addr())?;
        Some(Self {
            start: u32::try_from(start).ok()?.try_into().ok()?,
            end: start.checked_add(text.len())?.try_into().ok()?,
        })
    }

    const fn range(self) -> Range<usize> {
        self.start.get() as usize..self.end as usize
    }
}

/// A member of a message as written: JSON that was not parsed.
#[derive(Clone, Copy)]
pub struct Raw<'a>(&'a [u8]);

impl<'a> Raw<'a> {
    /// Returns its text.
    #[must_use]
    pub fn get(self) -> &'a str {
        // It was read as text before.
        std::str::from_utf8(self.0).unwrap_or_default()
    }

    /// Returns it as a type of `serde_json`, to be passed on.
    #[must_use]
    pub fn value(self) -> Option<&'a RawValue> {
        serde_json::from_slice(self.0).ok()
    }
}

/// Reads a member as a string.
fn string(text: &str) -> Option<Cow<'_, str>> {
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    if !inside.contains('\\') {
        return Some(Cow::Borrowed(inside));
    }
    serde_json::from_str(text).map(Cow::Owned).ok()
}

impl fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.0.len())
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({} bytes)", self.0.bytes.len())
    }
}

/// The members of a message that decide where it goes.
#[non_exhaustive]
pub struct Envelope<'a> {
    /// Absent in notifications, and where it is `null`.
    id: Option<&'a RequestId>,
    /// The method; absent in responses.
    pub method: Option<Cow<'a, str>>,
    /// The parameters as written.
    pub params: Option<Raw<'a>>,
    /// The result as written.
    pub result: Option<Raw<'a>>,
    /// The error as written.
    pub error: Option<Raw<'a>>,
}

impl fmt::Debug for Envelope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

impl Envelope<'_> {
    /// Returns the id, if the message has one that is not `null`.
    #[must_use]
    pub fn id(&self) -> Option<RequestId> {
        self.id.cloned()
    }

    /// Says what the message is.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.method.is_some() && self.id.is_some()
    }

    /// Says whether the message answers a request.
    #[must_use]
    pub const fn is_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }
}

/// The id of a request exactly as written: `1`, `1.0` and `"1"` are three ids. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Makes an id of a number of our own.
    #[must_use]
    pub fn number(number: u64) -> Self {
        Self(number.to_string().into())
    }

    /// Returns the id as JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Larger than [`MAX_FRAME_BYTES`].
    #[error("the message is larger than {} MiB", MAX_FRAME_BYTES >> 20)]
    TooLarge {
        /// How many bytes it has at least.
        bytes: usize,
    },
    /// Larger than what is left of the memory for large messages.
    #[error("too many large messages wait to be read")]
    NoRoom,
    /// Not one JSON object.
    #[error("not a JSON-RPC message")]
    NotJsonRpc,
}

impl FrameError {
    /// A message that was not read to its end.
    pub(crate) const fn above_limit() -> Self {
        Self::TooLarge {
            bytes: MAX_FRAME_BYTES + 1,
        }
    }
}

/// The largest message in either direction.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;
/// Reading so much takes less than a millisecond.
const READ_INLINE_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &'static str) -> Frame {
        Frame::new(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_envelope_is_read_and_the_bytes_stay_as_they_are() {
        let text = r#"{"z": 1e400, "params": {"n": 12345678901234567890123, "a": 1, "a": 2}, "method": "to\u006fls/call", "id": "x"}"#;
        let frame = frame(text);
        let envelope = frame.envelope().unwrap();
        assert_eq!(envelope.method.as_deref(), Some("tools/call"));
        assert_eq!(envelope.id().unwrap().as_json(), "\"x\"");
        assert!(envelope.is_request() && !envelope.is_response());
        assert_eq!(frame.bytes(), text.as_bytes());
    }

    #[test]
    fn message_is_parsed_once_for_all_clones() {
        let text = r#"{"id":1,"method":"a","params":{"x":[]}}"#;
        let first = Frame::new(text).unwrap();
        assert!(first.0.parts.get().is_none());
        assert_eq!(
            first.envelope().unwrap().params.unwrap().get(),
            r#"{"x":[]}"#
        );
        for copy in [first.clone(), first.detached()] {
            assert!(copy.0.parts.get().is_some());
            let envelope = copy.envelope().unwrap();
            assert_eq!(envelope.method.as_deref(), Some("a"));
            assert_eq!(envelope.params.unwrap().get(), r#"{"x":[]}"#);
            assert!(envelope.result.is_none() && envelope.error.is_none());
        }
        assert_eq!(first, Frame::new(text).unwrap());
    }

    #[tokio::test]
    async fn other_tasks_run_while_a_large_message_is_read() {
        let large = format!(r#"{{"id":1,"result":"{}"}}"#, "x".repeat(8_000_000));
        let frame = Frame::new(large).unwrap();
        let turns = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = Arc::clone(&turns);
        let other = tokio::spawn(async move {
            loop {
                counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        frame.read_ahead().await;
        other.abort();
        assert!(frame.0.parts.get().is_some_and(Option::is_some));
        assert!(turns.load(std::sync::atomic::Ordering::Relaxed) > 0);
    }

    #[test]
    fn method_that_is_not_a_string_is_refused() {
        for method in ["7", "{}", "[\"a\"]", "true", r#""\ud800""#] {
            let text = format!(r#"{{"id":1,"method":{method}}}"#);
            let frame = Frame::new(text).unwrap();
            for _ in 0..2 {
                let error = frame.envelope().unwrap_err();
                assert_eq!(error, FrameError::NotJsonRpc, "{method}");
            }
        }
        let absent = frame(r#"{"id":1,"method":null,"result":null}"#);
        assert!(absent.envelope().unwrap().method.is_none());
    }

    #[test]
    fn blanks_and_line_breaks_around_a_message_are_dropped() {
        assert_eq!(
            frame(" \r\n{\"id\":1}\r\n").bytes(),
            "{\"id\":1}".as_bytes()
        );
        assert_eq!(frame(" \n").bytes().len(), 0);
    }

    #[test]
    fn companion_lives_as_long_as_the_bytes_and_the_message_is_not_parsed_again() {
        let first = frame(r#"{"id":1}"#);
        assert!(first.envelope().is_ok());
        let companion = Arc::new(());
        let second = first.along_with(Arc::clone(&companion));
        assert_eq!(first, second);
        assert!(second.0.parts.get().is_some());
        let bytes = second.bytes().clone();
        drop((first, second));
        assert_eq!(Arc::strong_count(&companion), 2);
        drop(bytes);
        assert_eq!(Arc::strong_count(&companion), 1);
    }

    #[test]
    fn ids_are_compared_as_written() {
        let ids: Vec<_> = [r#"{"id":1}"#, r#"{"id":1.0}"#, r#"{"id":"1"}"#]
            .map(|text| frame(text).envelope().unwrap().id().unwrap())
            .to_vec();
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
        assert_eq!(frame(r#"{"id":null}"#).envelope().unwrap().id(), None);
    }

    #[test]
    fn non_object_is_refused_and_never_shown() {
        for text in ["", "[]", "x", "{", "\"CANARY\""] {
            let error = frame(text).envelope().unwrap_err();
            assert_eq!(error, FrameError::NotJsonRpc, "{text}");
            assert!(!format!("{error:?} {:?}", frame(text)).contains("CANARY"));
        }
    }

    #[test]
    fn a_message_above_the_limit_is_refused() {
        let bytes = vec![b' '; MAX_FRAME_BYTES + 1];
        assert!(matches!(
            Frame::new(bytes),
            Err(FrameError::TooLarge { .. })
        ));
    }
}
