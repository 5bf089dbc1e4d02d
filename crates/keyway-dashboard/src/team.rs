//! What an admin sees of the people who use a gateway, and can do for one of them.
//!
//! Names, numbers and states; nothing of a token.

use std::fmt::Debug;
use std::time::Duration;

use keyway::store::StoreError;
use keyway_auth::BoxFuture;

/// Looks after the sign-ins of all people.
pub trait TeamBackend: Send + Sync + Debug {
    /// Returns what there is, of people whose name contains `part`.
    ///
    /// Cancel safety: must be cancel safe; it only reads.
    fn look<'a>(&'a self, part: &'a str) -> BoxFuture<'a, Result<TeamView, StoreError>>;

    /// Signs a person out of all servers, at every gateway; returns in one sentence what was done.
    ///
    /// Cancel safety: the sign-out itself continues.
    fn sign_out<'a>(&'a self, person: &'a str) -> BoxFuture<'a, Result<String, StoreError>>;
}

/// The people, the replicas and what renewals came to.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TeamView {
    /// How many people have sign-ins.
    pub people_total: u64,
    /// All sign-ins, those that the tenant shares included.
    pub total: GrantStates,
    /// The first people by name, of those who were asked for.
    pub people: Vec<TeamPerson>,
    /// Whether there are more of them.
    pub has_more: bool,
    /// The gateways and other processes that use the database, the oldest first.
    pub replicas: Vec<TeamReplica>,
    /// What renewals of the last hour came to, at all gateways.
    pub outcomes: Vec<TeamOutcome>,
}

/// How many sign-ins there are, by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantStates {
    /// All of them.
    pub sign_ins: u64,
    /// Those that are being renewed.
    pub renewing: u64,
    /// Those whose person has to sign in again.
    pub needs_reauth: u64,
    /// Those that end with their access token.
    pub not_renewable: u64,
}

impl GrantStates {
    /// Counts: all, being renewed, to be repeated, not renewable.
    #[must_use]
    pub const fn new([sign_ins, renewing, needs_reauth, not_renewable]: [u64; 4]) -> Self {
        Self {
            sign_ins,
            renewing,
            needs_reauth,
            not_renewable,
        }
    }
}

/// A person with sign-ins.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TeamPerson {
    /// Issuer and subject; `None` for the sign-ins that all clients with gateway tokens share.
    pub name: Option<String>,
    /// Theirs.
    pub states: GrantStates,
}

impl TeamPerson {
    /// Names a person.
    #[must_use]
    pub const fn new(name: Option<String>, states: GrantStates) -> Self {
        Self { name, states }
    }
}

/// A process that uses the database.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TeamReplica {
    /// As the audit names it.
    pub name: String,
    /// For how long it has been there.
    pub age: Duration,
    /// Whether it shows that it lives.
    pub is_alive: bool,
    /// Whether it is this gateway.
    pub is_self: bool,
}

impl TeamReplica {
    /// Names a replica that is there for so long.
    #[must_use]
    pub const fn new(name: String, age: Duration, (is_alive, is_self): (bool, bool)) -> Self {
        Self {
            name,
            age,
            is_alive,
            is_self,
        }
    }
}

/// Renewals that came to the same.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TeamOutcome {
    /// What became of them, in the words of the audit.
    pub what: String,
    /// Why; empty where that is plain.
    pub cause: String,
    /// How many.
    pub count: u64,
}

impl TeamOutcome {
    /// So many came to the same.
    #[must_use]
    pub const fn new(what: String, cause: String, count: u64) -> Self {
        Self { what, cause, count }
    }
}
