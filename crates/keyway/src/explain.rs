//! Errors in a person's words: what happened, under which code, and what to do next.

use std::error::Error;

use keyway_transport::TransportError;

/// What to tell a person about an error.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The code used in every format.
    pub code: &'static str,
    /// What happened, causes included, in one line.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

/// Explains why a server could not be reached or stopped answering.
#[must_use]
pub fn explain(error: &TransportError) -> Explained {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        message = format!("{message}: {below}");
        cause = below.source();
    }
    Explained {
        code: error.code(),
        message: keyway_secret::printable(&message),
        hint: hint(error).map(str::to_owned),
    }
}

fn hint(error: &TransportError) -> Option<&'static str> {
    Some(match error {
        TransportError::Refused { status: 401, .. } => {
            "check that the variable behind the credential is set, complete and not expired"
        }
        TransportError::Refused { .. } => {
            "the credential is valid but not allowed to do this: check its permissions, and the tenant or workspace variable"
        }
        TransportError::Unreachable { .. } => {
            "check the address, the network and the proxy variables"
        }
        TransportError::Redirect => "put the address that the server redirects to into `url`",
        TransportError::Status {
            status: 404 | 405, ..
        } => "check the path of `url`, and whether `type` fits the server",
        TransportError::Timeout { .. } => {
            "try again; if it stays so, the server is overloaded or not reachable"
        }
        TransportError::Spawn { .. } => "check that the program is installed and in PATH",
        TransportError::ChildEnded { .. } => "run the command by hand to see why it ends",
        _ => return None,
    })
}
