//! What a refusal over HTTP said, for diagnostics.

use crate::challenge::AuthChallenge;

/// What a refusal over HTTP said: printable, each text at most a few hundred characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRefusal {
    /// The status, if it is known.
    pub status: Option<u16>,
    /// The registered code (RFC 6750 section 3.1, RFC 6749 section 5.2).
    pub error: Option<String>,
    /// The server's own explanation.
    pub error_description: Option<String>,
    /// The scopes that the server asks for.
    pub scope: Option<String>,
}

impl HttpRefusal {
    /// Makes a refusal of which only the status is known.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// Adds what the server said about it.
    #[must_use]
    pub fn with_error(
        mut self,
        error: Option<String>,
        error_description: Option<String>,
        scope: Option<String>,
    ) -> Self {
        self.error = error;
        self.error_description = error_description;
        self.scope = scope;
        self
    }

    /// Reads a status and the challenge that came with it.
    #[must_use]
    pub fn of_challenge(status: u16, challenge: Option<&AuthChallenge>) -> Self {
        Self {
            status: Some(status),
            error: challenge.and_then(AuthChallenge::error),
            error_description: challenge.and_then(AuthChallenge::error_description),
            scope: challenge.and_then(AuthChallenge::scope),
        }
    }
}
