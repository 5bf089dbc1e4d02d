//! One message for the holder of a private key.

use keyway_secret::{Secret, random};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::{SealedGrant, TransferKey};
use crate::error::{TransferFault, VaultError};
use crate::seal::{Context, Key};

/// The private half of a key pair.
pub(super) struct PrivateKey(StaticSecret);

impl PrivateKey {
    pub(super) fn random() -> Result<Self, VaultError> {
        let bytes = Zeroizing::new(random_bytes()?);
        Ok(Self(StaticSecret::from(*bytes)))
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = Zeroizing::new(<[u8; 32]>::try_from(bytes).ok()?);
        Some(Self(StaticSecret::from(*bytes)))
    }

    pub(super) fn to_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    pub(super) fn public(&self) -> TransferKey {
        TransferKey(PublicKey::from(&self.0).to_bytes())
    }

    /// Opens what was sealed for this key; tells its end as well, in milliseconds since 1970.
    pub(super) fn open(
        &self,
        sealed: &SealedGrant,
    ) -> Result<(Secret<Vec<u8>>, i64), TransferFault> {
        let (ephemeral, rest) = sealed
            .0
            .split_first_chunk::<32>()
            .ok_or(TransferFault::NotSealed)?;
        let (end, message) = rest
            .split_first_chunk::<8>()
            .ok_or(TransferFault::NotSealed)?;
        let end = i64::from_le_bytes(*end);
        let ephemeral = TransferKey(*ephemeral);
        let keys = (&ephemeral, &self.public());
        let key = agree(&self.0, &ephemeral, keys).ok_or(TransferFault::OtherKey)?;
        let opened = key.open(message, &context(keys, end));
        let opened = opened.map_err(|_| TransferFault::OtherKey)?;
        Ok((opened, end))
    }
}

/// Seals a message for the holder of `to`, until `end` in milliseconds since 1970.
pub(super) fn seal(plain: &[u8], to: &TransferKey, end: i64) -> Result<SealedGrant, VaultError> {
    let ephemeral = PrivateKey::random()?;
    let public = ephemeral.public();
    let keys = (&public, to);
    // A key of small order would make the secret public.
    let key = agree(&ephemeral.0, to, keys).ok_or(TransferFault::NotAKey)?;
    let message = key.seal(plain, &context(keys, end))?;
    let mut sealed = Vec::with_capacity(40 + message.len());
    sealed.extend_from_slice(&public.0);
    sealed.extend_from_slice(&end.to_le_bytes());
    sealed.extend_from_slice(&message);
    Ok(SealedGrant(sealed))
}

/// Returns the key that both sides can compute.
fn agree(
    ours: &StaticSecret,
    theirs: &TransferKey,
    (ephemeral, receiver): (&TransferKey, &TransferKey),
) -> Option<Key> {
    let shared = ours.diffie_hellman(&PublicKey::from(theirs.0));
    if !shared.was_contributory() {
        return None;
    }
    let context = Context::new("transfer key")
        .bytes(&ephemeral.0)
        .bytes(&receiver.0);
    let bytes = Key::from_bytes(shared.as_bytes()).mac(&context).ok()?;
    Some(Key::from_bytes(&Zeroizing::new(bytes)))
}

fn context((ephemeral, receiver): (&TransferKey, &TransferKey), end: i64) -> Context {
    Context::new("transferred sign-in")
        .bytes(&ephemeral.0)
        .bytes(&receiver.0)
        .number(end.cast_unsigned())
}

fn random_bytes() -> Result<[u8; 32], VaultError> {
    random::bytes().map_err(|_| VaultError::Crypto {
        action: "make a key",
    })
}
