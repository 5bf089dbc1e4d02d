//! Values by name, of a person or of a tenant: variables and approvals.
//!
//! What is set and deleted is announced to other replicas, and is in the audit with its name.

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::seal::Context;
use keyway_store::{ChangeFeed, NamedValue, StoreError, ValueStore};
use tokio_postgres::Row;

use crate::change_feed::PostgresFeed;
use crate::error::PostgresError;
use crate::live_replica::LiveReplica;
use crate::person::{Person, topic};
use crate::sessions::Values;

/// The values of one kind and one owner, sealed with the owner's key.
#[derive(Clone, Debug)]
pub struct PostgresValues {
    replica: Arc<LiveReplica>,
    person: Person,
    kind: &'static str,
}

impl PostgresValues {
    pub(crate) const fn new(replica: Arc<LiveReplica>, person: Person, kind: &'static str) -> Self {
        Self {
            replica,
            person,
            kind,
        }
    }

    /// Where a value stands: it opens for no other owner, kind, name or change.
    fn place(&self, name: &str, generation: i64) -> Context {
        self.named(name)
            .number(generation.cast_unsigned())
            .text("value")
    }

    fn named(&self, name: &str) -> Context {
        let place = self.person.place("postgres value");
        place.text(self.kind).text(name)
    }

    /// Names these values in announcements.
    pub(crate) fn topic(&self) -> String {
        let place = self.person.place("postgres values");
        topic(&place.text(self.kind))
    }

    async fn open(&self, row: &Row) -> Result<(String, Secret<Vec<u8>>), PostgresError> {
        let (name, generation): (String, i64) = (row.get(0), row.get(1));
        let keys = &self.replica.keys;
        let key = keys.named(&self.replica.sessions, &self.person, row.get(2));
        let opened = key.await?.open(row.get(3), self.place(&name, generation));
        let opened = opened.map_err(|how| {
            let what = format!("the {} `{}`", self.kind, keyway_secret::printable(&name));
            PostgresError::corrupt(what, how)
        });
        Ok((name, opened?))
    }

    async fn rows(&self, name: Option<&str>) -> Result<Vec<Row>, PostgresError> {
        let id = name.map(|name| self.named(name).digest().to_vec());
        let (tenant, person) = (self.person.tenant(), self.person.person());
        let values: Values<'_> = &[&tenant, &person, &self.kind, &id];
        let sessions = &self.replica.sessions;
        let rows = sessions.query("read values", Some(&self.person), READ, values);
        rows.await
    }

    async fn store(&self, name: &str, value: &[u8]) -> Result<(), PostgresError> {
        let sessions = &self.replica.sessions;
        let key = self.replica.keys.current(sessions, &self.person).await?;
        let rows = sessions.query("number a value", None, NUMBER, &[]).await?;
        let number = rows.first().map(|row| row.get(0));
        let generation: i64 = number.ok_or(PostgresError::Unreachable { source: None })?;
        let sealed = key.seal(value, self.place(name, generation))?;
        let (tenant, person) = (self.person.tenant(), self.person.person());
        let (id, key_id, topic) = (self.named(name).digest(), key.id.as_bytes(), self.topic());
        let values: Values<'_> = &[
            &tenant,
            &person,
            &self.kind,
            &id.as_slice(),
            &name,
            &generation,
            &key_id.as_slice(),
            &sealed,
            &topic,
            &self.replica.presence.owner,
        ];
        let stored = sessions.query("store a value", Some(&self.person), PUT, values);
        stored.await.map(drop)
    }
}

impl ValueStore for PostgresValues {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let found = async {
            let rows = self.rows(Some(name)).await?;
            let Some(row) = rows.first() else {
                return Ok(None);
            };
            let (stored, value) = self.open(row).await?;
            Ok(Some(value).filter(|_| stored == name))
        };
        Ok(self.replica.wait(found)?)
    }

    fn all(&self) -> Result<Vec<NamedValue>, StoreError> {
        let found = async {
            let mut all = Vec::new();
            for row in &self.rows(None).await? {
                all.push(self.open(row).await?);
            }
            Ok(all)
        };
        Ok(self.replica.wait(found)?)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains('\0') {
            return Err(StoreError::invalid_name(name));
        }
        Ok(self.replica.wait(self.store(name, value))?)
    }

    fn delete(&self, name: &str) -> Result<bool, StoreError> {
        let deleted = async {
            let (tenant, person) = (self.person.tenant(), self.person.person());
            let (id, topic) = (self.named(name).digest(), self.topic());
            let values: Values<'_> = &[
                &tenant,
                &person,
                &self.kind,
                &id.as_slice(),
                &topic,
                &self.replica.presence.owner,
            ];
            let sessions = &self.replica.sessions;
            let rows = sessions.query("delete a value", Some(&self.person), DELETE, values);
            Ok(!rows.await?.is_empty())
        };
        Ok(self.replica.wait(deleted)?)
    }

    fn change_feed(&self) -> Option<Box<dyn ChangeFeed>> {
        let feed = PostgresFeed::of_topic(&self.replica, self.topic());
        Some(Box::new(feed))
    }
}

const READ: &str = "SELECT name, generation, key_id, value FROM keyway.named_values
    WHERE tenant = $1 AND person = $2 AND kind = $3 AND ($4::bytea IS NULL OR value_id = $4)
    ORDER BY name COLLATE \"C\"";
const NUMBER: &str = "SELECT nextval('keyway.value_changes')";
/// Of two at once the later number stays.
const PUT: &str = "WITH stored AS (
        INSERT INTO keyway.named_values AS old
            (tenant, person, kind, value_id, name, generation, key_id, value)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (tenant, person, kind, value_id) DO UPDATE
        SET generation = EXCLUDED.generation, key_id = EXCLUDED.key_id, value = EXCLUDED.value
        WHERE old.generation < EXCLUDED.generation
        RETURNING 1)
    SELECT pg_notify('keyway', $9)::text,
        keyway.note($1, $2, $3, 'set', $5, $10, NULL, NULL, NULL)
    FROM stored";
const DELETE: &str = "WITH deleted AS (
        DELETE FROM keyway.named_values
        WHERE tenant = $1 AND person = $2 AND kind = $3 AND value_id = $4 RETURNING name)
    SELECT pg_notify('keyway', $5)::text,
        keyway.note($1, $2, $3, 'deleted', name, $6, NULL, NULL, NULL)
    FROM deleted";
/// An approval is named by a path.
const LONGEST_NAME: usize = 16 * 1024;
