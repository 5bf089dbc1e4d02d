//! Messages from a server over HTTP: what they are to the request that waits, and small repairs.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use memchr::{memchr2, memchr2_iter};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

#[cfg(any(feature = "sse", feature = "ws"))]
use crate::connection::Event;
use crate::error::TransportError;
use crate::frame::{Frame, FrameError, RequestId};

/// What a message is to the request that waits.
#[derive(Debug)]
pub(crate) enum ServerMessage {
    /// Its answer, under its id as written.
    Response(Frame),
    /// A request or a notification.
    Other(Frame),
    /// The answer to something else, or no message at all.
    Unrelated,
}

/// Reads what a server sent while `id` waits.
///
/// # Errors
///
/// Returns [`FrameError`] for bytes that are not a JSON-RPC message.
pub(crate) async fn classify(
    bytes: Bytes,
    id: &RequestId,
) -> Result<ServerMessage, TransportError> {
    let frame = Frame::new(without_line_breaks(bytes))?;
    frame.read_ahead().await;
    let envelope = frame.envelope()?;
    if envelope.method.is_some() {
        return Ok(ServerMessage::Other(frame));
    }
    if !envelope.is_response() {
        return Ok(ServerMessage::Unrelated);
    }
    Ok(match envelope.id() {
        Some(other) if other == *id => ServerMessage::Response(frame),
        Some(other) if same_id(&other, id) => ServerMessage::Response(with_id(&frame, id)?),
        _ => ServerMessage::Unrelated,
    })
}

/// Reads the body of an HTTP error as the JSON-RPC error that answers `id`, if it is one.
///
/// A server that could not read the request sends an error without an id; it is ours all the same.
pub(crate) fn error_response(body: Bytes, id: &RequestId) -> Option<Frame> {
    let frame = Frame::new(without_line_breaks(body)).ok()?;
    let envelope = frame.envelope().ok()?;
    if envelope.method.is_some() {
        return None;
    }
    // OAuth errors have a member of the same name.
    error_code(&frame)?;
    match envelope.id() {
        Some(other) if other == *id => Some(frame),
        Some(other) if !same_id(&other, id) => None,
        _ => with_id(&frame, id).ok(),
    }
}

/// Returns the code of a JSON-RPC error.
pub(crate) fn error_code(frame: &Frame) -> Option<i64> {
    #[derive(Deserialize)]
    struct Error {
        code: i64,
    }
    let envelope = frame.envelope().ok()?;
    let error: Error = serde_json::from_str(envelope.error?.get()).ok()?;
    Some(error.code)
}

/// Replaces line breaks between tokens by blanks; inside a JSON string there are none.
pub(crate) fn without_line_breaks(bytes: Bytes) -> Bytes {
    let text = bytes.trim_ascii();
    if memchr2(b'\n', b'\r', text).is_none() {
        return bytes;
    }
    let breaks: Vec<usize> = memchr2_iter(b'\n', b'\r', &bytes).collect();
    let mut bytes = BytesMut::from(bytes);
    for position in breaks {
        if let Some(byte) = bytes.get_mut(position) {
            *byte = b' ';
        }
    }
    bytes.freeze()
}

/// Says whether two ids mean the same: a server may escape or count differently than we wrote.
pub(crate) fn same_id(left: &RequestId, right: &RequestId) -> bool {
    let value = |id: &RequestId| serde_json::from_str::<serde_json::Value>(id.as_json()).ok();
    match (value(left), value(right)) {
        (Some(left), Some(right)) => {
            let number = left.as_f64().filter(|_| left.is_f64() || right.is_f64());
            left == right || number.is_some() && number == right.as_f64()
        }
        _ => false,
    }
}

/// Returns what is reported of an answer with `id` to the request `own`, which the server may have
/// spelled in its own way.
#[cfg(any(feature = "sse", feature = "ws"))]
pub(crate) fn answer_event(frame: Frame, id: &RequestId, own: RequestId) -> Event {
    if own == *id {
        return Event::Frame(frame);
    }
    match with_id(&frame, &own) {
        Ok(frame) => Event::Frame(frame),
        Err(error) => Event::Failed {
            id: own,
            error: error.into(),
        },
    }
}

/// Writes `id` where the message has another or none.
pub(crate) fn with_id(frame: &Frame, id: &RequestId) -> Result<Frame, FrameError> {
    #[derive(Deserialize)]
    struct Located<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        id: Option<&'a RawValue>,
    }
    let bytes = frame.bytes();
    let located: Located<'_> = serde_json::from_slice(bytes).map_err(|_| FrameError::NotJsonRpc)?;
    let id = id.as_json();
    let mut changed = BytesMut::with_capacity(bytes.len() + id.len() + 8);
    match located.id.map(|old| range_in(bytes, old)) {
        Some(place) => {
            changed.extend_from_slice(bytes.get(..place.start).unwrap_or_default());
            changed.extend_from_slice(id.as_bytes());
            changed.extend_from_slice(bytes.get(place.end..).unwrap_or_default());
        }
        None => {
            let rest = bytes.strip_prefix(b"{").ok_or(FrameError::NotJsonRpc)?;
            changed.extend_from_slice(b"{\"id\":");
            changed.extend_from_slice(id.as_bytes());
            changed.extend_from_slice(b",");
            changed.extend_from_slice(rest);
        }
    }
    Frame::new(changed.freeze())
}

/// Returns where in `bytes` a value was read from.
pub(crate) fn range_in(bytes: &[u8], value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr() as usize - bytes.as_ptr() as usize;
    start..start + value.get().len()
}

/// Tells a member that is `null` from one that is absent.
fn present<'de, D>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error>
where
    D: Deserializer<'de>,
{
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(json: &str) -> RequestId {
        let frame = Frame::new(format!("{{\"id\":{json}}}")).unwrap();
        frame.envelope().unwrap().id().unwrap()
    }

    async fn answer(text: &'static str, waiting: &str) -> Option<String> {
        let bytes = Bytes::from_static(text.as_bytes());
        match classify(bytes, &id(waiting)).await.unwrap() {
            ServerMessage::Response(frame) => {
                Some(String::from_utf8(frame.bytes().to_vec()).unwrap())
            }
            _ => None,
        }
    }

    #[tokio::test]
    async fn response_is_matched_and_carries_the_id_as_sent() {
        let same = r#"{"id":7,"result":{}}"#;
        assert_eq!(answer(same, "7").await.as_deref(), Some(same));
        for (text, waiting, expected) in [
            (
                r#"{"id":"a/b","result":{}}"#,
                r#""a\/b""#,
                r#"{"id":"a\/b","result":{}}"#,
            ),
            (
                r#"{"result":1, "id" : 1 }"#,
                "1.0",
                r#"{"result":1, "id" : 1.0 }"#,
            ),
        ] {
            assert_eq!(answer(text, waiting).await.as_deref(), Some(expected));
        }
        for (text, waiting) in [
            (r#"{"id":8,"result":{}}"#, "7"),
            (r#"{"id":"7","result":{}}"#, "7"),
            (r#"{"id":null,"error":{}}"#, "7"),
            (r#"{"id":7}"#, "7"),
            (r#"{"id":7,"method":"ping"}"#, "7"),
        ] {
            assert_eq!(answer(text, waiting).await, None, "{text}");
        }
    }

    #[test]
    fn error_without_an_id_gets_the_request_id() {
        let read = |text: &'static str| {
            error_response(Bytes::from_static(text.as_bytes()), &id("\"x\""))
                .map(|frame| String::from_utf8(frame.bytes().to_vec()).unwrap())
        };
        for (text, expected) in [
            (
                r#"{"error":{"code":-1}}"#,
                Some(r#"{"id":"x","error":{"code":-1}}"#),
            ),
            (
                r#"{"id":null,"error":{"code":-1}}"#,
                Some(r#"{"id":"x","error":{"code":-1}}"#),
            ),
            (
                r#"{"id":"x","error":{"code":-1}}"#,
                Some(r#"{"id":"x","error":{"code":-1}}"#),
            ),
            (r#"{"id":"y","error":{"code":-1}}"#, None),
            (r#"{"id":"x","result":{}}"#, None),
            (r#"{"error":"invalid_token"}"#, None),
            ("<html>", None),
            ("", None),
        ] {
            assert_eq!(read(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn line_breaks_between_tokens_become_spaces() {
        let pretty = Bytes::from_static(b"{\r\n  \"id\": 1,\n  \"result\": \"a\\nb\"\n}\n");
        let expected = "{    \"id\": 1,   \"result\": \"a\\nb\" }";
        assert_eq!(
            Frame::new(without_line_breaks(pretty)).unwrap().bytes(),
            expected.as_bytes()
        );
        let plain = Bytes::from_static(b"{\"id\":1}\n");
        assert_eq!(without_line_breaks(plain.clone()).as_ptr(), plain.as_ptr());
    }
}
