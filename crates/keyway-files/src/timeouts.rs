//! Every time of this crate, by name.

use std::time::Duration;

/// How long what was unpacked of a bundle stays after the bundle is gone: its disk may be away.
pub(crate) const GONE_BUNDLE_GRACE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
