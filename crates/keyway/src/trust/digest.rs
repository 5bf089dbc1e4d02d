//! What an approval is bound to: the entry, and the files inside the plugin that it runs.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};
use keyway_config::declared::{DeclaredServer, Endpoint, HelperCommand};

use super::{Surroundings, shown};

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
pub(super) fn of(server: &DeclaredServer, around: Surroundings<'_>) -> Digest {
    let mut hasher = Hasher(Blake2b::new());
    hasher.field(
        b"entry",
        around.document.source.slice(server.span).as_bytes(),
    );
    hasher.field(b"root", around.root.as_os_str().as_encoded_bytes());
    for file in files(server, around) {
        hasher.field(b"path", file.as_os_str().as_encoded_bytes());
        // A file that cannot be read has a digest of its own, and so changes it when it appears.
        match fs::read(&file) {
            Ok(content) => hasher.field(b"file", &content),
            Err(_) => hasher.field(b"none", b""),
        }
    }
    Digest(hasher.0.finalize().into())
}

/// The files inside the plugin that an entry names, wherever in its command line.
pub(super) fn files(server: &DeclaredServer, around: Surroundings<'_>) -> Vec<PathBuf> {
    let words: Vec<String> = match &server.endpoint {
        Endpoint::Local(local) => std::iter::once(&local.command)
            .chain(&local.args)
            .map(|field| shown(&field.template, around.host))
            .collect(),
        Endpoint::Remote(remote) => match remote.helper.as_ref().map(|helper| &helper.command) {
            Some(HelperCommand::Program(field) | HelperCommand::Shell(field)) => {
                let line = shown(&field.template, around.host);
                let words = line
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>();
                std::iter::once(line).chain(words).collect()
            }
            Some(HelperCommand::Words(words)) => words
                .iter()
                .map(|field| shown(&field.template, around.host))
                .collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let mut files: Vec<PathBuf> = words
        .iter()
        .filter_map(|word| inside(around.root, word))
        .collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// Returns the regular file inside `root` that a word names, if there is one.
fn inside(root: &Path, word: &str) -> Option<PathBuf> {
    let path = fs::canonicalize(root.join(word)).ok()?;
    (path.starts_with(root) && path.is_file()).then_some(path)
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
