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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written_and_nothing_else_is() {
        let digest = Digest::new(std::array::from_fn(|at| u8::try_from(at * 7).unwrap()));
        let text = digest.to_string();
        assert!(text.starts_with("00070e15"), "{text}");
        assert_eq!(Digest::parse(&text), Some(digest));
        assert_eq!(digest.as_bytes(), &digest.0);
        // Longer, shorter, no digit, and what a number may be written with elsewhere.
        for other in [
            format!("{text}00"),
            format!("{text}0"),
            text[2..].to_owned(),
            text[32..].to_owned(),
            text.replace("00", "0g"),
            "+f".repeat(32),
            String::new(),
        ] {
            assert_eq!(Digest::parse(&other), None, "{other}");
        }
    }
}
