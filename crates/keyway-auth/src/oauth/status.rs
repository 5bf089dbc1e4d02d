//! What can be told of a sign-in without its tokens.

use std::time::Duration;

use keyway_store::{Grant, GrantState, RejectionCause};

use super::details::Details;
use crate::timeouts::{CONNECT_ALLOWANCE, EXCHANGE_TIMEOUT};

/// A sign-in as people see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignIn {
    /// Who signed in, if the server says so.
    pub account: Option<String>,
    /// The issuer.
    pub issuer: String,
    /// What was granted.
    pub scopes: Vec<String>,
    /// What the server wants besides; the next sign-in asks for it.
    pub required_scopes: Vec<String>,
    /// What of it was not asked for.
    pub unrequested_scopes: Vec<String>,
    /// When the token ends, in seconds since 1970.
    pub expires_at: Option<i64>,
    /// In how many seconds the token ends; negative if it has.
    pub expires_in: Option<i64>,
    /// Whether it renews itself.
    pub renews: bool,
    /// Whether a person has to sign in again.
    pub ended: bool,
    /// What ended it, if its refresh token was rejected.
    pub rejection: Option<RejectionCause>,
    /// A process that has renewed it and could not store the new tokens yet, as it seems; they are
    /// lost with it.
    pub unstored: Option<UnstoredRenewal>,
}

/// A new sign-in that its process could not store yet; it is lost with the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnstoredSignIn {
    /// The process, where that is known.
    pub process: Option<u32>,
}

impl UnstoredSignIn {
    /// Makes what is told of a sign-in in the memory of a process.
    #[must_use]
    pub const fn of(process: Option<u32>) -> Self {
        Self { process }
    }
}

/// A renewal that has lasted longer than any exchange with a server may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnstoredRenewal {
    /// The process, where that is known.
    pub process: Option<u32>,
    /// For how many seconds.
    pub seconds: u64,
}

impl UnstoredRenewal {
    /// Judges a claim of a living process by its age; `None` while its answer may be on its way.
    #[must_use]
    pub fn of(process: Option<u32>, age: Duration) -> Option<Self> {
        let seconds = age.as_secs();
        (age > EXCHANGE_TIMEOUT + CONNECT_ALLOWANCE).then_some(Self { process, seconds })
    }
}

impl SignIn {
    /// Names the fault that ended it, as a clause, if it is known.
    #[must_use]
    pub const fn fault(&self) -> Option<&'static str> {
        match self.rejection {
            Some(cause) => cause.clause(),
            None => None,
        }
    }

    /// Says whether requests can be made with it, now or after a renewal, without a person.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.ended && self.required_scopes.is_empty()
    }

    /// Reads it out of what is stored.
    #[must_use]
    pub fn of(grant: &Grant) -> Option<Self> {
        let details = Details::decode(grant.details.expose())?;
        let expires_in = grant.expires_at.map(|at| {
            let (left, over) = (at.since(grant.now), grant.now.since(at));
            let seconds = |time: std::time::Duration| i64::try_from(time.as_secs()).unwrap_or(0);
            seconds(left) - seconds(over)
        });
        let renews = grant.refreshable && grant.state == GrantState::Good;
        let is_over = expires_in.is_some_and(|left| left <= 0);
        Some(Self {
            required_scopes: Vec::new(),
            unrequested_scopes: details.unrequested_scopes(),
            account: details.account,
            issuer: details.issuer,
            scopes: details.scopes,
            expires_at: grant.expires_at.map(|at| at.unix_millis().div_euclid(1000)),
            expires_in,
            renews,
            unstored: None,
            rejection: (grant.state == GrantState::NeedsReauth).then_some(grant.rejection_cause),
            ended: !renews && (is_over || grant.state == GrantState::NeedsReauth),
        })
    }
}
