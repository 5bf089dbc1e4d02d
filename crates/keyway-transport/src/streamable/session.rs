//! The session of protocol versions 2025-03-26 to 2025-11-25: how it begins, and how it continues.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderName, HeaderValue};
use serde::Deserialize;

use crate::frame::Frame;

/// A session that the server has accepted.
#[derive(Debug)]
pub(super) struct Session {
    /// The id that the server gave it, if it keeps sessions apart.
    pub(super) id: Option<HeaderValue>,
    /// The version that both agreed on.
    pub(super) version: Option<HeaderValue>,
    /// Only ever set. `AcqRel` and `Acquire`: a task that sees it set also sees what was done to
    /// the connection before, such as the end of its listener.
    has_ended: AtomicBool,
}

impl Session {
    /// Takes what the answer to `initialize` says; `id` comes from its headers.
    pub(super) fn new(id: Option<&HeaderValue>, answer: &Frame) -> Self {
        // As it is, it would keep the whole buffer in which the answer arrived.
        let id = id.and_then(|id| HeaderValue::from_bytes(id.as_bytes()).ok());
        let id = id.map(|mut id| {
            id.set_sensitive(true);
            id
        });
        let version = version_of(answer);
        Self {
            id,
            version,
            has_ended: AtomicBool::new(false),
        }
    }

    /// Notes that we ended it; says whether this call was the first to do so.
    pub(super) fn end(&self) -> bool {
        // The swap makes sure that one of several callers tells the server.
        !self.has_ended.swap(true, Ordering::AcqRel)
    }

    /// Says whether we ended it, so that nothing more is sent in it.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Returns the headers of every request in the session.
    pub(super) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let id = self.id.clone().map(|id| (SESSION_ID, id));
        let version = self.version.clone().map(|version| (VERSION, version));
        id.into_iter().chain(version).collect()
    }
}

/// The session in force and what is needed to begin another.
///
/// ```text
/// none ──initialize answered──▶ in force ──404──▶ replaced (one task for all, `replacing`)
///                                  │                  └──▶ in force
///                                  └─end_session──▶ ended ──next request──▶ replaced
/// ```
///
/// Requests carry the session that was in force when they were sent, so a late 404 to an old
/// session replaces nothing.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Held for a look only, never across an await.
    state: Mutex<SessionState>,
    /// Held while a lost session is replaced, so that one replacement serves all.
    pub(super) replacing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct SessionState {
    current: Option<Arc<Session>>,
    initialize: Option<Frame>,
    initialized: Option<Frame>,
}

impl Sessions {
    /// Returns the session in force.
    pub(super) fn current(&self) -> Option<Arc<Session>> {
        self.lock().current.clone()
    }

    /// Puts a session in force; `initialize` is what began it.
    pub(super) fn begin(&self, session: Session, initialize: &Frame) {
        let mut state = self.lock();
        state.current = Some(Arc::new(session));
        state.initialize = Some(initialize.detached());
    }

    /// Keeps the notification that ends the handshake.
    pub(super) fn set_initialized(&self, initialized: &Frame) {
        self.lock().initialized = Some(initialized.detached());
    }

    /// Returns what has to be said again to begin another session.
    pub(super) fn handshake(&self) -> Option<(Frame, Option<Frame>)> {
        let state = self.lock();
        Some((state.initialize.clone()?, state.initialized.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn version_of(answer: &Frame) -> Option<HeaderValue> {
    #[derive(Deserialize)]
    struct Initialized {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    let envelope = answer.envelope().ok()?;
    let result: Initialized = serde_json::from_str(envelope.result?.get()).ok()?;
    HeaderValue::from_str(&result.version).ok()
}

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
