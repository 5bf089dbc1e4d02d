//! Every time limit of this crate, in one place.
//!
//! A limit is a `…_TIMEOUT`, what is waited between two attempts a `…_DELAY`, and what repeats an
//! `…_INTERVAL`. A caller may set a shorter limit around any of them by dropping the future.

use std::time::Duration;

// Connections to servers.

/// Name lookup, TCP, proxy and TLS of one connection, together.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// After this no further try begins. Three tries of a connection fit into it.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// How long the first address family has before the other is tried beside it (RFC 8305 §5).
pub(crate) const FAMILY_HEAD_START: Duration = Duration::from_millis(300);
/// Silence after which TCP looks whether the server is still there.
pub(crate) const TCP_KEEPALIVE: Duration = Duration::from_secs(30);
/// How often HTTP/2 and WebSocket connections are pinged; those to authorization servers are not.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long an HTTP/2 connection may leave a ping unanswered before it is given up.
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// How long an unused connection is kept. Servers keep theirs for 60 s to 120 s.
pub(crate) const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// For the rest of a response that is not needed, so that its connection can be used again.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest that a server may ask to be left alone (`Retry-After`, `retry:`).
pub(crate) const MAX_HOLD: Duration = Duration::from_secs(300);

// Conversations.

/// For a large message to get memory, while others wait to be read.
pub(crate) const ROOM_TIMEOUT: Duration = Duration::from_secs(30);

/// From the first request to an open stream or WebSocket, sign-in included.
#[cfg(any(feature = "sse", feature = "ws"))]
pub(crate) const OPEN_TIMEOUT: Duration = Duration::from_secs(30);
/// For telling a server that a session ends; every transport has the same.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// For the body of an HTTP error.
pub(crate) const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// For a request that the transport makes on its own behalf.
pub(crate) const OWN_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// For a new session after a sign-out: as long as a client waits, since a person may sign in. Longer
/// than a call waits for that (`keyway_mcp::timeouts::SIGN_IN_TIMEOUT`), so that the call says why.
pub(crate) const NEW_SESSION_TIMEOUT: Duration = Duration::from_secs(60);
/// Before a `GET` stream is opened again, doubled with each failure.
pub(crate) const STREAM_RETRY_DELAY: Duration = Duration::from_secs(1);
/// A stream that lasted this long was worth opening, and failures are counted from zero.
pub(crate) const STREAM_HEALTHY_AFTER: Duration = Duration::from_secs(5);
/// Before an SSE stream is opened again, doubled with each failure.
#[cfg(feature = "sse")]
pub(crate) const REOPEN_DELAY: Duration = Duration::from_millis(250);
#[cfg(feature = "sse")]
pub(crate) const MAX_REOPEN_DELAY: Duration = Duration::from_secs(2);

// Programs.

/// For what was killed in a control group to be gone from it.
#[cfg(all(feature = "stdio", target_os = "linux"))]
pub(crate) const GROUP_END_TIMEOUT: Duration = Duration::from_secs(2);
/// Between two looks whether it is.
#[cfg(all(feature = "stdio", target_os = "linux"))]
pub(crate) const GROUP_END_INTERVAL: Duration = Duration::from_millis(5);
/// Before a program whose file is open for writing is started again, doubled each time.
#[cfg(feature = "stdio")]
pub(crate) const BUSY_DELAY: Duration = Duration::from_millis(5);

// Sign-in.

/// For a metadata document (contract §8).
pub(crate) const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(5);
/// For a registration or revocation request; a token request is bounded by its caller.
pub(crate) const TOKEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the browser has to close the connection first, so that the port is free at once.
#[cfg(feature = "callback")]
pub(crate) const BROWSER_CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a silent connection to the callback may keep others out.
#[cfg(feature = "callback")]
pub(crate) const CALLBACK_EVICT_AFTER: Duration = Duration::from_millis(100);

// Serving.

/// For the head of a request, from its first byte on; of the first request, from the connection.
#[cfg(any(feature = "callback", feature = "serve"))]
pub(crate) const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two requests on a connection.
#[cfg(feature = "serve")]
pub(crate) const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(120);
/// While a response waits for its reader.
#[cfg(feature = "serve")]
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Between two pieces of a request body.
#[cfg(feature = "serve")]
pub(crate) const BODY_CHUNK_TIMEOUT: Duration = Duration::from_secs(30);
/// After a failed `accept`: the process may be out of file descriptors.
#[cfg(any(feature = "callback", feature = "serve"))]
pub(crate) const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// How long requests in flight may take once a server stops. A gateway has no other limit.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

// Children.

/// How long a helper may take unless its entry says otherwise (contract §5).
pub const HELPER_TIMEOUT: Duration = Duration::from_secs(10);
/// For the launcher to isolate itself; it needs about a millisecond.
#[cfg(feature = "stdio")]
pub(crate) const LAUNCH_TIMEOUT: Duration = Duration::from_secs(10);
/// For a child to exit after its input was closed, after SIGTERM, and after SIGKILL.
#[cfg(feature = "stdio")]
pub(crate) const TERMINATE_STEP_TIMEOUT: Duration = Duration::from_secs(2);
/// How long pipes are read after the child exited: a grandchild may still hold them.
#[cfg(feature = "stdio")]
pub(crate) const PIPE_DRAIN_TIMEOUT: Duration = Duration::from_millis(300);
