//! How long the measurements wait, and for how long what they store is good.

use std::time::Duration;

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
pub(crate) const RENEWAL_POLL: Duration = Duration::from_millis(50);
/// How long the authorization server keeps requests waiting under which a replica is killed.
pub(crate) const HELD_BACK: Duration = Duration::from_secs(3);
pub(crate) const TAKE_OVER_TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const JOURNAL_POLL: Duration = Duration::from_millis(2);
/// Connections of people are closed after five minutes; a little more.
pub(crate) const IDLE: Duration = Duration::from_secs(330);
/// Programs of Python take their time.
pub(crate) const RIVAL_START_TIMEOUT: Duration = Duration::from_secs(120);
pub(crate) const RIVAL_POLL: Duration = Duration::from_millis(200);
/// For freed memory to go back to the system.
pub(crate) const SETTLE: Duration = Duration::from_secs(2);
