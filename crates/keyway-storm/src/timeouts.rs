//! How long the storm waits, and what it takes for the same moment. Other modules declare none.

use std::time::Duration;

/// A request may be read a moment after its process was killed.
pub(crate) const SLACK: Duration = Duration::from_secs(1);
/// From an answer to its commit, on a busy machine.
pub(crate) const COMMIT_TIME: Duration = Duration::from_secs(3);
/// Between a kill and a restart that belong together, in either order.
pub(crate) const TAKE_OVER: Duration = Duration::from_secs(3);

/// Longer than any answer may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);
