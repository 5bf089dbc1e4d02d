//! The key of an open vault, handed to another process of the same program.
//!
//! A process that finishes the work of another cannot ask a person for a passphrase, and must not
//! open a keyring's window. So it gets what the first process derived from the vault's key: enough
//! to open this vault while its key is not changed, and nothing from which the key can be found.

use std::fmt;

use keyway_secret::Secret;
use zeroize::Zeroizing;

use crate::seal::{ID_BYTES, KEY_BYTES, Key, KeyId};

/// What opens a vault that another process has opened before.
///
/// It travels only between processes of one program, through a channel that no other process can
/// read.
#[derive(Clone)]
pub struct UnlockedKey {
    /// The vault key that it was derived from.
    id: KeyId,
    wrap: Key,
}

impl UnlockedKey {
    pub(crate) const fn new(id: KeyId, wrap: Key) -> Self {
        Self { id, wrap }
    }

    /// Returns the key, if it belongs to the vault key of this name.
    pub(crate) fn wrap_of(&self, id: &KeyId) -> Option<&Key> {
        (self.id == *id).then_some(&self.wrap)
    }

    /// Returns it as bytes, to be sent.
    #[must_use]
    pub fn to_bytes(&self) -> Secret<Vec<u8>> {
        let mut bytes = Vec::with_capacity(LENGTH);
        bytes.extend_from_slice(self.id.as_bytes());
        bytes.extend_from_slice(self.wrap.expose());
        Secret::new(bytes)
    }

    /// Reads what [`Self::to_bytes`] returned; `None` for anything else.
    #[must_use]
    pub fn from_bytes(bytes: &Secret<Vec<u8>>) -> Option<Self> {
        let (id, wrap) = bytes.expose().split_at_checked(ID_BYTES)?;
        let wrap = Zeroizing::new(<[u8; KEY_BYTES]>::try_from(wrap).ok()?);
        Some(Self {
            id: KeyId::from_slice(id)?,
            wrap: Key::from_bytes(&wrap),
        })
    }
}

impl fmt::Debug for UnlockedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnlockedKey(..)")
    }
}

const LENGTH: usize = ID_BYTES + KEY_BYTES;
