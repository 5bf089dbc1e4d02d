//! What happened to a vault that was there, and what keeps one from being changed.

use thiserror::Error;

/// What happened to the file of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Loss {
    /// There is no file, but its key or another trace of it is there.
    #[error("is missing, but there was one")]
    Missing,
    /// The file has no content, as a power failure can leave it.
    #[error("is empty")]
    Empty,
    /// Neither its header nor anything else can be opened.
    #[error("is damaged beyond repair")]
    Damaged,
    /// Another file has its name since this process opened it.
    #[error("was replaced by another file while in use")]
    Replaced,
}

/// What keeps a vault from being changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// No space is left.
    #[error("the disk is full")]
    DiskFull,
    /// The file system is mounted read-only.
    #[error("the file system is read-only")]
    ReadOnlyFileSystem,
    /// The folder or the file does not permit it.
    #[error("permission denied")]
    PermissionDenied,
}

impl Obstacle {
    pub(super) const fn remedy(self) -> &'static str {
        match self {
            Self::DiskFull => "free space on the disk; stored tokens can be used until they expire",
            Self::ReadOnlyFileSystem => {
                "mount it for writing, or set `KEYWAY_HOME` to a folder that you can write to; \
                 stored tokens can be used until they expire"
            }
            Self::PermissionDenied => {
                "give yourself permission to write to the folder (`chmod u+rwx`); stored tokens can \
                 be used until they expire"
            }
        }
    }
}
