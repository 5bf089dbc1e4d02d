//! Why a migration stopped.

use keyway_files::error::{LoadError, WriteError};
use thiserror::Error;

/// Why a migration stopped, and how far it got.
#[derive(Debug, Error)]
#[error("{}", stopped(written))]
#[non_exhaustive]
pub struct MigrateError {
    /// The files that were written before, as a person would write them.
    pub written: Vec<String>,
    /// What stood in the way.
    pub source: MigrateFault,
}

/// Nothing was written.
impl From<MigrateFault> for MigrateError {
    fn from(source: MigrateFault) -> Self {
        Self::new(Vec::new(), source)
    }
}

/// What stood in the way of a migration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MigrateFault {
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file could not be read again.
    #[error(transparent)]
    Read(#[from] LoadError),
    /// `.env` would be one `git add` away from being committed.
    #[error("`{path}` is still not ignored by version control")]
    NotIgnored {
        /// As the person wrote it.
        path: String,
    },
    /// What was written to `.env` is not what is there.
    #[error("`{path}` does not hold what was written to it")]
    NotKept {
        /// As the person wrote it.
        path: String,
    },
}

impl MigrateError {
    /// Makes an error of what stood in the way, and of the files that were written before.
    #[must_use]
    pub const fn new(written: Vec<String>, source: MigrateFault) -> Self {
        Self { written, source }
    }

    /// Says whether the same call may succeed later without any change.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match &self.source {
            MigrateFault::Write(error) => error.is_transient(),
            MigrateFault::Read(error) => error.is_transient(),
            _ => false,
        }
    }
}

fn stopped(written: &[String]) -> String {
    if written.is_empty() {
        return "nothing was changed".to_owned();
    }
    let files: Vec<String> = written.iter().map(|file| format!("`{file}`")).collect();
    format!(
        "stopped after writing {}; what was not reached is as it was",
        files.join(", ")
    )
}
