//! What stands in for the database in a build without it.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use keyway::settings::VaultSettings;
use keyway::sign_in::Stores;
use keyway::store::{BackendFailure, StoreError};
use keyway::vault::Folders;
use thiserror::Error;

use crate::local_backend::LocalBackend;

/// A database that cannot be opened.
#[derive(Clone, Debug)]
pub struct Database(Infallible);

/// What opening a database needs of the process.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DatabaseContext {
    /// The folder of the journal is among them.
    pub folders: Folders,
    /// The file that `PGPASSFILE` names.
    pub pass_file: Option<PathBuf>,
    /// The environment of commands.
    pub environment: Vec<(OsString, OsString)>,
}

/// This build cannot.
#[derive(Debug, Error)]
#[error("this build of keyway cannot use a PostgreSQL database")]
struct NotBuilt;

impl DatabaseContext {
    /// A context without a password file and with an empty environment.
    #[must_use]
    pub const fn new(folders: Folders) -> Self {
        Self {
            folders,
            pass_file: None,
            environment: Vec::new(),
        }
    }
}

impl Database {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always: this build has no support for databases.
    pub fn open(_: &str, _: &VaultSettings, _: DatabaseContext) -> Result<Self, StoreError> {
        let hint = "use a build with the feature `postgres`";
        Err(BackendFailure::new(NotBuilt).with_hint(hint).into())
    }

    /// Returns the stores of what all people of the tenant share.
    ///
    /// # Errors
    ///
    /// Never: there is no database.
    pub const fn shared_stores(&self) -> Result<Stores, StoreError> {
        match self.0 {}
    }

    /// Redeems what gateways that died were renewing; never returns.
    ///
    /// Cancel safety: there is nothing to cancel.
    pub async fn recover(self, _: Arc<LocalBackend>) {
        match self.0 {}
    }

    /// Tells whether the database was there at its last word.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        match self.0 {}
    }
}
