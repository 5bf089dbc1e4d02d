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
];

/// Refuses a database in which nothing can or must be stored, and brings its schema up to date.
pub(crate) async fn prepare(client: &mut Client, wrapper: &KeyId) -> Result<(), PostgresError> {
    check_server(client).await?;
    match version(client).await? {
        Some(found) if found.is_usable()? => {}
        // Looked at again under the lock: another replica may be faster.
        _ => migrate(client).await?,
    }
    bind_wrapper(client, wrapper).await
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

/// Records which key wraps the keys of people, or compares it with the recorded one.
async fn bind_wrapper(client: &Client, wrapper: &KeyId) -> Result<(), PostgresError> {
    let failed = || PostgresError::statement("record the wrapping key");
    let given = wrapper.as_bytes().as_slice();
    client
        .execute(
            "UPDATE keyway.store SET wrapper = $1 WHERE wrapper IS NULL",
            &[&given],
        )
        .await
        .map_err(failed())?;
    let row = client
        .query_one("SELECT wrapper FROM keyway.store", &[])
        .await
        .map_err(failed())?;
    let stored = KeyId::from_slice(row.get(0)).ok_or(PostgresError::ForeignSchema)?;
    if stored == *wrapper {
        return Ok(());
    }
    Err(PostgresError::OtherKey {
        stored,
        given: *wrapper,
    })
}

/// The newest schema that this program knows.
fn known() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

const OLDEST_SERVER: i32 = 15;
/// "keyway" and the number of this lock.
const MIGRATION_LOCK: i64 = 0x006b_6579_7761_7901;
