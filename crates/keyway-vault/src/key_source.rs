//! Where the key of a vault can come from, as its header and its errors name it.

use std::fmt;

use thiserror::Error;

/// The kind of source that a vault's key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceKind {
    /// The caller supplies it.
    Explicit,
    /// The OS keyring keeps it.
    Keyring,
    /// It is derived from a passphrase.
    Passphrase,
    /// It lies in a generated file.
    KeyFile,
}

impl SourceKind {
    /// Returns the word for it that the header records and `--format json` prints.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Keyring => "keyring",
            Self::Passphrase => "passphrase",
            Self::KeyFile => "key-file",
        }
    }

    /// Says whether Keyway made the key and keeps it; a change of key then deletes the old one, so
    /// that older copies of the vault no longer open.
    #[must_use]
    pub const fn is_generated(self) -> bool {
        matches!(self, Self::Keyring | Self::KeyFile)
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [
            Self::Explicit,
            Self::Keyring,
            Self::Passphrase,
            Self::KeyFile,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == name)
    }

    pub(crate) const fn how_to_provide(self) -> &'static str {
        match self {
            Self::Explicit => {
                "supply the key that the vault was made with, by `KEYWAY_KEY_FILE` or \
                 `KEYWAY_KEY_COMMAND`"
            }
            Self::Keyring => "start the keyring service of your desktop session",
            Self::Passphrase => {
                "run the command in a terminal, where the passphrase can be asked, or set \
                 `KEYWAY_PASSPHRASE_FILE`"
            }
            Self::KeyFile => "restore the key file in the configuration folder from a backup",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Explicit => "a supplied key",
            Self::Keyring => "the keyring",
            Self::Passphrase => "a passphrase",
            Self::KeyFile => "a key file",
        })
    }
}

/// What is missing where there is no keyring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyringAbsence {
    /// No session bus listens.
    #[error("there is no session bus")]
    SessionBus,
    /// The session bus belongs to another user, as after `sudo`.
    #[error("the session bus belongs to another user")]
    ForeignBus,
    /// No service on the session bus keeps secrets.
    #[error("no keyring service is on the session bus")]
    Service,
    /// The service runs, but holds nothing that keys could be kept in.
    #[error("the keyring service has no default keyring")]
    Collection,
}
