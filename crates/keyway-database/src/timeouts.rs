//! How long the database and what opens it may take, and how often it is looked at.

use std::time::Duration;

/// For the command that prints the password of the database: a password manager may ask a person.
pub(crate) const PASSWORD_COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// For an answer of Transit, once a connection to it is made: it computes one block.
pub(crate) const TRANSIT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long calls wait for others of the same batch before they are written to the audit.
pub(crate) const AUDIT_DELAY: Duration = Duration::from_secs(1);

/// Before a batch is tried again that could not be written.
pub(crate) const AUDIT_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How often the replicas are counted that share the ceilings of token requests.
pub(crate) const REPLICA_LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// For how long that count holds: after it, no more token requests become due without a new one.
pub(crate) const REPLICA_LOOK_LIFETIME: Duration = Duration::from_secs(2);

/// How often the ages of keys are read for metrics.
pub(crate) const KEY_AGE_LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// The renewals that the page of people counts.
pub(crate) const TEAM_OUTCOMES_WINDOW: Duration = Duration::from_secs(3600);

/// How often claims of gateways that died are looked for.
pub(crate) const DEAD_CLAIM_LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// How often what else they left behind is removed.
pub(crate) const DEAD_REPLICA_LOOK_INTERVAL: Duration = Duration::from_secs(30);
