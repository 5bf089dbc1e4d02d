//! One JSON-RPC message as bytes, and the little of it that is ever read.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

/// The bytes of one JSON-RPC message, without a line break around or inside.
///
/// `Debug` shows the length only: arguments and results are nobody's business.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame(Bytes);

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
        Ok(Self(bytes.slice(start.min(end)..end)))
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Returns a copy for keeping: the bytes alone, without the buffer that they arrived in.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// Reads the envelope in one pass, without copying or interpreting what it carries.
    ///
    /// # Errors
    ///
    /// Returns [`FrameError::NotJsonRpc`] if it is not one JSON object.
    pub fn envelope(&self) -> Result<Envelope<'_>, FrameError> {
        serde_json::from_slice(&self.0).map_err(|_| FrameError::NotJsonRpc)
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({} bytes)", self.0.len())
    }
}

/// The members of a message that decide where it goes.
#[derive(Deserialize)]
pub struct Envelope<'a> {
    /// The id as written; absent in notifications.
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    /// The method; absent in responses.
    #[serde(borrow)]
    pub method: Option<Cow<'a, str>>,
    /// The parameters as written.
    #[serde(borrow)]
    pub params: Option<&'a RawValue>,
    /// The result as written.
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    /// The error as written.
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
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
        self.id
            .filter(|id| id.get() != "null")
            .map(|id| RequestId(id.get().into()))
    }

    /// Says what the message is.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.method.is_some() && self.id().is_some()
    }

    /// Says whether the message answers a request.
    #[must_use]
    pub const fn is_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }
}

/// The id of a request exactly as written: `1`, `1.0` and `"1"` are three ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(Box<str>);

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
    #[error("a message of {bytes} bytes is larger than the limit of {MAX_FRAME_BYTES}")]
    TooLarge {
        /// How many bytes it has.
        bytes: usize,
    },
    /// Not one JSON object.
    #[error("not a JSON-RPC message")]
    NotJsonRpc,
}

/// The largest message in either direction.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

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
    fn blanks_and_line_breaks_around_a_message_are_dropped() {
        assert_eq!(
            frame(" \r\n{\"id\":1}\r\n").bytes(),
            "{\"id\":1}".as_bytes()
        );
        assert_eq!(frame(" \n").bytes().len(), 0);
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
    fn what_is_no_object_is_refused_and_never_shown() {
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
