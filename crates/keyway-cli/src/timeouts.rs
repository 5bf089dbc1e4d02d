//! How long the program waits.

use std::time::Duration;

/// How long renewals are finished at the end of a command: as long as a claim on a refresh token
/// lasts.
pub(crate) const LONGEST_RENEWAL: Duration = Duration::from_secs(120);
/// After this a person is told what the command is waiting for.
pub(crate) const SILENT_RENEWAL: Duration = Duration::from_secs(1);

/// For threads when the runtime shuts down: one that reads from a terminal ends with the next line
/// only.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// For connections and children when the gateway or a command closes them.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The same after a request that timed out.
pub(crate) const CLOSE_AFTER_TIMEOUT: Duration = Duration::from_secs(1);

/// For how long a gateway that other machines reach takes calls after `/readyz` has said that it ends:
/// enough for a balancer that asks every second and believes the second answer, and shorter than
/// what stops a process waits.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(5);

/// For the last answers of a gateway that stops to be written.
pub(crate) const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_millis(500);

/// How often `keyway logs -f` looks for new lines.
pub(crate) const LOG_LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// How long an access token of the demo lives: short enough to see it renewed.
pub(crate) const DEMO_TOKEN_LIFETIME: Duration = Duration::from_secs(60);
/// How often the journal of the demo's servers is read.
pub(crate) const DEMO_JOURNAL_INTERVAL: Duration = Duration::from_millis(250);
/// For the gateway of the demo to start, and to stop.
pub(crate) const DEMO_GATEWAY_START_TIMEOUT: Duration = Duration::from_secs(10);
pub(crate) const DEMO_GATEWAY_STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// How often it is looked whether it did.
pub(crate) const DEMO_GATEWAY_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long the table of the demo waits for a person in front of a browser.
pub(crate) const DEMO_CONSENT_TIMEOUT: Duration = Duration::from_secs(120);
/// For `keyway headers`: clients wait ten seconds for a helper.
pub(crate) const HEADERS_TIMEOUT: Duration = Duration::from_secs(8);
/// For a gateway to give a link to its dashboard.
pub(crate) const DASHBOARD_LINK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a person may take to unlock the keyring in its own window.
pub(crate) const KEYRING_PROMPT_TIMEOUT: Duration = Duration::from_secs(60);
/// A wait shorter than this shows no spinner.
pub(crate) const SPINNER_DELAY: Duration = Duration::from_millis(500);
/// How often a spinner or countdown is drawn.
pub(crate) const FRAME_INTERVAL: Duration = Duration::from_millis(250);
