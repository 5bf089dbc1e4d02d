//! Events for whoever reads them later.

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::Event;

/// A bounded stream of events.
#[derive(Debug)]
pub struct EventStream {
    receiver: Option<broadcast::Receiver<Event>>,
    lost: u64,
}

impl EventStream {
    pub(super) const fn new(receiver: Option<broadcast::Receiver<Event>>) -> Self {
        Self { receiver, lost: 0 }
    }

    /// Waits for the next event; `None` when there will be no more.
    ///
    /// Whoever stops waiting loses nothing.
    pub async fn next(&mut self) -> Option<Event> {
        let receiver = self.receiver.as_mut()?;
        loop {
            match receiver.recv().await {
                Ok(event) => return Some(event),
                Err(RecvError::Lagged(count)) => self.lost = self.lost.saturating_add(count),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Returns how many events were dropped, because they were not read in time.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}
