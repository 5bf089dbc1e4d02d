//! Which `keyway open` leads to this gateway, and to no other.

use std::path::{Path, PathBuf};

use keyway_dashboard::Reopening;
use keyway_gateway::gateway::Listener;
use keyway_secret::shell_word;

use crate::error::CliError;
use crate::vault::folders;

/// The socket that gives a new link.
pub(super) enum Opener {
    /// The one that `keyway open` looks for.
    Usual,
    /// Another one.
    Named(PathBuf),
    /// None: another gateway has the socket.
    Missing,
}

impl Opener {
    /// Finds it among those that are listened on.
    pub(super) fn of(listeners: &[Listener]) -> Result<Self, CliError> {
        let usual = folders()?.runtime.join("gateway.sock");
        let sockets: Vec<PathBuf> = listeners.iter().filter_map(Listener::socket).collect();
        if sockets.iter().any(|socket| is_same(socket, &usual)) {
            return Ok(Self::Usual);
        }
        let first = sockets.into_iter().next();
        Ok(first.map_or(Self::Missing, Self::Named))
    }

    /// Returns the command, if there is one.
    pub(super) fn command(&self) -> Option<String> {
        match self {
            Self::Usual => Some("keyway open".to_owned()),
            Self::Named(socket) => {
                let socket = shell_word(&socket.to_string_lossy());
                Some(format!("keyway open --socket {socket}"))
            }
            Self::Missing => None,
        }
    }

    /// Returns what the page for refused requests may say of it.
    pub(super) const fn reopening(&self) -> Reopening {
        match self {
            Self::Usual => Reopening::Usual,
            Self::Named(_) => Reopening::Named,
            Self::Missing => Reopening::Restart,
        }
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let (real, wanted) = (std::fs::canonicalize(one), std::fs::canonicalize(other));
    matches!((real, wanted), (Ok(real), Ok(wanted)) if real == wanted)
}
