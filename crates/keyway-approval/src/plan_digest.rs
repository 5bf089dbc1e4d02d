//! What an approval is bound to, put together as one digest.

use crate::digest::{Digest, VERSION};
use crate::fact::{Fact, Which};
use crate::files::Files;
use crate::hash::Hasher;

/// What an approval is bound to; for which plugin it counts is the key of its record.
///
/// Taken apart wherever it is hashed, so that a new part cannot be forgotten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanDigest<'a> {
    /// The name that the plugin gives itself.
    pub(crate) plugin: &'a str,
    /// The name of the entry.
    pub(crate) server: &'a str,
    /// What it would do.
    pub(crate) facts: &'a [Fact],
    /// The files that run.
    pub(crate) files: &'a Files,
}

impl PlanDigest<'_> {
    pub(crate) fn of(self, which: Which) -> Digest {
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
        Digest::new(hasher.finish())
    }
}
