//! Changing the key that wraps the keys of people, while replicas run.
//!
//! ```text
//!   settled (wrapper = old)
//!      │ all replicas have both keys?         no: nothing was changed
//!      ▼
//!   announced (next_wrapper = new)            replicas without the new key are refused from here on
//!      │ still all of them?                   no: taken back
//!      ▼
//!   changing (wrapper = new, previous = old)  new keys get the new wrap; old wraps are replaced
//!      │ none left
//!      ▼
//!   settled (wrapper = new)
//! ```
//!
//! Each arrow is one statement, and a change that was killed is continued by the next call. Keys of
//! people stay what they are, so that nothing that is sealed with them is touched.

use keyway_store::StoreError;
use keyway_store::seal::KeyId;
use tokio_postgres::Row;

use crate::error::PostgresError;
use crate::live_replica::LiveReplica;
use crate::person::Person;
use crate::person_keys::{unwrap, wrap};
use crate::replica::Replica;
use crate::sessions::Values;

/// What changing the wrapping key did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rekeyed {
    /// How many keys of people were wrapped again by this call.
    pub people: u64,
}

impl Replica {
    /// Wraps the keys of all people of all tenants with the key that this replica was
    /// [opened with](Self::open_with_previous_key), in place of the previous one. Replicas that have
    /// both go on meanwhile.
    ///
    /// A call that was interrupted is continued by the next. Blocks.
    ///
    /// # Errors
    ///
    /// Returns that a running replica does not have the new key, in which case nothing was changed,
    /// or why a key could not be wrapped again.
    pub fn rekey(&self) -> Result<Rekeyed, StoreError> {
        let replica = &*self.0;
        Ok(replica.wait(change(replica))?)
    }
}

async fn change(replica: &LiveReplica) -> Result<Rekeyed, PostgresError> {
    let wrappers = replica.keys.wrappers();
    let new = wrappers.current().id();
    if state(replica).await?.is_settled_on(new) {
        return Ok(Rekeyed::default());
    }
    let old = wrappers.previous().map(crate::KeyWrapper::id);
    let old = old.filter(|old| *old != new);
    let old = old.ok_or(PostgresError::NoPreviousKey)?;
    let keys: [&[u8]; 2] = [new.as_bytes().as_slice(), old.as_bytes().as_slice()];
    let [new_id, old_id] = keys;
    // Neither does anything if an earlier call has done it.
    run(replica, ANNOUNCE, &[&new_id, &old_id]).await?;
    if state(replica).await?.next == Some(new) {
        let replicas = without_key(replica, new_id).await?;
        if replicas > 0 {
            run(replica, TAKE_BACK, &[&new_id, &old_id]).await?;
            return Err(PostgresError::KeyNotEverywhere { replicas });
        }
        run(replica, CHANGE, &[&new_id, &old_id]).await?;
    }
    let (people, left) = wrap_again(replica, keys).await?;
    if left > 0 {
        return Err(PostgresError::KeysLeft { people: left });
    }
    let settled: Values<'_> = &[&new_id, &old_id, &replica.presence.owner];
    run(replica, SETTLE, settled).await?;
    Ok(Rekeyed { people })
}

/// What the database says of its wrapping keys.
struct State {
    wrapper: Option<KeyId>,
    next: Option<KeyId>,
    previous: Option<KeyId>,
}

impl State {
    fn is_settled_on(&self, key: KeyId) -> bool {
        self.wrapper == Some(key) && self.next.is_none() && self.previous.is_none()
    }
}

async fn state(replica: &LiveReplica) -> Result<State, PostgresError> {
    let rows = run(replica, STATE, &[]).await?;
    let row = rows.first().ok_or(PostgresError::ForeignSchema)?;
    let id = |column| {
        let stored: Option<&[u8]> = row.get(column);
        stored.and_then(KeyId::from_slice)
    };
    Ok(State {
        wrapper: id("wrapper"),
        next: id("next_wrapper"),
        previous: id("previous_wrapper"),
    })
}

/// Counts the replicas that live and have not got this key.
async fn without_key(replica: &LiveReplica, key: &[u8]) -> Result<usize, PostgresError> {
    let mut count: usize = 0;
    for row in run(replica, WITHOUT_KEY, &[&key]).await? {
        let owner: i64 = row.get(0);
        if !replica.is_me(owner) && !replica.is_dead(owner).await? {
            count = count.saturating_add(1);
        }
    }
    Ok(count)
}

/// Replaces each wrap by the old key; returns how many, and how many could not be replaced.
async fn wrap_again(
    replica: &LiveReplica,
    [new_id, old_id]: [&[u8]; 2],
) -> Result<(u64, u64), PostgresError> {
    let wrappers = replica.keys.wrappers();
    let (new, old) = (wrappers.named(new_id)?, wrappers.named(old_id)?);
    let (mut done, mut left): (u64, u64) = (0, 0);
    let (mut last_tenant, mut last_person) = (String::new(), String::new());
    loop {
        let values: Values<'_> = &[&new_id, &last_tenant, &last_person, &BATCH];
        let rows = run(replica, OTHERS, values).await?;
        let Some(last) = rows.last() else {
            return Ok((done, left));
        };
        (last_tenant, last_person) = (last.get("tenant"), last.get("person"));
        for row in &rows {
            let person = match row.get::<_, &str>("person") {
                "" => Person::shared(row.get::<_, &str>("tenant"))?,
                person => Person::new(row.get::<_, &str>("tenant"), person)?,
            };
            let key_id: &[u8] = row.get("key_id");
            let is_old = row.get::<_, &[u8]>("wrapper") == old_id;
            let id = KeyId::from_slice(key_id).filter(|_| is_old);
            let opened = id.map(|id| unwrap(old, &person, id, row.get("wrapped")));
            let key = match opened {
                Some(Ok(key)) => key,
                None | Some(Err(PostgresError::Corrupt { .. })) => {
                    left = left.saturating_add(1);
                    continue;
                }
                Some(Err(error)) => return Err(error),
            };
            let wrapped = wrap(new, &person, &key)?;
            let (tenant, name) = (person.tenant(), person.person());
            let values: Values<'_> = &[&tenant, &name, &key_id, &old_id, &new_id, &wrapped];
            let sessions = &replica.sessions;
            let stored = sessions.query("wrap a key again", Some(&person), AGAIN, values);
            // Nothing is stored for a person who was forgotten meanwhile.
            done = done.saturating_add(stored.await?.len().try_into().unwrap_or_default());
        }
    }
}

async fn run(
    replica: &LiveReplica,
    sql: &str,
    values: Values<'_>,
) -> Result<Vec<Row>, PostgresError> {
    let sessions = &replica.sessions;
    sessions
        .query("change the wrapping key", None, sql, values)
        .await
}

const STATE: &str = "SELECT wrapper, next_wrapper, previous_wrapper FROM keyway.store";
/// Programs that know one key alone are refused from now on.
const ANNOUNCE: &str = "UPDATE keyway.store
    SET next_wrapper = $1, usable_later = usable_by, usable_by = greatest(usable_by, 4)
    WHERE wrapper = $2 AND next_wrapper IS NULL AND previous_wrapper IS NULL";
const TAKE_BACK: &str = "UPDATE keyway.store
    SET next_wrapper = NULL, usable_by = usable_later, usable_later = NULL
    WHERE wrapper = $2 AND next_wrapper = $1";
const CHANGE: &str = "UPDATE keyway.store
    SET wrapper = $1, previous_wrapper = $2, next_wrapper = NULL
    WHERE wrapper = $2 AND next_wrapper = $1";
/// With a row in the audit of each tenant.
const SETTLE: &str = "SELECT keyway.settle_wrapper($1, $2, $3)";
const WITHOUT_KEY: &str = "SELECT owner FROM keyway.replicas
    WHERE NOT coalesce($1 = ANY (wrappers), false)";
const OTHERS: &str = "SELECT * FROM keyway.wraps_besides($1, $2, $3, $4)";
const AGAIN: &str = "UPDATE keyway.person_keys SET wrapper = $5, wrapped = $6
    WHERE tenant = $1 AND person = $2 AND key_id = $3 AND wrapper = $4 RETURNING 1";
/// How many rows are read at once.
const BATCH: i32 = 100;
