//! Claims of replicas that died, for all people of a tenant at once, and what else they left behind.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use keyway_store::{Damage, Generation, GrantKey, OwnerId, StoreError, Timestamp};
use tokio::task::JoinSet;
use tokio_postgres::Row;

use crate::error::PostgresError;
use crate::live_replica::{LiveReplica, owner_id};
use crate::person::Person;
use crate::replica::Replica;

/// A refresh that a dead replica began. What became of its request is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadClaim {
    /// Whose sign-in it is.
    pub person: Person,
    /// Which one.
    pub grant: GrantKey,
    /// What was claimed.
    pub generation: Generation,
    /// The replica that died.
    pub owner: OwnerId,
    /// When it claimed, by the database's clock.
    pub claimed_at: Timestamp,
}

impl Replica {
    /// Lists what dead replicas were renewing for people of a tenant; a survivor redeems it, the
    /// sooner the better. Waits for the second look at a replica whose lock is free.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked.
    pub fn dead_claims(&self, tenant: &str) -> Result<Vec<DeadClaim>, StoreError> {
        let tenant = Person::shared(tenant)?;
        Ok(self.0.wait(dead_claims(&self.0, &tenant))?)
    }

    /// Removes what replicas that were killed left behind, except for claims; returns how many.
    ///
    /// The row of a replica that still has a claim stays until a survivor has taken that over: its
    /// absence would say that the replica ended in good order.
    ///
    /// # Errors
    ///
    /// Returns why the database cannot be asked.
    pub fn remove_dead_replicas(&self) -> Result<usize, StoreError> {
        Ok(self.0.wait(remove_dead(&self.0))?)
    }
}

async fn dead_claims(
    replica: &Arc<LiveReplica>,
    tenant: &Person,
) -> Result<Vec<DeadClaim>, PostgresError> {
    let rows = replica
        .sessions
        .query(
            "list claims of all people",
            Some(tenant),
            "SELECT * FROM keyway.open_claims($1)",
            &[&replica.presence.owner],
        )
        .await?;
    let is_old = |row: &Row| row.get::<_, bool>("is_overdue") || row.get("is_of_this_run");
    // After a restart of the server all locks are free: only its own word says that a replica ended.
    let (by_looks, by_word): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| is_old(row));
    let mut dead = gone(replica, owners(&by_looks), Question::IsDead).await?;
    for (owner, has_ended) in gone(replica, owners(&by_word), Question::HasEnded).await? {
        *dead.entry(owner).or_default() |= has_ended;
    }
    let is_dead = |row: &&Row| {
        let owner: i64 = row.get("claim_owner");
        dead.get(&owner).copied().unwrap_or_default()
    };
    let claims = by_looks.into_iter().chain(by_word).filter(is_dead);
    claims.map(|row| claim(tenant, row)).collect()
}

#[derive(Clone, Copy)]
enum Question {
    IsDead,
    HasEnded,
}

fn owners(claims: &[&Row]) -> HashSet<i64> {
    claims.iter().map(|row| row.get("claim_owner")).collect()
}

/// Asks about each owner, side by side: a look takes longer than an answer.
async fn gone(
    replica: &Arc<LiveReplica>,
    owners: HashSet<i64>,
    question: Question,
) -> Result<HashMap<i64, bool>, PostgresError> {
    let mut looks = JoinSet::new();
    for owner in owners {
        let replica = Arc::downgrade(replica);
        looks.spawn(async move {
            let Some(replica) = replica.upgrade() else {
                return Ok((owner, false));
            };
            let answer = match question {
                Question::IsDead => replica.is_dead(owner).await?,
                Question::HasEnded => replica.has_ended(owner).await?,
            };
            Ok::<_, PostgresError>((owner, answer))
        });
    }
    let mut found = HashMap::new();
    while let Some(look) = looks.join_next().await {
        let (owner, answer) = look.map_err(|_| PostgresError::Unreachable { source: None })??;
        found.insert(owner, answer);
    }
    Ok(found)
}

fn claim(tenant: &Person, row: &Row) -> Result<DeadClaim, PostgresError> {
    let text = |column| std::str::from_utf8(row.get::<_, &[u8]>(column)).ok();
    let grant = text("profile").and_then(|profile| GrantKey::parse(profile, text("name")?));
    let unknown = || PostgresError::corrupt("the name of a sign-in", Damage::UnknownFormat);
    let person: String = row.get("person");
    Ok(DeadClaim {
        person: if person.is_empty() {
            tenant.clone()
        } else {
            Person::new(tenant.tenant(), person)?
        },
        grant: grant.ok_or_else(unknown)?,
        generation: Generation::new(row.get("generation")),
        owner: owner_id(row.get("claim_owner")),
        claimed_at: Timestamp::from_unix_millis(row.get("claimed_at")),
    })
}

async fn remove_dead(replica: &Arc<LiveReplica>) -> Result<usize, PostgresError> {
    let sessions = &replica.sessions;
    let rows = sessions
        .query("list replicas", None, OTHERS, &[&replica.presence.owner])
        .await?;
    let owners = rows.iter().map(|row| row.get(0)).collect();
    let mut removed = 0;
    for (owner, is_dead) in gone(replica, owners, Question::IsDead).await? {
        if is_dead {
            let gone = sessions
                .query("remove a dead replica", None, REMOVE, &[&owner])
                .await?;
            removed += gone.len();
        }
    }
    Ok(removed)
}

const OTHERS: &str = "SELECT owner FROM keyway.replicas
    WHERE owner <> $1 AND NOT keyway.has_claims(owner)";
/// The lock keeps a replica that lives after all from taking it again until this is over; it
/// registers after that.
const REMOVE: &str = "WITH dead AS (
        DELETE FROM keyway.replicas
        WHERE owner = $1 AND pg_try_advisory_xact_lock($1) AND NOT keyway.has_claims($1)
        RETURNING owner),
    uses AS (DELETE FROM keyway.in_use WHERE owner IN (SELECT owner FROM dead))
    SELECT owner FROM dead";
