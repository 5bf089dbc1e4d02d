//! Why a plugin could not be read or a file not written.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::config_files::CONFIG_FILES;

/// Why there is nothing to work with.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Nothing is there under that name.
    #[error("`{path}` does not exist")]
    Missing {
        /// As the person wrote it.
        path: String,
    },
    /// It is a pipe, a device or a socket, or a folder where a file must be.
    #[error("`{path}` is not a regular file")]
    NotAFile {
        /// As the person wrote it.
        path: String,
    },
    /// It is there, but reading failed.
    #[error("cannot read `{path}`")]
    Unreadable {
        /// As the person wrote it.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// It exists, but is not text of a reasonable size.
    #[error("`{path}` is not UTF-8, or too large")]
    NotText {
        /// As the person wrote it.
        path: String,
    },
    /// It is an MCP bundle that is not unpacked.
    #[error("bundle `{path}` cannot be used")]
    BadBundle {
        /// As the person wrote it.
        path: String,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The folder has no file with entries.
    #[error("`{path}` has no MCP configuration")]
    NoConfiguration {
        /// As the person wrote it.
        path: String,
    },
    /// Neither the folder nor those above it have a file with entries.
    #[error("no MCP configuration in this folder or above it in the repository")]
    NothingFound,
}

impl LoadError {
    /// Returns the path that the error is about.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Missing { path }
            | Self::NotAFile { path }
            | Self::NotText { path }
            | Self::BadBundle { path, .. }
            | Self::Unreadable { path, .. }
            | Self::NoConfiguration { path } => Some(path),
            Self::NothingFound => None,
        }
    }

    /// Returns what the person can do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotAFile { .. } => Some("use `-` to read standard input".to_owned()),
            Self::NoConfiguration { .. } | Self::NothingFound => {
                let names = CONFIG_FILES.iter();
                let names: Vec<_> = names.map(|(name, _)| format!("`{name}`")).collect();
                Some(format!("looked for {}", names.join(", ")))
            }
            Self::Missing { .. } => {
                Some("name a file or the folder of a plugin that is there".to_owned())
            }
            Self::NotText { .. } => Some("save the file as UTF-8, at most 1 MiB".to_owned()),
            Self::BadBundle { .. } => Some(
                "its author has to pack it again; download it once more if it is cut off"
                    .to_owned(),
            ),
            // What is wrong with the content, the source says.
            Self::Unreadable { source, .. } => (source.kind() != io::ErrorKind::Other)
                .then(|| "check who may read it: ls -l".to_owned()),
        }
    }

    /// Says whether the same call may succeed later without any change.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreadable { source, .. } => source.kind() == io::ErrorKind::Interrupted,
            _ => false,
        }
    }
}

/// Why a file was left as it is.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Another program changed it after it was read.
    #[error("`{path}` was changed by another program in the meantime")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// There is a file already.
    #[error("`{path}` is there already")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// It may not be written by this user.
    #[error("`{path}` is read-only")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Writing failed; the old content is still there.
    #[error("cannot write `{path}`")]
    Failed {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl WriteError {
    /// Says whether the same call may succeed later without any change.
    ///
    /// A file that changed must be read again first, which the call itself does not do.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Failed { source, .. } => source.kind() == io::ErrorKind::Interrupted,
            _ => false,
        }
    }
}
