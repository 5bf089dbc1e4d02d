//! The states of a server that people and scripts see, and why one is not connected.

use std::fmt;
use std::time::Duration;

use keyway_auth::AuthError;
use keyway_auth::oauth::{OAuthError, SignInCause};
use keyway_transport::TransportError;

use crate::explain::{explain, explain_session};
use crate::session::SessionError;

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
    /// At work.
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
pub struct Standing {
    /// The state.
    pub state: State,
    /// Why; absent where there is nothing to add, or where only an error's code says it.
    pub reason: Option<Reason>,
}

impl Standing {
    /// At work.
    pub const CONNECTED: Self = Self {
        state: State::Connected,
        reason: None,
    };

    /// On the way.
    pub const CONNECTING: Self = Self::new(State::Pending, Reason::Connecting);

    /// Pairs a state with its reason.
    #[must_use]
    pub const fn new(state: State, reason: Reason) -> Self {
        Self {
            state,
            reason: Some(reason),
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.state.as_str())?;
        match self.reason {
            Some(reason) => write!(f, "/{}", reason.as_str()),
            None => Ok(()),
        }
    }
}

/// Why a server is not at work, in a person's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The state that this puts the server into.
    pub standing: Standing,
    /// The code used in every format.
    pub code: &'static str,
    /// What happened, in one line, fit to print.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Whether trying again may help without anyone doing anything.
    pub is_transient: bool,
    /// How long the server wants to be left alone, if it said so.
    pub wait: Option<Duration>,
}

impl Trouble {
    /// It is still being connected to.
    #[must_use]
    pub fn connecting() -> Self {
        Self {
            standing: Standing::CONNECTING,
            code: "connecting",
            message: "the server has not answered yet".to_owned(),
            hint: Some(
                "its tools are listed as soon as it does; if it never does: keyway doctor --server SERVER"
                    .to_owned(),
            ),
            is_transient: true,
            wait: None,
        }
    }
}

impl From<&TransportError> for Trouble {
    fn from(error: &TransportError) -> Self {
        let explained = explain(error);
        Self {
            standing: standing(error),
            code: explained.code,
            message: explained.message,
            hint: explained.hint,
            is_transient: error.is_transient(),
            wait: match error {
                TransportError::Status { retry_after, .. } => retry_after.map(Duration::from_secs),
                _ => None,
            },
        }
    }
}

impl From<&AuthError> for Trouble {
    fn from(error: &AuthError) -> Self {
        Self::from(&TransportError::Auth(error.clone()))
    }
}

impl From<&SessionError> for Trouble {
    fn from(error: &SessionError) -> Self {
        if let SessionError::Transport(error) = error {
            return Self::from(error);
        }
        let is_late = matches!(error, SessionError::Timeout { .. });
        let explained = explain_session(error);
        Self {
            standing: Standing {
                state: State::Failed,
                reason: is_late.then_some(Reason::NetworkError),
            },
            code: error.code(),
            message: explained.message,
            hint: explained.hint,
            is_transient: is_late,
            wait: None,
        }
    }
}

/// Returns the state that an error puts a server into.
fn standing(error: &TransportError) -> Standing {
    let (state, reason) = match error {
        TransportError::Refused { scope: Some(_), .. } => {
            (State::NeedsAuth, Reason::InsufficientScope)
        }
        TransportError::Refused { status: 401, .. } => (State::NeedsAuth, Reason::AuthFailed),
        TransportError::Refused { .. } => (State::Failed, Reason::AuthFailed),
        TransportError::Auth(AuthError::Helper { .. }) => (State::Failed, Reason::HelperFailed),
        TransportError::Auth(AuthError::OAuth(error)) => return oauth_standing(error),
        TransportError::Auth(_) => (State::NeedsAuth, Reason::AuthFailed),
        TransportError::Changed { .. } => (State::Pending, Reason::PendingTrust),
        TransportError::Settings { .. }
        | TransportError::Spawn { .. }
        | TransportError::Forbidden { .. }
        | TransportError::Redirect { .. } => (State::Failed, Reason::ConfigError),
        TransportError::Unreachable { .. }
        | TransportError::Timeout { .. }
        | TransportError::Status { .. }
        | TransportError::Closed
        | TransportError::StreamLost => (State::Failed, Reason::NetworkError),
        // What a server does wrong has no name among the reasons; the code says it.
        _ => {
            return Standing {
                state: State::Failed,
                reason: None,
            };
        }
    };
    Standing::new(state, reason)
}

fn oauth_standing(error: &OAuthError) -> Standing {
    let (state, reason) = match error {
        // Nothing is wrong: nobody has been here yet.
        OAuthError::SignInRequired {
            cause: SignInCause::Never,
            ..
        } => {
            return Standing {
                state: State::NeedsAuth,
                reason: None,
            };
        }
        OAuthError::SignInRequired {
            cause: SignInCause::Scope,
            ..
        }
        | OAuthError::ScopeLimit { .. } => (State::NeedsAuth, Reason::InsufficientScope),
        OAuthError::SignInUnderWay { .. } | OAuthError::AskedElsewhere => {
            (State::NeedsAuth, Reason::Authorizing)
        }
        OAuthError::SignInRequired { .. } | OAuthError::GrantRejected { .. } => {
            (State::NeedsAuth, Reason::ReauthRequired)
        }
        error if error.is_transient() => (State::Failed, Reason::NetworkError),
        _ => (State::NeedsAuth, Reason::AuthFailed),
    };
    Standing::new(state, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, scope: Option<&str>) -> TransportError {
        TransportError::Refused {
            status,
            error: None,
            scope: scope.map(str::to_owned),
        }
    }

    #[test]
    fn a_refused_credential_needs_a_person_and_an_unreachable_server_does_not() {
        for (error, expected) in [
            (refused(401, None), "needs-auth/auth-failed"),
            (refused(403, Some("a")), "needs-auth/insufficient-scope"),
            (refused(403, None), "failed/auth-failed"),
            (TransportError::Closed, "failed/network-error"),
            (TransportError::StreamLost, "failed/network-error"),
            (
                TransportError::Redirect { to: String::new() },
                "failed/config-error",
            ),
            (TransportError::Protocol { what: "x" }, "failed"),
        ] {
            assert_eq!(Trouble::from(&error).standing.to_string(), expected);
        }
    }
}
