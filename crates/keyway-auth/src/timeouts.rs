//! All time-outs, intervals and lifetimes of this crate.
//!
//! How they relate: callers of a refresh wait for [`CALLER_TIMEOUT`]; the refresh itself continues.
//! Its request has [`EXCHANGE_TIMEOUT`] of the time in which the process runs, counted from when it
//! is sent, and its claim lives twice as long, so that a claim is not overdue under a request.

use std::time::Duration;

/// How long a person may take to agree on the consent page.
pub(crate) const CONSENT_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a device code is polled for at most, whatever the server allows.
pub(crate) const DEVICE_TIMEOUT: Duration = Duration::from_secs(1800);
/// How often a device code is polled for if the server does not say (RFC 8628 section 3.2), and how
/// much longer to wait after `slow_down` (section 3.5).
pub(crate) const DEVICE_POLL_INTERVAL: Duration = Duration::from_secs(5);
pub(crate) const DEVICE_POLL_MIN_INTERVAL: Duration = Duration::from_secs(1);
pub(crate) const DEVICE_POLL_MAX_INTERVAL: Duration = Duration::from_secs(60);

/// Between two looks at the ceiling of an issuer, by the renewal whose turn is next.
pub(crate) const CEILING_MIN_WAIT: Duration = Duration::from_millis(1);
pub(crate) const CEILING_MAX_WAIT: Duration = Duration::from_millis(250);
/// How much longer such a wait is at most, by chance.
pub(crate) const CEILING_MAX_JITTER: Duration = Duration::from_millis(250);

/// How long a caller waits for a refresh, here or in another process.
pub(crate) const CALLER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the answer of a token endpoint is waited for, of the time in which the process runs.
pub(crate) const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(60);
/// Until when after its claim a refresh token whose answer was lost is sent again at once. Periods of
/// grace are seconds; a server that was silent for longer is left alone.
pub(crate) const LOST_ANSWER_REPEAT_WITHIN: Duration = Duration::from_secs(10);
/// A token that is refused within this time after it was sent first was replaced without grace; later,
/// grace may be over.
pub(crate) const SHORTEST_GRACE: Duration = Duration::from_secs(2);
/// Before it is sent for the third time, and longer each time after that; before the second there is
/// no pause.
pub(crate) const LOST_ANSWER_FIRST_PAUSE: Duration = Duration::from_millis(500);
/// How long connecting may take before that, whatever the client allows.
pub(crate) const CONNECT_ALLOWANCE: Duration = Duration::from_secs(30);
/// In such steps that time is counted.
pub(crate) const EXCHANGE_TICK: Duration = Duration::from_secs(1);
/// After this a claim is overdue. What the exchange leaves of it is for what comes before the
/// request, and for the commit.
pub(crate) const REFRESH_CLAIM_LIFETIME: Duration = Duration::from_secs(120);
/// Between two tries to store new tokens, doubled each time.
pub(crate) const COMMIT_FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(crate) const COMMIT_MAX_PAUSE: Duration = Duration::from_secs(1);
/// How often storing is tried before the tokens also go to the journal.
pub(crate) const TRIES_BEFORE_JOURNAL: u32 = 5;
/// How early a token is renewed (contract section 5).
pub(crate) const REFRESH_SKEW: Duration = Duration::from_secs(30);

/// How long storing a new sign-in is tried.
pub(crate) const SIGN_IN_STORE_TIMEOUT: Duration = Duration::from_secs(60);
/// Longer than storing a sign-in takes.
pub(crate) const REPLACE_CLAIM_LIFETIME: Duration = Duration::from_secs(15);
/// Longer than revoking the tokens of a sign-in takes.
pub(crate) const SIGN_OUT_CLAIM_LIFETIME: Duration = Duration::from_secs(30);
/// How long a sign-in or sign-out waits for the refresh of another process; longer than
/// [`EXCHANGE_TIMEOUT`].
pub(crate) const CLAIM_WAIT_TIMEOUT: Duration = Duration::from_secs(65);
/// How often a claim of another process is looked at.
pub(crate) const CLAIM_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long other processes may take to close their sessions before a sign-out revokes.
pub(crate) const STOP_USERS_TIMEOUT: Duration = Duration::from_secs(3);

/// How often the vault is read while a sign-in by another process is waited for.
pub(crate) const SIGN_IN_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long it is remembered that nothing is stored; so soon a sign-in elsewhere is noticed.
pub(crate) const EMPTY_LIFETIME: Duration = Duration::from_millis(500);
/// How exactly the time is measured that a request waits for a person.
pub(crate) const PROMPT_WAIT_TICK: Duration = Duration::from_millis(250);
/// How long a prompt counts against the limit of prompts.
pub(crate) const PROMPT_COUNT_WINDOW: Duration = Duration::from_secs(600);

/// How long a silent HTTP+SSE stream is waited for; shorter than any client waits for an answer.
pub(crate) const STREAM_PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// The first pause after a failure; it doubles with each.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_secs(1);
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// The longest `Retry-After` that is obeyed.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(600);
/// The pause after a person declined.
pub(crate) const DECLINED_PAUSE: Duration = Duration::from_secs(600);
/// The pause after a person did not answer.
pub(crate) const UNANSWERED_PAUSE: Duration = Duration::from_secs(60);

/// How long metadata is cached at most, whatever its server allows.
pub(crate) const METADATA_MAX_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How long metadata is cached if its server does not say.
pub(crate) const METADATA_DEFAULT_LIFETIME: Duration = Duration::from_secs(3600);

/// How long a client assertion or proof is valid.
pub(crate) const ASSERTION_LIFETIME: Duration = Duration::from_secs(60);

/// A token younger than this that is refused was refused from the beginning.
pub(crate) const FRESH_SIGN_IN: Duration = Duration::from_secs(120);

const _: () = {
    assert!(CALLER_TIMEOUT.as_millis() < EXCHANGE_TIMEOUT.as_millis());
    assert!(2 * EXCHANGE_TIMEOUT.as_millis() <= REFRESH_CLAIM_LIFETIME.as_millis());
    assert!(CONNECT_ALLOWANCE.as_millis() < EXCHANGE_TIMEOUT.as_millis());
    assert!(EXCHANGE_TIMEOUT.as_millis() < CLAIM_WAIT_TIMEOUT.as_millis());
};
