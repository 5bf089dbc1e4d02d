//! Why a credential could not be obtained.

use keyway_code::{Code, Exit, ServerState};
use thiserror::Error;

use crate::oauth::OAuthError;

/// Why a credential could not be obtained.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The helper gave no headers.
    #[error("the headers helper failed: {fault}")]
    Helper {
        /// Which rule it broke.
        fault: HelperFault,
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

/// Which rule of the contract a headers helper broke. Never holds what it printed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HelperFault {
    /// There is no such program, or it may not be executed.
    #[error("`{program}` is missing or may not be executed")]
    NotExecutable {
        /// As written in the entry.
        program: String,
    },
    /// Its path leads out of the plugin's folder.
    #[error("`{program}` is outside the plugin's folder")]
    OutsidePlugin {
        /// As written in the entry.
        program: String,
    },
    /// The process cannot start programs: its `main` does not begin with `keyway::init()`.
    #[error("cannot start `{program}`: `keyway::init()` was not called first in `main`")]
    LauncherNotInitialized {
        /// As written in the entry.
        program: String,
    },
    /// A file that it runs is not the one that was approved.
    #[error("`{file}` has changed since it was approved")]
    Changed {
        /// Which.
        file: String,
    },
    /// It ended with another code than 0.
    #[error("it ended with {status}")]
    Exit {
        /// The exit code or signal, in words.
        status: String,
    },
    /// It did not end in time.
    #[error("it did not end within {seconds} seconds")]
    Timeout {
        /// The limit.
        seconds: u64,
    },
    /// It printed more than the limit.
    #[error("it printed more than {limit} bytes")]
    TooMuchOutput {
        /// The limit.
        limit: usize,
    },
    /// It printed something other than one JSON object of strings.
    #[error("its output is not one JSON object of strings: {why}")]
    Output {
        /// What is wrong, without quoting it.
        why: &'static str,
    },
    /// It printed an object without headers.
    #[error("it printed no headers")]
    Empty,
}

impl HelperFault {
    /// Returns the code used in every format.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::NotExecutable { .. } => Code::HelperNotExecutable,
            Self::OutsidePlugin { .. } => Code::HelperOutsidePlugin,
            Self::LauncherNotInitialized { .. } => Code::LauncherNotInitialized,
            Self::Changed { .. } => Code::PendingTrust,
            Self::Exit { .. } => Code::HelperFailed,
            Self::Timeout { .. } => Code::HelperTimeout,
            Self::TooMuchOutput { .. } | Self::Output { .. } => Code::HelperOutput,
            Self::Empty => Code::HelperEmpty,
        }
    }
}

impl AuthError {
    /// Says whether trying again later may help without anyone doing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Helper { fault } => matches!(fault, HelperFault::Timeout { .. }),
            Self::OAuth(error) => error.is_transient(),
        }
    }

    /// Returns what was said when the credential was refused, for the `http` of a diagnostic.
    #[must_use]
    pub fn http_refusal(&self) -> Option<crate::HttpRefusal> {
        match self {
            Self::Helper { .. } => None,
            Self::OAuth(error) => error.http_refusal(),
        }
    }

    /// Returns the code used in every format.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Helper { fault } => fault.code(),
            Self::OAuth(error) => error.code(),
        }
    }

    /// Returns the state that it leaves a server in.
    #[must_use]
    pub const fn state(&self) -> ServerState {
        match self {
            Self::Helper { fault } => fault.code().state(),
            Self::OAuth(error) => error.state(),
        }
    }

    /// Returns how a command ends that fails with it.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self.code().exit() {
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
            Self::Helper { fault } => fault.code().hint(),
            Self::OAuth(error) => error.hint(),
        }
    }
}
