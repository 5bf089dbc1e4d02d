//! Why the demo cannot be shown.

use std::io;

use keyway::error::WriteError;
use keyway::vault::VaultError;
use thiserror::Error;

/// Why the demo cannot be shown.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DemoError {
    /// No port on loopback is free.
    #[error("no port on 127.0.0.1 can be opened")]
    Listen {
        /// What the system said.
        source: io::Error,
    },
    /// The temporary folder cannot be made.
    #[error("the folder of the demo cannot be made")]
    Folder {
        /// What the system said.
        source: io::Error,
    },
    /// A file of the plugin cannot be written.
    #[error("the plugin of the demo cannot be written")]
    Write(#[from] WriteError),
    /// The plugin cannot be read again, or no connection can be prepared.
    #[error("the plugin of the demo cannot be used")]
    Host(#[from] keyway::Error),
    /// What was approved cannot be kept.
    #[error("the vault of the demo cannot be used")]
    Vault(#[from] VaultError),
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
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
