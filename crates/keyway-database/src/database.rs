//! Sign-ins, variables and approvals in a PostgreSQL database that several gateways share.
//!
//! Gateway tokens and rules for tools stay in the vault of this machine.

mod audit;
mod migration;
mod operations;
mod recovery;
mod secrets;
mod transit;
mod wrapping_key;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use keyway::settings::VaultSettings;
use keyway::sign_in::Stores;
use keyway::store::seal::Key;
use keyway::store::{StoreError, ValueStore};
use keyway::vault::Folders;
use keyway_postgres::{Password, PasswordSupplier, Person, RememberedRecords, Replica, Settings};
use keyway_secret::{Secret, SystemClock};
use keyway_transport::capture;
use keyway_vault::Folder;

pub use self::audit::{AuditReport, CallAudit, CallWriter, ExportedRows};
pub use self::operations::{DatabaseState, DatabaseTeam, Measures};
use crate::served_sign_ins::ServedSignIns;
use crate::team_stores::TeamStores;
use crate::timeouts::PASSWORD_COMMAND_TIMEOUT;

/// An open database, and whose sign-ins are used.
#[derive(Clone, Debug)]
pub struct Database {
    replica: Replica,
    tenant: String,
    issuers: Arc<RememberedRecords>,
}

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
    /// Opens the database at `address`; brings its schema up to date, and commits what an earlier
    /// process could not. Blocks.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be used.
    pub fn open(
        address: &str,
        given: &VaultSettings,
        context: DatabaseContext,
    ) -> Result<Self, StoreError> {
        let mut settings = Settings::new(address)?;
        if let Some(authorities) = &given.ca_file {
            settings = settings.with_authorities(authorities);
        }
        if let Some(most) = given.connections {
            settings = settings.with_connections(most.try_into().unwrap_or(usize::MAX));
        }
        let (key, previous) = wrapping_key::open(given, &context)?;
        let journal = Folder::open(&context.folders.data)?.folder("database-journal")?;
        let settings = settings.with_journal(journal.path());
        let settings = settings.with_password(password(given, context));
        let replica = match previous {
            Some(previous) => Replica::open_with_previous_key(&settings, key, previous)?,
            None => Replica::open(&settings, key)?,
        };
        replica.commit_journaled();
        let tenant = given.tenant.as_deref().unwrap_or(TENANT).to_owned();
        Self::of_tenant(replica, tenant)
    }

    fn of_tenant(replica: Replica, tenant: String) -> Result<Self, StoreError> {
        // Names are checked once, here.
        let shared = replica.records(Person::shared(&*tenant)?);
        let issuers = Arc::new(RememberedRecords::new(
            Arc::new(shared),
            Arc::new(SystemClock),
        ));
        Ok(Self {
            replica,
            tenant,
            issuers,
        })
    }

    /// Returns the stores of what all people of the tenant share.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::InvalidName`] for a name that cannot be stored.
    pub fn shared_stores(&self) -> Result<Stores, StoreError> {
        Ok(self.stores(Person::shared(&*self.tenant)?))
    }

    /// Returns the variables that all people of the tenant share.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::InvalidName`] for a name that cannot be stored.
    pub fn tenant_variables(&self) -> Result<Arc<dyn ValueStore>, StoreError> {
        TeamStores::variables(self, None)
    }

    /// Returns the approvals of the admins, which hold for all people of the tenant.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::InvalidName`] for a name that cannot be stored.
    pub fn tenant_approvals(&self) -> Result<Arc<dyn ValueStore>, StoreError> {
        Ok(Arc::new(self.replica.approvals(self.owner(None)?)))
    }

    /// Deletes everything of one person and destroys the key of their data, at every gateway; returns
    /// whether there was anything. Files of their programs stay.
    ///
    /// # Errors
    ///
    /// Returns why it is still stored.
    pub fn forget_person(&self, issuer: &str, subject: &str) -> Result<bool, StoreError> {
        self.replica.forget(&self.person(Some((issuer, subject)))?)
    }

    /// Wraps the keys of all people, of all tenants, with the configured wrapping key, in place of the
    /// previous one; returns how many. Gateways that have both go on meanwhile, and a call that was
    /// interrupted is continued by the next. Blocks.
    ///
    /// # Errors
    ///
    /// Returns that a running gateway has not got the new key, in which case nothing was changed, or
    /// why a key could not be wrapped again.
    pub fn rekey(&self) -> Result<u64, StoreError> {
        Ok(self.replica.rekey()?.people)
    }

    fn owner(&self, person: Option<&keyway_people::Person>) -> Result<Person, StoreError> {
        self.person(person.map(|person| (person.issuer(), person.subject())))
    }

    /// Names a person by issuer and subject, or the tenant.
    fn person(&self, who: Option<(&str, &str)>) -> Result<Person, StoreError> {
        Ok(match who {
            // An issuer is an address, so that it contains no space.
            Some((issuer, subject)) => Person::new(&*self.tenant, format!("{issuer} {subject}"))?,
            None => Person::shared(&*self.tenant)?,
        })
    }

    /// Returns the key that seals session ids at every gateway of the tenant.
    ///
    /// # Errors
    ///
    /// Returns why there is none now.
    pub fn session_key(&self) -> Result<Key, StoreError> {
        let tenant = Person::shared(&*self.tenant)?;
        self.replica.derived_key(&tenant, "gateway sessions")
    }

    /// Redeems what gateways that died were renewing, for all people of the tenant; never returns.
    ///
    /// Cancel safety: renewals that were begun continue in tasks of their own.
    pub async fn recover(self, served: Arc<dyn ServedSignIns>) {
        recovery::run(self, served).await;
    }

    fn stores(&self, person: Person) -> Stores {
        let replica = &self.replica;
        let grants = Arc::new(replica.grants(person.clone()));
        Stores::new(grants, Arc::new(SystemClock))
            .with_registrations(Arc::new(replica.records(person.clone())))
            .with_issuers(Arc::clone(&self.issuers) as _)
            .with_documents(Arc::new(replica.documents(person.clone())))
            .with_one_time(Arc::new(replica.one_time(person.clone())))
            .with_tool_lists(Arc::new(replica.tool_lists(person)))
    }

    /// Tells whether the database was there at its last word; waits for nothing.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.replica.is_ready()
    }
}

impl TeamStores for Database {
    fn sign_ins(&self, person: &keyway_people::Person) -> Result<Option<Stores>, StoreError> {
        // A gateway looks for what dead ones left behind, of all people by one query.
        let person = self.owner(Some(person))?;
        Ok(Some(self.stores(person).recovered_by_host()))
    }

    fn keeps_sign_ins_apart(&self) -> bool {
        true
    }

    fn variables(
        &self,
        person: Option<&keyway_people::Person>,
    ) -> Result<Arc<dyn ValueStore>, StoreError> {
        Ok(Arc::new(self.replica.variables(self.owner(person)?)))
    }

    fn approvals(
        &self,
        person: Option<&keyway_people::Person>,
    ) -> Result<Option<Arc<dyn ValueStore>>, StoreError> {
        Ok(Some(Arc::new(self.replica.approvals(self.owner(person)?))))
    }
}

fn password(given: &VaultSettings, context: DatabaseContext) -> Password {
    if let Some(file) = &given.password_file {
        return Password::File(file.clone());
    }
    if let Some(line) = &given.password_command {
        return Password::Supplied(Arc::new(PasswordCommand {
            line: line.clone(),
            environment: context.environment,
        }));
    }
    context.pass_file.map_or(Password::None, Password::PassFile)
}

/// A command line of the operator's own that prints the password.
struct PasswordCommand {
    line: Secret<String>,
    environment: Vec<(OsString, OsString)>,
}

impl PasswordSupplier for PasswordCommand {
    fn supply(&self) -> io::Result<Secret<String>> {
        let line = self.line.expose().as_ref();
        let printed = capture(line, self.environment.clone(), PASSWORD_COMMAND_TIMEOUT)?;
        let text = std::str::from_utf8(printed.expose()).ok();
        let first = text.and_then(|text| text.lines().next());
        let first = first.filter(|line| !line.is_empty());
        let none = || io::Error::other("the command printed no password");
        first
            .map(|line| Secret::new(line.to_owned()))
            .ok_or_else(none)
    }
}

/// Whose sign-ins they are unless something else is set.
const TENANT: &str = "default";
