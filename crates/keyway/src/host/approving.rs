//! The two ports of approval: where approvals are kept, and how a person is asked.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use keyway_auth::BoxFuture;
use keyway_vault::VaultError;

use crate::approval::{Approval, Ledger, Question};
use crate::sign_in::KeptVault;

/// Where approvals are kept. Calls block.
pub trait ApprovalStore: Send + Sync + fmt::Debug {
    /// Returns what was approved for an entry, whether or not it still fits.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be read.
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, VaultError>;

    /// Records an approval; earlier grants of variables stay. Returns `false` if there is nothing
    /// to bind it to: the files are [too large](crate::approval::Files::are_too_large).
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be written.
    fn approve(&self, question: &Question) -> Result<bool, VaultError>;
}

/// Asks a person whether an entry may be used.
pub trait ApprovalPrompt: Send + Sync + fmt::Debug {
    /// Shows the question and returns the answer; `false` where no person can be asked.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, bool>;
}

/// The approvals of one profile, sealed in the vault.
#[derive(Debug)]
pub struct VaultApprovals {
    vault: Arc<KeptVault>,
    profile: String,
}

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

impl ApprovalStore for VaultApprovals {
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, VaultError> {
        // Where nothing is kept yet, looking makes nothing. A folder that is there is opened, so that
        // one which other users can enter is an error and not an absent approval.
        if !self.vault.folders().data.exists() {
            return Ok(None);
        }
        let vault = self.vault.get()?;
        Ledger::new(&vault, &self.profile)?.find(source, server)
    }

    fn approve(&self, question: &Question) -> Result<bool, VaultError> {
        let vault = self.vault.get()?;
        Ledger::new(&vault, &self.profile)?.approve(question)
    }
}
