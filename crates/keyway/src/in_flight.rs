//! What a process must not end in the middle of.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyway_store::GrantKey;

/// What a process must not end in the middle of: tokens that are renewed, and what is stored aside.
#[derive(Debug, Clone, Default)]
pub struct InFlight(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// The sign-ins whose refresh token this process has claimed.
    /// Held for one change or one look, on threads of the store as well; no other lock is taken
    /// under it.
    claimed: Mutex<HashSet<GrantKey>>,
    /// How much is being stored that no caller waits for.
    ///
    /// `Relaxed`: the number guards no other data. It is raised before the thread that stores is
    /// started, so a task that starts a store and then waits for zero sees it.
    stores: AtomicUsize,
}

impl InFlight {
    /// Waits until nothing is renewed or stored any more, or for so long; tells whether it is so.
    ///
    /// Only time in which the process runs counts: one that was stopped looks once more.
    ///
    /// A process that ends between the server's answer and our commit takes the only valid token
    /// with it. So a process that is about to end waits here first, inside the runtime.
    ///
    /// Cancel safety: cancel safe; it only waits.
    pub async fn settled(&self, limit: Duration) -> bool {
        let looks = limit.as_millis() / POLL_INTERVAL.as_millis();
        for _ in 0..looks {
            if self.is_settled() {
                return true;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.is_settled()
    }

    fn is_settled(&self) -> bool {
        self.0.stores.load(Ordering::Relaxed) == 0 && self.claimed().is_empty()
    }

    /// Begins to store something.
    pub(crate) fn storing(&self) -> Storing {
        self.0.stores.fetch_add(1, Ordering::Relaxed);
        Storing(self.clone())
    }

    pub(crate) fn claimed(&self) -> MutexGuard<'_, HashSet<GrantKey>> {
        self.0
            .claimed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that is being stored, and that a process that is about to end waits for as well.
#[derive(Debug)]
pub(crate) struct Storing(InFlight);

impl Drop for Storing {
    fn drop(&mut self) {
        self.0.0.stores.fetch_sub(1, Ordering::Relaxed);
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(10);
