//! Client registrations, cached documents, and values that are used once.

use std::sync::Arc;
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::seal::Context;
use keyway_store::{Damage, DocumentCache, OneTimeStore, RecordStore, StoreError};

use tokio_postgres::Row;

use crate::error::PostgresError;
use crate::live_replica::LiveReplica;
use crate::person::Person;

/// Sealed records by name, kept until they are deleted.
#[derive(Clone, Debug)]
pub struct PostgresRecords(Table);

/// Sealed documents by name, each with a lifetime by the database's clock.
#[derive(Clone, Debug)]
pub struct PostgresDocuments(Table);

/// Sealed values that are used once, each with a lifetime by the database's clock.
#[derive(Clone, Debug)]
pub struct PostgresOneTime(Table);

impl PostgresOneTime {
    pub(crate) const fn new(replica: Arc<LiveReplica>, person: Person) -> Self {
        Self(Table {
            replica,
            person,
            kind: "one time",
        })
    }
}

impl PostgresRecords {
    pub(crate) const fn new(replica: Arc<LiveReplica>, person: Person) -> Self {
        Self(Table {
            replica,
            person,
            kind: "record",
        })
    }

    pub(crate) const fn of_tools(replica: Arc<LiveReplica>, person: Person) -> Self {
        Self(Table {
            replica,
            person,
            kind: "tool list",
        })
    }
}

impl PostgresDocuments {
    pub(crate) const fn new(replica: Arc<LiveReplica>, person: Person) -> Self {
        Self(Table {
            replica,
            person,
            kind: "document",
        })
    }
}

impl RecordStore for PostgresRecords {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        self.0.get(name).ok().flatten()
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        self.0.put(name, value, None)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.0.delete(name)
    }
}

impl DocumentCache for PostgresDocuments {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        self.0.get(name).ok().flatten()
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        self.0.put(name, value, Some(lifetime))
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.0.delete(name)
    }
}

impl OneTimeStore for PostgresOneTime {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        self.0.get(name)
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        self.0.remove_expired()?;
        self.0.put(name, value, Some(lifetime))
    }

    fn take(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        self.0.take(name)
    }
}

/// The rows of one kind and one person.
#[derive(Clone, Debug)]
struct Table {
    replica: Arc<LiveReplica>,
    person: Person,
    kind: &'static str,
}

impl Table {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let place = self.place(name);
        let found = async {
            let rows = self
                .replica
                .sessions
                .query(
                    "read a record",
                    Some(&self.person),
                    "SELECT key_id, value FROM keyway.records
                     WHERE tenant = $1 AND person = $2 AND kind = $3 AND record_id = $4
                       AND (expires_at IS NULL OR expires_at > keyway.now())",
                    &[
                        &self.person.tenant(),
                        &self.person.person(),
                        &self.kind,
                        &place.digest().as_slice(),
                    ],
                )
                .await?;
            self.opened(rows.first(), place).await
        };
        Ok(self.replica.wait(found)?)
    }

    /// Removes a row, which one statement of all does, and returns what it held.
    fn take(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let place = self.place(name);
        let taken = async {
            let rows = self
                .replica
                .sessions
                .query(
                    "take a record",
                    Some(&self.person),
                    "DELETE FROM keyway.records
                     WHERE tenant = $1 AND person = $2 AND kind = $3 AND record_id = $4
                       AND (expires_at IS NULL OR expires_at > keyway.now())
                     RETURNING key_id, value",
                    &[
                        &self.person.tenant(),
                        &self.person.person(),
                        &self.kind,
                        &place.digest().as_slice(),
                    ],
                )
                .await?;
            self.opened(rows.first(), place).await
        };
        Ok(self.replica.wait(taken)?)
    }

    /// Removes rows that have expired, a few at a time.
    fn remove_expired(&self) -> Result<(), StoreError> {
        let removed = async {
            self.replica
                .sessions
                .query(
                    "remove expired records",
                    Some(&self.person),
                    "DELETE FROM keyway.records
                     WHERE tenant = $1 AND person = $2 AND kind = $3 AND record_id IN (
                         SELECT record_id FROM keyway.records
                         WHERE tenant = $1 AND person = $2 AND kind = $3
                           AND expires_at <= keyway.now()
                         LIMIT 16 FOR UPDATE SKIP LOCKED)",
                    &[&self.person.tenant(), &self.person.person(), &self.kind],
                )
                .await
                .map(drop)
        };
        Ok(self.replica.wait(removed)?)
    }

    async fn opened(
        &self,
        row: Option<&Row>,
        place: Context,
    ) -> Result<Option<Secret<Vec<u8>>>, PostgresError> {
        let Some(row) = row else {
            return Ok(None);
        };
        let keys = &self.replica.keys;
        let key = keys.named(&self.replica.sessions, &self.person, row.get(0));
        let opened = key.await?.open(row.get(1), place);
        opened.map(Some).map_err(|how| damaged(self.kind, how))
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Option<Duration>) -> Result<(), StoreError> {
        let place = self.place(name);
        let lifetime = lifetime.map(millis);
        let stored = async {
            let keys = &self.replica.keys;
            let key = keys.current(&self.replica.sessions, &self.person).await?;
            let id = place.digest();
            let sealed = key.seal(value, place)?;
            self.replica
                .sessions
                .query(
                    "store a record",
                    Some(&self.person),
                    "INSERT INTO keyway.records
                         (tenant, person, kind, record_id, key_id, value, expires_at)
                     VALUES ($1, $2, $3, $4, $5, $6, keyway.now() + $7)
                     ON CONFLICT (tenant, person, kind, record_id) DO UPDATE
                     SET key_id = EXCLUDED.key_id, value = EXCLUDED.value,
                         expires_at = EXCLUDED.expires_at",
                    &[
                        &self.person.tenant(),
                        &self.person.person(),
                        &self.kind,
                        &id.as_slice(),
                        &key.id.as_bytes().as_slice(),
                        &sealed,
                        &lifetime,
                    ],
                )
                .await
                .map(drop)
        };
        Ok(self.replica.wait(stored)?)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let id = self.place(name).digest();
        let deleted = async {
            self.replica
                .sessions
                .query(
                    "delete a record",
                    Some(&self.person),
                    "DELETE FROM keyway.records
                     WHERE tenant = $1 AND person = $2 AND kind = $3 AND record_id = $4",
                    &[
                        &self.person.tenant(),
                        &self.person.person(),
                        &self.kind,
                        &id.as_slice(),
                    ],
                )
                .await
                .map(drop)
        };
        Ok(self.replica.wait(deleted)?)
    }

    fn place(&self, name: &str) -> Context {
        self.person
            .place("postgres record")
            .text(self.kind)
            .text(name)
    }
}

fn damaged(kind: &str, how: Damage) -> PostgresError {
    PostgresError::corrupt(format!("a stored {kind}"), how)
}

/// Counts as the database does.
pub(crate) fn millis(span: Duration) -> i64 {
    // A century: more would leave the range of the clock.
    i64::try_from(span.as_millis())
        .unwrap_or(i64::MAX)
        .min(MOST_MILLIS)
}

const MOST_MILLIS: i64 = 100 * 365 * 24 * 3_600_000;
