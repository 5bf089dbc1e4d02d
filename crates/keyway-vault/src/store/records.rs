//! Sealed rows: small values under a namespace and a key, for approvals, variables, registrations
//! and documents that expire.

use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{Damage, Deleted, Generation, Timestamp};
use rusqlite::{OptionalExtension as _, params};

use crate::error::VaultError;
use crate::seal::{Context, KeyId};

use super::manifest::Contents;
use super::{Namespace, Scope, Vault};

/// The sealed rows of one namespace.
#[derive(Clone, Debug)]
pub struct Sealed<'a> {
    vault: &'a Vault,
    namespace: Namespace,
}

impl<'a> Sealed<'a> {
    pub(crate) const fn new(vault: &'a Vault, namespace: Namespace) -> Self {
        Self { vault, namespace }
    }

    /// Returns the value under `key`; `None` if there is none or it has expired.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if the row was altered, moved, removed or rolled back.
    pub fn get(&self, key: &str) -> Result<Option<Record>, VaultError> {
        check_key(key)?;
        let get = |scope: &Scope<'_>| self.get_in(scope, key);
        self.vault.read_scope("read an entry", get)
    }

    /// As [`Sealed::get`], as part of a transaction.
    pub(crate) fn get_in(
        &self,
        scope: &Scope<'_>,
        key: &str,
    ) -> Result<Option<Record>, VaultError> {
        let row = self.row(scope, key)?;
        let found = row.as_ref().map(|row| row.generation);
        scope
            .listing(self.name(), key)?
            .check(found, || self.what(key))?;
        let Some(row) = row else { return Ok(None) };
        // The time of expiry is part of the seal, so it counts only once the seal is open.
        let record = self.open(scope, key, row)?;
        let now = scope.now()?;
        Ok(Some(record).filter(|record| !has_passed(record.expires_at, now)))
    }

    /// Removes a value, as part of a transaction, and returns it.
    pub(crate) fn take_out(
        &self,
        scope: &Scope<'_>,
        key: &str,
    ) -> Result<Option<Secret<Vec<u8>>>, VaultError> {
        let Some(record) = self.get_in(scope, key)? else {
            return Ok(None);
        };
        let row = self.row(scope, key)?;
        self.remove(scope, key, row)?;
        scope.listing(self.name(), key)?.forget(scope)?;
        Ok(Some(record.value))
    }

    /// Removes a value that has not expired and destroys its data key; returns it to one caller, in
    /// whichever process.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if the row was altered, moved, removed or rolled back.
    pub fn take(&self, key: &str) -> Result<Option<Secret<Vec<u8>>>, VaultError> {
        check_key(key)?;
        let take = |scope: &Scope<'_>| self.take_out(scope, key);
        let taken = self.vault.write_scope("take an entry", take)?;
        if taken.is_some() {
            self.vault.erase_now_or_later();
        }
        Ok(taken)
    }

    /// Keeps `value` under `key` until it is replaced or deleted.
    ///
    /// The value that it replaces is destroyed, as by [`Sealed::delete`].
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if the row to replace was tampered with.
    pub fn put(&self, key: &str, value: &[u8]) -> Result<Generation, VaultError> {
        self.put_row(key, value, None)
    }

    /// Keeps `value` under `key` for as long as `lifetime`, by the store's clock.
    ///
    /// # Errors
    ///
    /// As [`Sealed::put`].
    pub fn put_for(
        &self,
        key: &str,
        value: &[u8],
        lifetime: Duration,
    ) -> Result<Generation, VaultError> {
        self.put_row(key, value, Some(lifetime))
    }

    /// Removes `key` and destroys the data key of its value.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if the namespace's list of contents was tampered with. A
    /// damaged row can be deleted.
    pub fn delete(&self, key: &str) -> Result<Deleted, VaultError> {
        check_key(key)?;
        let existed = self.vault.write_scope("delete an entry", |scope| {
            let listing = scope.listing(self.name(), key)?;
            let row = self.row(scope, key)?;
            if row.is_none() && listing.expected().is_none() {
                return Ok(false);
            }
            self.remove(scope, key, row)?;
            listing.forget(scope)?;
            Ok(true)
        })?;
        Ok(if existed {
            self.vault.erase_now_or_later()
        } else {
            Deleted::Absent
        })
    }

    /// Lists what is there, by key; expired entries are left out.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if rows were altered, added, removed or rolled back.
    pub fn list(&self) -> Result<Vec<Entry>, VaultError> {
        let entry = |(key, record): (String, Record)| Entry {
            key,
            generation: record.generation,
            expires_at: record.expires_at,
        };
        Ok(self.read_all()?.into_iter().map(entry).collect())
    }

    /// Returns all values with their keys, in the order of these; expired ones are left out.
    ///
    /// Each row is read once.
    ///
    /// # Errors
    ///
    /// As [`Sealed::list`].
    pub fn read_all(&self) -> Result<Vec<(String, Record)>, VaultError> {
        self.vault.read_scope("list entries", |scope| {
            let mut examined = self.examine(scope)?;
            if !examined.problems.is_empty() {
                return Err(examined.problems.swap_remove(0));
            }
            let now = scope.now()?;
            examined
                .records
                .retain(|(_, record)| !has_passed(record.expires_at, now));
            Ok(examined.records)
        })
    }

    /// Returns a number that every change to these rows increments, without reading them; `None`
    /// before the first.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if the vault's list of contents was tampered with.
    pub fn revision(&self) -> Result<Option<Generation>, VaultError> {
        let revision = |scope: &Scope<'_>| scope.revision(self.name());
        self.vault.read_scope("list entries", revision)
    }

    /// Opens every row once; returns what is there and what is wrong with it.
    pub(crate) fn examine(&self, scope: &Scope<'_>) -> Result<Examined, VaultError> {
        let failed = || VaultError::database("list entries");
        let mut contents = scope.contents(self.name())?;
        let mut statement = scope
            .tx
            .prepare(
                "SELECT generation, expires_at, data_key, sealed, key FROM records
                 WHERE namespace = ?1 ORDER BY key",
            )
            .map_err(failed())?;
        let mut rows = statement.query([self.name()]).map_err(failed())?;
        let mut examined = Examined::default();
        while let Some(row) = rows.next().map_err(failed())? {
            let key: String = row.get(4).map_err(failed())?;
            let row = Row::from_sql(row).map_err(failed())?;
            examined.rows += 1;
            let opened = contents
                .see(&key, row.generation, || self.what(&key))
                .and_then(|()| self.open(scope, &key, row));
            match opened {
                Ok(record) => examined.records.push((key, record)),
                Err(problem) => examined.problems.push(problem),
            }
        }
        let (missing, damaged) = contents.finish();
        let missing = missing
            .iter()
            .map(|key| VaultError::corrupt(self.what(key), Damage::Missing));
        examined.problems.extend(damaged);
        examined.problems.extend(missing);
        Ok(examined)
    }

    /// Opens a row that the list of contents does not speak against; tells its generation and the
    /// name of its data key.
    pub(crate) fn open_row(
        &self,
        scope: &Scope<'_>,
        key: &str,
        contents: Option<&mut Contents<'_>>,
    ) -> Result<Option<(Generation, Vec<u8>)>, VaultError> {
        let Some(row) = self.row(scope, key)? else {
            return Ok(None);
        };
        if let Some(contents) = contents {
            contents.see(key, row.generation, || self.what(key))?;
        }
        let data_key = row.data_key.clone();
        let record = self.open(scope, key, row)?;
        Ok(Some((record.generation, data_key)))
    }

    fn put_row(
        &self,
        key: &str,
        value: &[u8],
        lifetime: Option<Duration>,
    ) -> Result<Generation, VaultError> {
        check_key(key)?;
        let put = |scope: &Scope<'_>| self.put_in(scope, key, value, lifetime);
        let (generation, replaced) = self.vault.write_scope("keep an entry", put)?;
        if replaced {
            self.vault.erase_now_or_later();
        }
        Ok(generation)
    }

    /// Writes a row; tells its generation, and whether another one was destroyed.
    pub(crate) fn put_in(
        &self,
        scope: &Scope<'_>,
        key: &str,
        value: &[u8],
        lifetime: Option<Duration>,
    ) -> Result<(Generation, bool), VaultError> {
        let pruned = self.prune(scope)?;
        let listing = scope.listing(self.name(), key)?;
        let old = self.row(scope, key)?;
        listing.check(old.as_ref().map(|row| row.generation), || self.what(key))?;
        let replaced = old.is_some() || pruned;
        self.remove(scope, key, old)?;
        let generation = listing.advance(scope)?;
        let expires_at = match lifetime {
            Some(lifetime) => Some(scope.now()?.after(lifetime)),
            None => None,
        };
        let place = RecordPlace {
            key,
            generation,
            expires_at,
        };
        self.insert(scope, &place, value)?;
        Ok((generation, replaced))
    }

    fn insert(
        &self,
        scope: &Scope<'_>,
        place: &RecordPlace<'_>,
        value: &[u8],
    ) -> Result<(), VaultError> {
        let data_key = scope.create_data_key()?;
        let context = self.context(place, data_key.id());
        let sealed = data_key.key().seal(value, &context)?;
        scope
            .tx
            .execute(
                "INSERT INTO records (namespace, key, generation, expires_at, data_key, sealed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    self.name(),
                    place.key,
                    place.generation.get(),
                    place.expires_at.map(|at| at.unix_millis()),
                    data_key.id().as_bytes(),
                    sealed
                ],
            )
            .map(drop)
            .map_err(VaultError::database("keep an entry"))
    }

    fn open(&self, scope: &Scope<'_>, key: &str, row: Row) -> Result<Record, VaultError> {
        let data_key = scope.load_data_key(&row.data_key)?;
        let Row {
            generation,
            expires_at,
            ..
        } = row;
        let context = self.context(
            &RecordPlace {
                key,
                generation,
                expires_at,
            },
            data_key.id(),
        );
        let value = data_key
            .key()
            .open(&row.sealed, &context)
            .map_err(|how| VaultError::corrupt(self.what(key), how))?;
        Ok(Record {
            value,
            generation,
            expires_at,
        })
    }

    fn row(&self, scope: &Scope<'_>, key: &str) -> Result<Option<Row>, VaultError> {
        scope
            .tx
            .prepare_cached(
                "SELECT generation, expires_at, data_key, sealed FROM records
                 WHERE namespace = ?1 AND key = ?2",
            )
            .and_then(|mut query| {
                let row = query.query_row([self.name(), key], Row::from_sql);
                row.optional()
            })
            .map_err(VaultError::database("read an entry"))
    }

    fn remove(&self, scope: &Scope<'_>, key: &str, row: Option<Row>) -> Result<(), VaultError> {
        row.map_or(Ok(()), |row| self.delete_row(scope, key, &row.data_key))
    }

    fn delete_row(&self, scope: &Scope<'_>, key: &str, data_key: &[u8]) -> Result<(), VaultError> {
        scope
            .tx
            .execute(
                "DELETE FROM records WHERE namespace = ?1 AND key = ?2",
                [self.name(), key],
            )
            .map_err(VaultError::database("delete an entry"))?;
        scope.destroy_data_key(data_key)
    }

    /// Removes what has expired; tells whether there was any. What does not open stays for
    /// [`Vault::verify`] to find.
    fn prune(&self, scope: &Scope<'_>) -> Result<bool, VaultError> {
        let mut any = false;
        for key in self.expired(scope)? {
            match self.prune_row(scope, &key) {
                Ok(pruned) => any |= pruned,
                Err(VaultError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(any)
    }

    fn prune_row(&self, scope: &Scope<'_>, key: &str) -> Result<bool, VaultError> {
        let listing = scope.listing(self.name(), key)?;
        let Some(row) = self.row(scope, key)? else {
            return Ok(false);
        };
        listing.check(Some(row.generation), || self.what(key))?;
        // The column says that it has expired; only the seal proves it.
        let (data_key, _) = (row.data_key.clone(), self.open(scope, key, row)?);
        self.delete_row(scope, key, &data_key)?;
        listing.forget(scope)?;
        Ok(true)
    }

    fn expired(&self, scope: &Scope<'_>) -> Result<Vec<String>, VaultError> {
        let failed = || VaultError::database("list entries");
        let now = scope.now()?.unix_millis();
        let mut statement = scope
            .tx
            .prepare("SELECT key FROM records WHERE namespace = ?1 AND expires_at <= ?2 LIMIT ?3")
            .map_err(failed())?;
        statement
            .query_map(params![self.name(), now, PRUNED_AT_ONCE], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(failed())
    }

    fn context(&self, place: &RecordPlace<'_>, data_key: &KeyId) -> Context {
        let context = Context::new("record")
            .text(self.name())
            .text(place.key)
            .number(place.generation.get().cast_unsigned())
            .bytes(data_key.as_bytes());
        match place.expires_at {
            Some(at) => context.number(at.unix_millis().cast_unsigned()),
            None => context,
        }
    }

    pub(crate) fn what(&self, key: &str) -> String {
        format!(
            "entry `{}` of `{}`",
            keyway_secret::printable(key),
            self.name()
        )
    }

    pub(crate) fn name(&self) -> &str {
        self.namespace.as_str()
    }
}

#[cfg(test)]
impl Sealed<'_> {
    /// Stores many rows in one transaction, and the list of contents once.
    pub(super) fn fill(&self, keys: &[String], value: &[u8]) {
        let fill = |scope: &Scope<'_>| {
            let listed = keys.iter().zip(1..);
            let listed = listed.map(|(key, number)| (key.as_str(), Generation::new(number)));
            for (key, generation) in listed.clone() {
                let place = RecordPlace {
                    key,
                    generation,
                    expires_at: None,
                };
                self.insert(scope, &place, value)?;
            }
            scope.list_again(self.name(), listed, 0)
        };
        self.vault.write_scope("be filled", fill).unwrap();
    }
}

/// A value as it was stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record {
    /// The value.
    pub value: Secret<Vec<u8>>,
    /// Its version.
    pub generation: Generation,
    /// When it ceases to be found.
    pub expires_at: Option<Timestamp>,
}

/// What is known of a value without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The key that it stands under.
    pub key: String,
    /// Its version.
    pub generation: Generation,
    /// When it ceases to be found.
    pub expires_at: Option<Timestamp>,
}

/// Where a value stands.
struct RecordPlace<'a> {
    key: &'a str,
    generation: Generation,
    expires_at: Option<Timestamp>,
}

struct Row {
    generation: Generation,
    expires_at: Option<Timestamp>,
    data_key: Vec<u8>,
    sealed: Vec<u8>,
}

impl Row {
    fn from_sql(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let expires_at: Option<i64> = row.get(1)?;
        Ok(Self {
            generation: Generation::new(row.get(0)?),
            expires_at: expires_at.map(Timestamp::from_unix_millis),
            data_key: row.get(2)?,
            sealed: row.get(3)?,
        })
    }
}

/// All rows of a namespace, opened.
#[derive(Debug, Default)]
pub(crate) struct Examined {
    /// How many rows there are.
    pub(crate) rows: usize,
    records: Vec<(String, Record)>,
    pub(crate) problems: Vec<VaultError>,
}

fn has_passed(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| at <= now)
}

fn check_key(key: &str) -> Result<(), VaultError> {
    if key.is_empty() || key.len() > LONGEST_KEY {
        Err(VaultError::invalid_name(key))
    } else {
        Ok(())
    }
}

const LONGEST_KEY: usize = 4096;
/// A write removes at most this many expired entries, so that it costs the same however many there
/// are.
const PRUNED_AT_ONCE: u32 = 16;
