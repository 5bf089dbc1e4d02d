//! The digests of approvals.

use std::fmt;

use super::fact::{Fact, Which};
use super::files::Files;
use super::hash::{Hash, Hasher, from_hex, to_hex};

/// A digest of everything that is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(Hash);

impl Digest {
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

/// What an approval is bound to; for which plugin it counts is the key of its record.
///
/// Taken apart wherever it is hashed, so that a new part cannot be forgotten.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanDigest<'a> {
    /// The name that the plugin gives itself.
    pub(super) plugin: &'a str,
    /// The name of the entry.
    pub(super) server: &'a str,
    /// What it would do.
    pub(super) facts: &'a [Fact],
    /// The files that run.
    pub(super) files: &'a Files,
}

impl PlanDigest<'_> {
    pub(super) fn of(self, which: Which) -> Digest {
        let Self {
            plugin,
            server,
            facts,
            files,
        } = self;
        let mut hasher = Hasher::default();
        hasher.field(b"version", &VERSION.to_le_bytes());
        hasher.field(b"plugin", plugin.as_bytes());
        hasher.field(b"server", server.as_bytes());
        hasher.field(b"facts", &facts.len().to_le_bytes());
        for fact in facts {
            fact.hash(&mut hasher, which);
        }
        files.hash(&mut hasher);
        Digest(hasher.finish())
    }
}

/// Raised whenever more, or something else, goes into a digest: what was approved before is asked
/// again once, with that reason.
pub(super) const VERSION: u32 = 2;
