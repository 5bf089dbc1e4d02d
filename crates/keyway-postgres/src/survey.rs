//! What an operator sees: people with the states of their sign-ins, replicas, keys and connections.
//!
//! Nothing that is sealed is read for it, and no row changes.

use std::time::Duration;

use keyway_store::{OwnerId, StoreError, Timestamp};
use tokio_postgres::Row;

use crate::error::PostgresError;
use crate::live_replica::owner_id;
use crate::person::Person;
use crate::records::millis;
use crate::replica::Replica;
use crate::sessions::Values;

/// How many sign-ins there are, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignInStates {
    /// All of them.
    pub sign_ins: u64,
    /// Those that are being renewed.
    pub renewing: u64,
    /// Those whose refresh token was rejected: the person has to sign in again.
    pub needs_reauth: u64,
    /// Those without a refresh token, which end with their access token.
    pub not_renewable: u64,
}

/// A person, and the states of their sign-ins.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PersonSummary {
    /// Issuer and subject; `None` for what the tenant shares.
    pub person: Option<String>,
    /// Theirs.
    pub states: SignInStates,
}

/// A replica that is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplicaSummary {
    /// Its name as an owner of claims.
    pub owner: OwnerId,
    /// Since when, by the database's clock.
    pub since: Timestamp,
    /// For how long.
    pub age: Duration,
    /// Whether its lock is held. One that is not held for longer than a moment is dead.
    pub is_held: bool,
    /// Whether it is the one that was asked.
    pub is_self: bool,
}

/// The ages of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyAges {
    /// For how long the wrapping key has been the one that counts.
    pub wrapping: Duration,
    /// The age of the oldest data key; `None` where there is none.
    pub oldest_data: Option<Duration>,
    /// How many data keys there are.
    pub data_keys: u64,
}

/// Renewals that came to the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutcomeCount {
    /// As the audit names it.
    pub outcome: String,
    /// As the audit names it; empty where that is plain.
    pub cause: String,
    /// How many.
    pub count: u64,
}

/// What this replica counted, and its connections now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplicaCounts {
    /// Claims that it took over from replicas that died.
    pub takeovers_died: u64,
    /// From replicas that said that they end.
    pub takeovers_ended: u64,
    /// From replicas that live, after the end of the claim.
    pub takeovers_overdue: u64,
    /// How many pooled connections there may be.
    pub connections_most: u64,
    /// How many there are.
    pub connections: u64,
    /// How many of them are in use.
    pub connections_used: u64,
    /// How many statements wait for one.
    pub connections_awaited: u64,
}

impl Replica {
    /// Lists people of a tenant whose issuer and subject contain `part`, by name, and at most so
    /// many; what the tenant shares is among them.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked.
    pub fn people(
        &self,
        tenant: &str,
        part: &str,
        most: u32,
    ) -> Result<Vec<PersonSummary>, StoreError> {
        let tenant = Person::shared(tenant)?;
        let most = i32::try_from(most).unwrap_or(i32::MAX);
        let sql = "SELECT * FROM keyway.people($1, $2)";
        let part = part.replace('\0', "");
        let values: Values<'_> = &[&part, &most];
        let sessions = &self.0.sessions;
        let listed = sessions.query("list people", Some(&tenant), sql, values);
        let rows = self.0.wait(listed)?;
        let summary = |row: &Row| {
            let person: String = row.get("person");
            PersonSummary {
                person: (!person.is_empty()).then_some(person),
                states: states(row),
            }
        };
        Ok(rows.iter().map(summary).collect())
    }

    /// Counts the people of a tenant who have sign-ins, and those by state.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked.
    pub fn sign_in_states(&self, tenant: &str) -> Result<(u64, SignInStates), StoreError> {
        let tenant = Person::shared(tenant)?;
        let sql = "SELECT * FROM keyway.sign_in_states()";
        let sessions = &self.0.sessions;
        let counted = sessions.query("count sign-ins", Some(&tenant), sql, &[]);
        let rows = self.0.wait(counted)?;
        let row = rows.first();
        Ok(row.map_or_else(Default::default, |row| (number(row, "people"), states(row))))
    }

    /// Counts what renewals of a tenant came to within this time, at all replicas, by the audit; the
    /// most frequent first.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked.
    pub fn refresh_outcomes(
        &self,
        tenant: &str,
        within: Duration,
    ) -> Result<Vec<OutcomeCount>, StoreError> {
        let tenant = Person::shared(tenant)?;
        let sessions = &self.0.sessions;
        let values: Values<'_> = &[&tenant.tenant(), &millis(within)];
        let counted = sessions.query("count renewals", Some(&tenant), OUTCOMES, values);
        let rows = self.0.wait(counted)?;
        let count = |row: &Row| OutcomeCount {
            outcome: row.get("outcome"),
            cause: row.get("cause"),
            count: number(row, "count"),
        };
        Ok(rows.iter().map(count).collect())
    }

    /// Lists the replicas that are registered, the oldest first.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked.
    pub fn replicas(&self) -> Result<Vec<ReplicaSummary>, StoreError> {
        let sessions = &self.0.sessions;
        let rows = self
            .0
            .wait(sessions.query("list replicas", None, REPLICAS, &[]))?;
        let summary = |row: &Row| {
            let owner = row.get("owner");
            ReplicaSummary {
                owner: owner_id(owner),
                since: Timestamp::from_unix_millis(row.get("since")),
                age: duration(row.get("age")).unwrap_or_default(),
                is_held: row.get("is_held"),
                is_self: self.0.is_me(owner),
            }
        };
        Ok(rows.iter().map(summary).collect())
    }

    /// Returns how old the keys of a tenant are.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked.
    pub fn key_ages(&self, tenant: &str) -> Result<KeyAges, StoreError> {
        let tenant = Person::shared(tenant)?;
        let sql = "SELECT * FROM keyway.key_ages()";
        let sessions = &self.0.sessions;
        let rows = self
            .0
            .wait(sessions.query("read the ages of keys", Some(&tenant), sql, &[]))?;
        let row = rows.first().ok_or(PostgresError::ForeignSchema)?;
        Ok(KeyAges {
            wrapping: duration(row.get("wrapping")).unwrap_or_default(),
            oldest_data: duration(row.get("oldest_data")),
            data_keys: number(row, "data_keys"),
        })
    }

    /// Returns what this replica counted since it began, and its connections now. Asks nothing.
    #[must_use]
    pub fn counts(&self) -> ReplicaCounts {
        let pool = self.0.sessions.status();
        let [died, ended, overdue] = self.0.takeovers.counts();
        let size = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        ReplicaCounts {
            takeovers_died: died,
            takeovers_ended: ended,
            takeovers_overdue: overdue,
            connections_most: size(pool.max_size),
            connections: size(pool.size),
            connections_used: size(pool.size.saturating_sub(pool.available)),
            connections_awaited: size(pool.waiting),
        }
    }
}

fn states(row: &Row) -> SignInStates {
    SignInStates {
        sign_ins: number(row, "sign_ins"),
        renewing: number(row, "renewing"),
        needs_reauth: number(row, "needs_reauth"),
        not_renewable: number(row, "not_renewable"),
    }
}

fn number(row: &Row, column: &str) -> u64 {
    let number: i64 = row.get(column);
    u64::try_from(number).unwrap_or_default()
}

fn duration(millis: Option<i64>) -> Option<Duration> {
    let millis = u64::try_from(millis?).unwrap_or_default();
    Some(Duration::from_millis(millis))
}

const OUTCOMES: &str = "SELECT outcome, cause, count(*) AS count FROM keyway.audit
    WHERE tenant = $1 AND at >= keyway.now() - $2 AND event IN ('refresh', 'claim')
    GROUP BY outcome, cause ORDER BY count DESC, outcome, cause";
/// Looks at the locks and takes none: to take one keeps its owner waiting.
const REPLICAS: &str = "SELECT owner, since, greatest(keyway.now() - since, 0) AS age,
        EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (classid::bigint << 32) | objid::bigint = owner) AS is_held
    FROM keyway.replicas ORDER BY since, owner";
