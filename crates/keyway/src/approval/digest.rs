//! What an approval is bound to: the entry, and the files inside the plugin that it runs.

use std::fmt;

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};
use keyway_config::declared::DeclaredServer;
use keyway_config::json::Node;
use keyway_config::usage;

use super::EntryContext;
use super::files::Files;

/// A digest of everything that was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the bytes that are kept.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Digests an entry with the files that it runs; the interpreter outside of the plugin is not
/// part of it, so that its upgrade asks nobody.
pub(super) fn of(server: &DeclaredServer, around: EntryContext<'_>, files: &Files) -> Digest {
    let mut hasher = Hasher(Blake2b::new());
    let document = around.document;
    if document.dialect.is_contract() {
        hasher.field(b"entry", document.source.slice(server.span).as_bytes());
    } else {
        // The same text means other things to other hosts, and what belongs to an entry of TOML or
        // YAML may stand anywhere in the file.
        hasher.field(b"dialect", document.dialect.id.as_bytes());
        let entry = document.tree.at(&server.pointer);
        let entry = entry.map(Node::canonical).unwrap_or_default();
        hasher.field(b"value", entry.as_bytes());
    }
    // What counts where the person gives no value is the file's word as well.
    for name in usage::names(server) {
        if let Some(default) = around.host.defaults.get(name) {
            hasher.field(b"variable", name.as_bytes());
            hasher.field(b"default", default.as_bytes());
        }
    }
    hasher.field(b"root", around.root.as_os_str().as_encoded_bytes());
    if files.are_too_large() {
        hasher.field(b"large", b"");
    }
    for (file, content) in files.seen() {
        hasher.field(b"path", file.as_os_str().as_encoded_bytes());
        match content {
            Some(content) => hasher.field(b"file", content),
            None => hasher.field(b"none", b""),
        }
    }
    Digest(hasher.0.finalize().into())
}

/// Hashes labelled, length-prefixed fields, so that no two inputs look alike.
struct Hasher(Blake2b<U32>);

impl Hasher {
    fn field(&mut self, label: &[u8], bytes: &[u8]) {
        self.0.update(label);
        self.0.update(bytes.len().to_le_bytes());
        self.0.update(bytes);
    }
}
