//! How long the gateway waits, and how often it looks.

use std::time::Duration;

/// How long a button of the dashboard waits for what it began; then the page shows that it is
/// under way.
pub(crate) const BUTTON_TIMEOUT: Duration = Duration::from_secs(6);

/// How long the sign-in button waits for a consent page.
pub(crate) const SIGN_IN_PAGE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a client's call waits for a sign-in: less than the minute that most clients wait.
pub(crate) const CLIENT_SIGN_IN_TIMEOUT: Duration = Duration::from_secs(45);

/// How often the files of served plugins are looked at.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(1);
