//! The requests that wait on a connection, by id and token, and to which a message may belong.

use std::collections::HashMap;

use http::StatusCode;
use keyway_transport::{Reply, RequestId};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::abandoned_requests::AbandonedRequests;
use super::related_request::RelatedRequest;
use super::{Delivery, RequestInfo};
use crate::gateway::reply;
use keyway_mcp::jsonrpc::{self, INVALID_REQUEST};

/// The requests of a client that wait, and when it last asked for something.
#[derive(Debug)]
pub(super) struct PendingRequests {
    pub(super) pending: HashMap<RequestId, PendingRequest>,
    pub(super) abandoned: AbandonedRequests,
    count: u64,
    pub(super) used_at: Instant,
    pub(super) is_over: bool,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) sender: mpsc::Sender<Delivery>,
    token: Option<Box<str>>,
    /// Whether more than the answer can be sent to the waiting request.
    takes_events: bool,
    order: u64,
}

impl PendingRequests {
    pub(super) fn new() -> Self {
        Self {
            pending: HashMap::new(),
            abandoned: AbandonedRequests::default(),
            count: 0,
            used_at: Instant::now(),
            is_over: false,
        }
    }

    /// Lets a request wait, if it can be told from the others and there are not too many.
    pub(super) fn register(
        &mut self,
        asked: &RequestInfo,
    ) -> Result<mpsc::Receiver<Delivery>, RegisterError> {
        let is_same = |other: &PendingRequest| asked.token.is_some() && other.token == asked.token;
        let is_taken = self.pending.contains_key(&asked.id) || self.pending.values().any(is_same);
        if self.is_over || is_taken {
            return Err(RegisterError::Taken);
        }
        if self.pending.len() >= MAX_WAITING {
            return Err(RegisterError::Full);
        }
        Ok(self.wait(asked))
    }

    /// Says whether there was a request beside the first.
    pub(super) const fn was_used(&self) -> bool {
        self.count > 1
    }

    /// Lets a request wait.
    pub(super) fn wait(&mut self, asked: &RequestInfo) -> mpsc::Receiver<Delivery> {
        let (sender, deliveries) = mpsc::channel(QUEUE);
        self.count += 1;
        self.used_at = Instant::now();
        let pending = PendingRequest {
            sender,
            token: asked.token.clone(),
            takes_events: asked.takes_events,
            order: self.count,
        };
        self.pending.insert(asked.id.clone(), pending);
        deliveries
    }

    /// Takes out the request that was answered, if it still waits.
    pub(super) fn take(&mut self, id: &RequestId) -> Option<PendingRequest> {
        let found = self.pending.remove(id);
        if found.is_none() {
            self.abandoned.end(id);
        }
        found
    }

    /// Finds the request that something of the server belongs to.
    pub(super) fn find(&self, related: &RelatedRequest) -> Option<mpsc::Sender<Delivery>> {
        let takers = || self.pending.iter().filter(|(_, it)| it.takes_events);
        let found = match related {
            RelatedRequest::Progress(token) => {
                takers().find(|(_, it)| it.token.as_deref() == Some(token))?
            }
            RelatedRequest::Subscription(id) => takers().find(|(own, _)| own.as_json() == &**id)?,
            RelatedRequest::Unrelated => return None,
            // Nothing on the wire says whose it is; the latest request is the likeliest.
            RelatedRequest::Unspecified => takers().max_by_key(|(_, it)| it.order)?,
        };
        Some(found.1.sender.clone())
    }
}

/// Why a request cannot wait on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegisterError {
    /// A request with the same id or token waits already, or the connection has ended.
    Taken,
    /// Too many requests wait.
    Full,
}

impl RegisterError {
    /// Says it to a client.
    pub(crate) fn reply(self, id: &RequestId) -> Reply {
        let (status, what) = match self {
            Self::Taken => (
                StatusCode::BAD_REQUEST,
                "a request with this id or progress token is under way",
            ),
            Self::Full => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests are under way",
            ),
        };
        reply::error(
            status,
            Some(id),
            &jsonrpc::error_object(INVALID_REQUEST, what),
        )
    }
}

/// How much may wait for a client that reads slowly.
const QUEUE: usize = 64;
/// How many requests may be under way at once.
const MAX_WAITING: usize = 1024;
