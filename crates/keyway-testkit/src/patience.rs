//! How long a test waits for what must happen.

use std::time::{Duration, Instant};

/// Tells a test that hangs from one on a slow machine. Nothing that is right takes as long anywhere,
/// so it is never a measure of how fast something is.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is so; panics if it never is.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(POLL);
    }
}

const POLL: Duration = Duration::from_millis(10);
