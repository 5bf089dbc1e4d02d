//! The approvals that a person gave, sealed in the vault so that no plugin can write one.

use std::path::{Path, PathBuf};

use keyway_vault::{Namespace, Record, Vault, VaultError};

use crate::agreement::Agreement;
use crate::manifest::Manifest;
use crate::places::Places;
use crate::record::Approval;

/// The approvals in one vault.
#[derive(Debug)]
pub struct Ledger<'a> {
    vault: &'a Vault,
    namespace: Namespace,
    /// The files of approvals, one by one: large, and read only where they differ.
    files: Namespace,
    profile: String,
    home: Option<PathBuf>,
}

impl<'a> Ledger<'a> {
    /// Opens the ledger of a profile. A plugin below `home` is known by its place there, so that a
    /// home that moved keeps its approvals.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be used.
    pub fn new(vault: &'a Vault, profile: &str, home: Option<PathBuf>) -> Result<Self, VaultError> {
        Ok(Self {
            vault,
            namespace: Namespace::new("trust")?,
            files: Namespace::new("trust-files")?,
            profile: profile.to_owned(),
            home,
        })
    }

    /// Returns what was approved for an entry, whether or not it still fits.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read, or the record was tampered with.
    pub fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, VaultError> {
        let sealed = self.vault.sealed(self.namespace.clone());
        let [key, earlier] = self.keys(source, server);
        // Outside of the home both are the same.
        let is_one = key == earlier;
        for key in [Some(key), Some(earlier).filter(|_| !is_one)]
            .iter()
            .flatten()
        {
            if let Some(record) = sealed.get(key)? {
                return Ok(Approval::from_bytes(record.value.expose()));
            }
        }
        Ok(None)
    }

    /// Returns the files that were approved last for an entry.
    ///
    /// # Errors
    ///
    /// As [`Self::find`].
    pub fn find_files(&self, source: &Path, server: &str) -> Result<Option<Manifest>, VaultError> {
        let [key, _] = self.keys(source, server);
        let record = self.vault.sealed(self.files.clone()).get(&key)?;
        Ok(record.and_then(|record| Manifest::from_bytes(record.value.expose())))
    }

    /// Records an approval; what was approved of the same entry for other values of the person's
    /// variables stays.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be written.
    pub fn approve(&self, agreement: &Agreement) -> Result<(), VaultError> {
        let question = agreement.question();
        let (source, server) = (&question.source, &question.server);
        let earlier = self.find(source, server)?;
        // The files first: without them the approval still counts, and only reads more.
        if let Some(files) = question.files.manifest() {
            let [key, _] = self.keys(source, server);
            let sealed = self.vault.sealed(self.files.clone());
            sealed.put(&key, &files.to_bytes())?;
        }
        self.put(source, &Approval::beside(question, earlier))
    }

    /// Takes an approval back; returns whether there was one.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be written.
    pub fn revoke(&self, source: &Path, server: &str) -> Result<bool, VaultError> {
        let existed = self.find(source, server)?.is_some();
        if existed {
            for key in self.keys(source, server) {
                self.vault.sealed(self.namespace.clone()).delete(&key)?;
                self.vault.sealed(self.files.clone()).delete(&key)?;
            }
        }
        Ok(existed)
    }

    /// Takes every approval of the profile back; returns how many there were.
    ///
    /// They are deleted by the keys under which they are stored: a source says where the home was
    /// when it was approved, which need not be where it is now.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read or written.
    pub fn revoke_all(&self) -> Result<usize, VaultError> {
        let rows = self.rows()?;
        for (key, _) in &rows {
            self.vault.sealed(self.namespace.clone()).delete(key)?;
            self.vault.sealed(self.files.clone()).delete(key)?;
        }
        Ok(rows.len())
    }

    /// Returns all approvals of the profile.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read, or a record was tampered with.
    pub fn list(&self) -> Result<Vec<Approval>, VaultError> {
        let rows = self.rows()?;
        let approval = |record: &Record| Approval::from_bytes(record.value.expose());
        let approvals = rows.iter().filter_map(|(_, record)| approval(record));
        Ok(approvals.collect())
    }

    fn rows(&self) -> Result<Vec<(String, Record)>, VaultError> {
        let mut rows = self.vault.sealed(self.namespace.clone()).read_all()?;
        let of_profile = format!("{}\n", self.profile);
        rows.retain(|(key, _)| key.starts_with(&of_profile));
        Ok(rows)
    }

    fn put(&self, source: &Path, approval: &Approval) -> Result<(), VaultError> {
        let [key, _] = self.keys(source, &approval.server);
        let sealed = self.vault.sealed(self.namespace.clone());
        sealed.put(&key, &approval.to_bytes())?;
        Ok(())
    }

    /// The keys of a record: seen from the home, and as earlier versions wrote it. A name is part of
    /// it, and never of a file's name.
    fn keys(&self, source: &Path, server: &str) -> [String; 2] {
        let seen = Places::source(source, self.home.as_deref());
        let whole = source.to_string_lossy();
        [&*seen, &*whole].map(|source| format!("{}\n{source}\n{server}", self.profile))
    }
}
