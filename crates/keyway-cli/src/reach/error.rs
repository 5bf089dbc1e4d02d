//! Why a server could not be used, with the exit code and what to do next.

use std::io;
use std::path::PathBuf;

use keyway::connect::ConnectError;
use keyway::connect::TransportError;
use keyway::explain::explain;
use keyway::session::SessionError;
use keyway::trust::VaultError;
use keyway_config::method::Method;
use keyway_config::resolve::{ResolveError, ResolveFault, ServerSpec};
use keyway_config::template::ExpandError;
use keyway_secret::printable;
use thiserror::Error;

use crate::exit::Exit;

/// Why a server could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum ReachError {
    /// There are several servers, or none.
    #[error("{}", if names.is_empty() { "there is no server here" } else { "there are several servers here" })]
    WhichServer { names: Vec<String> },
    /// The server is switched off.
    #[error("server `{}` is disabled in its file", printable(server))]
    Disabled { server: String },
    /// The person has not approved the entry.
    #[error("`{}` is not approved; nothing was run or sent", printable(server))]
    NotTrusted { server: String },
    /// The entry cannot be resolved.
    #[error("server `{}` cannot be used: {}", printable(server), listed(errors))]
    Unresolved {
        server: String,
        errors: Vec<ResolveError>,
    },
    /// There is no place to keep anything.
    #[error("there is no home folder to keep approvals in")]
    NoHome,
    /// What is kept could not be read or written.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// No connection came about.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server was reached, but something went wrong.
    #[error("server `{}` failed", printable(server))]
    Talk {
        server: String,
        method: Method,
        #[source]
        error: SessionError,
    },
    /// The process could not be protected before it reads secrets.
    #[error("this process cannot be kept from other processes of the same user")]
    Harden { source: io::Error },
    /// The client on standard input or output failed.
    #[error("cannot talk to the client")]
    Client { source: io::Error },
    /// A file with arguments cannot be read.
    #[error("cannot read `{}`", path.display())]
    Arguments { path: PathBuf, source: io::Error },
    /// The person gave up.
    #[error("cancelled")]
    Cancelled,
}

impl ReachError {
    /// Wraps an error of a conversation.
    pub(crate) fn talk(spec: &ServerSpec, error: SessionError) -> Self {
        Self::Talk {
            server: spec.name.clone(),
            method: spec.method,
            error,
        }
    }

    /// Returns the exit code.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::WhichServer { .. } => Exit::Usage,
            Self::NotTrusted { .. } => Exit::NotTrusted,
            Self::Talk { error, method, .. } => match error {
                SessionError::Transport(error) if is_sign_in(error, *method) => Exit::SignInNeeded,
                SessionError::Transport(error) => exit_of(error),
                SessionError::Timeout { .. } => Exit::Network,
                _ => Exit::Failed,
            },
            Self::Connect(ConnectError::Transport(error)) => exit_of(error),
            _ => Exit::Failed,
        }
    }

    /// Returns what the person can do next.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::WhichServer { names } if !names.is_empty() => {
                let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
                Some(format!("choose one of {}", names.join(", ")))
            }
            Self::NotTrusted { server } => Some(format!(
                "look at what it does and approve it: keyway trust grant {}",
                printable(server)
            )),
            Self::Unresolved { errors, .. } => unset(errors).map(|name| format!("export {name}=…")),
            Self::NoHome => Some("set `KEYWAY_HOME` to a folder of your own".to_owned()),
            Self::Vault(error) => error.hint(),
            Self::Talk {
                error: SessionError::Transport(error),
                method,
                ..
            } if is_sign_in(error, *method) => Some(SIGN_IN.to_owned()),
            Self::Talk {
                error: SessionError::Transport(error),
                ..
            }
            | Self::Connect(ConnectError::Transport(error)) => explain(error).hint,
            _ => None,
        }
    }
}

fn listed(errors: &[ResolveError]) -> String {
    let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
    shown.join("; ")
}

fn unset(errors: &[ResolveError]) -> Option<&str> {
    errors.iter().find_map(|error| match &error.fault {
        ResolveFault::Expand(ExpandError::Unset { name, .. }) => Some(name.as_str()),
        _ => None,
    })
}

const fn is_sign_in(error: &TransportError, method: Method) -> bool {
    matches!(method, Method::OAuth) && matches!(error, TransportError::Refused { .. })
}

const fn exit_of(error: &TransportError) -> Exit {
    match error {
        TransportError::Unreachable { .. } | TransportError::Timeout { .. } => Exit::Network,
        _ => Exit::Failed,
    }
}

const SIGN_IN: &str = "this server wants a sign-in by OAuth, which comes with a later release; until then use a token in `headers`, if it takes one";
