//! Sealed rows: small values under a namespace and a key, for approvals, variables, registrations
//! and documents that expire.

use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{
    Damage, Deleted, DocumentCache, Generation, RecordStore, StoreError, Timestamp,
};
use rusqlite::{OptionalExtension as _, params};

use crate::error::VaultError;
use crate::seal::{Context, KeyId};

use super::manifest::Manifest;
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
        self.vault.read_scope("read an entry", |scope| {
            let row = self.row(scope, key)?;
            let found = row.as_ref().map(|row| row.generation);
            scope
                .manifest(self.name())?
                .check(key, found, || self.what(key))?;
            let Some(row) = row else { return Ok(None) };
            // The time of expiry is part of the seal, so it counts only once the seal is open.
            let record = self.open(scope, key, row)?;
            let now = scope.now()?;
            Ok(Some(record).filter(|record| !has_passed(record.expires_at, now)))
        })
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
            let mut manifest = scope.manifest(self.name())?;
            let row = self.row(scope, key)?;
            if row.is_none() && manifest.expected(key).is_none() {
                return Ok(false);
            }
            self.remove(scope, key, row)?;
            manifest.forget(key);
            scope.save_manifest(self.name(), &manifest)?;
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
        self.vault.read_scope("list entries", |scope| {
            let (mut entries, problems) = self.examine(scope)?;
            if let Some(problem) = problems.into_iter().next() {
                return Err(problem);
            }
            let now = scope.now()?;
            entries.retain(|entry| !has_passed(entry.expires_at, now));
            Ok(entries)
        })
    }

    /// Opens every row; returns what is there and what is wrong with it.
    pub(crate) fn examine(
        &self,
        scope: &Scope<'_>,
    ) -> Result<(Vec<Entry>, Vec<VaultError>), VaultError> {
        let mut problems = Vec::new();
        let entries = self.entries(scope)?;
        let manifest = scope.manifest(self.name())?;
        for entry in &entries {
            let key = entry.key.as_str();
            let opened = manifest
                .check(key, Some(entry.generation), || self.what(key))
                .and_then(|()| self.row(scope, key))
                .and_then(|row| row.map(|row| self.open(scope, key, row)).transpose());
            problems.extend(opened.err());
        }
        let missing = manifest
            .keys()
            .filter(|key| entries.iter().all(|entry| entry.key != *key));
        problems.extend(missing.map(|key| VaultError::corrupt(self.what(key), Damage::Missing)));
        Ok((entries, problems))
    }

    fn put_row(
        &self,
        key: &str,
        value: &[u8],
        lifetime: Option<Duration>,
    ) -> Result<Generation, VaultError> {
        check_key(key)?;
        let (generation, replaced) = self.vault.write_scope("keep an entry", |scope| {
            let mut manifest = scope.manifest(self.name())?;
            let old = self.row(scope, key)?;
            manifest.check(key, old.as_ref().map(|row| row.generation), || {
                self.what(key)
            })?;
            let replaced = old.is_some();
            self.remove(scope, key, old)?;
            let replaced = self.prune(scope, &mut manifest)? || replaced;
            let generation = manifest.advance(key);
            let expires_at = match lifetime {
                Some(lifetime) => Some(scope.now()?.after(lifetime)),
                None => None,
            };
            self.insert(
                scope,
                &Place {
                    key,
                    generation,
                    expires_at,
                },
                value,
            )?;
            scope.save_manifest(self.name(), &manifest)?;
            Ok((generation, replaced))
        })?;
        if replaced {
            self.vault.erase_now_or_later();
        }
        Ok(generation)
    }

    fn insert(&self, scope: &Scope<'_>, place: &Place<'_>, value: &[u8]) -> Result<(), VaultError> {
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
            &Place {
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
            .query_row(
                "SELECT generation, expires_at, data_key, sealed FROM records
                 WHERE namespace = ?1 AND key = ?2",
                [self.name(), key],
                |row| {
                    Ok(Row {
                        generation: Generation::new(row.get(0)?),
                        expires_at: row
                            .get::<_, Option<i64>>(1)?
                            .map(Timestamp::from_unix_millis),
                        data_key: row.get(2)?,
                        sealed: row.get(3)?,
                    })
                },
            )
            .optional()
            .map_err(VaultError::database("read an entry"))
    }

    fn remove(&self, scope: &Scope<'_>, key: &str, row: Option<Row>) -> Result<(), VaultError> {
        let Some(row) = row else { return Ok(()) };
        scope
            .tx
            .execute(
                "DELETE FROM records WHERE namespace = ?1 AND key = ?2",
                [self.name(), key],
            )
            .map_err(VaultError::database("delete an entry"))?;
        scope.destroy_data_key(&row.data_key)
    }

    /// Removes what has expired; tells whether there was any. What does not open stays for
    /// [`Vault::verify`] to find.
    fn prune(&self, scope: &Scope<'_>, manifest: &mut Manifest) -> Result<bool, VaultError> {
        let now = scope.now()?;
        let mut any = false;
        for Entry {
            key,
            generation,
            expires_at,
        } in self.entries(scope)?
        {
            if !has_passed(expires_at, now) || manifest.expected(&key) != Some(generation) {
                continue;
            }
            let sealed_says_so = self
                .row(scope, &key)?
                .is_some_and(|row| self.open(scope, &key, row).is_ok());
            if sealed_says_so {
                let row = self.row(scope, &key)?;
                self.remove(scope, &key, row)?;
                manifest.forget(&key);
                any = true;
            }
        }
        Ok(any)
    }

    fn entries(&self, scope: &Scope<'_>) -> Result<Vec<Entry>, VaultError> {
        let failed = || VaultError::database("list entries");
        let mut statement = scope
            .tx
            .prepare(
                "SELECT key, generation, expires_at FROM records WHERE namespace = ?1 ORDER BY key",
            )
            .map_err(failed())?;
        let rows = statement
            .query_map([self.name()], |row| {
                Ok(Entry {
                    key: row.get(0)?,
                    generation: Generation::new(row.get(1)?),
                    expires_at: row
                        .get::<_, Option<i64>>(2)?
                        .map(Timestamp::from_unix_millis),
                })
            })
            .map_err(failed())?;
        rows.collect::<Result<_, _>>().map_err(failed())
    }

    fn context(&self, place: &Place<'_>, data_key: &KeyId) -> Context {
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

    fn what(&self, key: &str) -> String {
        format!(
            "entry `{}` of `{}`",
            keyway_secret::printable(key),
            self.name()
        )
    }

    fn name(&self) -> &str {
        self.namespace.as_str()
    }
}

impl RecordStore for Sealed<'_> {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        Some(Sealed::get(self, name).ok()??.value)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        Sealed::put(self, name, value)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        Sealed::delete(self, name)?;
        Ok(())
    }
}

impl DocumentCache for Sealed<'_> {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        Some(Sealed::get(self, name).ok()??.value)
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        self.put_for(name, value, lifetime)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        Sealed::delete(self, name)?;
        Ok(())
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
struct Place<'a> {
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
