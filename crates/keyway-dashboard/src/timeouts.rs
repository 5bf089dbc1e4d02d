//! How long the dashboard waits, and how often it looks.

use std::time::Duration;

/// How long a button of the dashboard waits for what it began; then the page shows that it is
/// under way.
pub const BUTTON_TIMEOUT: Duration = Duration::from_secs(6);

/// How long messages of a server are recorded at most.
pub(crate) const MESSAGE_LOG_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// How long a link to the dashboard works.
pub(crate) const LINK_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// How long a session of the dashboard is kept without a request.
pub(crate) const BROWSER_IDLE_TIMEOUT: Duration = Duration::from_secs(8 * 60 * 60);

/// How long a session of the dashboard lasts at most.
pub(crate) const BROWSER_SESSION_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How often a page is rendered again without a change: times that it shows pass.
pub(crate) const LIVE_REFRESH_INTERVAL: Duration = Duration::from_secs(5);

/// How long several changes are collected.
pub(crate) const LIVE_UPDATE_PAUSE: Duration = Duration::from_millis(150);

/// How long a browser may take to read an update.
pub(crate) const LIVE_WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Before a collector that failed is tried for the second time.
pub(crate) const EXPORT_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// How often spans are exported, as OpenTelemetry specifies it.
pub(crate) const EXPORT_DELAY: Duration = Duration::from_secs(5);
