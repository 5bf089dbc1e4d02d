//! Claims of processes that died in the middle of a renewal, as one process sees them.
//!
//! A server with a grace period takes the old token once more for a short while. So whichever process
//! runs on and uses the sign-in renews it at once, without being asked for a token.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::timeouts::ORPHAN_POLL_INTERVAL;
use keyway_store::{GrantKey, GrantStore};

/// Looks for orphaned claims, once for all connections of a process.
pub(crate) struct OrphanWatch {
    grants: Arc<dyn GrantStore>,
    /// Held while the store is asked, so that one asks for all. Locked on threads that may wait.
    last: Mutex<Option<Look>>,
}

struct Look {
    at: Instant,
    found: Vec<GrantKey>,
}

impl OrphanWatch {
    pub(crate) const fn new(grants: Arc<dyn GrantStore>) -> Self {
        Self {
            grants,
            last: Mutex::new(None),
        }
    }

    /// Tells whether a renewal of this sign-in was left behind; asks the store every few seconds. May
    /// wait for a disk.
    pub(crate) fn has(&self, grant: &GrantKey) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |look: &Look| look.at.elapsed() < ORPHAN_POLL_INTERVAL;
        if !last.as_ref().is_some_and(is_recent) {
            // A store that cannot be read has no news.
            let orphans = self.grants.orphans().unwrap_or_default();
            *last = Some(Look {
                at: Instant::now(),
                found: orphans.into_iter().map(|orphan| orphan.grant).collect(),
            });
        }
        last.as_ref().is_some_and(|look| look.found.contains(grant))
    }
}

impl fmt::Debug for OrphanWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrphanWatch").finish_non_exhaustive()
    }
}
