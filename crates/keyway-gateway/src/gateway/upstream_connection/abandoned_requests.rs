//! Requests that no client waits for any more, and on which a server may still work.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use keyway_transport::RequestId;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::gateway::limits::Permits;

/// The abandoned requests of a connection that hold a place among those that may be made at once.
/// Dropping it gives all of them back.
#[derive(Debug, Default)]
pub(super) struct AbandonedRequests {
    /// Several may have had the same id, one after the other.
    requests: HashMap<RequestId, Vec<oneshot::Sender<()>>>,
}

impl AbandonedRequests {
    /// Keeps the places of a request until it is over, or for so long at most. Must be called inside a
    /// runtime.
    pub(super) fn add(&mut self, id: &RequestId, permits: Arc<Permits>, at_most: Duration) {
        let (over, is_over) = oneshot::channel();
        let of_id = self.requests.entry(id.clone()).or_default();
        // Those that were kept for long enough.
        of_id.retain(|it| !it.is_closed());
        of_id.push(over);
        drop(tokio::spawn(async move {
            // Over, or over with the connection: either way the other side is dropped.
            drop(timeout(at_most, is_over).await);
            drop(permits);
        }));
    }

    /// Notes that a server has answered, or cannot be asked.
    pub(super) fn end(&mut self, id: &RequestId) {
        let Some(of_id) = self.requests.get_mut(id) else {
            return;
        };
        of_id.pop();
        if of_id.is_empty() {
            self.requests.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const AT_MOST: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_request_is_kept_until_its_answer_its_connection_or_its_time_ends() {
        let id = || RequestId::number(1);
        let mut requests = AbandonedRequests::default();
        let permits = || Arc::new(Permits::default());
        let [answered, second, late] = [permits(), permits(), permits()];
        requests.add(&id(), Arc::clone(&answered), AT_MOST);
        requests.add(&id(), Arc::clone(&second), AT_MOST);
        tokio::task::yield_now().await;
        let held = || [&answered, &second, &late].map(|it| Arc::strong_count(it) > 1);
        assert_eq!(held(), [true, true, false]);
        requests.end(&id());
        tokio::task::yield_now().await;
        assert_eq!(held().iter().filter(|it| **it).count(), 1);
        requests.add(&id(), Arc::clone(&late), 2 * AT_MOST);
        tokio::task::yield_now().await;
        advance(AT_MOST + Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
        assert_eq!(held(), [false, false, true]);
        drop(requests);
        tokio::task::yield_now().await;
        assert_eq!(held(), [false; 3]);
    }
}
