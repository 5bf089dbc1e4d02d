//! The one hash of approvals, over labelled fields.

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};

/// A BLAKE2b hash of 256 bits.
pub(crate) type Hash = [u8; 32];

/// Hashes labelled, length-prefixed fields, so that no two inputs look alike.
#[derive(Debug, Default)]
pub(crate) struct Hasher(Blake2b<U32>);

impl Hasher {
    /// Hashes one field.
    pub(crate) fn of(label: &[u8], bytes: &[u8]) -> Hash {
        let mut hasher = Self::default();
        hasher.field(label, bytes);
        hasher.finish()
    }

    pub(crate) fn field(&mut self, label: &[u8], bytes: &[u8]) {
        self.0.update(label.len().to_le_bytes());
        self.0.update(label);
        self.0.update(bytes.len().to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Hash {
        self.0.finalize().into()
    }
}

pub(crate) fn to_hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if text.len() != hash.len() * 2 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in hash.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(hash)
}
