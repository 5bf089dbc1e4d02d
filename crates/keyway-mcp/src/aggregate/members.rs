//! Servers that come and go behind an aggregate while its client stays.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use keyway_auth::BoxFuture;
use keyway_transport::{Frame, Link, RequestId, TransportError};
use tokio::time::{Instant, sleep};

use super::hub::Hub;
use super::{Member, RequestTarget};
use crate::timeouts::{REMOVE_POLL, REMOVE_TIMEOUT};

/// The client's end: what it says goes to the servers as they are now.
///
/// The lock is held to copy the hub, and for writing while its successor is made, so that two
/// changes do not start from the same hub. It is never held across an await. A message that was
/// given to a hub stays with it.
pub(super) struct AggregateLink(RwLock<Arc<Hub>>);

/// Changes which servers are behind an aggregate, as long as that has a client.
#[derive(Debug, Clone)]
pub struct AggregateMembers(Weak<AggregateLink>);

impl AggregateLink {
    pub(super) fn new(hub: Hub) -> Arc<Self> {
        Arc::new(Self(RwLock::new(Arc::new(hub))))
    }

    pub(super) fn members(self: &Arc<Self>) -> AggregateMembers {
        AggregateMembers(Arc::downgrade(self))
    }

    fn hub(&self) -> Arc<Hub> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AggregateMembers {
    /// Says whether the client has disconnected.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// Ends every member, as a client does that goes away on another thread.
    #[cfg(test)]
    pub(super) fn end(&self) {
        if let Some(link) = self.0.upgrade() {
            link.hub().end();
        }
    }

    /// Returns plugin and server of what a request is about, as far as that is known.
    pub fn server_of(&self, subject: &RequestTarget) -> Option<(String, String)> {
        self.0.upgrade()?.hub().server_of(subject)
    }

    /// Replaces the members, and notifies the client.
    ///
    /// One with the same name and the same connector keeps its connection. Those of all others are
    /// ended when the requests under way are, or after some seconds.
    ///
    /// Must be called inside a runtime.
    pub fn replace(&self, members: Vec<Member>) {
        let Some(link) = self.0.upgrade() else {
            return;
        };
        let (before, after) = {
            let mut current = link.0.write().unwrap_or_else(PoisonError::into_inner);
            let Some(next) = current.succeeded_by(members) else {
                return;
            };
            let next = Arc::new(next);
            (std::mem::replace(&mut *current, Arc::clone(&next)), next)
        };
        after.announce(&before);
        drop(tokio::spawn(async move {
            let under_way = before.under_way();
            let deadline = Instant::now() + REMOVE_TIMEOUT;
            while before.is_any_under_way(&under_way) && Instant::now() < deadline {
                sleep(REMOVE_POLL).await;
            }
            before.close_all_but(&after).await;
        }));
    }
}

impl fmt::Debug for AggregateLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AggregateLink")
    }
}

impl Link for AggregateLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let hub = self.hub();
            hub.receive(frame).await
        })
    }

    fn abandon(&self, id: &RequestId) {
        self.hub().cancel(id.as_json());
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let hub = self.hub();
            hub.close().await;
        })
    }
}

impl Drop for AggregateLink {
    fn drop(&mut self) {
        self.hub().end();
    }
}
