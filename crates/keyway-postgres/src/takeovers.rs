//! How many claims this replica took over.

use std::sync::atomic::{AtomicU64, Ordering};

/// Claims that were taken over, by cause.
///
/// Relaxed: numbers to show, which guard no other data.
#[derive(Debug, Default)]
pub(crate) struct Takeovers {
    died: AtomicU64,
    ended: AtomicU64,
    overdue: AtomicU64,
}

impl Takeovers {
    /// Counts one by its cause, as the audit names it.
    pub(crate) fn count(&self, cause: &str) {
        let count = match cause {
            "replica-ended" => &self.ended,
            "overdue" => &self.overdue,
            _ => &self.died,
        };
        // Relaxed: see above.
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many there were: of replicas that died, that ended, and of claims overdue.
    pub(crate) fn counts(&self) -> [u64; 3] {
        // Relaxed: see above.
        [&self.died, &self.ended, &self.overdue].map(|count| count.load(Ordering::Relaxed))
    }
}
