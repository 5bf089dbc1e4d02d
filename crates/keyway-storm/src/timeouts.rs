//! How long the storm and the figures wait, and what the storm takes for the same moment. Other
//! modules declare none.

use std::time::Duration;

/// A request may be read a moment after its process was killed.
pub(crate) const SLACK: Duration = Duration::from_secs(1);
/// A request to this process that takes longer shows that it, or the machine, stood still.
pub(crate) const STALL: Duration = Duration::from_millis(300);
pub(crate) const STALL_POLL: Duration = Duration::from_millis(50);
/// A survivor needs less than a second after a kill; where the machine stands still for so long, two
/// seconds of grace may be over.
pub(crate) const STALLED: Duration = Duration::from_secs(1);
/// The same for ten seconds of grace.
pub(crate) const STALLED_FOR_LONG: Duration = Duration::from_secs(8);
/// From an answer to its commit, on a busy machine.
pub(crate) const COMMIT_TIME: Duration = Duration::from_secs(3);
/// Between a kill and a restart that belong together, in either order.
pub(crate) const TAKE_OVER: Duration = Duration::from_secs(3);

/// Between two looks at all connections of all replicas: each takes tens of milliseconds of a processor.
pub(crate) const LOOK_PAUSE: Duration = Duration::from_millis(250);

/// Longer than any answer may take.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(100);

/// Two requests for one key that lie closer together may have begun at the same moment: at the start,
/// when a replica knows no key, a busy machine needs seconds for each.
pub(crate) const SECOND_QUESTION_AFTER: Duration = Duration::from_secs(15);
/// Between a cut link and the last survivor's look that shows it: what is promised.
pub(crate) const VANISHED_HOST_FOUND_WITHIN: Duration = Duration::from_secs(6);
/// For so long a link may be cut before others take its host for dead.
pub(crate) const CUT_NOTICED_AFTER: Duration = Duration::from_secs(3);
/// For an answer of `/readyz`.
pub(crate) const READY_TIMEOUT: Duration = Duration::from_secs(2);
/// For the claims of a host that vanished to get other owners, before that counts as never.
pub(crate) const VANISHED_HOST_LOOKED_FOR: Duration = Duration::from_secs(20);
/// From a call to the error that the wrapping key does not answer, at the latest.
pub(crate) const KEY_ERROR_AFTER: Duration = Duration::from_secs(8);
/// For a replica to start again once the wrapping key is back.
pub(crate) const KEY_READY_TIMEOUT: Duration = Duration::from_secs(20);
/// Until an answer comes: enough to end a database before that, and not so much that its absence
/// becomes long.
pub(crate) const LEFT_AT_LEAST: Duration = Duration::from_millis(1_500);
pub(crate) const LEFT_AT_MOST: Duration = Duration::from_secs(6);
/// For all replicas to be ready after a fault.
pub(crate) const READY_AGAIN_TIMEOUT: Duration = Duration::from_secs(60);

// Of the figures, and for how long what they store is good.

pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const READY_POLL: Duration = Duration::from_millis(20);
/// Of a claim that is committed at once.
pub(crate) const CLAIM_LIFETIME: Duration = Duration::from_secs(60);
/// Longer than any measurement.
pub(crate) const LONG: Duration = Duration::from_secs(7200);
/// For a person to call once, with others, on a machine with two cores. Much longer than it takes.
pub(crate) const WARM_UP_EACH: Duration = Duration::from_millis(11);
pub(crate) const WARM_UP_LEAST: Duration = Duration::from_secs(10);
/// Tokens are renewed ahead for so long before their end; so early the first calls must be over.
pub(crate) const RENEWED_AHEAD: Duration = Duration::from_secs(32);
/// In this time all people call.
pub(crate) const BURST: Duration = Duration::from_secs(1);
/// For all sign-ins to be renewed, whatever the ceiling is.
pub(crate) const RENEWAL_TIMEOUT: Duration = Duration::from_secs(240);
pub(crate) const RENEWAL_POLL: Duration = Duration::from_secs(1);
/// How long the authorization server keeps requests waiting under which a replica is killed.
pub(crate) const HELD_BACK: Duration = Duration::from_secs(3);
pub(crate) const TAKE_OVER_TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const JOURNAL_POLL: Duration = Duration::from_millis(2);
/// Connections of people are closed after five minutes without a call; a lot more.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(1200);
/// Programs of Python take their time.
pub(crate) const RIVAL_START_TIMEOUT: Duration = Duration::from_secs(120);
pub(crate) const RIVAL_POLL: Duration = Duration::from_millis(200);
/// For freed memory to go back to the system.
pub(crate) const SETTLE: Duration = Duration::from_secs(2);

// Of the storm beside other gateways.

/// Between two looks whether a token has to be renewed.
pub(crate) const DUE_POLL: Duration = Duration::from_millis(200);
/// The first calls of people come in so long a time.
pub(crate) const FIRST_CALLS_WITHIN: Duration = Duration::from_secs(40);
/// For a token request under which a process is killed.
pub(crate) const KILL_WAIT: Duration = Duration::from_secs(30);
/// Longer than that no part takes, even if fewer processes were killed than wanted.
pub(crate) const PART_AT_MOST: Duration = Duration::from_secs(420);
/// Lifetimes of access tokens: at least, and how many seconds more.
pub(crate) const TOKENS_LIVE_AT_LEAST: Duration = Duration::from_secs(15);
pub(crate) const TOKENS_LIVE_LONGER: u64 = 16;
/// Longer than any of them, with the time that a slow server takes for its answer.
pub(crate) const TOKENS_LIVE_AT_MOST: Duration = Duration::from_secs(45);
/// Between two calls of a person who got no page at the end.
pub(crate) const PROBE_PAUSE: Duration = Duration::from_secs(4);
/// From an answer to its commit at any gateway: some derive a key for each value they store.
pub(crate) const RIVAL_COMMIT_TIME: Duration = Duration::from_secs(15);
/// ContextForge renews a token in the call that needs it if it ends sooner.
pub(crate) const FORGE_RENEWS_AHEAD: Duration = Duration::from_secs(300);
