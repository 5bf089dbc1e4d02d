//! JSON-RPC 2.0 messages as text, and the error codes of JSON-RPC and MCP.
//!
//! This is the only place that writes the envelope of a message. Parameters, results and errors
//! come in as JSON and are not read again, so that bytes of a peer pass through unchanged.

use keyway_transport::RequestId;

/// Writes a request; `params` is JSON.
#[must_use]
pub fn request(id: &RequestId, method: &str, params: Option<&str>) -> String {
    let mut text = opened(method.len() + params.map_or(0, str::len));
    push_id(&mut text, Some(id));
    push_method(&mut text, method, params);
    text
}

/// Writes a notification; `params` is JSON.
#[must_use]
pub fn notification(method: &str, params: Option<&str>) -> String {
    let mut text = opened(method.len() + params.map_or(0, str::len));
    push_method(&mut text, method, params);
    text
}

/// Writes the notification that cancels a request.
#[must_use]
pub fn cancelled(id: &RequestId) -> String {
    let params = format!(r#"{{"requestId":{}}}"#, id.as_json());
    notification("notifications/cancelled", Some(&params))
}

/// Writes the response with a result; `result` is JSON.
#[must_use]
pub fn result(id: &RequestId, result: &str) -> String {
    response(Some(id), "result", result)
}

/// Writes the response with an error, which is a JSON [object](error_object). Without an id it
/// answers a message whose id could not be read.
#[must_use]
pub fn error(id: Option<&RequestId>, error: &str) -> String {
    response(id, "error", error)
}

/// Writes an error object without `data`.
#[must_use]
pub fn error_object(code: i64, message: &str) -> String {
    let mut text = format!(r#"{{"code":{code},"message":"#);
    push_quoted(&mut text, message);
    text.push('}');
    text
}

fn response(id: Option<&RequestId>, member: &str, body: &str) -> String {
    let mut text = opened(body.len());
    push_id(&mut text, id);
    text.push_str(",\"");
    text.push_str(member);
    text.push_str("\":");
    text.push_str(body);
    text.push('}');
    text
}

/// Begins a message; one allocation is enough for what follows.
fn opened(payload: usize) -> String {
    let mut text = String::with_capacity(payload.saturating_add(ENVELOPE_BYTES));
    text.push_str(r#"{"jsonrpc":"2.0""#);
    text
}

fn push_id(text: &mut String, id: Option<&RequestId>) {
    text.push_str(",\"id\":");
    text.push_str(id.map_or("null", RequestId::as_json));
}

fn push_method(text: &mut String, method: &str, params: Option<&str>) {
    text.push_str(",\"method\":");
    push_quoted(text, method);
    if let Some(params) = params {
        text.push_str(",\"params\":");
        text.push_str(params);
    }
    text.push('}');
}

/// Adds a JSON string; one that needs no escapes is copied as it is.
fn push_quoted(text: &mut String, value: &str) {
    let is_plain = |byte: &u8| matches!(byte, 0x20..0x7f) && !matches!(byte, b'"' | b'\\');
    if value.as_bytes().iter().all(is_plain) {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        text.push_str(&serde_json::Value::from(value).to_string());
    }
}

/// What a message has beside its payload, with an id of usual length.
const ENVELOPE_BYTES: usize = 96;

/// JSON-RPC 2.0: not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON-RPC 2.0: not a request.
pub const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC 2.0: unknown method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC 2.0: the parameters do not fit the method.
pub const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC 2.0: the receiver failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// MCP up to 2025-11-25: there is no such resource.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// MCP 2025-11-25: a person has to open a page first.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// MCP 2026-07-28: headers and body of a request differ.
pub const HEADER_MISMATCH: i64 = -32020;
/// MCP 2026-07-28: the client lacks a capability that the request needs.
pub const MISSING_CAPABILITY: i64 = -32021;
/// MCP 2026-07-28: the protocol version is not supported.
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// An error of Keyway's own. In the range that JSON-RPC leaves to implementations (-32000 to -32099),
/// apart from the codes that MCP and the official SDKs use there.
pub const LOCAL_ERROR: i64 = -32050;
/// A call that a policy of the gateway refuses; in the same range.
pub const TOOL_DENIED: i64 = -32051;

#[cfg(test)]
mod tests {
    use keyway_transport::Frame;

    use super::*;

    fn id(json: &str) -> RequestId {
        let frame = Frame::new(format!(r#"{{"id":{json}}}"#)).unwrap();
        frame.envelope().unwrap().id().unwrap()
    }

    #[test]
    fn every_kind_of_message_is_written_as_the_specification_has_it() {
        for (text, expected) in [
            (
                request(&id("7"), "tools/call", Some(r#"{"name":"a"}"#)),
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}"#,
            ),
            (
                request(&id("\"a\""), "ping", None),
                r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
            ),
            (
                notification("notifications/initialized", None),
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            ),
            (
                cancelled(&id("7")),
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#,
            ),
            (
                result(&id("7"), "{}"),
                r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            ),
            (
                error(None, &error_object(PARSE_ERROR, "not JSON")),
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}"#,
            ),
        ] {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn text_of_a_peer_cannot_leave_its_string() {
        for hostile in [
            "a\",\"id\":1,\"x\":\"",
            "back\\slash",
            "new\nline",
            "ü",
            "\u{0}",
        ] {
            let text = notification(hostile, None);
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["method"], hostile);
            let text = error_object(1, hostile);
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["message"], hostile);
        }
    }
}
