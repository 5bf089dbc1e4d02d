//! The port through which everything below the program gets the time, so that expiry can be tested.

use std::fmt::Debug;
use std::time::{Instant, SystemTime};

/// Tells the time.
pub trait Clock: Send + Sync + Debug {
    /// Returns a time that never goes back, for durations within this process.
    fn monotonic(&self) -> Instant;

    /// Returns the time of day, for values that are sent or that outlive the process.
    fn wall(&self) -> SystemTime;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn monotonic(&self) -> Instant {
        Instant::now()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the `Clock` that everything else takes"
    )]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}
