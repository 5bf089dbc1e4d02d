//! Where approvals are kept, as a port.

use std::fmt;
use std::path::Path;

use keyway_store::StoreError;

use crate::agreement::Agreement;
use crate::manifest::Manifest;
use crate::record::Approval;

/// Where approvals are kept. Calls block.
pub trait ApprovalStore: Send + Sync + fmt::Debug {
    /// Returns what was approved for an entry, whether or not it still fits.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be read.
    fn find(&self, source: &Path, server: &str) -> Result<Option<Approval>, StoreError>;

    /// Records what a person agreed to, as [`Approval::beside`] puts it; earlier grants of variables
    /// stay.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be written.
    fn approve(&self, agreement: &Agreement) -> Result<(), StoreError>;

    /// Returns the files that were approved last for an entry, one by one. A store that keeps none
    /// reads unchanged files again, and cannot name those that changed.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be read.
    fn find_files(&self, source: &Path, server: &str) -> Result<Option<Manifest>, StoreError> {
        let (_, _) = (source, server);
        Ok(None)
    }
}
