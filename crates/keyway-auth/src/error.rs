//! Why a credential could not be obtained, and who can mend it.

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
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotExecutable { .. } | Self::OutsidePlugin { .. } => "helper-not-executable",
            Self::LauncherNotInitialized { .. } => "launcher-not-initialized",
            Self::Changed { .. } => "pending-trust",
            Self::Exit { .. } => "helper-failed",
            Self::Timeout { .. } => "helper-timeout",
            Self::TooMuchOutput { .. } | Self::Output { .. } => "helper-output",
            Self::Empty => "helper-empty",
        }
    }
}

/// Who can mend an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The person: a variable, an approval, a sign-in.
    Person,
    /// Whoever wrote the entry or its helper.
    Configuration,
    /// The authorization server.
    AuthorizationServer,
    /// The MCP server.
    McpServer,
    /// The network between.
    Network,
    /// Keyway itself.
    Us,
}

impl AuthError {
    /// Says who can mend it.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Helper {
                fault: HelperFault::Changed { .. },
            } => Fault::Person,
            Self::Helper { .. } => Fault::Configuration,
            Self::OAuth(error) => error.fault(),
        }
    }

    /// Says whether trying again later may help without anyone doing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Helper { fault } => matches!(fault, HelperFault::Timeout { .. }),
            Self::OAuth(error) => error.is_transient(),
        }
    }

    /// Returns the code used in every format.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Helper { fault } => fault.code(),
            Self::OAuth(error) => error.code(),
        }
    }
}
