//! What authorizers need of the outside world; the transport and the program supply it.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use keyway_secret::Secret;

use crate::BoxFuture;
use crate::error::HelperFault;

/// Tells the time, so that tests can.
pub trait Clock: Send + Sync + Debug {
    /// Returns a time that never goes back.
    fn monotonic(&self) -> Instant;
}

/// Runs a headers helper: one program, bounded in time and output, in a process group of its own.
pub trait HelperRunner: Send + Sync + Debug {
    /// Runs it once and returns what it printed on standard output.
    ///
    /// # Errors
    ///
    /// Returns which rule it broke; the output is then thrown away.
    fn run(&self, timeout: Duration) -> BoxFuture<'_, Result<Secret<Vec<u8>>, HelperFault>>;
}
