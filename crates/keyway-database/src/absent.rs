//! What stands in for the database in a build without it.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway::settings::VaultSettings;
use keyway::sign_in::Stores;
use keyway::store::seal::Key;
use keyway::store::{BackendFailure, StoreError, ValueStore};
use keyway::vault::{Folders, Vault};
use keyway_auth::BoxFuture;
use keyway_auth::oauth::RefreshTraffic;
use keyway_dashboard::activity::{ActivityEntry, ActivitySink};
use keyway_dashboard::team::{TeamBackend, TeamView};
use keyway_people::Person;
use thiserror::Error;

use crate::metric::DatabaseMetric;
use crate::migration_report::MigrationReport;
use crate::served_sign_ins::ServedSignIns;
use crate::team_stores::TeamStores;

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

    /// Returns the key that seals session ids at every gateway of the tenant.
    ///
    /// # Errors
    ///
    /// Never: there is no database.
    pub const fn session_key(&self) -> Result<Key, StoreError> {
        match self.0 {}
    }

    /// Returns the variables that all people of the tenant share.
    ///
    /// # Errors
    ///
    /// Never: there is no database.
    pub const fn tenant_variables(&self) -> Result<Arc<dyn ValueStore>, StoreError> {
        match self.0 {}
    }

    /// Returns the approvals of the admins.
    ///
    /// # Errors
    ///
    /// Never: there is no database.
    pub const fn tenant_approvals(&self) -> Result<Arc<dyn ValueStore>, StoreError> {
        match self.0 {}
    }

    /// Redeems what gateways that died were renewing; never returns.
    ///
    /// Cancel safety: there is nothing to cancel.
    pub async fn recover(self, _: Arc<dyn ServedSignIns>) {
        match self.0 {}
    }

    /// Makes what takes calls, and what writes them to the audit.
    #[must_use]
    pub const fn audit_calls(&self) -> (CallAudit, CallWriter) {
        match self.0 {}
    }

    /// Reads the audit of the tenant.
    ///
    /// # Errors
    ///
    /// Never: there is no database.
    pub fn export_audit<E: From<StoreError>>(
        &self,
        _: Option<i64>,
        _: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.0 {}
    }

    /// Looks for rows that are missing or were changed.
    ///
    /// # Errors
    ///
    /// Never: there is no database.
    pub fn verify_audit(&self, _: ExportedRows) -> Result<AuditReport, StoreError> {
        match self.0 {}
    }

    /// Deletes everything of one person.
    ///
    /// # Errors
    ///
    /// Never: there is no database.
    pub const fn forget_person(&self, _: &str, _: &str) -> Result<bool, StoreError> {
        match self.0 {}
    }

    /// Changes the wrapping key.
    ///
    /// # Errors
    ///
    /// Never: there is no database.
    pub const fn rekey(&self) -> Result<u64, StoreError> {
        match self.0 {}
    }

    /// Moves the sign-ins of a vault into the database.
    ///
    /// # Errors
    ///
    /// Never: there is no database.
    pub const fn migrate(
        &self,
        _: &Vault,
        _: &str,
        _: Option<(&str, &str)>,
    ) -> Result<MigrationReport, StoreError> {
        match self.0 {}
    }

    /// Tells whether the database was there at its last word.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        match self.0 {}
    }
}

/// What was last seen of a database: nothing.
#[derive(Clone, Debug, Default)]
pub struct DatabaseState(());

/// What is measured of a database: nothing.
#[derive(Debug)]
pub struct Measures(Infallible);

impl Measures {
    /// Returns nothing: there is no database.
    #[must_use]
    pub fn metrics(&self) -> Vec<DatabaseMetric> {
        match self.0 {}
    }
}

impl Database {
    /// Returns nothing: there is no database.
    #[must_use]
    pub fn measures(&self, _: &DatabaseState) -> Measures {
        match self.0 {}
    }

    /// Follows nothing.
    ///
    /// Cancel safety: there is nothing to cancel.
    pub async fn follow(self, _: Arc<RefreshTraffic>, _: DatabaseState) {
        match self.0 {}
    }
}

/// What an admin sees: there is no database.
#[derive(Debug)]
pub struct DatabaseTeam(Infallible);

impl DatabaseTeam {
    /// Shows no people: there is no database.
    #[must_use]
    pub fn new(database: Database, _: Arc<dyn ServedSignIns>) -> Self {
        match database.0 {}
    }
}

impl TeamBackend for DatabaseTeam {
    fn look<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<TeamView, StoreError>> {
        match self.0 {}
    }

    fn sign_out<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<String, StoreError>> {
        match self.0 {}
    }
}

impl TeamStores for Database {
    fn sign_ins(&self, _: &Person) -> Result<Option<Stores>, StoreError> {
        match self.0 {}
    }

    fn keeps_sign_ins_apart(&self) -> bool {
        match self.0 {}
    }

    fn variables(&self, _: Option<&Person>) -> Result<Arc<dyn ValueStore>, StoreError> {
        match self.0 {}
    }

    fn approvals(&self, _: Option<&Person>) -> Result<Option<Arc<dyn ValueStore>>, StoreError> {
        match self.0 {}
    }
}

/// Takes no call: there is no database.
#[derive(Clone, Debug)]
pub struct CallAudit(Infallible);

impl ActivitySink for CallAudit {
    fn record(&self, _: &Arc<ActivityEntry>) {
        match self.0 {}
    }
}

/// Writes no call: there is no database.
#[derive(Debug)]
pub struct CallWriter(Infallible);

impl CallWriter {
    /// Returns how many calls could not be written.
    ///
    /// Cancel safety: there is nothing to cancel.
    pub async fn run(self, _: impl Future<Output = ()>) -> u64 {
        match self.0 {}
    }
}

/// Rows that were exported earlier: none.
#[derive(Debug, Default)]
pub struct ExportedRows(());

impl ExportedRows {
    /// Reads nothing.
    ///
    /// # Errors
    ///
    /// Never.
    pub fn open(_: Option<&Path>) -> io::Result<Self> {
        Ok(Self::default())
    }
}

/// What a look at the whole audit found.
#[derive(Debug)]
#[non_exhaustive]
pub struct AuditReport {
    /// How many rows there are.
    pub rows: u64,
    /// In words, which rows are missing or were changed.
    pub faults: Vec<String>,
}

impl AuditReport {
    /// Returns nothing: there is no database.
    #[must_use]
    pub const fn text(&self) -> String {
        String::new()
    }
}
