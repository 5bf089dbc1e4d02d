//! What can be told of a sign-in without its tokens.

use keyway_store::{Grant, GrantState};

use super::details::Details;

/// A sign-in as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignIn {
    /// Who signed in, if the server says so.
    pub account: Option<String>,
    /// At whom.
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
}

impl SignIn {
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
            ended: !renews && (is_over || grant.state == GrantState::NeedsReauth),
        })
    }
}
