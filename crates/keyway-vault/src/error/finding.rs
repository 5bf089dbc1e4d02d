//! What makes a place unfit to hold secrets, and the command that repairs it.

use std::path::Path;

use thiserror::Error;

/// What makes a file or folder unfit to hold secrets.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Finding {
    /// Another user owns it.
    #[error("it belongs to user {owner}, not to user {ours}")]
    ForeignOwner {
        /// The owner's number.
        owner: u32,
        /// Our number.
        ours: u32,
    },
    /// It is a symbolic link.
    #[error("it is a symbolic link")]
    Link,
    /// Others may read or write it.
    #[error("its mode is {found}, at most {allowed} is allowed")]
    WiderMode {
        /// The mode found, in octal.
        found: String,
        /// The widest mode allowed, in octal.
        allowed: &'static str,
    },
    /// It is not the kind of file that is needed.
    #[error("it is not a {expected}")]
    WrongType {
        /// What is needed.
        expected: &'static str,
    },
}

impl Finding {
    pub(super) fn fix(&self, path: &Path) -> String {
        let path = quoted(path);
        match self {
            Self::ForeignOwner { ours, .. } => format!("run `sudo chown {ours} {path}`"),
            Self::Link => format!("run `rm {path}`, after checking where it points"),
            Self::WiderMode { allowed, .. } => format!("run `chmod {allowed} {path}`"),
            Self::WrongType { .. } => format!("move it away: `mv {path} {path}.old`"),
        }
    }
}

/// Quotes a path for a POSIX shell.
pub(super) fn quoted(path: &Path) -> String {
    keyway_secret::shell_word(&path.to_string_lossy())
}
