//! How long this crate waits.

use std::time::Duration;

/// For the first answer of the service: the first client waits until the program has started.
pub(crate) const SERVICE_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
