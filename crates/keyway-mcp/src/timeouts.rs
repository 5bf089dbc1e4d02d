//! Every time that this crate waits, by name. Other modules declare none of their own.

use std::time::Duration;

/// How long a server may keep silent about a client's `server/discover` before it is taken for a
/// legacy server.
pub const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server may take to answer a question of ours before an adapter is attached.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a request may take, unless the entry says otherwise; progress restarts the time.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the first answer of a program may take that its package runner may have to fetch first.
pub const PACKAGE_START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long all pages of one list may take together.
pub(crate) const WHOLE_LIST_TIMEOUT: Duration = Duration::from_secs(120);
/// For requests whose client decides how long it waits.
pub(crate) const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// How long cancellations, and the reason for an end, are waited for when a session closes.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a client may read nothing before a message for it is dropped.
pub const CLIENT_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a modern client may take to answer the questions of a call that is parked for it.
pub(crate) const PARKED_CALL_TIMEOUT: Duration = Duration::from_secs(600);
/// Waited, times the rounds so far, if a request comes back without a question.
pub(crate) const INPUT_RETRY_DELAY: Duration = Duration::from_millis(500);
/// Waited before a stream of notifications is opened again; doubled with each failure.
pub(crate) const LISTEN_RETRY_DELAY: Duration = Duration::from_millis(500);

/// How long a member of an aggregate may take to connect, before its first message.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a list waits for a member, unless told otherwise; one that is slower is listed later.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a call waits for a person to sign in: less than the minute that most clients wait. The
/// same for `keyway run`, for a server of the gateway and for the combined endpoint.
pub const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(45);
/// How often a call that waits for a sign-in reports progress.
pub(crate) const SIGN_IN_PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// How long a connection must last for the next one to be made at once.
pub(crate) const STABLE_CONNECTION: Duration = Duration::from_secs(30);
/// How long lists do not try a member again that could not be connected to.
pub(crate) const RETRY_DELAY: Duration = Duration::from_secs(30);
/// The longest pause between two tries to reach a failed server that nothing has asked for.
pub(crate) const MAX_SILENT_RETRY_DELAY: Duration = Duration::from_secs(600);
/// The longest that a server may ask for with `Retry-After`.
pub(crate) const MAX_RETRY_DELAY: Duration = Duration::from_secs(3600);
/// How long requests under way may take when their member is removed.
pub(crate) const REMOVE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often it is looked whether requests under way have ended.
pub(crate) const REMOVE_POLL: Duration = Duration::from_millis(20);
