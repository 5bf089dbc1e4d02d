//! Every time that this crate waits, by name. Other modules declare none of their own.

use std::time::Duration;

// Starting and asking servers.

/// For the answer over HTTP to the question which protocol version a server speaks.
pub(crate) const HTTP_PROBE_TIMEOUT: Duration = Duration::from_secs(30);
/// The same over WebSocket: old servers may never answer a request that they do not know.
#[cfg(feature = "ws")]
pub(crate) const WS_PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// The same over stdio, for the same reason.
#[cfg(feature = "stdio")]
pub(crate) const STDIO_PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// For a server to say whether it wants a sign-in at all.
pub(crate) const OPEN_PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// For the last lines of a program that ended: its pipe is read by another task.
pub(crate) const LAST_LINES_TIMEOUT: Duration = Duration::from_millis(100);
/// For the command of `config.toml` that prints a client secret.
#[cfg(feature = "stdio")]
pub(crate) const SECRET_COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a gateway has to create what it recorded before the record counts as left over.
#[cfg(feature = "stdio")]
pub(crate) const PLACE_RECORD_GRACE: Duration = Duration::from_secs(600);
/// How often the files of a client certificate are compared: so soon a new one is used.
pub(crate) const IDENTITY_POLL_INTERVAL: Duration = Duration::from_secs(1);

// Signing in and renewing.

/// From the start of the process that carries a renewal until it has the claim; it needs some ten
/// milliseconds.
#[cfg(all(feature = "stdio", feature = "vault"))]
pub(crate) const CARRIER_START_TIMEOUT: Duration = Duration::from_secs(5);
/// For the first message to that process, which is under way when it starts.
#[cfg(all(feature = "stdio", feature = "vault"))]
pub(crate) const CARRIER_JOB_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it is looked whether renewals under way have ended.
pub(crate) const IN_FLIGHT_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How often it is looked whether a request waits for a person.
pub(crate) const ATTENDANCE_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How often the store is asked for claims of processes that ended; grace periods are ten seconds
/// and more.
pub(crate) const ORPHAN_POLL_INTERVAL: Duration = Duration::from_secs(4);
/// How often a process looks whether the sign-in of another has ended.
#[cfg(all(feature = "callback", feature = "vault"))]
pub(crate) const SIGN_IN_TURN_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long it waits for that: longer than a person may take to agree.
#[cfg(all(feature = "callback", feature = "vault"))]
pub(crate) const SIGN_IN_TURN_TIMEOUT: Duration = Duration::from_secs(600);
/// For the command that prints the key of the vault: a password manager may ask a person first.
#[cfg(feature = "vault")]
pub(crate) const KEY_COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

// Examinations.

/// For the examination of a whole server, where the caller sets no limit.
#[cfg(all(feature = "callback", feature = "vault"))]
pub(crate) const SERVER_EXAMINATION_TIMEOUT: Duration = Duration::from_secs(30);
/// For what an examination only asks to explain more: other transports, whether OAuth is offered.
#[cfg(all(feature = "callback", feature = "vault"))]
pub(crate) const EXPLANATION_TIMEOUT: Duration = Duration::from_secs(8);

// Running in general.

/// For a thread that does blocking work and has none; half of it later one of them gets some, so
/// that one always stays.
pub(crate) const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(90);
