//! Answers of the control API: JSON, and problems as RFC 9457 has them.

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use keyway::diagnosis::Diagnosis;
use keyway_code::Code;
use keyway_transport::Reply;
use serde::Serialize;

/// Answers with an object.
pub(super) fn json(status: StatusCode, object: &impl Serialize) -> Reply {
    with_type(status, "application/json", object)
}

/// Answers that a request cannot be served, whatever the state of a server.
pub(super) fn problem(status: StatusCode, detail: &str) -> Reply {
    problem_object(&Problem {
        title: status.canonical_reason().unwrap_or("Error"),
        status: status.as_u16(),
        detail,
        code: None,
        hint: None,
        fixable_by: None,
    })
}

/// Answers that there is no such server.
pub(super) fn unknown_server() -> Reply {
    let detail = "no server with this id; `GET /v1/servers` lists all";
    problem(StatusCode::NOT_FOUND, detail)
}

/// Answers that the method is another one.
pub(super) fn wrong_method(allowed: &'static str) -> Reply {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    problem(status, "this path takes another method")
        .header(ALLOW, HeaderValue::from_static(allowed))
}

/// Refuses a host that a person has not allowed to approve entries.
pub(super) fn host_not_allowed() -> Reply {
    problem_object(&Problem {
        title: "Unauthorized",
        status: StatusCode::UNAUTHORIZED.as_u16(),
        detail: "approving needs the token of a host that was allowed on a terminal",
        code: None,
        hint: Some("run `keyway embed allow NAME` and send the token as `Authorization: Bearer`"),
        fixable_by: Some("person"),
    })
    .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

/// Answers that something could not be done to a server, as its diagnosis says.
pub(super) fn server_problem(found: &Diagnosis) -> Reply {
    let status = StatusCode::CONFLICT;
    problem_object(&Problem {
        title: status.canonical_reason().unwrap_or("Error"),
        status: status.as_u16(),
        detail: &found.message,
        code: found.code.map(Code::as_str),
        hint: found.hint.as_deref(),
        fixable_by: found.fixable_by().map(|fixer| fixer.as_str()),
    })
}

/// Begins a stream of events.
pub(super) fn events(pieces: tokio::sync::mpsc::Receiver<bytes::Bytes>) -> Reply {
    let mut pieces = pieces;
    guarded(StatusCode::OK, "text/event-stream").pieces(futures_util::stream::poll_fn(
        move |context| pieces.poll_recv(context),
    ))
}

/// RFC 9457, with what every error of Keyway says.
#[derive(Serialize)]
struct Problem<'a> {
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: Option<&'static str>,
    hint: Option<&'a str>,
    fixable_by: Option<&'a str>,
}

fn problem_object(problem: &Problem<'_>) -> Reply {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with_type(status, "application/problem+json", problem)
}

fn with_type(status: StatusCode, kind: &'static str, object: &impl Serialize) -> Reply {
    let mut text = serde_json::to_vec(object).unwrap_or_default();
    text.push(b'\n');
    guarded(status, kind).body(text)
}

fn guarded(status: StatusCode, kind: &'static str) -> Reply {
    Reply::new(status)
        .header(CONTENT_TYPE, HeaderValue::from_static(kind))
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}
