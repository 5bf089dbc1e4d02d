//! Why a command gave up, and the exit code for it.

use std::io;
use std::path::PathBuf;

use keyway::connect::ConnectError;
use keyway::error::{LoadError, MigrateError, WriteError};
use keyway::states::{Reason, Standing, State, Trouble};
use keyway::trust::VaultError;
use thiserror::Error;

use crate::exit::Exit;
use crate::reach::ReachError;

/// Why a command gave up.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum CliError {
    /// There is nothing to work with.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A person's file was left as it is.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A migration stopped on the way.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// There is no entry of that name.
    #[error("there is no server `{name}`")]
    UnknownServer { name: String, near: Option<String> },
    /// A server could not be used.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// Two flags do not go together.
    #[error("{what}")]
    Usage { what: &'static str },
    /// A file of our own making could not be written.
    #[error("cannot write `{}`", path.display())]
    Generate { path: PathBuf, source: io::Error },
    /// Standard output failed.
    #[error("cannot write to standard output")]
    Output { source: io::Error },
    /// Whoever read standard output went away; that is no failure.
    #[error("nobody reads standard output")]
    ReaderGone { exit: Exit },
}

impl CliError {
    /// Returns the exit code.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. } | Self::UnknownServer { .. } => Exit::Usage,
            Self::ReaderGone { exit } => *exit,
            Self::Reach(error) => error.exit(),
            _ => Exit::Failed,
        }
    }

    /// Says in which state this leaves a server that is served with others.
    pub(crate) fn trouble(&self) -> Trouble {
        let (state, reason) = match self {
            Self::Reach(ReachError::NotTrusted { .. }) => (State::Pending, Reason::PendingTrust),
            Self::Reach(ReachError::Connect(ConnectError::NotConfigured)) => {
                (State::Pending, Reason::NotConfigured)
            }
            Self::Reach(ReachError::Connect(ConnectError::Transport(error))) => {
                return Trouble::from(error);
            }
            _ => (State::Failed, Reason::ConfigError),
        };
        Trouble {
            standing: Standing {
                state,
                reason: Some(reason),
            },
            code: reason.as_str(),
            message: self.to_string(),
            hint: self.hint(),
            is_transient: false,
        }
    }

    /// Returns what the person can do next.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Load(error) => error.hint(),
            Self::Reach(error) => error.hint(),
            Self::UnknownServer {
                near: Some(near), ..
            } => Some(format!("did you mean `{near}`?")),
            Self::Migrate(_) => {
                Some("the same call goes on from here once that is mended".to_owned())
            }
            _ => None,
        }
    }
}

impl From<VaultError> for CliError {
    fn from(error: VaultError) -> Self {
        ReachError::from(error).into()
    }
}

impl From<ConnectError> for CliError {
    fn from(error: ConnectError) -> Self {
        ReachError::from(error).into()
    }
}
