//! Why a store could not do what was asked.

use std::error::Error;
use std::fmt;

use keyway_code::Code;
use thiserror::Error;

/// Why a call to a store failed, whatever its backend.
///
/// No variant leads to anything being deleted or overwritten.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Other processes kept the store locked for longer than we wait.
    #[error("the vault is in use by another process")]
    Busy,
    /// A stored value is not what was stored.
    #[error("{what} is damaged: {how}")]
    Corrupt {
        /// Which value.
        what: String,
        /// How it shows.
        how: Damage,
    },
    /// A name is empty, too long or reserved.
    #[error("`{name}` cannot name an entry of the vault")]
    InvalidName {
        /// The name, shortened.
        name: String,
    },
    /// Something that only this backend knows.
    #[error(transparent)]
    Backend(BackendFailure),
}

impl StoreError {
    /// Makes an error of a name that cannot be stored under.
    #[must_use]
    pub fn invalid_name(name: &str) -> Self {
        let name = keyway_secret::printable(name).chars().take(40).collect();
        Self::InvalidName { name }
    }

    /// Makes an error of a damaged value.
    #[must_use]
    pub fn corrupt(what: impl Into<String>, how: Damage) -> Self {
        Self::Corrupt {
            what: what.into(),
            how,
        }
    }

    /// Returns the code used in every format; it says who can fix it.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Busy => Code::VaultBusy,
            Self::Corrupt { .. } => Code::VaultCorrupt,
            Self::InvalidName { .. } => Code::VaultFailed,
            Self::Backend(failure) => failure.code,
        }
    }

    /// Tells whether the same call may succeed a little later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Busy => true,
            Self::Corrupt { .. } | Self::InvalidName { .. } => false,
            Self::Backend(failure) => failure.is_transient,
        }
    }

    /// Returns what a person can do about it, with the command where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Corrupt { .. } => Some(REPAIR.to_owned()),
            Self::Busy | Self::InvalidName { .. } => None,
            Self::Backend(failure) => failure.hint.clone(),
        }
    }
}

/// What to do about a store that is damaged.
pub const REPAIR: &str = "`keyway vault repair` keeps what still opens and names the rest; \
    `keyway vault restore FILE` puts a backup in place";

impl From<BackendFailure> for StoreError {
    fn from(failure: BackendFailure) -> Self {
        Self::Backend(failure)
    }
}

/// An error of a backend's own, with what callers need to know of it.
///
/// ```
/// use keyway_code::Code;
/// use keyway_store::{BackendFailure, StoreError};
///
/// let refused = std::io::Error::other("password authentication failed");
/// let failure = BackendFailure::new(refused)
///     .with_code(Code::VaultFolder)
///     .with_hint("set `PGPASSWORD`");
/// let error = StoreError::from(failure);
/// assert_eq!(error.to_string(), "password authentication failed");
/// assert_eq!(error.code(), Code::VaultFolder);
/// ```
#[derive(Debug)]
pub struct BackendFailure {
    source: Box<dyn Error + Send + Sync>,
    code: Code,
    is_transient: bool,
    hint: Option<String>,
}

impl BackendFailure {
    /// Wraps an error: permanent, with the code `vault-failed`, without a hint.
    #[must_use]
    pub fn new(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            source: source.into(),
            code: Code::VaultFailed,
            is_transient: false,
            hint: None,
        }
    }

    /// Sets the code under which it is reported.
    #[must_use]
    pub const fn with_code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// Sets whether the same call may succeed a little later.
    #[must_use]
    pub const fn with_transient(mut self, is_transient: bool) -> Self {
        self.is_transient = is_transient;
        self
    }

    /// Sets what a person can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the backend's own error.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        self.source
    }
}

/// The text and the causes are those of the wrapped error, which is not a cause of its own.
impl fmt::Display for BackendFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for BackendFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.source()
    }
}

/// How a damaged value shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Damage {
    /// Its seal does not open: bits were changed, or it was moved from another place.
    #[error("its seal is broken")]
    Altered,
    /// It is older than what was last stored.
    #[error("it was replaced by an older state")]
    RolledBack,
    /// The manifest lists a record that does not exist.
    #[error("it is in the manifest but missing from the store (tampering?)")]
    Missing,
    /// A record exists that the manifest does not list.
    #[error("it is missing from the manifest (tampering?)")]
    Unexpected,
    /// It carries a format version that this program does not know.
    #[error("its format is unknown")]
    UnknownFormat,
}
