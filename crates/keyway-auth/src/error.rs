//! Why a credential could not be obtained.

mod oauth;

use keyway_code::{Code, Exit, ServerState};
use thiserror::Error;

use crate::confinement_note::ConfinementNote;
use crate::helper_fault::HelperFault;
use crate::refusal::HttpRefusal;

pub(crate) use self::oauth::{DEVICE_ENDPOINT, shown};
pub use self::oauth::{OAuthError, Refusal, RejectionCause, RequestTarget, SignInCause};

/// Why a credential could not be obtained.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The helper gave no headers.
    #[error(
        "the headers helper failed: {fault}{}",
        ConfinementNote::after_failure(confined.as_deref())
    )]
    Helper {
        /// Which rule it broke.
        fault: HelperFault,
        /// That it ran confined, if it did.
        confined: Option<Box<ConfinementNote>>,
    },
    /// There is no token.
    #[error(transparent)]
    OAuth(#[from] Box<OAuthError>),
}

impl From<OAuthError> for AuthError {
    fn from(error: OAuthError) -> Self {
        Self::OAuth(Box::new(error))
    }
}

impl AuthError {
    /// Says whether trying again later may help without anyone doing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Helper { fault, .. } => matches!(fault, HelperFault::Timeout { .. }),
            Self::OAuth(error) => error.is_transient(),
        }
    }

    /// Returns what was said when the credential was refused, for the `http` of a diagnostic.
    #[must_use]
    pub fn http_refusal(&self) -> Option<HttpRefusal> {
        match self {
            Self::Helper { .. } => None,
            Self::OAuth(error) => error.http_refusal(),
        }
    }

    /// Returns the code used in every format.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Helper { fault, .. } => fault.code(),
            Self::OAuth(error) => error.code(),
        }
    }

    /// Returns the state that it leaves a server in.
    #[must_use]
    pub const fn state(&self) -> ServerState {
        match self {
            Self::Helper { fault, .. } => fault.code().state(),
            Self::OAuth(error) => error.state(),
        }
    }

    /// Returns how a command ends that fails with it.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self.code().exit() {
            // A helper that may end in time tomorrow is still not the network.
            exit if matches!(self, Self::Helper { .. }) => exit,
            _ if self.is_transient() => Exit::Network,
            // The code is that of servers which may answer later, and this one did answer.
            Exit::Network => Exit::Failed,
            exit => exit,
        }
    }

    /// Returns what to do next; `SERVER` and `PLUGIN` stand for the names.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Helper {
                confined: Some(note),
                ..
            } => &note.hint,
            Self::Helper { fault, .. } => fault.code().hint(),
            Self::OAuth(error) => error.hint(),
        }
    }
}
