//! How long the gateway waits, and how often it looks.

use std::time::Duration;

/// How long the sign-in button waits for a consent page.
pub(crate) const SIGN_IN_PAGE_TIMEOUT: Duration = Duration::from_secs(20);

/// How often the files of served plugins are looked at.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// So much of what a limit allows may come at once.
pub(crate) const LIMIT_BURST: Duration = Duration::from_secs(1);

/// How long a cancelled call counts as one that is under way, if its server does not say that it is
/// over: of a cancellation most say nothing.
pub(crate) const CANCELLED_CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// The same for a call whose client went away without cancelling it, and which its server goes on with.
pub(crate) const CONTINUED_CALL_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// How long a program of a person waits at their limit for one that is just ending, before a session has
/// to give way.
pub(crate) const PROGRAM_END_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a program of a person waits for the end of a session that gives way to it.
pub(crate) const PROGRAM_PLACE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a large message waits for other large messages of its client.
pub(crate) const LARGE_MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client that asks for an unknown server waits for a look at the files.
pub(crate) const REQUESTED_LOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a server may take to answer the `initialize` of a client.
pub(crate) const CLIENT_INITIALIZE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a package runner may wait for others that start, before it starts itself.
pub(crate) const PACKAGE_QUEUE_TIMEOUT: Duration = Duration::from_secs(600);

/// After how much silence a comment keeps an open answer alive.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// How long a session without a stream or a request is kept.
pub(crate) const SESSION_IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How long a session is kept whose client has sent nothing but `initialize`: a client that
/// crashed, or only looked. Its server may be a process of its own.
pub(crate) const SESSION_UNUSED_TIMEOUT: Duration = Duration::from_secs(2 * 60);

/// How long the sessions of a person are kept after the last access token has ended, so that its
/// client can bring the next.
pub(crate) const PERSON_GRACE: Duration = Duration::from_secs(15 * 60);

/// How long a plan for a person counts for the next request of the same person.
pub(crate) const PERSON_PLAN_CACHE_TIME: Duration = Duration::from_secs(1);

/// How long a person may take to sign in to a server, from the link to each page and back.
pub(crate) const CONSENT_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// For how long it is known that there was such a sign-in, so that a late browser is told so.
pub(crate) const CONSENT_NOTE_LIFETIME: Duration = Duration::from_secs(2 * 3600);

/// How long a client of another machine may take to agree on a key.
pub(crate) const TLS_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait after a connection that could not be accepted.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a revoked gateway token may still be used.
pub(crate) const TOKEN_CACHE_TIME: Duration = Duration::from_secs(1);

/// Between two tries to read the gateway tokens, while the vault is busy.
pub(crate) const TOKEN_READ_PAUSE: Duration = Duration::from_millis(50);

/// How long calls under way may take when their server goes away.
pub(crate) const CLOSE_GRACE_TIMEOUT: Duration = Duration::from_secs(5);

/// How often calls under way are counted while a server goes away.
pub(crate) const CLOSE_POLL: Duration = Duration::from_millis(20);

/// How long a stream may be open before its client sends `initialize`.
pub(crate) const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(30);

/// How often calls under way are counted while the gateway stops.
pub(crate) const SHUTDOWN_POLL: Duration = Duration::from_millis(20);

/// How long a pooled connection is kept without a request.
pub(crate) const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// How long a client may take to read a piece of a stream.
pub(crate) const STREAM_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a stream waits for its client to come back.
pub(crate) const STREAM_RESUME_TIMEOUT: Duration = Duration::from_secs(2 * 60);

/// How often idle sessions and connections are looked for.
pub(crate) const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);

/// How long a revoked approval may still be used.
pub(crate) const PLAN_CACHE_TIME: Duration = Duration::from_secs(1);

/// How long values stay in memory for a client that may come.
pub(crate) const PLAN_UNUSED_TIMEOUT: Duration = Duration::from_secs(60);

/// For the last spans when the gateway ends.
pub(crate) const TRACES_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// For the last calls to reach the audit when the gateway ends.
pub(crate) const AUDIT_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// For a process that wants to share a connection to say which.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a shared connection is compared with what the entry says now.
pub(crate) const SHARING_LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long `keyway status` waits for a gateway, which may be stopped.
pub(crate) const STATUS_TIMEOUT: Duration = Duration::from_secs(1);
