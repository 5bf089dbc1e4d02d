//! The stream of a client of 2024-11-05 (HTTP+SSE): it is the session.
//!
//! ```text
//!  opened ──initialize──► connecting ──connected──► open ──stream or server gone──► over
//!     └──────30 s without initialize──────────────────────────────────────────────►─┘
//! ```

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use keyway_transport::{Frame, RequestId, SHUTDOWN_TIMEOUT};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use keyway_mcp::jsonrpc::{self, METHOD_NOT_FOUND};

use super::client_session::ClientSession;
use super::reply;
use crate::timeouts::{INITIALIZE_TIMEOUT, SHUTDOWN_POLL};

/// One client and its stream.
#[derive(Debug)]
pub(super) struct SseStream {
    pub(super) events: mpsc::Sender<Bytes>,
    /// Set by the first `initialize`, once the upstream connection is open.
    pub(super) client: OnceLock<Arc<ClientSession>>,
    /// Cloned by every task that is connecting or still has an answer to write.
    busy: Arc<()>,
    opened_at: Instant,
}

impl SseStream {
    pub(super) fn new(events: mpsc::Sender<Bytes>) -> Self {
        Self {
            events,
            client: OnceLock::new(),
            busy: Arc::default(),
            opened_at: Instant::now(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.events.is_closed()
            || match self.client.get() {
                Some(client) => client.is_over(),
                None => !self.is_busy() && self.opened_at.elapsed() > INITIALIZE_TIMEOUT,
            }
    }

    /// Keeps the stream from ending, until what is returned is dropped.
    pub(super) fn busy(&self) -> Arc<()> {
        Arc::clone(&self.busy)
    }

    /// Keeps the stream alive; one that is full is not idle.
    pub(super) fn keep_alive(&self) {
        drop(self.events.try_send(reply::KEEP_ALIVE));
    }

    /// Answers on the stream that a method is not known.
    pub(super) fn refuse(&self, id: Option<&RequestId>, what: &str) {
        let text = jsonrpc::error(id, &jsonrpc::error_object(METHOD_NOT_FOUND, what));
        if let Ok(frame) = Frame::new(text) {
            drop(self.events.try_send(reply::event(&frame, None)));
        }
    }

    /// Closes the upstream connection once the calls under way have their answers. The stream was
    /// taken out of the store before: no new call can come.
    pub(super) async fn finish(&self) {
        let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
        while self.is_busy() && Instant::now() < deadline {
            sleep(SHUTDOWN_POLL).await;
        }
        self.close().await;
    }

    pub(super) async fn close(&self) {
        if let Some(client) = self.client.get() {
            client.close().await;
        }
    }

    fn is_busy(&self) -> bool {
        Arc::strong_count(&self.busy) > 1
    }
}
