//! Every time that this crate waits, by name. Other modules declare none of their own.
//!
//! How they relate: others believe for [`OWNER_LOOK_INTERVAL`] in an owner that has lost its lock, so a
//! replica takes its lock again sooner than that.

use std::time::Duration;

// Connections.

/// For one address of the database.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// What we ask of our own kernel; `SESSION_OPTIONS` asks the same of the server's.
pub(crate) const TCP_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// How long sent bytes may stay unacknowledged before the connection counts as lost.
pub(crate) const TCP_USER_TIMEOUT: Duration = Duration::from_secs(4);
/// How long a caller waits for a connection of the pool.
pub(crate) const POOL_TIMEOUT: Duration = Duration::from_secs(4);
/// Longer than the server's own time-out of a statement, whose error says more.
pub(crate) const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(8);
/// Longer than any pause of a busy machine, shorter than a pooler lets clients wait.
pub(crate) const POOLER_PROBE_TIMEOUT: Duration = Duration::from_secs(15);

// The lock of a replica, and its owners.

/// For the connection that holds the lock, until it holds it.
pub(crate) const PRESENCE_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For the listening session to take over a lost lock: longer than the server needs to notice that the
/// other session has ended, shorter than a connection that hangs.
pub(crate) const PRESENCE_HANDOVER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a claim waits for a lock that was just lost.
pub(crate) const PRESENCE_WAIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Before a lost lock is taken again, doubled each time.
pub(crate) const PRESENCE_FIRST_PAUSE: Duration = Duration::from_millis(20);
pub(crate) const PRESENCE_MAX_PAUSE: Duration = Duration::from_millis(500);
/// A lock that is free at two looks this far apart has no owner any more.
pub(crate) const OWNER_LOOK_INTERVAL: Duration = Duration::from_millis(400);
/// After this an earlier look says nothing: the owner may have come back between.
pub(crate) const OWNER_LOOK_LIFETIME: Duration = Duration::from_millis(1500);

// After a standby took over.

/// For how long commits are remembered; a standby that lags more than this lacks some for good.
pub(crate) const COMMIT_MEMORY: Duration = Duration::from_secs(60);
/// For other replicas to come back to the new server. Longer than two of [`PRESENCE_MAX_PAUSE`] and a
/// connection that is refused in between.
pub(crate) const FAILOVER_WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often it is looked whether they are back.
pub(crate) const FAILOVER_POLL_INTERVAL: Duration = Duration::from_millis(50);

// Claims and marks of use.

/// Between two tries to settle the claim of an owner that is gone.
pub(crate) const CLAIM_RETRY_PAUSE: Duration = Duration::from_millis(500);
/// How often it is looked whether other processes have stopped using a sign-in.
pub(crate) const USERS_POLL_INTERVAL: Duration = Duration::from_millis(25);

// The end.

/// For taking back a mark of use when it is dropped.
pub(crate) const UNMARK_TIMEOUT: Duration = Duration::from_secs(1);
/// For the tasks of a replica when it is dropped.
pub(crate) const REPLICA_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// For giving back the lock; less than [`REPLICA_CLOSE_TIMEOUT`], which includes it.
pub(crate) const PRESENCE_CLOSE_TIMEOUT: Duration = Duration::from_millis(800);

/// How long a record of all people is taken from memory; for so long another gateway may know more.
pub(crate) const RECORD_MEMORY: Duration = Duration::from_secs(30);
