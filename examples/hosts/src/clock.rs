//! A clock of one's own. What it says decides when a token has expired.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

use keyway::host::Clock;

/// A clock that moves only when it is told to.
#[derive(Debug)]
pub struct ManualClock {
    start: (Instant, SystemTime),
    moved: Mutex<Duration>,
}

impl ManualClock {
    /// Begins at `now`.
    #[must_use]
    pub fn starting_at(now: (Instant, SystemTime)) -> Self {
        Self {
            start: now,
            moved: Mutex::default(),
        }
    }

    /// Moves on.
    pub fn advance(&self, by: Duration) {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        *moved = moved.saturating_add(by);
    }

    fn moved(&self) -> Duration {
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn monotonic(&self) -> Instant {
        let (start, _) = self.start;
        start.checked_add(self.moved()).unwrap_or(start)
    }

    fn wall(&self) -> SystemTime {
        let (_, start) = self.start;
        start.checked_add(self.moved()).unwrap_or(start)
    }
}
