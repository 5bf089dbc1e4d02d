//! The approvals that a person gave, sealed where no plugin can write one.

use std::fmt;
use std::path::{Path, PathBuf};

use keyway_store::{StoreError, ValueStore};
#[cfg(feature = "vault")]
use keyway_vault::{Namespace, Vault, VaultError};

use crate::agreement::Agreement;
use crate::manifest::Manifest;
use crate::places::Places;
use crate::record::Approval;

/// The approvals of one profile in one store.
pub struct Ledger<'a> {
    approvals: Box<dyn ValueStore + 'a>,
    /// The files of approvals, one by one: large, and read only where they differ.
    files: Option<Box<dyn ValueStore + 'a>>,
    profile: String,
    home: Option<PathBuf>,
}

impl fmt::Debug for Ledger<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Ledger");
        shown
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

impl<'a> Ledger<'a> {
    /// Opens the ledger of a profile in a vault. A plugin below `home` is known by its place there, so
    /// that a home that moved keeps its approvals.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be used.
    #[cfg(feature = "vault")]
    pub fn new(vault: &'a Vault, profile: &str, home: Option<PathBuf>) -> Result<Self, VaultError> {
        Ok(Self {
            approvals: Box::new(vault.sealed(Namespace::new("trust")?)),
            files: Some(Box::new(vault.sealed(Namespace::new("trust-files")?))),
            profile: profile.to_owned(),
            home,
        })
    }

    /// Opens the ledger of a profile in a store of its own, which keeps no list of files.
    #[must_use]
    pub fn in_values(
        values: Box<dyn ValueStore + 'a>,
        profile: &str,
        home: Option<PathBuf>,
    ) -> Self {
        Self {
            approvals: values,
            files: None,
            profile: profile.to_owned(),
            home,
        }
    }

    /// Returns what was approved for an entry, whether or not it still fits.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be read: a record was tampered with, for one.
    pub fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError> {
        let [key, earlier] = self.keys(source, server);
        // Outside of the home both are the same.
        let is_one = key == earlier;
        for key in [Some(key), Some(earlier).filter(|_| !is_one)]
            .iter()
            .flatten()
        {
            if let Some(value) = self.approvals.get(key)? {
                return Ok(Approval::from_bytes(value.expose()));
            }
        }
        Ok(None)
    }

    /// Returns the files that were approved last for an entry.
    ///
    /// # Errors
    ///
    /// As [`Self::find`].
    pub fn find_files(&self, source: &Path, server: &str) -> Result<Option<Manifest>, StoreError> {
        let Some(files) = &self.files else {
            return Ok(None);
        };
        let [key, _] = self.keys(source, server);
        let found = files.get(&key)?;
        Ok(found.and_then(|value| Manifest::from_bytes(value.expose())))
    }

    /// Records an approval; what was approved of the same entry for other values of the person's
    /// variables stays.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be written.
    pub fn approve(&self, agreement: &Agreement) -> Result<(), StoreError> {
        let question = agreement.question();
        let (source, server) = (&question.source, &question.server);
        let earlier = self.find(source, server)?;
        let [key, _] = self.keys(source, server);
        // The files first: without them the approval still counts, and only reads more.
        if let (Some(files), Some(manifest)) = (&self.files, question.files.manifest()) {
            files.put(&key, &manifest.to_bytes())?;
        }
        let approval = Approval::beside(question, earlier);
        self.approvals.put(&key, &approval.to_bytes())
    }

    /// Takes an approval back; returns whether there was one.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be written.
    pub fn revoke(&self, source: &Path, server: &str) -> Result<bool, StoreError> {
        let existed = self.find(source, server)?.is_some();
        if existed {
            for key in self.keys(source, server) {
                self.delete(&key)?;
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
    /// Returns why the store cannot be read or written.
    pub fn revoke_all(&self) -> Result<usize, StoreError> {
        let rows = self.rows()?;
        for (key, _) in &rows {
            self.delete(key)?;
        }
        Ok(rows.len())
    }

    /// Returns all approvals of the profile.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be read: a record was tampered with, for one.
    pub fn list(&self) -> Result<Vec<Approval>, StoreError> {
        let rows = self.rows()?.into_iter();
        Ok(rows.filter_map(|(_, approval)| approval).collect())
    }

    fn rows(&self) -> Result<Vec<(String, Option<Approval>)>, StoreError> {
        let of_profile = format!("{}\n", self.profile);
        let all = self.approvals.all()?.into_iter();
        let own = all.filter(|(key, _)| key.starts_with(&of_profile));
        Ok(own
            .map(|(key, value)| (key, Approval::from_bytes(value.expose())))
            .collect())
    }

    fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.approvals.delete(key)?;
        if let Some(files) = &self.files {
            files.delete(key)?;
        }
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
