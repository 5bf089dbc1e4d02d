//! The two ports of approval: where approvals are kept, and how a person is asked.

#[cfg(not(feature = "vault"))]
use std::collections::HashMap;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use keyway_auth::BoxFuture;
use keyway_store::StoreError;

#[cfg(feature = "vault")]
use crate::approval::Ledger;
use crate::approval::{Agreement, Answer, Approval, ApprovalStore, Digest, Manifest, Question};
#[cfg(feature = "vault")]
use crate::vault::KeptVault;

/// Asks a person whether an entry may be used.
pub trait ApprovalPrompt: Send + Sync + fmt::Debug {
    /// Shows the question and returns the answer; [`Answer::No`] where no person can be asked.
    ///
    /// Cancel safety: dropped with the future that prepares the plan. The question must no longer
    /// be shown then, and an answer that comes later counts for nothing.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer>;
}

/// What was approved for the life of a host, and no longer: the digests that were seen when the
/// person said so. What changes later is another digest.
/// The lock is held for one look.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunApprovals(Arc<Mutex<HashSet<Digest>>>);

impl RunApprovals {
    pub(super) fn add(&self, digest: Digest) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(digest);
    }

    pub(super) fn covers(&self, digest: &Digest) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.contains(digest)
    }
}

/// What a store says of one entry, read once: a question is put together from one state of the ledger,
/// however often it looks, and a start does not pay for each look.
///
/// For as long as one question is put together. What grants an approval reads the ledger itself.
#[derive(Debug)]
pub(super) struct OneLook<'a> {
    store: &'a dyn ApprovalStore,
    entry: (&'a Path, &'a str),
    found: OnceLock<Option<Approval>>,
}

impl<'a> OneLook<'a> {
    pub(super) const fn new(
        store: &'a dyn ApprovalStore,
        source: &'a Path,
        server: &'a str,
    ) -> Self {
        Self {
            store,
            entry: (source, server),
            found: OnceLock::new(),
        }
    }
}

impl ApprovalStore for OneLook<'_> {
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError> {
        if self.entry != (source, server) {
            return self.store.find(source, server);
        }
        if let Some(found) = self.found.get() {
            return Ok(found.clone());
        }
        // A store that cannot be read is asked again, so that each caller learns of it.
        let found = self.store.find(source, server)?;
        Ok(self.found.get_or_init(|| found).clone())
    }

    fn approve(&self, agreement: &Agreement) -> Result<(), StoreError> {
        self.store.approve(agreement)
    }

    fn find_files(&self, source: &Path, server: &str) -> Result<Option<Manifest>, StoreError> {
        self.store.find_files(source, server)
    }
}

/// The approvals of one profile, sealed in the vault.
#[cfg(feature = "vault")]
#[derive(Debug)]
pub struct VaultApprovals {
    vault: Arc<KeptVault>,
    profile: String,
    home: Option<PathBuf>,
}

#[cfg(feature = "vault")]
impl VaultApprovals {
    /// Opens nothing yet; `home` is the person's home folder.
    #[must_use]
    pub fn new(vault: Arc<KeptVault>, profile: &str, home: Option<PathBuf>) -> Self {
        Self {
            vault,
            profile: profile.to_owned(),
            home,
        }
    }

    /// Looks into the ledger. Where nothing is kept yet, looking makes nothing. A folder that is
    /// there is opened, so that one which other users can enter is an error and not an absent
    /// approval.
    fn look<T>(
        &self,
        look: impl FnOnce(&Ledger<'_>) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        if !self.vault.folders().data.exists() {
            return Ok(None);
        }
        let vault = self.vault.get()?;
        let ledger = Ledger::new(&vault, &self.profile, self.home.clone())?;
        look(&ledger)
    }
}

#[cfg(feature = "vault")]
impl ApprovalStore for VaultApprovals {
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError> {
        self.look(|ledger| ledger.find(source, server))
    }

    fn approve(&self, agreement: &Agreement) -> Result<(), StoreError> {
        let vault = self.vault.get()?;
        let ledger = Ledger::new(&vault, &self.profile, self.home.clone())?;
        ledger.approve(agreement)
    }

    fn find_files(&self, source: &Path, server: &str) -> Result<Option<Manifest>, StoreError> {
        self.look(|ledger| ledger.find_files(source, server))
    }
}

/// Approvals for the life of the host: where the vault is not built in, and no store is given.
/// The lock is held for one look, or while an approval replaces the one before.
#[cfg(not(feature = "vault"))]
#[derive(Debug, Default)]
pub(super) struct MemoryApprovals(Mutex<HashMap<(PathBuf, String), Approval>>);

#[cfg(not(feature = "vault"))]
impl ApprovalStore for MemoryApprovals {
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(all.get(&(source.to_owned(), server.to_owned())).cloned())
    }

    fn approve(&self, agreement: &Agreement) -> Result<(), StoreError> {
        let question = agreement.question();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (question.source.clone(), question.server.clone());
        let before = all.remove(&key);
        all.insert(key, Approval::beside(question, before));
        Ok(())
    }
}
