//! Answers of the gateway in the forms that clients read.

use std::fmt;

use bytes::{Bytes, BytesMut};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderValue, StatusCode};
use keyway_transport::{Frame, Reply, RequestId};
use serde_json::{Value, json};

use keyway_mcp::backpressure::with_reservation_of;

/// Answers with text for a person.
pub(super) fn plain(status: StatusCode, text: &'static str) -> Reply {
    Reply::new(status)
        .header(
            CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        )
        .body(text)
}

/// Turns a request away without saying more than that.
pub(super) fn forbidden() -> Reply {
    plain(StatusCode::FORBIDDEN, "forbidden\n")
}

/// Turns a method away.
pub(super) fn wrong_method() -> Reply {
    let allowed = HeaderValue::from_static("GET, POST, DELETE");
    plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n").header(ALLOW, allowed)
}

/// Answers with one message.
pub(super) fn message(status: StatusCode, bytes: impl Into<Bytes>) -> Reply {
    Reply::new(status).header(CONTENT_TYPE, JSON).body(bytes)
}

/// Answers a request with an error of our own.
pub(super) fn error(status: StatusCode, id: Option<&RequestId>, error: &Value) -> Reply {
    let id = id.map_or("null", RequestId::as_json);
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
    message(status, text)
}

/// Writes an error for [`error`].
pub(super) fn fault(code: i64, message: &str) -> Value {
    json!({ "code": code, "message": message })
}

/// Begins a stream of events.
pub(super) fn events(pieces: tokio::sync::mpsc::Receiver<Bytes>) -> Reply {
    Reply::new(StatusCode::OK)
        .header(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))
        .header(
            CACHE_CONTROL,
            HeaderValue::from_static("no-cache, no-transform"),
        )
        .pieces(pieces)
}

/// Where an event stands: the number of its stream, and its own number in that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) number: u64,
}

impl EventId {
    /// Reads what a client sent back.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (stream, number) = text.split_once('-')?;
        let stream = stream.parse().ok()?;
        let number = number.parse().ok()?;
        Some(Self { stream, number })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

/// Writes a message as an event.
pub(super) fn event(frame: &Frame, id: Option<EventId>) -> Bytes {
    let bytes = frame.bytes();
    let mut text = BytesMut::with_capacity(bytes.len() + 48);
    text.extend_from_slice(b"event: message\n");
    if let Some(id) = id {
        text.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r')) {
        if !line.is_empty() {
            text.extend_from_slice(b"data: ");
            text.extend_from_slice(line);
            text.extend_from_slice(b"\n");
        }
    }
    text.extend_from_slice(b"\n");
    with_reservation_of(frame, text.freeze())
}

/// Writes an event that says only where a stream is and when to come back to it
/// (2025-11-25, "Sending Messages to the Server" 6).
pub(super) fn priming_event(id: EventId) -> Bytes {
    format!("id: {id}\nretry: {RETRY_MS}\ndata: \n\n").into()
}

/// Says nothing, so that everybody between sees that the stream is alive.
pub(super) const STILL_HERE: Bytes = Bytes::from_static(b": \n\n");

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// How long a client waits before it takes up a stream again.
const RETRY_MS: u32 = 1000;

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL_ERROR: i64 = -32603;
pub(super) const NO_SESSION: i64 = -32001;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_over_several_lines_stays_one_event() {
        let frame = Frame::new("{\n\"a\":\r\n1}").unwrap();
        assert_eq!(
            &event(&frame, None)[..],
            b"event: message\ndata: {\ndata: \"a\":\ndata: 1}\n\n"
        );
    }
}
