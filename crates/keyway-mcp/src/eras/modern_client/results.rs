//! Results and errors of a legacy server as a modern client wants them.

use keyway_transport::{Frame, FrameError, RequestId};
use serde_json::value::RawValue;

use super::super::message;
use crate::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS};
use crate::splice::{RawObject, quoted};

/// Returns an answer to `method` under the client's id, with what the modern era requires.
pub(super) fn modern(method: &str, id: &RequestId, frame: &Frame) -> Result<Frame, FrameError> {
    let envelope = frame.envelope()?;
    let (name, body) = match (envelope.result, envelope.error) {
        (_, Some(error)) => ("error", with_modern_code(error.get())),
        (Some(result), None) => ("result", complete(method, result.get())),
        (None, None) => return message::with(frame, &[("id", id.as_json())]),
    };
    message::with(frame, &[("id", id.as_json()), (name, &body)])
}

/// Returns what must be done in a browser before a request can be repeated (2025-11-25).
///
/// Each is the parameters of an elicitation, as written.
pub(super) fn required_urls(frame: &Frame) -> Option<Vec<String>> {
    let error = frame.envelope().ok()?.error?;
    let error = RawObject::read(error.get())?;
    if error.get("code") != Some(URL_ELICITATION_REQUIRED) {
        return None;
    }
    let data = error.object("data")?;
    let urls: Vec<&RawValue> = serde_json::from_str(data.get("elicitations")?).ok()?;
    let urls: Vec<_> = urls.iter().map(|visit| visit.get().to_owned()).collect();
    Some(urls).filter(|urls| !urls.is_empty())
}

/// Returns the same demand as text that the client shows, where a result can be one.
pub(super) fn unvisited(method: &str, id: &RequestId, frame: &Frame) -> Result<Frame, FrameError> {
    let error = frame.envelope()?.error;
    let error = error.and_then(|error| RawObject::read(error.get()));
    let text = error.as_ref().and_then(|error| error.get("message"));
    match text.filter(|_| method == "tools/call") {
        Some(text) => {
            let content = format!(r#"[{{"type":"text","text":{text}}}]"#);
            let result = format!(r#"{{"content":{content},"isError":true}}"#);
            message::result(id, &complete(method, &result))
        }
        None => modern(method, id, frame),
    }
}

/// Says that a result must not be cached: the server did not say how long it is valid.
pub(super) fn forbid_caching(result: &mut RawObject<'_>) {
    result.set_default("ttlMs", "0");
    result.set_default("cacheScope", quoted("private"));
}

fn complete(method: &str, result: &str) -> String {
    let Some(mut members) = RawObject::read(result) else {
        return result.to_owned();
    };
    members.set_default("resultType", quoted("complete"));
    if CACHEABLE.contains(&method) {
        forbid_caching(&mut members);
    }
    members.to_string()
}

/// 2026-07-28, basic, "Error Codes": codes of earlier versions are not sent any more.
fn with_modern_code(error: &str) -> String {
    let Some(mut members) = RawObject::read(error) else {
        return error.to_owned();
    };
    let code = match members.get("code") {
        Some(RESOURCE_NOT_FOUND) => INVALID_PARAMS,
        Some(URL_ELICITATION_REQUIRED) => INTERNAL_ERROR,
        _ => return error.to_owned(),
    };
    members.set("code", code.to_string());
    members.to_string()
}

/// The methods whose results say how long they hold (2026-07-28, schema: `CacheableResult`).
pub(super) const CACHEABLE: [&str; 5] = [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

const RESOURCE_NOT_FOUND: &str = "-32002";
const URL_ELICITATION_REQUIRED: &str = "-32042";
