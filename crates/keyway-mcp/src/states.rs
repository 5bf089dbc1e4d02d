//! The states of a server that people and scripts see, and why one is not connected.

use std::time::Duration;

use keyway_auth::AuthError;
use keyway_code::Code;
pub use keyway_code::{Reason, ServerState, State};
use keyway_transport::TransportError;

use crate::explain::{SourcePlace, explain, explain_session};
use crate::session::SessionError;

/// Why a server is not at work, in a person's words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerProblem {
    /// The state that this puts the server into.
    pub state: ServerState,
    /// The code used in every format.
    pub code: Code,
    /// What happened, in one line, fit to print.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Where to look, if the entry is known.
    pub source: Option<Box<SourcePlace>>,
    /// Whether trying again may help without anyone doing anything.
    pub is_transient: bool,
    /// How long the server wants to be left alone, if it said so.
    pub wait: Option<Duration>,
}

impl ServerProblem {
    /// Says what happened, in the state that the code stands for; trying again does not help.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            state: code.state(),
            code,
            message: message.into(),
            hint: None,
            source: None,
            is_transient: false,
            wait: None,
        }
    }

    /// Says what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// It is still being connected to.
    #[must_use]
    pub fn connecting() -> Self {
        Self {
            state: ServerState::CONNECTING,
            code: Code::Connecting,
            message: "the server has not answered yet".to_owned(),
            hint: Some(
                "its tools are listed as soon as it does; if it never does: keyway doctor SERVER"
                    .to_owned(),
            ),
            source: None,
            is_transient: true,
            wait: None,
        }
    }
}

impl From<&TransportError> for ServerProblem {
    fn from(error: &TransportError) -> Self {
        let explained = explain(error);
        Self {
            state: error.state(),
            code: explained.code,
            message: explained.message,
            hint: explained.hint,
            source: explained.source.map(Box::new),
            is_transient: error.is_transient(),
            wait: match error {
                TransportError::Status { retry_after, .. } => retry_after.map(Duration::from_secs),
                _ => None,
            },
        }
    }
}

impl From<&AuthError> for ServerProblem {
    fn from(error: &AuthError) -> Self {
        Self::from(&TransportError::Auth(error.clone()))
    }
}

impl From<&SessionError> for ServerProblem {
    fn from(error: &SessionError) -> Self {
        if let SessionError::Transport(error) = error {
            return Self::from(error);
        }
        let explained = explain_session(error);
        Self {
            state: error.state(),
            code: error.code(),
            message: explained.message,
            hint: explained.hint,
            source: explained.source.map(Box::new),
            is_transient: error.is_transient(),
            wait: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, scope: Option<&str>) -> TransportError {
        TransportError::Refused {
            status,
            error: None,
            error_description: None,
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
            assert_eq!(ServerProblem::from(&error).state.to_string(), expected);
        }
    }
}
