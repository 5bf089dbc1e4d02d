//! Why a client's file was left as it is.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use keyway_files::error::{LoadError, WriteError};

/// Why a client's file was left as it is.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] LoadError),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The client could not read it either.
    #[error("`{path}` cannot be read at {line}:{column}: {what}")]
    NotParsed {
        /// The file.
        path: String,
        /// From 1.
        line: u32,
        /// From 1, in characters.
        column: u32,
        /// What is wrong there.
        what: String,
    },
    /// The key for servers holds something else.
    #[error("`{key}` in `{path}` at {line}:{column} is not a table of servers")]
    NotServers {
        /// The file.
        path: String,
        /// The key.
        key: String,
        /// From 1.
        line: u32,
        /// From 1, in characters.
        column: u32,
    },
    /// It is written in a way that has no place for another entry.
    #[error("`{path}` is formatted such that one entry cannot be changed alone")]
    NoPlace {
        /// The file.
        path: String,
    },
    /// An entry that Keyway wrote was changed.
    #[error("`{name}` in `{path}` is no longer what was written there")]
    Changed {
        /// The entry.
        name: String,
        /// The file.
        path: String,
    },
    /// The client has an entry of that name, which is not ours.
    #[error("{client} already has an entry `{name}`")]
    NameTaken {
        /// The entry.
        name: String,
        /// The client, as people know it.
        client: &'static str,
    },
    /// The client has an entry of that name, which is ours and of another plugin.
    #[error("{client} already has an entry `{name}` for a server of another plugin")]
    OtherPluginsName {
        /// The entry.
        name: String,
        /// The client, as people know it.
        client: &'static str,
    },
    /// What Keyway remembers of earlier changes cannot be read or written.
    #[error("cannot save the undo record in `{}`", path.display())]
    Records {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A value cannot be kept.
    #[error("cannot store `{name}` in `{path}`")]
    NotKept {
        /// The variable.
        name: String,
        /// The file.
        path: String,
    },
    /// A credential in an address, or in a part of an argument, cannot become a variable.
    #[error("`{name}` holds a credential that cannot be moved to a variable")]
    CredentialNotMoved {
        /// The entry.
        name: String,
    },
}
