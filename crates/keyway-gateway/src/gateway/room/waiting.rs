//! Who waits in a room, under which id and token, and whom something of the server may belong to.

use std::collections::HashMap;

use http::StatusCode;
use keyway_transport::{Reply, RequestId};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::place::Place;
use super::{Asked, Item};
use crate::gateway::reply::{self, INVALID_REQUEST};

/// The requests of a client that wait, and when it last asked for something.
#[derive(Debug)]
pub(super) struct State {
    pub(super) waiting: HashMap<RequestId, Waiting>,
    begun: u64,
    pub(super) used_at: Instant,
    pub(super) is_over: bool,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) out: mpsc::Sender<Item>,
    token: Option<Box<str>>,
    /// Whether more than the answer can be sent to whoever waits.
    takes_events: bool,
    order: u64,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            waiting: HashMap::new(),
            begun: 0,
            used_at: Instant::now(),
            is_over: false,
        }
    }

    /// Lets a request wait, if it can be told from the others and there are not too many.
    pub(super) fn enter(&mut self, asked: &Asked) -> Result<mpsc::Receiver<Item>, NoEntry> {
        let is_same = |other: &Waiting| asked.token.is_some() && other.token == asked.token;
        let is_taken = self.waiting.contains_key(&asked.id) || self.waiting.values().any(is_same);
        if self.is_over || is_taken {
            return Err(NoEntry::Taken);
        }
        if self.waiting.len() >= MAX_WAITING {
            return Err(NoEntry::Full);
        }
        Ok(self.wait(asked))
    }

    /// Lets a request wait.
    pub(super) fn wait(&mut self, asked: &Asked) -> mpsc::Receiver<Item> {
        let (out, items) = mpsc::channel(QUEUE);
        self.begun += 1;
        self.used_at = Instant::now();
        let waiting = Waiting {
            out,
            token: asked.token.clone(),
            takes_events: asked.takes_events,
            order: self.begun,
        };
        self.waiting.insert(asked.id.clone(), waiting);
        items
    }

    /// Finds the request that something of the server belongs to.
    pub(super) fn find(&self, place: &Place) -> Option<mpsc::Sender<Item>> {
        let takers = || self.waiting.iter().filter(|(_, it)| it.takes_events);
        let found = match place {
            Place::Progress(token) => {
                takers().find(|(_, it)| it.token.as_deref() == Some(token))?
            }
            Place::Subscription(id) => takers().find(|(own, _)| own.as_json() == &**id)?,
            Place::Nobody => return None,
            // Nothing on the wire says whose it is; the latest request is the likeliest.
            Place::Anybody => takers().max_by_key(|(_, it)| it.order)?,
        };
        Some(found.1.out.clone())
    }
}

/// Why nobody can wait in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoEntry {
    /// Somebody waits under the same id or token already, or the connection has ended.
    Taken,
    /// As many wait as may.
    Full,
}

impl NoEntry {
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
        reply::error(status, Some(id), &reply::fault(INVALID_REQUEST, what))
    }
}

/// How much may wait for a client that reads slowly.
const QUEUE: usize = 64;
/// How many requests may be under way at once.
const MAX_WAITING: usize = 1024;
