//! A sign-in: as an authorization server gives it, and as it is stored.

use std::time::Duration;

use keyway_secret::Secret;

use crate::claim::RejectionCause;
use crate::key::GrantKey;
use crate::time::{Generation, Timestamp};

/// What an authorization server gave out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tokens {
    /// The access token.
    pub access: Secret<String>,
    /// How long the access token lives from now, if the server said so.
    pub lifetime: Option<Duration>,
    /// The refresh token.
    pub refresh: Option<Secret<String>>,
    /// Whatever else belongs to the sign-in, such as its scopes; sealed like the tokens.
    pub details: Option<Secret<Vec<u8>>>,
}

impl Tokens {
    /// Starts with an access token of unknown lifetime.
    #[must_use]
    pub const fn new(access: Secret<String>) -> Self {
        Self {
            access,
            lifetime: None,
            refresh: None,
            details: None,
        }
    }

    /// Adds how long the access token lives.
    #[must_use]
    pub const fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = Some(lifetime);
        self
    }

    /// Adds a refresh token.
    #[must_use]
    pub fn with_refresh(mut self, refresh: Secret<String>) -> Self {
        self.refresh = Some(refresh);
        self
    }

    /// Adds what else belongs to the sign-in.
    #[must_use]
    pub fn with_details(mut self, details: Secret<Vec<u8>>) -> Self {
        self.details = Some(details);
        self
    }
}

/// A sign-in as it is stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Grant {
    /// Its version.
    pub generation: Generation,
    /// The access token.
    pub access: Secret<String>,
    /// When the access token ends, if known.
    pub expires_at: Option<Timestamp>,
    /// The store's clock at the moment of reading.
    pub now: Timestamp,
    /// Whether the refresh token was rejected.
    pub state: GrantState,
    /// What a rejection of the refresh token probably comes from.
    ///
    /// Kept with the token, so that every process can name it, not only the one that was refused.
    pub rejection_cause: RejectionCause,
    /// Whether there is a refresh token.
    pub refreshable: bool,
    /// What else belongs to the sign-in; empty if nothing was stored.
    pub details: Secret<Vec<u8>>,
}

impl Grant {
    /// Makes a sign-in in good standing, of unknown lifetime, without a refresh token.
    #[must_use]
    pub const fn new(generation: Generation, access: Secret<String>, now: Timestamp) -> Self {
        Self {
            generation,
            access,
            expires_at: None,
            now,
            state: GrantState::Good,
            rejection_cause: RejectionCause::Server,
            refreshable: false,
            details: Secret::new(Vec::new()),
        }
    }

    /// Sets when the access token ends.
    #[must_use]
    pub const fn with_expiry(mut self, expires_at: Option<Timestamp>) -> Self {
        self.expires_at = expires_at;
        self
    }

    /// Sets whether the refresh token was rejected.
    #[must_use]
    pub const fn with_state(mut self, state: GrantState) -> Self {
        self.state = state;
        self
    }

    /// Sets what a rejection of the refresh token probably comes from.
    #[must_use]
    pub const fn with_rejection_cause(mut self, cause: RejectionCause) -> Self {
        self.rejection_cause = cause;
        self
    }

    /// Sets whether there is a refresh token.
    #[must_use]
    pub const fn with_refreshable(mut self, refreshable: bool) -> Self {
        self.refreshable = refreshable;
        self
    }

    /// Sets what else belongs to the sign-in.
    #[must_use]
    pub fn with_details(mut self, details: Secret<Vec<u8>>) -> Self {
        self.details = details;
        self
    }
}

/// What is known of a sign-in without unsealing it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantSummary {
    /// The sign-in.
    pub grant: GrantKey,
    /// Its version.
    pub generation: Generation,
    /// When the access token ends, if known.
    pub expires_at: Option<Timestamp>,
    /// Whether the refresh token was rejected.
    pub state: GrantState,
    /// Whether there is a refresh token.
    pub refreshable: bool,
}

impl GrantSummary {
    /// Makes a summary in good standing, of unknown lifetime, without a refresh token.
    #[must_use]
    pub const fn new(grant: GrantKey, generation: Generation) -> Self {
        Self {
            grant,
            generation,
            expires_at: None,
            state: GrantState::Good,
            refreshable: false,
        }
    }

    /// Sets when the access token ends.
    #[must_use]
    pub const fn with_expiry(mut self, expires_at: Option<Timestamp>) -> Self {
        self.expires_at = expires_at;
        self
    }

    /// Sets whether the refresh token was rejected.
    #[must_use]
    pub const fn with_state(mut self, state: GrantState) -> Self {
        self.state = state;
        self
    }

    /// Sets whether there is a refresh token.
    #[must_use]
    pub const fn with_refreshable(mut self, refreshable: bool) -> Self {
        self.refreshable = refreshable;
        self
    }
}

/// Whether a sign-in can be refreshed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrantState {
    /// Nothing is known against it.
    Good,
    /// Its refresh token was rejected; the person has to sign in again.
    NeedsReauth,
}
