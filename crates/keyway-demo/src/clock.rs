//! The clock of `docs` and of the host that signs in there: the machine's, or ahead of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use keyway_secret::{BootTime, Clock, SystemClock};

/// The machine's clock, plus what it was moved ahead.
///
/// A token that expires by this clock expires for the server that issued it and for the host that
/// holds it at once, on a machine of any speed; nothing has to be slept for.
#[derive(Debug, Default)]
pub struct DemoClock {
    /// Relaxed: a number that guards no other data.
    ahead_seconds: AtomicU64,
}

impl DemoClock {
    /// Moves the clock ahead by whole seconds.
    pub fn advance(&self, by: Duration) {
        self.ahead_seconds
            .fetch_add(by.as_secs(), Ordering::Relaxed);
    }

    fn ahead(&self) -> Duration {
        Duration::from_secs(self.ahead_seconds.load(Ordering::Relaxed))
    }
}

impl Clock for DemoClock {
    fn monotonic(&self) -> Instant {
        SystemClock.monotonic() + self.ahead()
    }

    fn wall(&self) -> SystemTime {
        SystemClock.wall() + self.ahead()
    }

    fn boot(&self) -> Option<BootTime> {
        let now = SystemClock.boot()?;
        let seconds = now.seconds().saturating_add(self.ahead().as_secs());
        Some(BootTime::new(now.boot(), seconds))
    }
}
