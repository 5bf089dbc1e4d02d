//! Tells that something has changed, and not what.

use tokio::sync::watch;

/// Counts changes, for any number of [`Changes`].
#[derive(Debug)]
pub struct ChangeCounter(watch::Sender<u64>);

impl Default for ChangeCounter {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl ChangeCounter {
    /// Wakes all receivers.
    pub fn count(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Returns what tells of changes from now on.
    #[must_use]
    pub fn subscribe(&self) -> Changes {
        Changes(self.0.subscribe())
    }

    /// Says whether a client waits for changes.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.0.receiver_count() > 0
    }
}

/// Waits for changes.
#[derive(Debug)]
pub struct Changes(watch::Receiver<u64>);

impl Changes {
    /// Waits until something has changed since the last call; `false` if nothing can any more.
    ///
    /// Cancel safety: a change that comes meanwhile is told by the next call.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
