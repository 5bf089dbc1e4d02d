//! Every time that this crate waits, by name. Other modules declare none of their own.

use std::time::Duration;

/// How long a statement waits for other processes that write.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it waits where the work can as well be done later.
pub(crate) const CHECKPOINT_BUSY_TIMEOUT: Duration = Duration::from_millis(250);
/// How often it is asked for changes. That costs microseconds: SQLite compares a number in shared
/// memory.
pub(crate) const CHANGE_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How often it is looked whether other processes have stopped using a sign-in.
pub(crate) const USERS_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long one call of the keyring may take where no person is asked.
pub const KEYRING_TIME_LIMIT: Duration = Duration::from_secs(3);
/// For how long a sealed sign-in can be imported.
pub const MOVE_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How long the claim of an export lasts: it only seals and stores.
pub(crate) const MOVE_CLAIM_LIFETIME: Duration = Duration::from_secs(30);
