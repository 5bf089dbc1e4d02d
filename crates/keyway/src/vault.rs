//! The vault as a host opens it: its folders, the sources of its key, the desktop's keyring.

mod kept;
mod records;

use std::ffi::OsString;
use std::fmt;
use std::io;

use keyway_secret::Secret;
use keyway_vault::parse_key;

#[cfg(feature = "keyring")]
pub use keyway_keyring::{BusAddress, SecretService};
pub use keyway_vault::{
    ExplicitKey, Folders, Inspection, KeySources, KeySupplier, MovedGrant, Passphrase,
    PassphraseFile, PassphraseUse, Rekeyed, Repaired, Restored, SealedGrant, SourceKind,
    TransferFault, TransferKey, Vault, VaultError, Verification,
};

pub use self::kept::{KeptVault, OpenVault};
#[cfg(test)]
pub(crate) use self::records::LISTS;
pub(crate) use self::records::{Discovery, OneTime, Registrations, ToolLists};
use crate::timeouts::KEY_COMMAND_TIMEOUT;

/// A command line of the person's own that prints the vault's key: 32 bytes, or 64 hexadecimal
/// digits.
///
/// It runs in a shell with the given environment, each time that the key is needed.
#[derive(Clone)]
#[non_exhaustive]
pub struct KeyCommand {
    /// The line.
    pub line: OsString,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl KeyCommand {
    /// Takes the line and all of its environment.
    #[must_use]
    pub const fn new(line: OsString, environment: Vec<(OsString, OsString)>) -> Self {
        Self { line, environment }
    }
}

impl KeySupplier for KeyCommand {
    fn supply(&self) -> io::Result<Secret<[u8; 32]>> {
        let printed =
            keyway_transport::capture(&self.line, self.environment.clone(), KEY_COMMAND_TIMEOUT)?;
        parse_key(&printed).ok_or_else(|| {
            io::Error::other("the command printed neither 32 bytes nor 64 hexadecimal digits")
        })
    }
}

impl fmt::Debug for KeyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The line may hold a password.
        f.debug_struct("KeyCommand").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supply(line: &str) -> io::Result<Secret<[u8; 32]>> {
        let environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let line = line.into();
        KeyCommand { line, environment }.supply()
    }

    #[test]
    fn printed_digits_and_printed_bytes_are_keys() {
        let digits = format!("printf '%s\\n' {}", "4b".repeat(32));
        assert_eq!(
            supply(&digits).unwrap().expose(),
            b"KKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK"
        );
        let bytes = format!("printf %s {}", "x".repeat(32));
        assert_eq!(supply(&bytes).unwrap().expose(), &[b'x'; 32]);
    }

    #[test]
    fn anything_else_is_refused_without_being_repeated() {
        let error = supply("echo CANARY").unwrap_err().to_string();
        assert!(!error.contains("CANARY"), "{error}");
        assert!(supply("exit 1").is_err());
        let command = KeyCommand {
            line: "echo CANARY".into(),
            environment: Vec::new(),
        };
        assert!(!format!("{command:?}").contains("CANARY"));
    }
}
