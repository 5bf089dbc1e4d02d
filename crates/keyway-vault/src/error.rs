//! Why the vault could not do what was asked.

mod database;
mod finding;
mod loss;
mod transfer;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use keyway_code::Code;
use keyway_store::{BackendFailure, Damage, StoreError};
use rustix::io::Errno;
use thiserror::Error;

pub use self::database::DatabaseError;
use self::database::GrowthLimit;
pub use self::finding::Finding;
use self::finding::quoted;
pub use self::loss::{Loss, Obstacle};
pub use self::transfer::TransferFault;
use crate::key_source::{KeyringAbsence, SourceKind};

/// Why a folder, a key or the store cannot be used.
///
/// No variant leads to anything being deleted or overwritten.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VaultError {
    /// A file or folder is not as private as it has to be.
    #[error("`{}` cannot be used: {finding}", path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        finding: Finding,
    },
    /// A folder lies on a file system where locks and owners cannot be relied upon.
    #[error("`{}` is on a network file system (`{kind}`)", path.display())]
    NetworkFileSystem {
        /// The folder.
        path: PathBuf,
        /// The kernel's name for the file system.
        kind: String,
    },
    /// A folder lies on a file system that gives no locks (`ENOLCK`).
    #[error("the file system of `{}` gives no locks (ENOLCK)", path.display())]
    NoLocks {
        /// The file that could not be locked.
        path: PathBuf,
    },
    /// A folder is not given by an absolute path.
    #[error("`{}` is not an absolute path", path.display())]
    RelativePath {
        /// The path as given.
        path: PathBuf,
    },
    /// The operating system refused an operation on a file.
    #[error("cannot {action} `{}`", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The keyring holds the key, but asks for its own password first.
    #[error("the keyring is locked")]
    KeyringLocked,
    /// The keyring asked the person for its password and got none.
    #[error("the keyring is still locked: its password was not entered")]
    KeyringRefused,
    /// There is no keyring here.
    #[error("cannot use the keyring: {missing}")]
    NoKeyring {
        /// What is missing.
        missing: KeyringAbsence,
    },
    /// The keyring did not answer in time.
    #[error("the keyring did not answer within 3 seconds")]
    KeyringTimedOut,
    /// The keyring answered with an error.
    #[error("the keyring failed")]
    KeyringFailed {
        /// What it said.
        #[source]
        source: std::io::Error,
    },
    /// The source that was recorded when the vault was made cannot be asked now.
    #[error("the vault's key comes from {recorded}, which is not available")]
    KeySourceUnavailable {
        /// The recorded source.
        recorded: SourceKind,
    },
    /// A key was supplied explicitly for a vault whose key comes from elsewhere.
    #[error("a key was supplied, but the vault's key comes from {recorded}")]
    KeySourceDiffers {
        /// The recorded source.
        recorded: SourceKind,
    },
    /// The source gave a key, but not the one that seals this vault.
    #[error("{from} holds a different key than the one that seals this vault")]
    WrongKey {
        /// The source that was asked.
        from: SourceKind,
    },
    /// A key file does not contain a key.
    #[error("`{}` is neither 32 bytes nor 64 hexadecimal digits", path.display())]
    MalformedKey {
        /// The key file.
        path: PathBuf,
    },
    /// The generated key file is empty or cut short.
    #[error("the key file `{}` is damaged: it does not contain a key", path.display())]
    DamagedKeyFile {
        /// The key file.
        path: PathBuf,
    },
    /// The source of the key failed.
    #[error("the key was not supplied")]
    KeyNotSupplied {
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// A stored value is not what was stored.
    #[error("{what} is damaged: {how}")]
    Corrupt {
        /// Which value.
        what: String,
        /// What gave it away.
        how: Damage,
    },
    /// There was a vault, and its file is gone, empty or another one.
    #[error("the vault `{}` {how}", path.display())]
    Lost {
        /// The database.
        path: PathBuf,
        /// What happened to it.
        how: Loss,
    },
    /// The vault can be read but not changed.
    #[error("the vault `{}` cannot be changed: {why}", path.display())]
    Unwritable {
        /// The database.
        path: PathBuf,
        /// What stands in the way.
        why: Obstacle,
    },
    /// The file that a backup would be written to exists.
    #[error("`{}` exists already", path.display())]
    BackupExists {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error("`{}` has schema {found}, this version knows {supported}", path.display())]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that this version reads.
        supported: i64,
    },
    /// The file is a database of something else.
    #[error("`{}` is not a vault", path.display())]
    NotAVault {
        /// The file.
        path: PathBuf,
    },
    /// Other processes kept the store locked for longer than we wait.
    #[error("the vault is in use by another process")]
    Busy,
    /// A sign-in is not moved, or not imported.
    #[error(transparent)]
    Transfer(#[from] TransferFault),
    /// The database reported something else.
    #[error("the vault cannot {action}")]
    Database {
        /// What was tried, as a verb.
        action: &'static str,
        /// What the database said.
        #[source]
        source: DatabaseError,
    },
    /// A name is empty, too long or reserved.
    #[error("`{name}` cannot name an entry of the vault")]
    InvalidName {
        /// The name, shortened.
        name: String,
    },
    /// A cryptographic operation failed that cannot fail on valid input.
    #[error("cannot {action}")]
    Crypto {
        /// What was tried, as a verb.
        action: &'static str,
    },
}

impl VaultError {
    /// Returns the code used in every format.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Exposed { .. } => Code::VaultExposed,
            Self::NetworkFileSystem { .. } | Self::NoLocks { .. } | Self::RelativePath { .. } => {
                Code::VaultFolder
            }
            Self::KeyringLocked => Code::KeyringLocked,
            Self::KeyringRefused => Code::KeyringRefused,
            Self::KeyringTimedOut => Code::KeyringTimeout,
            Self::KeyringFailed { .. } => Code::KeyringFailed,
            Self::NoKeyring { .. } => Code::KeyringAbsent,
            Self::KeySourceUnavailable { .. } => Code::KeyUnavailable,
            Self::KeySourceDiffers { .. } => Code::KeySourceDiffers,
            Self::WrongKey { .. } => Code::WrongKey,
            Self::MalformedKey { .. } | Self::DamagedKeyFile { .. } => Code::MalformedKey,
            Self::KeyNotSupplied { .. } => Code::KeyNotSupplied,
            Self::Corrupt { .. } => Code::VaultCorrupt,
            Self::NewerSchema { .. } => Code::VaultNewer,
            Self::NotAVault { .. } => Code::NotAVault,
            Self::Lost { .. } => Code::VaultLost,
            Self::Unwritable { .. } => Code::VaultUnwritable,
            Self::Busy => Code::VaultBusy,
            Self::Transfer(_) => Code::TransferRefused,
            Self::File { .. }
            | Self::BackupExists { .. }
            | Self::Database { .. }
            | Self::InvalidName { .. }
            | Self::Crypto { .. } => Code::VaultFailed,
        }
    }

    /// Tells whether the same call may succeed a little later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Busy | Self::KeyringTimedOut | Self::KeyringLocked
        )
    }

    /// Returns what a person can do about it, with the command where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Exposed { path, finding } => finding.fix(path),
            Self::NetworkFileSystem { .. } | Self::NoLocks { .. } => {
                "set `KEYWAY_HOME` to a folder on a local disk".to_owned()
            }
            Self::RelativePath { .. } => "give an absolute path".to_owned(),
            Self::KeyringLocked | Self::KeyringRefused => {
                "unlock the keyring, then try again; nothing was changed. For a new vault, \
                 `KEYWAY_KEY_SOURCE=file` keeps the key in a file instead"
                    .to_owned()
            }
            Self::NoKeyring { .. } => {
                "use your desktop session, where the keyring service runs; nothing was changed"
                    .to_owned()
            }
            Self::KeyringTimedOut | Self::KeyringFailed { .. } => {
                "check that the keyring service runs; nothing was changed. For a new vault, \
                 `KEYWAY_KEY_SOURCE=file` keeps the key in a file instead"
                    .to_owned()
            }
            Self::KeySourceUnavailable { recorded } => recorded.how_to_provide().to_owned(),
            Self::KeySourceDiffers { .. } => {
                "leave the key out; to use it from now on, `keyway vault rekey --key-file FILE`"
                    .to_owned()
            }
            Self::WrongKey { .. } => {
                "supply the key that the vault was made with; nothing was changed".to_owned()
            }
            Self::MalformedKey { path } => {
                format!("make one: `openssl rand -hex 32 > {}`", quoted(path))
            }
            Self::Corrupt { .. } => keyway_store::REPAIR.to_owned(),
            Self::Lost { .. } => LOST.to_owned(),
            Self::DamagedKeyFile { path } => format!(
                "put `{}` back from a backup: no other key opens this vault",
                path.display()
            ),
            Self::BackupExists { .. } => "choose another name; nothing is overwritten".to_owned(),
            Self::Unwritable { why, .. } => why.remedy().to_owned(),
            Self::Busy => BUSY.to_owned(),
            Self::Transfer(fault) => fault.hint().to_owned(),
            Self::NewerSchema { .. } => "use the newer version of keyway".to_owned(),
            Self::File {
                action: "create",
                source,
                ..
            } if is_unwritable(source) => {
                "set `KEYWAY_HOME` to a folder that you can write to".to_owned()
            }
            Self::File { source, .. } if source.kind() == ErrorKind::StorageFull => FULL.to_owned(),
            Self::File { source, .. } if source.kind() == ErrorKind::FileTooLarge => {
                TOO_LARGE.to_owned()
            }
            Self::Database { source, .. } if source.is_full() => FULL.to_owned(),
            Self::Database { source, .. } if source.limit() == Some(GrowthLimit::FileSize) => {
                TOO_LARGE.to_owned()
            }
            Self::NotAVault { path } => format!("move it away: `mv {0} {0}.old`", quoted(path)),
            _ => return None,
        })
    }

    pub(crate) fn file(
        action: &'static str,
        path: &Path,
        source: impl Into<std::io::Error>,
    ) -> Self {
        Self::File {
            action,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// Says why a file could not be locked.
    pub(crate) fn lock(path: &Path, errno: Errno) -> Self {
        match errno {
            Errno::NOLCK => Self::NoLocks {
                path: path.to_owned(),
            },
            errno => Self::file("lock", path, errno),
        }
    }

    /// Wraps what a store of another kind reported.
    fn foreign(source: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Self::Database {
            action: "be used",
            source: DatabaseError::foreign(source),
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>, how: Damage) -> Self {
        Self::Corrupt {
            what: what.into(),
            how,
        }
    }

    pub(crate) fn invalid_name(name: &str) -> Self {
        let name = keyway_secret::printable(name).chars().take(40).collect();
        Self::InvalidName { name }
    }

    /// Sorts a database error into the states that callers tell apart.
    pub(crate) fn database(action: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                Self::Busy
            }
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Self::corrupt("the database file", Damage::Altered)
            }
            _ => Self::Database {
                action,
                source: DatabaseError::of(source),
            },
        }
    }
}

/// Says whether this user cannot create files in a place.
fn is_unwritable(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied | ErrorKind::NotADirectory
    )
}

const LOST: &str = "put the file back, or `keyway vault restore FILE`; to start with an empty vault, \
    move it and the files `vault-*` of the configuration folder away, then approve and sign in again";
const BUSY: &str = "wait for the other keyway processes, or end them, then try again";
const FULL: &str = "free space on the disk, then try again; nothing was changed";

const TOO_LARGE: &str =
    "raise the limit on the size of files (`ulimit -f unlimited`), then try again";

impl From<VaultError> for StoreError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Busy => Self::Busy,
            VaultError::Corrupt { what, how } => Self::Corrupt { what, how },
            VaultError::InvalidName { name } => Self::InvalidName { name },
            error => {
                let (code, is_transient) = (error.code(), error.is_transient());
                let hint = error.hint();
                let failure = BackendFailure::new(error)
                    .with_code(code)
                    .with_transient(is_transient);
                Self::Backend(match hint {
                    Some(hint) => failure.with_hint(hint),
                    None => failure,
                })
            }
        }
    }
}

impl From<keyway_store::seal::SealError> for VaultError {
    fn from(error: keyway_store::seal::SealError) -> Self {
        Self::Crypto {
            action: error.action,
        }
    }
}

/// Takes apart what the conversion to [`StoreError`] put together.
impl From<StoreError> for VaultError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::Busy,
            StoreError::Corrupt { what, how } => Self::Corrupt { what, how },
            StoreError::InvalidName { name } => Self::InvalidName { name },
            StoreError::Backend(failure) => match failure.into_inner().downcast() {
                Ok(error) => *error,
                Err(source) => Self::foreign(source),
            },
            other => Self::foreign(Box::new(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_given_or_no_keys_have_codes_of_their_own() {
        let source = || std::io::Error::other("x");
        let path = PathBuf::from("/k");
        for (error, code) in [
            (VaultError::MalformedKey { path }, "malformed-key"),
            (
                VaultError::KeyNotSupplied { source: source() },
                "key-not-supplied",
            ),
            (
                VaultError::KeyringFailed { source: source() },
                "keyring-failed",
            ),
        ] {
            assert_eq!(error.code().as_str(), code);
            assert!(!error.is_transient());
        }
    }

    #[test]
    fn a_file_system_without_locks_is_named_and_no_time_is_spent_on_trying_again() {
        let error = VaultError::lock(Path::new("/v/x.lock"), Errno::NOLCK);
        assert_eq!(error.code(), Code::VaultFolder);
        assert!(!error.is_transient() && error.to_string().contains("ENOLCK"));
        assert!(error.hint().unwrap().contains("KEYWAY_HOME"));
        let error = VaultError::lock(Path::new("/v/x.lock"), Errno::WOULDBLOCK);
        assert_eq!(error.code(), Code::VaultFailed);
    }
}
