//! What a client's request says: its message, and what the client can read.

use std::sync::{Arc, LazyLock};

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use keyway_transport::{Envelope, Frame, Inbound, Reply};
use memchr::memmem::Finder;

use super::limits::Permits;
use super::message_shares::{MessageShare, MessageShares};
use super::principal::{Principal, PrincipalId};
use super::reply;
use super::routes::Route;
use super::upstream_connection::{self, RequestInfo};
use keyway_dashboard::activity::RequestRecorder;

/// A client's message, with what decides how it is served.
#[derive(Debug)]
pub(super) struct ClientMessage {
    pub(super) principal: Principal,
    pub(super) route: Route,
    pub(super) headers: HeaderMap,
    pub(super) frame: Frame,
    /// Records the request when its last owner drops it.
    pub(super) recorder: Option<Arc<RequestRecorder>>,
    /// Its places among the requests that may be made at once, until it is answered.
    pub(super) permits: Option<Arc<Permits>>,
    /// What a large one takes of its client's memory.
    pub(super) _share: MessageShare,
}

impl ClientMessage {
    /// Reads the message of a request.
    pub(super) async fn read(
        mut request: Inbound,
        (principal, route): (Principal, Route),
        shares: &MessageShares,
    ) -> Result<Self, Reply> {
        let (frame, share) = read(&mut request, principal.id(), shares).await?;
        Ok(Self {
            principal,
            route,
            headers: request.headers,
            frame,
            recorder: None,
            permits: None,
            _share: share,
        })
    }
}

async fn read(
    request: &mut Inbound,
    id: PrincipalId,
    shares: &MessageShares,
) -> Result<(Frame, MessageShare), Reply> {
    if !is_json(&request.headers) {
        let what = "the body must be application/json\n";
        return Err(reply::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
    }
    let busy = |_| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let what = "too many large messages of this client are under way\n";
        reply::try_later(reply::plain(status, what))
    };
    let mut share = shares.take(id, &request.headers).await.map_err(busy)?;
    let body = request.body().await.map_err(|fault| {
        use keyway_transport::BodyError;
        let status = match fault {
            BodyError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
            BodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        };
        reply::plain(status, "the body was not read\n")
    })?;
    share.keep_for(body.len());
    let too_large = |_| reply::plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large\n");
    let frame = Frame::new(body).map_err(too_large)?;
    frame.read_ahead().await;
    Ok((frame, share))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Says whether a client reads event streams.
pub(super) fn takes_events(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(ACCEPT).iter();
    all.any(|value| {
        let text = value.to_str().unwrap_or_default();
        text.contains("text/event-stream") || text.contains("*/*") || text.contains("text/*")
    })
}

/// Says whether a client names event streams before anything else.
pub(super) fn prefers_events(headers: &HeaderMap) -> bool {
    let first = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    first.is_some_and(|text| text.trim_start().starts_with("text/event-stream"))
}

/// Describes a request to a connection; `None` if the message is not a request.
pub(super) fn asked(envelope: &Envelope<'_>, headers: &HeaderMap) -> Option<RequestInfo> {
    let id = envelope.id().filter(|_| envelope.method.is_some())?;
    let params = envelope.params.map_or("", |params| params.get());
    let token = TOKEN
        .find(params.as_bytes())
        .and_then(|_| upstream_connection::progress_token(envelope));
    Some(RequestInfo {
        id,
        token,
        takes_events: takes_events(headers),
    })
}

/// Returns the tool that a call names.
pub(super) fn tool_name(envelope: &Envelope<'_>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        name: std::borrow::Cow<'a, str>,
    }
    let params = envelope.params?.get();
    let params: Params<'_> = serde_json::from_str(params).ok()?;
    Some(bounded(&params.name))
}

/// A client may call things what it likes; so much of it is kept.
pub(super) fn bounded(name: &str) -> String {
    name.chars().take(MOST_CHARS).collect()
}

const MOST_CHARS: usize = 120;
/// Few requests want to hear of their progress, and arguments can be long.
static TOKEN: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("progressToken"));
