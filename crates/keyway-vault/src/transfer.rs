//! Handing a sign-in to another vault: sealed for its key, with an end, and taken once.
//!
//! ```text
//!   this vault                                     the other vault
//!   good ── move (one transaction) ──▶ moved       key pair, its private half sealed
//!                │                                          │
//!                └── SealedGrant ───────────────▶ import ───┴──▶ good   (once, before its end)
//! ```
//!
//! A refresh token has one holder: the transaction that seals it also deletes it. What is sealed stays
//! in the record of the move until its end, so that a file that could not be written, or was lost,
//! can be written again; only the other vault can open it.
//!
//! The seal is that of HPKE's base mode (RFC 9180) in construction: an ephemeral X25519 key, a shared
//! secret that goes through a keyed hash together with both public keys, and one message under the
//! resulting key, bound to its end.

mod grant;
mod migration;
mod seal;

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use blake2::{Blake2b256, Digest as _};

use crate::error::TransferFault;

pub use self::grant::{Move, MovedGrant};
pub use self::migration::Migration;

/// The public half of a vault's key pair for moved sign-ins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferKey([u8; 32]);

impl TransferKey {
    /// Returns what a person compares: the first half of the key's BLAKE2b-256 hash.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let hash = Blake2b256::digest(self.0);
        let pairs = hash.iter().take(16).collect::<Vec<_>>();
        let groups = pairs.chunks(2).map(|pair| {
            let digits = pair.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        });
        groups.collect::<Vec<_>>().join("-")
    }
}

/// As it is handed to another machine.
impl fmt::Display for TransferKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KEY_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl FromStr for TransferKey {
    type Err = TransferFault;

    fn from_str(text: &str) -> Result<Self, TransferFault> {
        let encoded = text.trim().strip_prefix(KEY_PREFIX);
        let bytes = encoded.and_then(|it| BASE64_URL_SAFE_NO_PAD.decode(it).ok());
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(TransferFault::NotAKey)
    }
}

/// A sign-in that one vault can open.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedGrant(Vec<u8>);

/// What is in it is sealed, and of no use in a log.
impl fmt::Debug for SealedGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedGrant").finish_non_exhaustive()
    }
}

impl fmt::Display for SealedGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{GRANT_PREFIX}{}",
            BASE64_URL_SAFE_NO_PAD.encode(&self.0)
        )
    }
}

impl FromStr for SealedGrant {
    type Err = TransferFault;

    fn from_str(text: &str) -> Result<Self, TransferFault> {
        let encoded = text.trim().strip_prefix(GRANT_PREFIX);
        let bytes = encoded.filter(|it| it.len() <= MAX_TEXT);
        let bytes = bytes.and_then(|it| BASE64_URL_SAFE_NO_PAD.decode(it).ok());
        bytes.map(Self).ok_or(TransferFault::NotSealed)
    }
}

const KEY_PREFIX: &str = "keyway-key-1.";
const GRANT_PREFIX: &str = "keyway-sign-in-1.";
/// Tokens are at most a few KiB; their details too.
const MAX_TEXT: usize = 4 << 20;

#[cfg(test)]
mod tests;
