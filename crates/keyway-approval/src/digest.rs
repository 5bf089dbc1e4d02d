//! The digests of approvals.

use std::fmt;

use crate::hash::{Hash, from_hex, to_hex};

/// A digest of everything that is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(Hash);

impl Digest {
    pub(crate) const fn new(hash: Hash) -> Self {
        Self(hash)
    }

    /// Returns the bytes that are kept.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads what [`Display`](fmt::Display) writes; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

/// Raised whenever more, or something else, goes into a digest: what was approved before is asked
/// again once, with that reason.
pub(crate) const VERSION: u32 = 2;
