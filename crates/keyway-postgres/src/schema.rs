//! The schema in numbered steps, and what is looked at before anything is stored.

use keyway_store::seal::KeyId;
use tokio_postgres::Client;

use crate::error::PostgresError;

/// Every step, in order; the first makes schema 1 of an empty database.
///
/// A step is never changed once released. It says in `store.usable_by` which older programs can
/// go on beside it, so that replicas can be updated one after the other.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
];

/// Refuses a database in which nothing can or must be stored, and brings its schema up to date.
pub(crate) async fn prepare(client: &mut Client) -> Result<(), PostgresError> {
    check_server(client).await?;
    match version(client).await? {
        Some(found) if found.is_usable()? => Ok(()),
        // Looked at again under the lock: another replica may be faster.
        _ => migrate(client).await,
    }
}

/// Marks what may be out of date if the database was restored from a dump since a replica was last
/// connected to it.
pub(crate) async fn settle_copy(client: &Client, owner: i64) -> Result<(), PostgresError> {
    let failed = || PostgresError::statement("mark the sign-ins of a restored dump");
    let same = "SELECT copy IS NOT DISTINCT FROM keyway.this_copy() FROM keyway.store";
    let row = client.query_one(same, &[]).await.map_err(failed())?;
    if row.get(0) {
        return Ok(());
    }
    // One replica does it: the others wait for the row, and find it settled.
    client
        .query_opt(
            "WITH settled AS (
                 UPDATE keyway.store SET copy = keyway.this_copy()
                 WHERE copy IS DISTINCT FROM keyway.this_copy() RETURNING 1)
             SELECT keyway.mark_restored($1) FROM settled",
            &[&owner],
        )
        .await
        .map_err(failed())?;
    Ok(())
}

async fn check_server(client: &Client) -> Result<(), PostgresError> {
    let row = client
        .query_one(
            "SELECT current_setting('server_version_num')::integer / 10000,
                    pg_is_in_recovery(),
                    current_setting('transaction_read_only')::boolean,
                    current_user::text,
                    rolsuper OR rolbypassrls
             FROM pg_roles WHERE rolname = current_user",
            &[],
        )
        .await
        .map_err(PostgresError::statement("look at the server"))?;
    let found: i32 = row.get(0);
    if found < OLDEST_SERVER {
        return Err(PostgresError::OldServer { found });
    }
    if row.get(1) {
        return Err(PostgresError::Standby);
    }
    if row.get(2) {
        return Err(PostgresError::ReadOnly);
    }
    if row.get(4) {
        return Err(PostgresError::UnboundRole { role: row.get(3) });
    }
    Ok(())
}

/// What the database says of its schema.
struct Version {
    version: i32,
    usable_by: i32,
}

impl Version {
    /// Says whether nothing is left to do; fails if a newer program made it unusable for us.
    fn is_usable(&self) -> Result<bool, PostgresError> {
        let known = known();
        if self.version > known && self.usable_by > known {
            return Err(PostgresError::NewerSchema {
                found: self.version,
                known,
            });
        }
        Ok(self.version >= known)
    }
}

/// Returns the version of the schema; `None` where there is none.
async fn version(client: &Client) -> Result<Option<Version>, PostgresError> {
    let failed = || PostgresError::statement("read the version of the schema");
    let row = client
        .query_one(
            "SELECT count(*) > 0,
                    coalesce(bool_or(attname = 'version'), false)
                    AND coalesce(bool_or(attname = 'usable_by'), false)
             FROM pg_class LEFT JOIN pg_attribute
                 ON attrelid = pg_class.oid AND relname = 'store'
             WHERE relnamespace = to_regnamespace('keyway')",
            &[],
        )
        .await
        .map_err(failed())?;
    let (has_relations, is_ours): (bool, bool) = (row.get(0), row.get(1));
    if !has_relations {
        return Ok(None);
    }
    if !is_ours {
        return Err(PostgresError::ForeignSchema);
    }
    let row = client
        .query_opt("SELECT version, usable_by FROM keyway.store", &[])
        .await
        .map_err(failed())?;
    let row = row.ok_or(PostgresError::ForeignSchema)?;
    Ok(Some(Version {
        version: row.get(0),
        usable_by: row.get(1),
    }))
}

async fn migrate(client: &mut Client) -> Result<(), PostgresError> {
    let failed = || PostgresError::statement("bring the schema up to date");
    // One replica at a time; the lock ends with the transaction, however that ends.
    let transaction = client.transaction().await.map_err(failed())?;
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])
        .await
        .map_err(failed())?;
    let found = version(transaction.client()).await?;
    if let Some(found) = &found
        && found.is_usable()?
    {
        return transaction.commit().await.map_err(failed());
    }
    if found.is_none() {
        transaction
            .batch_execute("CREATE SCHEMA IF NOT EXISTS keyway")
            .await
            .map_err(failed())?;
    }
    let done = found.map_or(0, |found| found.version);
    for step in STEPS.iter().skip(usize::try_from(done).unwrap_or(0)) {
        transaction.batch_execute(step).await.map_err(failed())?;
    }
    transaction.commit().await.map_err(failed())
}

/// Records which key wraps the keys of people, or compares the recorded ones with those that this
/// replica has: while the key is being changed it needs both.
///
/// Asked after the replica is registered, so that a change of the key either sees the replica or is
/// seen by it.
pub(crate) async fn bind_wrapper(client: &Client, given: &[KeyId]) -> Result<(), PostgresError> {
    let failed = || PostgresError::statement("record the wrapping key");
    let Some(first) = given.first() else {
        return Err(PostgresError::ForeignSchema);
    };
    client
        .execute(
            "UPDATE keyway.store SET wrapper = $1 WHERE wrapper IS NULL",
            &[&first.as_bytes().as_slice()],
        )
        .await
        .map_err(failed())?;
    let row = client
        .query_one(
            "SELECT wrapper, next_wrapper, previous_wrapper FROM keyway.store",
            &[],
        )
        .await
        .map_err(failed())?;
    for column in ["wrapper", "next_wrapper", "previous_wrapper"] {
        let Some(stored) = row.get::<_, Option<&[u8]>>(column) else {
            continue;
        };
        let stored = KeyId::from_slice(stored).ok_or(PostgresError::ForeignSchema)?;
        if !given.contains(&stored) {
            return Err(PostgresError::OtherKey {
                stored,
                given: *first,
            });
        }
    }
    Ok(())
}

/// The newest schema that this program knows.
fn known() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

const OLDEST_SERVER: i32 = 15;
/// "keyway" and the number of this lock.
const MIGRATION_LOCK: i64 = 0x006b_6579_7761_7901;
