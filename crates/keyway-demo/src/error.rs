//! Why the demo cannot be shown.

use std::io;

use keyway::vault::VaultError;
use keyway_files::error::WriteError;
use thiserror::Error;

/// Why the demo cannot be shown.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DemoError {
    /// No port on loopback is free.
    #[error("cannot listen on 127.0.0.1")]
    Listen {
        /// What the system said.
        source: io::Error,
    },
    /// The temporary folder cannot be made.
    #[error("cannot create the demo folder")]
    Folder {
        /// What the system said.
        source: io::Error,
    },
    /// A file of the plugin cannot be written.
    #[error("cannot write the demo plugin")]
    Write(#[from] WriteError),
    /// The plugin cannot be read again, or no connection can be prepared.
    #[error("the plugin of the demo cannot be used")]
    Host(#[from] keyway::Error),
    /// What was approved cannot be kept.
    #[error("cannot use the demo vault")]
    Vault(#[from] VaultError),
    /// The system has no random numbers.
    #[error("cannot get random bytes from the operating system")]
    NoRandomness,
    /// The helper or the stdio server was started without what it needs.
    #[error("`{name}` is not set, or is not what this server expects")]
    Variable {
        /// The variable.
        name: &'static str,
    },
    /// Standard input or output failed.
    #[error("cannot talk to the client")]
    Stdio {
        /// What the system said.
        source: io::Error,
    },
}
