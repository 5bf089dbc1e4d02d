//! How long a test waits for what must happen.

use std::time::{Duration, Instant};

/// Tells a test that hangs from one on a slow machine. Nothing that is right takes as long anywhere,
/// so it is never a measure of how fast something is.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is so; panics if it never is.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    appears(what, || is_so().then_some(()));
}

/// Waits until there is something, and returns it; panics if there never is.
#[track_caller]
pub fn appears<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        // Between two looks; whatever waits for an event of another process does it here.
        std::thread::sleep(POLL);
    }
}

const POLL: Duration = Duration::from_millis(10);
