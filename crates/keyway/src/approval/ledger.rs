//! The approvals that a person gave, sealed in the vault so that no plugin can write one.

use std::path::Path;

use keyway_vault::{Namespace, Record, Vault, VaultError};

use super::{Approval, Question};

/// The approvals in one vault.
#[derive(Debug)]
pub struct Ledger<'a> {
    vault: &'a Vault,
    namespace: Namespace,
    profile: String,
}

impl<'a> Ledger<'a> {
    /// Opens the ledger of a profile.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be used.
    pub fn new(vault: &'a Vault, profile: &str) -> Result<Self, VaultError> {
        let namespace = Namespace::new("trust")?;
        Ok(Self {
            vault,
            namespace,
            profile: profile.to_owned(),
        })
    }

    /// Returns what was approved for an entry, whether or not it still fits.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read, or the record was tampered with.
    pub fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, VaultError> {
        let record = self
            .vault
            .sealed(self.namespace.clone())
            .get(&self.key(source, server))?;
        Ok(record.and_then(|record| Approval::from_bytes(record.value.expose())))
    }

    /// Records an approval; earlier grants of variables stay.
    ///
    /// Returns `false` if there is nothing to bind it to: the files are [too
    /// large](super::Files::are_too_large).
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be written.
    pub fn approve(&self, question: &Question) -> Result<bool, VaultError> {
        if question.files.are_too_large() {
            return Ok(false);
        }
        let earlier = self.find(&question.source, &question.server)?;
        let grants = earlier.map(|approval| approval.grants).unwrap_or_default();
        let approval = Approval::of(question).with_grants(grants);
        self.put(&question.source, &approval)?;
        Ok(true)
    }

    /// Lets the helper or process of an approved entry have one more variable.
    ///
    /// Returns `false` if nothing was approved for it yet.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read or written.
    pub fn grant(&self, source: &Path, server: &str, variable: &str) -> Result<bool, VaultError> {
        let Some(mut approval) = self.find(source, server)? else {
            return Ok(false);
        };
        if !approval.grants.iter().any(|granted| granted == variable) {
            approval.grants.push(variable.to_owned());
            self.put(source, &approval)?;
        }
        Ok(true)
    }

    /// Takes an approval back; returns whether there was one.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be written.
    pub fn revoke(&self, source: &Path, server: &str) -> Result<bool, VaultError> {
        let existed = self.find(source, server)?.is_some();
        if existed {
            self.vault
                .sealed(self.namespace.clone())
                .delete(&self.key(source, server))?;
        }
        Ok(existed)
    }

    /// Returns all approvals.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read, or a record was tampered with.
    pub fn list(&self) -> Result<Vec<Approval>, VaultError> {
        let rows = self.vault.sealed(self.namespace.clone()).read_all()?;
        let approval = |record: &Record| Approval::from_bytes(record.value.expose());
        let approvals = rows.iter().filter_map(|(_, record)| approval(record));
        Ok(approvals.collect())
    }

    fn put(&self, source: &Path, approval: &Approval) -> Result<(), VaultError> {
        self.vault
            .sealed(self.namespace.clone())
            .put(&self.key(source, &approval.server), &approval.to_bytes())?;
        Ok(())
    }

    /// The key of a record. A name is part of it, and never of a file's name.
    fn key(&self, source: &Path, server: &str) -> String {
        format!("{}\n{}\n{server}", self.profile, source.to_string_lossy())
    }
}
