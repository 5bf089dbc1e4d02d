//! A replica, and the stores of people on it.

use std::sync::Arc;

use keyway_store::seal::Key;
use keyway_store::{GrantStore as _, StoreError};

use crate::error::PostgresError;
use crate::grants::PostgresGrants;
use crate::journal;
use crate::key_wrapper::{KeyWrapper, Wrappers};
use crate::live_replica::LiveReplica;
use crate::person::Person;
use crate::records::{PostgresDocuments, PostgresOneTime, PostgresRecords};
use crate::settings::Settings;
use crate::values::PostgresValues;

/// One process that uses the database, as an owner of claims of its own.
///
/// It runs its connections on a thread of its own. It lives until the last store of it is dropped;
/// then it frees its lock, for which dropping waits at most a second.
#[derive(Clone, Debug)]
pub struct Replica(pub(crate) Arc<LiveReplica>);

impl Replica {
    /// Connects, brings the schema up to date and shows to others that this replica lives.
    ///
    /// Blocks.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be used: it is away, a standby, read-only, another
    /// program's, made by a newer version or with another key, or behind a pooler that shares
    /// sessions.
    pub fn open(settings: &Settings, wrapper: Arc<dyn KeyWrapper>) -> Result<Self, PostgresError> {
        Self::start(settings, Wrappers::new(wrapper, None))
    }

    /// Does the same with a second wrapping key, while the key is being changed: `wrapper` is the one
    /// that shall count, `previous` the one that counted so far. [`Self::rekey`] changes it.
    ///
    /// Blocks.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn open_with_previous_key(
        settings: &Settings,
        wrapper: Arc<dyn KeyWrapper>,
        previous: Arc<dyn KeyWrapper>,
    ) -> Result<Self, PostgresError> {
        Self::start(settings, Wrappers::new(wrapper, Some(previous)))
    }

    fn start(settings: &Settings, wrappers: Wrappers) -> Result<Self, PostgresError> {
        Ok(Self(Arc::new(LiveReplica::start(settings, wrappers)?)))
    }

    /// Commits what earlier replicas left in the journal, as far as that is possible now; the rest
    /// stays for the next claim, or the next call. A host does this at its start.
    pub fn commit_journaled(&self) {
        let folder = self.0.settings.journal.as_ref();
        let entries = folder.and_then(|folder| journal::list(folder).ok());
        for entry in entries.unwrap_or_default() {
            self.grants(entry.person).settle_journal(&entry.grant).ok();
        }
    }

    /// Tells whether the database was there at its last word: one session holds our lock, and one
    /// hears what others announce. Asks nothing and waits for nothing.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let presence = &self.0.presence;
        presence.is_held() && presence.hears()
    }

    /// Returns the sign-ins of a person.
    #[must_use]
    pub fn grants(&self, person: Person) -> PostgresGrants {
        PostgresGrants::new(Arc::clone(&self.0), person)
    }

    /// Returns the client registrations of a person or a tenant.
    #[must_use]
    pub fn records(&self, person: Person) -> PostgresRecords {
        PostgresRecords::new(Arc::clone(&self.0), person)
    }

    /// Returns what servers listed last, for a person or a tenant.
    #[must_use]
    pub fn tool_lists(&self, person: Person) -> PostgresRecords {
        PostgresRecords::of_tools(Arc::clone(&self.0), person)
    }

    /// Returns the cached documents of a person or a tenant.
    #[must_use]
    pub fn documents(&self, person: Person) -> PostgresDocuments {
        PostgresDocuments::new(Arc::clone(&self.0), person)
    }

    /// Returns a key for one purpose, derived from that of a person's or a tenant's data: the same at
    /// every replica, and stored nowhere.
    ///
    /// # Errors
    ///
    /// Returns why there is none now.
    pub fn derived_key(&self, person: &Person, purpose: &'static str) -> Result<Key, StoreError> {
        let derived = async {
            let keys = &self.0.keys;
            let key = keys.current(&self.0.sessions, person).await?;
            Ok(key.key.derive(purpose)?)
        };
        Ok(self.0.wait(derived)?)
    }

    /// Returns the values of a person or a tenant that are used once.
    #[must_use]
    pub fn one_time(&self, person: Person) -> PostgresOneTime {
        PostgresOneTime::new(Arc::clone(&self.0), person)
    }

    /// Returns the variables of a person or a tenant.
    #[must_use]
    pub fn variables(&self, person: Person) -> PostgresValues {
        PostgresValues::new(Arc::clone(&self.0), person, "variable")
    }

    /// Returns the approvals of a person or a tenant.
    #[must_use]
    pub fn approvals(&self, person: Person) -> PostgresValues {
        PostgresValues::new(Arc::clone(&self.0), person, "approval")
    }

    /// Deletes everything of a person and destroys the key of their data, on every replica; returns
    /// whether there was anything.
    ///
    /// # Errors
    ///
    /// Returns why it is still stored.
    pub fn forget(&self, person: &Person) -> Result<bool, StoreError> {
        let topics = [
            person.topic(),
            self.variables(person.clone()).topic(),
            self.approvals(person.clone()).topic(),
        ];
        // Sorted, so that all rows are locked before the end of a chain of the audit is.
        let forgotten = async {
            let rows = self
                .0
                .sessions
                .query(
                    "sign a person out",
                    Some(person),
                    "WITH key AS (DELETE FROM keyway.person_keys
                              WHERE tenant = $1 AND person = $2 RETURNING 1),
                          grants AS (DELETE FROM keyway.grants WHERE tenant = $1 AND person = $2
                              RETURNING profile, name, generation),
                          records AS (DELETE FROM keyway.records
                              WHERE tenant = $1 AND person = $2 RETURNING 1),
                          named AS (DELETE FROM keyway.named_values
                              WHERE tenant = $1 AND person = $2 RETURNING 1)
                     SELECT (SELECT count(pg_notify('keyway', topic)::text)
                             FROM unnest($3::text[]) topic),
                         (SELECT count(keyway.note($1, $2, 'sign-out', 'deleted',
                              'person-forgotten', $4, profile, name, generation))
                          FROM (SELECT * FROM grants ORDER BY name) deleted),
                         keyway.note($1, $2, 'person', 'forgotten', '', $4, NULL, NULL, NULL)
                     WHERE EXISTS (SELECT FROM key) OR EXISTS (SELECT FROM grants)
                         OR EXISTS (SELECT FROM records) OR EXISTS (SELECT FROM named)",
                    &[
                        &person.tenant(),
                        &person.person(),
                        &topics.as_slice(),
                        &self.0.presence.owner,
                    ],
                )
                .await?;
            self.0.keys.forget(person);
            self.0.recent_commits.forget_person(person);
            Ok(!rows.is_empty())
        };
        Ok(self.0.wait(forgotten)?)
    }
}
