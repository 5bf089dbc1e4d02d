//! What tells a user of a sign-in that it changed, or that another wants it to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use keyway_store::{ChangeFeed, StoreError, UseMarker};

use super::{Shared, State};

/// Set when the user is asked to stop.
#[derive(Debug)]
pub(super) struct MemoryMarker(pub(super) Arc<AtomicBool>);

impl UseMarker for MemoryMarker {
    fn is_stop_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Tells of changes since it last looked.
#[derive(Debug)]
pub(super) struct MemoryFeed {
    pub(super) shared: Arc<Shared>,
    pub(super) seen: u64,
}

impl ChangeFeed for MemoryFeed {
    fn changed(&mut self) -> Result<bool, StoreError> {
        self.wait(Duration::ZERO)
    }

    fn wait(&mut self, at_most: Duration) -> Result<bool, StoreError> {
        let seen = self.seen;
        let state = self.shared.lock();
        let unchanged = |state: &mut State| state.changes == seen;
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, at_most, unchanged);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.seen = state.changes;
        Ok(self.seen != seen)
    }
}
