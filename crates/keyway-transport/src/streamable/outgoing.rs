//! A message on its way out: what the transport has to know of it, read in one pass.

use std::collections::BTreeMap;

use http::HeaderValue;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::header_value;
use super::request_metadata::RequestMetadata;
use crate::authorized_client::{DISCOVER, is_idempotent};
use crate::error::TransportError;
use crate::frame::{Envelope, Frame, Raw, RequestId};

/// A message with what decides how it is sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) frame: Frame,
    pub(super) kind: MessageKind,
    /// What the protocol since 2026-07-28 repeats in headers; `None` for older messages.
    pub(super) routing: Option<RoutingHeaders>,
}

/// What a message is to the transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// The request that begins a session, up to 2025-11-25.
    Initialize(RequestId),
    /// The notification that ends the handshake.
    Initialized,
    /// Any other request.
    Request { id: RequestId, method: Method },
    /// A notification that a request is given up, with its id.
    Cancelled(Option<RequestId>),
    /// Another notification.
    Notification,
    /// An answer to the server, which must not wait for anything.
    Response,
}

/// The methods that the transport treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// `tools/list`, from the beginning or a later page.
    ListTools { from_start: bool },
    /// `tools/call`.
    CallTool,
    /// `server/discover`.
    Discover,
    /// Other lists, reads and pings: may arrive twice.
    Idempotent,
    /// The rest.
    Other,
}

/// Values of the headers that repeat parts of a request (2026-07-28, "Request Metadata").
#[derive(Debug)]
pub(super) struct RoutingHeaders {
    pub(super) version: HeaderValue,
    pub(super) method: HeaderValue,
    pub(super) name: Option<HeaderValue>,
    /// The tool that is called, as written.
    pub(super) tool: Option<String>,
}

impl Outgoing {
    /// Reads the envelope, and of a modern request the parameters that go into headers.
    ///
    /// `is_legacy` says that a session has begun, in which nothing modern is looked for.
    pub(super) fn read(frame: Frame, is_legacy: bool) -> Result<Self, TransportError> {
        let (kind, routing) = describe(&frame.envelope()?, is_legacy);
        Ok(Self {
            frame,
            kind,
            routing,
        })
    }

    /// Returns the id, if an answer is expected.
    pub(super) const fn id(&self) -> Option<&RequestId> {
        match &self.kind {
            MessageKind::Initialize(id) | MessageKind::Request { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Returns the method, if the transport treats it differently.
    pub(super) const fn method(&self) -> Method {
        match &self.kind {
            MessageKind::Request { method, .. } => *method,
            _ => Method::Other,
        }
    }

    /// Says whether the message does no harm if it arrives twice.
    pub(super) const fn is_idempotent(&self) -> bool {
        matches!(
            self.method(),
            Method::ListTools { .. } | Method::Discover | Method::Idempotent
        )
    }

    /// Says whether the message opens a connection or a session.
    pub(super) const fn is_opening(&self) -> bool {
        matches!(self.kind, MessageKind::Initialize(_)) || matches!(self.method(), Method::Discover)
    }

    /// Returns why there is no response although the server began one, and says so if the request
    /// may have been carried out.
    pub(super) fn lost(&self, error: TransportError) -> TransportError {
        match error {
            TransportError::Closed if !self.is_idempotent() && !self.is_opening() => {
                TransportError::ResponseLost { source: None }
            }
            error => error,
        }
    }

    /// Returns the arguments of a tool call.
    pub(super) fn arguments(&self) -> Option<serde_json::Value> {
        let envelope = self.frame.envelope().ok()?;
        RequestMetadata::read(envelope.params).arguments()
    }

    /// Makes a request for the list of tools on behalf of this one.
    pub(super) fn list_tools(&self, cursor: Option<&str>) -> Option<Self> {
        let envelope = self.frame.envelope().ok()?;
        let meta = RequestMetadata::read(envelope.params).meta?;
        let meta: BTreeMap<&str, &RawValue> = serde_json::from_str(meta.get()).ok()?;
        let meta: BTreeMap<_, _> = meta
            .into_iter()
            .filter(|(key, _)| key.starts_with(META_PREFIX))
            .collect();
        let mut wanted = serde_json::Map::new();
        wanted.insert("_meta".to_owned(), serde_json::to_value(meta).ok()?);
        if let Some(cursor) = cursor {
            wanted.insert("cursor".to_owned(), cursor.into());
        }
        let request = serde_json::json!({
            "jsonrpc": "2.0", "id": "keyway-tools", "method": "tools/list", "params": wanted,
        });
        Self::read(Frame::new(request.to_string()).ok()?, false).ok()
    }
}

fn describe(envelope: &Envelope<'_>, is_legacy: bool) -> (MessageKind, Option<RoutingHeaders>) {
    let Some(method) = envelope.method.as_deref() else {
        return (MessageKind::Response, None);
    };
    let Some(id) = envelope.id() else {
        let kind = match method {
            "notifications/initialized" => MessageKind::Initialized,
            "notifications/cancelled" => {
                MessageKind::Cancelled(envelope.params.and_then(cancelled_id))
            }
            _ => MessageKind::Notification,
        };
        return (kind, None);
    };
    if method == "initialize" {
        return (MessageKind::Initialize(id), None);
    }
    if is_legacy {
        let method = Method::of(method, &RequestMetadata::default());
        return (MessageKind::Request { id, method }, None);
    }
    let params = RequestMetadata::read(envelope.params);
    let routing = RoutingHeaders::of(method, &params);
    let method = Method::of(method, &params);
    (MessageKind::Request { id, method }, routing)
}

impl Method {
    fn of(method: &str, params: &RequestMetadata<'_>) -> Self {
        match method {
            "tools/list" => Self::ListTools {
                from_start: params.cursor.is_none(),
            },
            "tools/call" => Self::CallTool,
            DISCOVER => Self::Discover,
            _ if is_idempotent(method) => Self::Idempotent,
            _ => Self::Other,
        }
    }
}

impl RoutingHeaders {
    fn of(method: &str, params: &RequestMetadata<'_>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
            version: String,
        }
        let meta: Meta = serde_json::from_str(params.meta?.get()).ok()?;
        let name = params.name(method);
        Some(Self {
            version: HeaderValue::from_str(&meta.version).ok()?,
            method: header_value::encode(method),
            name: name.as_deref().map(header_value::encode),
            tool: name.filter(|_| method == "tools/call"),
        })
    }
}

fn cancelled_id(params: Raw<'_>) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Cancelled<'a> {
        #[serde(borrow, rename = "requestId")]
        id: &'a RawValue,
    }
    let cancelled: Cancelled<'_> = serde_json::from_str(params.get()).ok()?;
    // An id is read from an envelope and from nowhere else.
    let frame = Frame::new(format!("{{\"id\":{}}}", cancelled.id.get())).ok()?;
    frame.envelope().ok()?.id()
}

const META_PREFIX: &str = "io.modelcontextprotocol/";
