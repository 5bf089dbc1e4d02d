//! Approvals of a gateway that serves people: those of its admins, which hold for all, and beside
//! them those that one person gave for values of their own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_store::{StoreError, ValueStore};

use crate::agreement::Agreement;
use crate::ledger::Ledger;
use crate::manifest::Manifest;
use crate::record::Approval;
use crate::store::ApprovalStore;

/// The approvals of one profile in a store that several gateways share.
///
/// When the files of a plugin were written differs from machine to machine. What this process learns
/// of that stays in its memory: two gateways would otherwise overwrite each other's for ever.
#[derive(Debug)]
pub struct SharedApprovals {
    values: Arc<dyn ValueStore>,
    profile: String,
    home: Option<PathBuf>,
    /// Held for one look or one change.
    stamped: Mutex<HashMap<(PathBuf, String), Approval>>,
}

impl SharedApprovals {
    /// Keeps approvals in `values`; `home` is the home folder below which plugins are known by their
    /// place.
    #[must_use]
    pub fn new(values: Arc<dyn ValueStore>, profile: &str, home: Option<PathBuf>) -> Self {
        Self {
            values,
            profile: profile.to_owned(),
            home,
            stamped: Mutex::default(),
        }
    }

    /// Returns the ledger, to list approvals and to take them back.
    #[must_use]
    pub fn ledger(&self) -> Ledger<'_> {
        let values = Box::new(Arc::clone(&self.values));
        Ledger::in_values(values, &self.profile, self.home.clone())
    }

    fn stamped(&self) -> MutexGuard<'_, HashMap<(PathBuf, String), Approval>> {
        self.stamped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ApprovalStore for SharedApprovals {
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError> {
        let Some(found) = self.ledger().find(source, server)? else {
            return Ok(None);
        };
        let stamped = self.stamped();
        let known = stamped.get(&(source.to_owned(), server.to_owned()));
        let known = known.filter(|known| known.is_same_as(&found));
        Ok(Some(known.cloned().unwrap_or(found)))
    }

    fn approve(&self, agreement: &Agreement) -> Result<(), StoreError> {
        let question = agreement.question();
        let before = self.ledger().find(&question.source, &question.server)?;
        let approval = Approval::beside(question, before.clone());
        if before.is_none_or(|before| !before.is_same_as(&approval)) {
            self.ledger().approve(agreement)?;
        }
        let place = (question.source.clone(), question.server.clone());
        self.stamped().insert(place, approval);
        Ok(())
    }
}

/// What holds for one person: the approvals of the admins, and the person's own for values of theirs.
#[derive(Debug)]
pub struct PersonApprovals {
    admins: Arc<dyn ApprovalStore>,
    own: Arc<dyn ApprovalStore>,
}

impl PersonApprovals {
    /// Puts the approvals of a person beside those of the admins.
    #[must_use]
    pub const fn new(admins: Arc<dyn ApprovalStore>, own: Arc<dyn ApprovalStore>) -> Self {
        Self { admins, own }
    }
}

impl ApprovalStore for PersonApprovals {
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError> {
        let Some(admins) = self.admins.find(source, server)? else {
            return Ok(None);
        };
        Ok(Some(match self.own.find(source, server)? {
            Some(own) => admins.with_own(own),
            None => admins,
        }))
    }

    /// Records what the person agreed to; what the admins approved needs no more.
    fn approve(&self, agreement: &Agreement) -> Result<(), StoreError> {
        let question = agreement.question();
        let admins = self.admins.find(&question.source, &question.server)?;
        match admins {
            Some(admins) if admins.covers(&question.digest) => {
                // The same files at another time, perhaps.
                match admins.renewed(question) {
                    Some(again) => self.admins.approve(&again),
                    None => Ok(()),
                }
            }
            Some(admins) => self.own.approve(&agreement.clone().beside_admins(&admins)),
            None => self.own.approve(agreement),
        }
    }

    fn find_files(&self, source: &Path, server: &str) -> Result<Option<Manifest>, StoreError> {
        self.admins.find_files(source, server)
    }
}
