//! How long the program waits.

use std::time::Duration;

/// How long renewals are finished at the end of a command: as long as a claim on a refresh token
/// lasts.
pub(crate) const LONGEST_RENEWAL: Duration = Duration::from_secs(120);
/// After this a person is told what the command is waiting for.
pub(crate) const SILENT_RENEWAL: Duration = Duration::from_secs(1);

/// For threads when the runtime shuts down: one that reads from a terminal ends with the next line
/// only.
pub(crate) const LONGEST_GOODBYE: Duration = Duration::from_millis(500);

/// For connections and children when the gateway closes them.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// For the last answers of a gateway that stops to be written.
pub(crate) const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_millis(500);

/// How often `keyway logs -f` looks for new lines.
pub(crate) const LOG_LOOK_INTERVAL: Duration = Duration::from_millis(250);
