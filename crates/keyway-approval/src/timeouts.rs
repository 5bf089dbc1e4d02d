//! For how long a file must be unchanged.

use std::time::Duration;

/// A file that changed this long ago is not read again while its times stay. Twice as long as a page
/// waits until it is written to the disk.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(60);
