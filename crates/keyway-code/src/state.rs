//! The states of a server that people and scripts see.

use std::fmt;

/// What a server is doing. The names are part of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract lists all of them, and every place that shows one must know it"
)]
pub enum State {
    /// Switched off, or without an address.
    Disabled,
    /// Not connected yet.
    Pending,
    /// Connected.
    Connected,
    /// A person has to sign in or renew a credential.
    NeedsAuth,
    /// It cannot be reached or does not do as it should.
    Failed,
}

impl State {
    /// Returns the name used in every format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Pending => "pending",
            Self::Connected => "connected",
            Self::NeedsAuth => "needs-auth",
            Self::Failed => "failed",
        }
    }
}

/// Why a server is in its state. The names are part of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the contract lists all of them, and every place that shows one must know it"
)]
pub enum Reason {
    /// Its address is empty.
    NotConfigured,
    /// A person has not approved it.
    PendingTrust,
    /// Its entry cannot be used.
    ConfigError,
    /// It is being connected to.
    Connecting,
    /// A person is signing in.
    Authorizing,
    /// Its credential is being renewed.
    Refreshing,
    /// Its credential cannot be renewed any more.
    ReauthRequired,
    /// Its credential does not go far enough.
    InsufficientScope,
    /// Its headers helper failed.
    HelperFailed,
    /// Its credential was refused.
    AuthFailed,
    /// It could not be reached.
    NetworkError,
}

impl Reason {
    /// Returns the name used in every format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotConfigured => "not-configured",
            Self::PendingTrust => "pending-trust",
            Self::ConfigError => "config-error",
            Self::Connecting => "connecting",
            Self::Authorizing => "authorizing",
            Self::Refreshing => "refreshing",
            Self::ReauthRequired => "reauth-required",
            Self::InsufficientScope => "insufficient-scope",
            Self::HelperFailed => "helper-failed",
            Self::AuthFailed => "auth-failed",
            Self::NetworkError => "network-error",
        }
    }
}

/// A state with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ServerState {
    /// The state.
    pub state: State,
    /// Why; absent where there is nothing to add, or where only an error's code says it.
    pub reason: Option<Reason>,
}

impl ServerState {
    /// Connected.
    pub const CONNECTED: Self = Self {
        state: State::Connected,
        reason: None,
    };

    /// On the way.
    pub const CONNECTING: Self = Self::new(State::Pending, Reason::Connecting);

    /// A state that needs no reason, or has none among the names of the contract.
    #[must_use]
    pub const fn without_reason(state: State) -> Self {
        Self {
            state,
            reason: None,
        }
    }

    /// Pairs a state with its reason.
    #[must_use]
    pub const fn new(state: State, reason: Reason) -> Self {
        Self {
            state,
            reason: Some(reason),
        }
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.state.as_str())?;
        match self.reason {
            Some(reason) => write!(f, "/{}", reason.as_str()),
            None => Ok(()),
        }
    }
}
