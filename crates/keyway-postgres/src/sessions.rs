//! Statements on pooled connections, each in a transaction that says for whom it asks.
//!
//! No connection or transaction outlives a call, so none is held while a request to an
//! authorization server is out.

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Status, TimeoutType,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Row};

use crate::error::PostgresError;
use crate::person::Person;
use crate::timeouts::{POOL_TIMEOUT, TRANSACTION_TIMEOUT};
use crate::tls::Tls;

/// A pool of connections.
#[derive(Clone)]
pub(crate) struct Sessions(Pool);

/// The values of a statement.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Sessions {
    pub(crate) fn new(config: Config, tls: Tls, most: usize) -> Result<Self, PostgresError> {
        let fast = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        Pool::builder(Manager::from_config(config, tls, fast))
            .max_size(most)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(POOL_TIMEOUT))
            .create_timeout(Some(POOL_TIMEOUT))
            .build()
            .map(Self)
            .map_err(|_| PostgresError::Unreachable { source: None })
    }

    /// Returns how many connections there are.
    pub(crate) fn status(&self) -> Status {
        self.0.status()
    }

    /// Runs one statement in a transaction for one person; `None` for what belongs to no person.
    ///
    /// Dropping the future closes the connection: what became of the statement is not known then.
    pub(crate) async fn query(
        &self,
        action: &'static str,
        person: Option<&Person>,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        let mut lease = Lease(Some(self.0.get().await.map_err(sort_pool)?));
        let Some(client) = lease.0.as_ref() else {
            return Err(PostgresError::Unreachable { source: None });
        };
        let work = run(client, person, sql, values);
        let Ok(answer) = tokio::time::timeout(TRANSACTION_TIMEOUT, work).await else {
            return Err(PostgresError::Unreachable { source: None });
        };
        if client.is_closed() {
            return answer.map_err(PostgresError::statement(action));
        }
        lease.give_back();
        answer.map_err(PostgresError::statement(action))
    }
}

/// A connection that goes back into the pool only after its transaction has ended.
struct Lease(Option<Object>);

impl Lease {
    fn give_back(&mut self) {
        drop(self.0.take());
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}

/// Sends the whole transaction at once: one round trip, and no wait between its statements.
async fn run(
    client: &Object,
    person: Option<&Person>,
    sql: &str,
    values: Values<'_>,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let statement = client.prepare_cached(sql).await?;
    let Some(person) = person else {
        return client.query(&statement, values).await;
    };
    let name = client.prepare_cached(NAME_PERSON).await?;
    let whose: Values<'_> = &[&person.tenant(), &person.person()];
    // Biased, because the order of polling is the order of sending. If one of them fails, the
    // server skips the rest and the last one rolls back.
    let (begun, named, rows, ended) = tokio::join!(
        biased;
        client.batch_execute("BEGIN"),
        client.query(&name, whose),
        client.query(&statement, values),
        client.batch_execute("COMMIT"),
    );
    begun?;
    named?;
    let rows = rows?;
    ended?;
    Ok(rows)
}

fn sort_pool(error: PoolError) -> PostgresError {
    match error {
        PoolError::Backend(error) => PostgresError::sort("connect", &error),
        PoolError::Timeout(TimeoutType::Wait) => PostgresError::Busy,
        _ => PostgresError::Unreachable { source: None },
    }
}

/// Holds until the transaction ends, so that a connection never carries it to the next person.
const NAME_PERSON: &str =
    "SELECT set_config('keyway.tenant', $1, true), set_config('keyway.person', $2, true)";
