//! How long the demo waits, and how long its codes live.

use std::time::Duration;

/// How long an authorization code can be exchanged.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_secs(60);
/// For one page. Generous: a machine that is busy answers late, and a person would wait as well.
pub(crate) const PAGE_TIMEOUT: Duration = Duration::from_secs(30);
