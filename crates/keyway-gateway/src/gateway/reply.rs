//! Answers of the gateway in the forms that clients read.

use std::fmt;

use bytes::{Bytes, BytesMut};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use keyway_transport::{Frame, Reply, RequestId};

use futures_util::stream::poll_fn;
use keyway_mcp::backpressure::with_reservation_of;
use keyway_mcp::jsonrpc;
use memchr::memchr2_iter;

/// Answers with text for a person.
pub(super) fn plain(status: StatusCode, text: &'static str) -> Reply {
    Reply::new(status)
        .header(
            CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        )
        .body(text)
}

/// Refuses a request that is not addressed to us or comes from a foreign page, and says nothing
/// else: the answer may be read by that page.
pub(super) fn forbidden() -> Reply {
    plain(StatusCode::FORBIDDEN, "forbidden\n")
}

/// Refuses a request without a token that is in force. Whether the path exists is not said.
pub(super) fn token_missing() -> Reply {
    plain(StatusCode::FORBIDDEN, TOKEN_MISSING)
}

/// Refuses a token that is limited to servers, for another path. A path that does not exist gets
/// the same answer, so that the token's owner does not learn which servers there are.
pub(super) fn token_too_narrow() -> Reply {
    plain(StatusCode::FORBIDDEN, TOKEN_TOO_NARROW)
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
pub(super) fn error(status: StatusCode, id: Option<&RequestId>, error: &str) -> Reply {
    message(status, jsonrpc::error(id, error))
}

/// Answers a request with an error that has a code and a message alone.
pub(super) fn refusal(status: StatusCode, id: Option<&RequestId>, code: i64, what: &str) -> Reply {
    error(status, id, &jsonrpc::error_object(code, what))
}

/// Says when to try again.
pub(super) fn try_later(reply: Reply) -> Reply {
    reply.header(RETRY_AFTER, HeaderValue::from_static("2"))
}

/// Begins a stream of events.
pub(super) fn events(mut pieces: tokio::sync::mpsc::Receiver<Bytes>) -> Reply {
    Reply::new(StatusCode::OK)
        .header(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))
        .header(
            CACHE_CONTROL,
            HeaderValue::from_static("no-cache, no-transform"),
        )
        .pieces(poll_fn(move |context| pieces.poll_recv(context)))
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
    let mut begin = 0;
    for end in memchr2_iter(b'\n', b'\r', bytes).chain([bytes.len()]) {
        let line = bytes.get(begin..end).unwrap_or_default();
        if !line.is_empty() {
            text.extend_from_slice(b"data: ");
            text.extend_from_slice(line);
            text.extend_from_slice(b"\n");
        }
        begin = end + 1;
    }
    text.extend_from_slice(b"\n");
    with_reservation_of(frame, text.freeze())
}

/// Writes an event that says only where a stream is and when to come back to it
/// (2025-11-25, "Sending Messages to the Server" 6).
pub(super) fn priming_event(id: EventId) -> Bytes {
    format!("id: {id}\nretry: {RETRY_MS}\ndata: \n\n").into()
}

/// An empty comment, so that every proxy between sees that the stream is alive.
pub(super) const KEEP_ALIVE: Bytes = Bytes::from_static(b": \n\n");

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const TOKEN_MISSING: &str = "forbidden: send a gateway token as \"Authorization: Bearer TOKEN\"\n\
                             make one with: keyway token new --name NAME\n";
const TOKEN_TOO_NARROW: &str = "forbidden: this gateway token does not open this path\n\
                                make one that does with: keyway token new --name NAME\n";

/// How long a client waits before it takes up a stream again.
const RETRY_MS: u32 = 1000;

/// No session has the id of a request.
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
