//! The manifests: what the vault holds, under seal, so that nothing is taken back unnoticed.
//!
//! A sealed row proves that the vault wrote it, not that it is the last one written. So each
//! namespace has a manifest: the map from every key to the generation of its row, sealed together
//! with a counter that each change increments. The root, a manifest of the same form, maps every
//! namespace to its counter. Row, manifest and root change in one transaction; every read checks
//! the row against the manifest and the manifest against the root.
//!
//! A generation is the counter at the moment of writing and is never used twice, so a (key,
//! generation) pair stands for exactly one value. An attacker who writes to the file can therefore
//! only put back root, manifests and rows all together: the whole vault as it was at some moment.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::VaultError;
use crate::seal::Context;
use crate::{Damage, Generation};

use super::Scope;
use super::data_key::DataKey;

/// The content of a namespace, as last written by a vault.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    counter: i64,
    entries: BTreeMap<String, i64>,
}

impl Manifest {
    /// Returns the generation that the row of `key` must have.
    pub(crate) fn expected(&self, key: &str) -> Option<Generation> {
        self.entries.get(key).copied().map(Generation::new)
    }

    /// Compares a row with what was last written.
    pub(crate) fn check(
        &self,
        key: &str,
        found: Option<Generation>,
        what: impl FnOnce() -> String,
    ) -> Result<(), VaultError> {
        let damage = match (self.expected(key), found) {
            (expected, found) if expected == found => return Ok(()),
            (Some(_), None) => Damage::Missing,
            (None, Some(_)) => Damage::Unexpected,
            _ => Damage::RolledBack,
        };
        Err(VaultError::corrupt(what(), damage))
    }

    /// Enters a new generation for `key`.
    pub(crate) fn advance(&mut self, key: &str) -> Generation {
        self.counter += 1;
        self.entries.insert(key.to_owned(), self.counter);
        Generation::new(self.counter)
    }

    pub(crate) fn forget(&mut self, key: &str) {
        self.counter += 1;
        self.entries.remove(key);
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (key, generation) in &self.entries {
            out.extend_from_slice(&(key.len() as u64).to_le_bytes());
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(&generation.to_le_bytes());
        }
        out
    }

    fn decode(counter: i64, mut bytes: &[u8]) -> Option<Self> {
        let mut entries = BTreeMap::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (key, rest) = rest.split_at_checked(length)?;
            let (generation, rest) = rest.split_first_chunk::<8>()?;
            entries.insert(
                String::from_utf8(key.to_vec()).ok()?,
                i64::from_le_bytes(*generation),
            );
            bytes = rest;
        }
        Some(Self { counter, entries })
    }
}

impl Scope<'_> {
    /// Reads the manifest of a namespace and checks it against the root.
    pub(crate) fn manifest(&self, namespace: &str) -> Result<Manifest, VaultError> {
        let root = self.root()?;
        let found = load(self.tx, &self.keys.index, namespace)?;
        root.check(
            namespace,
            found.as_ref().map(|m| Generation::new(m.counter)),
            || what(namespace),
        )?;
        Ok(found.unwrap_or_default())
    }

    /// Writes a changed manifest, and the root that vouches for it.
    pub(crate) fn save_manifest(
        &self,
        namespace: &str,
        manifest: &Manifest,
    ) -> Result<(), VaultError> {
        let mut root = self.root()?;
        root.counter += 1;
        root.entries.insert(namespace.to_owned(), manifest.counter);
        save(self.tx, &self.keys.index, namespace, manifest)?;
        save(self.tx, &self.keys.index, ROOT, &root)
    }

    /// Lists the namespaces that were ever used.
    pub(crate) fn root(&self) -> Result<Manifest, VaultError> {
        load(self.tx, &self.keys.index, ROOT)?
            .ok_or_else(|| VaultError::corrupt(what(ROOT), Damage::Missing))
    }
}

/// Writes the root of an empty vault.
pub(super) fn initialise(connection: &Connection, index: &DataKey) -> Result<(), VaultError> {
    save(connection, index, ROOT, &Manifest::default())
}

fn load(
    connection: &Connection,
    index: &DataKey,
    namespace: &str,
) -> Result<Option<Manifest>, VaultError> {
    let row: Option<(i64, Vec<u8>)> = connection
        .query_row(
            "SELECT counter, sealed FROM manifests WHERE namespace = ?1",
            [namespace],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()
        .map_err(VaultError::database("read a manifest"))?;
    let Some((counter, sealed)) = row else {
        return Ok(None);
    };
    let opened = index
        .key()
        .open(&sealed, &context(namespace, counter))
        .map_err(|how| VaultError::corrupt(what(namespace), how))?;
    Manifest::decode(counter, opened.expose())
        .map(Some)
        .ok_or_else(|| VaultError::corrupt(what(namespace), Damage::UnknownFormat))
}

fn save(
    connection: &Connection,
    index: &DataKey,
    namespace: &str,
    manifest: &Manifest,
) -> Result<(), VaultError> {
    let sealed = index
        .key()
        .seal(&manifest.encode(), &context(namespace, manifest.counter))?;
    connection
        .execute(
            "INSERT INTO manifests (namespace, counter, sealed) VALUES (?1, ?2, ?3)
             ON CONFLICT (namespace) DO UPDATE SET counter = ?2, sealed = ?3",
            params![namespace, manifest.counter, sealed],
        )
        .map(drop)
        .map_err(VaultError::database("write a manifest"))
}

fn context(namespace: &str, counter: i64) -> Context {
    Context::new("manifest")
        .text(namespace)
        .number(counter.cast_unsigned())
}

fn what(namespace: &str) -> String {
    if namespace == ROOT {
        "the vault's list of contents".to_owned()
    } else {
        format!("the list of contents of `{namespace}`")
    }
}

/// The root stands under a name that no namespace can have.
const ROOT: &str = "";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_reads_back_what_it_wrote() {
        let mut manifest = Manifest::default();
        manifest.advance("a");
        manifest.advance("ü\0b");
        manifest.advance("");
        manifest.forget("a");
        assert_eq!(Manifest::decode(4, &manifest.encode()), Some(manifest));
    }

    #[test]
    fn generation_is_not_used_again_after_a_deletion() {
        let mut manifest = Manifest::default();
        let first = manifest.advance("a");
        manifest.forget("a");
        assert!(manifest.advance("a") > first);
    }
}
