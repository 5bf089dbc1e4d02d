//! A key derived from a passphrase with Argon2id (RFC 9106).

use std::fmt;
use std::io;
use std::path::PathBuf;

use argon2::{Algorithm, Argon2, Params, Version};
use keyway_secret::Secret;
use zeroize::Zeroizing;

use crate::Damage;
use crate::error::VaultError;
use crate::folders::read_foreign;
use crate::key_source::SourceKind;
use crate::seal::{Context, KEY_BYTES, Key, random_bytes};

/// Asks a person for the passphrase.
pub trait Passphrase: fmt::Debug + Send + Sync {
    /// Returns the passphrase, or `None` if no person can be asked.
    ///
    /// # Errors
    ///
    /// Returns why the place where it is kept cannot be read, where it is kept in one.
    fn ask(&self, purpose: PassphraseUse) -> Result<Option<Secret<String>>, VaultError>;
}

/// A passphrase in the first line of a file that we alone may read.
#[derive(Clone, Debug)]
pub struct PassphraseFile(PathBuf);

impl PassphraseFile {
    /// Names the file; it is read whenever the passphrase is asked for.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self(path)
    }
}

impl Passphrase for PassphraseFile {
    fn ask(&self, _purpose: PassphraseUse) -> Result<Option<Secret<String>>, VaultError> {
        let contents = read_foreign(&self.0, false)?;
        let line = contents
            .expose()
            .split(|byte| matches!(byte, b'\n' | b'\r'))
            .next();
        let text = std::str::from_utf8(line.unwrap_or_default())
            .map_err(|source| VaultError::file("read", &self.0, io::Error::other(source)))?;
        Ok(Some(Secret::new(text.to_owned())))
    }
}

/// What a passphrase is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PassphraseUse {
    /// To choose a new one; ask twice.
    Choose,
    /// To open what is there.
    Unlock,
}

/// The recorded parameters of the derivation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) salt: [u8; SALT_BYTES],
    pub(crate) memory_kib: u32,
    pub(crate) passes: u32,
    pub(crate) lanes: u32,
}

impl Cost {
    /// Takes the second recommended option of RFC 9106 section 4 with one lane, and a new salt.
    pub(super) fn fresh() -> Result<Self, VaultError> {
        Ok(Self {
            salt: random_bytes()?,
            memory_kib: 64 * 1024,
            passes: 3,
            lanes: 1,
        })
    }

    pub(super) fn derive(
        &self,
        asked: &dyn Passphrase,
        purpose: PassphraseUse,
    ) -> Result<Key, VaultError> {
        // An edited header must not make us allocate without bound.
        if self.memory_kib > MAX_MEMORY_KIB || self.passes > MAX_PASSES || self.lanes > MAX_LANES {
            return Err(VaultError::corrupt("the vault's header", Damage::Altered));
        }
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(KEY_BYTES))
            .map_err(|_| VaultError::corrupt("the vault's header", Damage::Altered))?;
        let passphrase = asked
            .ask(purpose)?
            .filter(|text| !text.expose().is_empty())
            .ok_or(VaultError::KeySourceUnavailable {
                recorded: SourceKind::Passphrase,
            })?;
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.expose().as_bytes(), &self.salt, &mut *bytes)
            .map_err(|_| VaultError::Crypto {
                action: "derive a key from the passphrase",
            })?;
        Ok(Key::from_bytes(&bytes))
    }

    pub(super) fn bind(&self, context: Context) -> Context {
        context
            .bytes(&self.salt)
            .number(self.memory_kib.into())
            .number(self.passes.into())
            .number(self.lanes.into())
    }
}

pub(crate) const SALT_BYTES: usize = 16;
const MAX_MEMORY_KIB: u32 = 1024 * 1024;
const MAX_PASSES: u32 = 32;
const MAX_LANES: u32 = 16;
