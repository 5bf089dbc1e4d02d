//! How long the program waits.

use std::time::Duration;

/// For a token that is being renewed when the process is to end: longer than the token endpoint is
/// waited for.
pub(crate) const LONGEST_RENEWAL: Duration = Duration::from_secs(12);

/// For threads when the runtime shuts down: one that reads from a terminal ends with the next line
/// only.
pub(crate) const LONGEST_GOODBYE: Duration = Duration::from_millis(500);

/// For connections and children when the gateway closes them.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// For the last answers of a gateway that stops to be written.
pub(crate) const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_millis(500);
