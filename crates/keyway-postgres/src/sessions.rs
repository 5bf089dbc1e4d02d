//! Statements on pooled connections, each in a transaction that says for whom it asks.
//!
//! No connection or transaction outlives a call, so none is held while a request to an
//! authorization server is out.

use bytes::BytesMut;
use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Status, TimeoutType,
};
use tokio::task::JoinSet;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Config, Row, Statement};

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
    /// Dropping the future closes the connection. Must be called inside the runtime of the replica.
    pub(crate) async fn query(
        &self,
        action: &'static str,
        person: Option<&Person>,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        let lease = Lease(Some(self.0.get().await.map_err(sort_pool)?));
        let mut sent = JoinSet::new();
        let answer = async {
            let transaction = Transaction::prepare((action, lease), person, sql, values).await?;
            // In a task of its own, beside the one that moves the bytes: the thread of the caller is woken
            // once, at the end, and not by each answer on the way there.
            sent.spawn(transaction.run());
            let ended = sent.join_next().await.and_then(Result::ok);
            // Without an answer the replica ends.
            ended.unwrap_or(Err(PostgresError::Unreachable { source: None }))
        };
        let answer = tokio::time::timeout(TRANSACTION_TIMEOUT, answer).await;
        answer.unwrap_or(Err(PostgresError::Unreachable { source: None }))
    }
}

/// A connection that goes back into the pool only after its transaction has ended.
struct Lease(Option<Object>);

impl Lease {
    fn client(&self) -> Result<&Object, PostgresError> {
        let gone = || PostgresError::Unreachable { source: None };
        self.0.as_ref().ok_or_else(gone)
    }

    /// Returns the connection to the pool, unless it is closed.
    fn give_back(mut self) {
        drop(self.0.take_if(|client| !client.is_closed()));
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}

/// A statement with its values, ready to be sent for one person.
struct Transaction {
    action: &'static str,
    lease: Lease,
    statement: Statement,
    values: Vec<Encoded>,
    /// The statement that names the person, and its values.
    whose: Option<(Statement, [String; 2])>,
}

impl Transaction {
    async fn prepare(
        (action, lease): (&'static str, Lease),
        person: Option<&Person>,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Self, PostgresError> {
        let prepared = prepare(lease.client()?, person, sql).await;
        let (statement, name) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                lease.give_back();
                return Err(PostgresError::sort(action, &error));
            }
        };
        let values = values.iter().zip(statement.params());
        let values = values.map(|(value, kind)| Encoded::new(*value, kind));
        let values = values.collect();
        let whose = name.zip(person).map(|(name, person)| {
            let whose = [person.tenant(), person.person()];
            (name, whose.map(str::to_owned))
        });
        Ok(Self {
            action,
            lease,
            statement,
            values,
            whose,
        })
    }

    /// Sends the whole transaction at once: one round trip, and no wait between its statements.
    ///
    /// Dropping the future closes the connection: what became of the statement is not known then.
    async fn run(self) -> Result<Vec<Row>, PostgresError> {
        let client = self.lease.client()?;
        let values: Vec<_> = self.values.iter().map(as_value).collect();
        let answer = match &self.whose {
            None => client.query(&self.statement, &values).await,
            Some((name, [tenant, person])) => {
                let whose: Values<'_> = &[tenant, person];
                // Biased, because the order of polling is the order of sending. If one of them fails,
                // the server skips the rest and the last one rolls back.
                let (begun, named, rows, ended) = tokio::join!(
                    biased;
                    client.batch_execute("BEGIN"),
                    client.query(name, whose),
                    client.query(&self.statement, &values),
                    client.batch_execute("COMMIT"),
                );
                let rows = begun.and(named).and(rows);
                rows.and_then(|rows| ended.map(|()| rows))
            }
        };
        self.lease.give_back();
        answer.map_err(PostgresError::statement(self.action))
    }
}

/// Returns a statement, and the one that names the person if there is one.
async fn prepare(
    client: &Object,
    person: Option<&Person>,
    sql: &str,
) -> Result<(Statement, Option<Statement>), tokio_postgres::Error> {
    let statement = client.prepare_cached(sql).await?;
    let name = match person {
        Some(_) => Some(client.prepare_cached(NAME_PERSON).await?),
        None => None,
    };
    Ok((statement, name))
}

/// A value as the server reads it, so that another task can send it.
#[derive(Debug)]
struct Encoded(Result<Option<BytesMut>, String>);

impl Encoded {
    fn new(value: &(dyn ToSql + Sync), kind: &Type) -> Self {
        let mut bytes = BytesMut::new();
        Self(match value.to_sql_checked(kind, &mut bytes) {
            Ok(IsNull::No) => Ok(Some(bytes)),
            Ok(IsNull::Yes) => Ok(None),
            Err(error) => Err(error.to_string()),
        })
    }
}

impl ToSql for Encoded {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match &self.0 {
            Ok(Some(bytes)) => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
            Ok(None) => Ok(IsNull::Yes),
            Err(error) => Err(error.clone().into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn as_value(value: &Encoded) -> &(dyn ToSql + Sync) {
    value
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
