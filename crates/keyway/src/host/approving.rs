//! The two ports of approval: where approvals are kept, and how a person is asked.

#[cfg(not(feature = "vault"))]
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
#[cfg(not(feature = "vault"))]
use std::path::PathBuf;
#[cfg(feature = "vault")]
use std::sync::Arc;
#[cfg(not(feature = "vault"))]
use std::sync::{Mutex, PoisonError};

use keyway_auth::BoxFuture;
use keyway_store::StoreError;

#[cfg(feature = "vault")]
use crate::approval::Ledger;
use crate::approval::{Approval, Question};
#[cfg(feature = "vault")]
use crate::vault::KeptVault;

/// Where approvals are kept. Calls block.
pub trait ApprovalStore: Send + Sync + fmt::Debug {
    /// Returns what was approved for an entry, whether or not it still fits.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be read.
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError>;

    /// Records an approval; earlier grants of variables stay. Returns `false` if there is nothing
    /// to bind it to: the files are [too large](crate::approval::Files::are_too_large).
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be written.
    fn approve(&self, question: &Question) -> Result<bool, StoreError>;
}

/// Asks a person whether an entry may be used.
pub trait ApprovalPrompt: Send + Sync + fmt::Debug {
    /// Shows the question and returns the answer; `false` where no person can be asked.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, bool>;
}

/// The approvals of one profile, sealed in the vault.
#[cfg(feature = "vault")]
#[derive(Debug)]
pub struct VaultApprovals {
    vault: Arc<KeptVault>,
    profile: String,
}

#[cfg(feature = "vault")]
impl VaultApprovals {
    /// Opens nothing yet.
    #[must_use]
    pub fn new(vault: Arc<KeptVault>, profile: &str) -> Self {
        Self {
            vault,
            profile: profile.to_owned(),
        }
    }
}

#[cfg(feature = "vault")]
impl ApprovalStore for VaultApprovals {
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError> {
        // Where nothing is kept yet, looking makes nothing. A folder that is there is opened, so that
        // one which other users can enter is an error and not an absent approval.
        if !self.vault.folders().data.exists() {
            return Ok(None);
        }
        let vault = self.vault.get()?;
        Ok(Ledger::new(&vault, &self.profile)?.find(source, server)?)
    }

    fn approve(&self, question: &Question) -> Result<bool, StoreError> {
        let vault = self.vault.get()?;
        Ok(Ledger::new(&vault, &self.profile)?.approve(question)?)
    }
}

/// Approvals for the life of the host: where the vault is not built in, and no store is given.
#[cfg(not(feature = "vault"))]
#[derive(Debug, Default)]
pub(super) struct MemoryApprovals(Mutex<HashMap<(PathBuf, String), Approval>>);

#[cfg(not(feature = "vault"))]
impl ApprovalStore for MemoryApprovals {
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(all.get(&(source.to_owned(), server.to_owned())).cloned())
    }

    fn approve(&self, question: &Question) -> Result<bool, StoreError> {
        if question.files.are_too_large() {
            return Ok(false);
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (question.source.clone(), question.server.clone());
        all.insert(key, Approval::of(question));
        Ok(true)
    }
}
