//! What SQLite said, and whether its files could not grow.

use std::fmt;

use rustix::process::{Resource, getrlimit};

/// What the database said, whichever database it is.
#[derive(Debug)]
pub struct DatabaseError {
    source: Box<dyn std::error::Error + Send + Sync>,
    limit: Option<GrowthLimit>,
}

/// What keeps the files of a database from growing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrowthLimit {
    Disk,
    /// The limit of the process on the size of files.
    FileSize,
}

impl GrowthLimit {
    fn of(error: &rusqlite::Error) -> Option<Self> {
        let code = error.sqlite_error()?;
        match code.code {
            rusqlite::ErrorCode::DiskFull => Some(Self::Disk),
            // SQLite does not pass on which error of the system it met: a write that fails on a disk
            // with room, in a process with such a limit, has met the limit.
            rusqlite::ErrorCode::SystemIoFailure if GROWING.contains(&code.extended_code) => {
                let limit = getrlimit(Resource::Fsize).current;
                limit.map(|_| Self::FileSize)
            }
            _ => None,
        }
    }
}

/// The calls of SQLite that make a file larger: of the database, and of the memory that it shares.
const GROWING: [i32; 3] = [
    rusqlite::ffi::SQLITE_IOERR_WRITE,
    rusqlite::ffi::SQLITE_IOERR_TRUNCATE,
    rusqlite::ffi::SQLITE_IOERR_SHMSIZE,
];

impl DatabaseError {
    pub(super) fn of(source: rusqlite::Error) -> Self {
        Self {
            limit: GrowthLimit::of(&source),
            source: Box::new(source),
        }
    }

    /// The error of another database, of which nothing more is known.
    pub(super) const fn foreign(source: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Self {
            source,
            limit: None,
        }
    }

    /// Returns what keeps the files from growing, if that is why it failed.
    pub(super) const fn limit(&self) -> Option<GrowthLimit> {
        self.limit
    }

    /// Says whether the disk is full.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self.limit, Some(GrowthLimit::Disk))
    }
}

/// The text and the causes are those of the database's own error.
impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl std::error::Error for DatabaseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.source()
    }
}
