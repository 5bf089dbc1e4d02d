//! Answers of the gateway in the forms that clients read.

use bytes::{Bytes, BytesMut};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderValue, StatusCode};
use keyway_transport::{Frame, Reply, RequestId};
use serde_json::{Value, json};

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

/// Writes a message as an event.
pub(super) fn event(frame: &Frame) -> Bytes {
    let bytes = frame.bytes();
    let mut text = BytesMut::with_capacity(bytes.len() + 24);
    text.extend_from_slice(b"event: message\n");
    for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r')) {
        if !line.is_empty() {
            text.extend_from_slice(b"data: ");
            text.extend_from_slice(line);
            text.extend_from_slice(b"\n");
        }
    }
    text.extend_from_slice(b"\n");
    text.freeze()
}

/// Says nothing, so that everybody between sees that the stream is alive.
pub(super) const STILL_HERE: Bytes = Bytes::from_static(b": \n\n");

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const NO_SESSION: i64 = -32001;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_over_several_lines_stays_one_event() {
        let frame = Frame::new("{\n\"a\":\r\n1}").unwrap();
        assert_eq!(
            &event(&frame)[..],
            b"event: message\ndata: {\ndata: \"a\":\ndata: 1}\n\n"
        );
    }
}
