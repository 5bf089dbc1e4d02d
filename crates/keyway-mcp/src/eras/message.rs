//! Messages of our own, and small changes to those of others.

use keyway_code::Code;
use keyway_transport::{Event, Frame, FrameError, Raw, RequestId, TransportError};
use serde_json::json;

use crate::jsonrpc::{self, LOCAL_ERROR};
use crate::splice::RawObject;

/// Makes an id that is ours: a string, so that no counting peer comes up with it.
pub(crate) fn own_id(kind: &str, number: u64) -> RequestId {
    read_id(&format!("\"keyway:{kind}{number}\"")).unwrap_or_else(|| RequestId::number(number))
}

/// Reads an id from its JSON.
pub(crate) fn read_id(json: &str) -> Option<RequestId> {
    // An id is read from an envelope and from nowhere else.
    let frame = Frame::new(format!("{{\"id\":{json}}}")).ok()?;
    frame.envelope().ok()?.id()
}

/// Returns the parameters of a message as written.
pub(crate) fn params_of(frame: &Frame) -> Option<&str> {
    let envelope = frame.envelope().ok()?;
    envelope.params.map(Raw::get)
}

/// Returns which request a `notifications/cancelled` speaks of.
pub(crate) fn cancelled_id(params: Option<&str>) -> Option<RequestId> {
    read_id(RawObject::read(params?)?.get("requestId")?)
}

/// Writes a request; `params` is JSON.
pub(crate) fn request(id: &RequestId, method: &str, params: &str) -> Result<Frame, FrameError> {
    Frame::new(jsonrpc::request(id, method, Some(params)))
}

/// Writes a notification; `params` is JSON.
pub(crate) fn notification(method: &str, params: &str) -> Result<Frame, FrameError> {
    Frame::new(jsonrpc::notification(method, Some(params)))
}

/// Writes a `notifications/cancelled`.
pub(crate) fn cancelled(id: &RequestId) -> Result<Frame, FrameError> {
    Frame::new(jsonrpc::cancelled(id))
}

/// Writes an answer; `result` is JSON.
pub(crate) fn result(id: &RequestId, result: &str) -> Result<Frame, FrameError> {
    Frame::new(jsonrpc::result(id, result))
}

/// Writes an error as the answer; `error` is JSON.
pub(crate) fn error(id: &RequestId, error: &str) -> Result<Frame, FrameError> {
    Frame::new(jsonrpc::error(Some(id), error))
}

/// Writes the body of an error of ours, which cannot be mistaken for the server's own.
pub(crate) fn own_error(code: Code, message: &str) -> String {
    json!({ "code": LOCAL_ERROR, "message": message, "data": { "code": code.as_str() } })
        .to_string()
}

/// Answers a request with an error; `body` is JSON.
pub(crate) fn error_event(id: &RequestId, body: &str) -> Event {
    to_event(id, error(id, body))
}

/// Answers a request with what the server did wrong.
pub(crate) fn protocol_error(id: &RequestId, what: &str) -> Event {
    let what = format!("the server broke the protocol: {what}");
    error_event(id, &own_error(Code::ProtocolError, &what))
}

/// Changes members of a message and leaves the others as they are.
pub(crate) fn with(frame: &Frame, changes: &[(&str, &str)]) -> Result<Frame, FrameError> {
    let text = str::from_utf8(frame.bytes()).map_err(|_| FrameError::NotJsonRpc)?;
    let mut members = RawObject::read(text).ok_or(FrameError::NotJsonRpc)?;
    for (name, value) in changes {
        members.set(name, *value);
    }
    Frame::new(members.to_string())
}

/// Hands an answer to a client under the client's own id.
pub(crate) fn under(id: &RequestId, frame: Frame) -> Event {
    let has_id = |frame: &Frame| frame.envelope().ok().and_then(|e| e.id()).as_ref() == Some(id);
    if has_id(&frame) {
        return Event::Frame(frame);
    }
    to_event(id, with(&frame, &[("id", id.as_json())]))
}

/// Hands over an answer, or the reason why it could not be written.
pub(crate) fn to_event(id: &RequestId, frame: Result<Frame, FrameError>) -> Event {
    match frame {
        Ok(frame) => Event::Frame(frame),
        Err(error) => Event::Failed {
            id: id.clone(),
            error: TransportError::Frame(error),
        },
    }
}
