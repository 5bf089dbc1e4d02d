//! The port to an OS keyring, and the time limit on every call through it.
//!
//! Only the vault's key goes there, never a token: keyrings have size limits.

use std::fmt;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use keyway_secret::Secret;

use crate::error::VaultError;
use crate::key_source::{KeyringAbsence, SourceKind};
use crate::seal::{KEY_BYTES, Key};
use crate::timeouts::KEYRING_TIME_LIMIT;

/// An OS keyring, as far as the vault needs one.
///
/// Calls may block; the vault gives each its [patience](Keyring::patience) and then reports
/// [`VaultError::KeyringTimedOut`], leaving the call to end by itself.
pub trait Keyring: fmt::Debug + Send + Sync + 'static {
    /// Returns the secret under `item`, or `None` if the keyring works and holds none.
    ///
    /// # Errors
    ///
    /// Tells an absent, a locked and a failing keyring apart.
    fn load(&self, item: &KeyringItem) -> Result<Option<Secret<Vec<u8>>>, KeyringFailure>;

    /// Keeps `secret` under `item`.
    ///
    /// # Errors
    ///
    /// As [`Keyring::load`].
    fn store(&self, item: &KeyringItem, secret: &Secret<Vec<u8>>) -> Result<(), KeyringFailure>;

    /// Removes `item`; one that is not there is no error.
    ///
    /// # Errors
    ///
    /// As [`Keyring::load`].
    fn remove(&self, item: &KeyringItem) -> Result<(), KeyringFailure>;

    /// Returns how long one call may take: three seconds, unless a person is asked meanwhile.
    fn patience(&self) -> Duration {
        KEYRING_TIME_LIMIT
    }
}

/// The name of one key in a keyring.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyringItem {
    /// The vault's own random name, in hexadecimal.
    pub vault: String,
    /// The key's public name, in hexadecimal.
    pub key: String,
}

/// Why a keyring did not do what was asked. Whatever it is, nothing in it was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeyringFailure {
    /// There is no keyring here.
    Absent(KeyringAbsence),
    /// It has to be unlocked first.
    Locked,
    /// The person was asked to unlock it and declined.
    Refused,
    /// It did not answer in time.
    TimedOut,
    /// Anything else.
    Failed(std::io::Error),
}

impl From<KeyringFailure> for VaultError {
    fn from(failure: KeyringFailure) -> Self {
        match failure {
            KeyringFailure::Absent(missing) => Self::NoKeyring { missing },
            KeyringFailure::Locked => Self::KeyringLocked,
            KeyringFailure::Refused => Self::KeyringRefused,
            KeyringFailure::TimedOut => Self::KeyringTimedOut,
            KeyringFailure::Failed(source) => Self::KeyringFailed { source },
        }
    }
}

pub(super) fn load(keyring: &Arc<dyn Keyring>, item: &KeyringItem) -> Result<Key, VaultError> {
    let wanted = item.clone();
    let found = bounded(keyring, move |keyring| keyring.load(&wanted))?;
    // The service works, yet the key is not there: that is another keyring, or an emptied one.
    let secret = found.ok_or(VaultError::WrongKey {
        from: SourceKind::Keyring,
    })?;
    <&[u8; KEY_BYTES]>::try_from(secret.expose().as_slice())
        .map(Key::from_bytes)
        .map_err(|_| VaultError::WrongKey {
            from: SourceKind::Keyring,
        })
}

/// Stores the key and reads it back: some keyrings accept what they do not keep.
pub(super) fn store(
    keyring: &Arc<dyn Keyring>,
    item: &KeyringItem,
    key: &Key,
) -> Result<(), VaultError> {
    let secret = Secret::new(key.expose().to_vec());
    let place = item.clone();
    bounded(keyring, move |keyring| keyring.store(&place, &secret))?;
    if load(keyring, item)?.id()? == key.id()? {
        return Ok(());
    }
    Err(VaultError::WrongKey {
        from: SourceKind::Keyring,
    })
}

pub(super) fn remove(keyring: &Arc<dyn Keyring>, item: &KeyringItem) -> Result<(), VaultError> {
    let place = item.clone();
    bounded(keyring, move |keyring| keyring.remove(&place))
}

fn bounded<T: Send + 'static>(
    keyring: &Arc<dyn Keyring>,
    call: impl FnOnce(&dyn Keyring) -> Result<T, KeyringFailure> + Send + 'static,
) -> Result<T, VaultError> {
    let (answer, answered) = mpsc::sync_channel(1);
    let patience = keyring.patience();
    let keyring = Arc::clone(keyring);
    std::thread::Builder::new()
        .name("keyring".to_owned())
        .spawn(move || {
            // After the time-out there is no receiver; the answer is dropped and wiped.
            drop(answer.send(call(&*keyring)));
        })
        .map_err(|source| VaultError::KeyringFailed { source })?;
    match answered.recv_timeout(patience) {
        Ok(result) => result.map_err(VaultError::from),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(VaultError::KeyringTimedOut),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(VaultError::KeyringFailed {
            source: std::io::Error::other("the call ended without an answer"),
        }),
    }
}
