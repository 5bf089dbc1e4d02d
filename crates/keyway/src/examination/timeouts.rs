//! How long an examination waits.

use std::time::Duration;

/// For a whole server, where the caller sets no limit.
pub(super) const SERVER_TIMEOUT: Duration = Duration::from_secs(30);

/// For what is only looked at to explain more: other transports, whether OAuth is offered.
pub(super) const EXTRA_TIMEOUT: Duration = Duration::from_secs(8);
