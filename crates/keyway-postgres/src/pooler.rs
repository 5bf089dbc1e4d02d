//! Notices a pooler that gives a session to another client between two transactions.
//!
//! Behind one, a session lock would belong to no single client, and what one session set would be
//! seen by another. So both are tried before anything relies on them.

use tokio_postgres::{Client, Error, SimpleQueryMessage};

use crate::error::PostgresError;
use crate::timeouts::POOLER_PROBE_TIMEOUT;

/// Fails if what a session sets is not there in its next transaction.
pub(crate) async fn refuse_pooler(first: &Client, second: &Client) -> Result<(), PostgresError> {
    for _ in 0..ROUNDS {
        if !keeps_sessions(first, second).await? {
            return Err(PostgresError::Pooler);
        }
    }
    Ok(())
}

/// Sets something in both sessions, and compares what each sees while both are in a transaction.
///
/// Plain statements only: prepared ones would fail behind a pooler with an error of their own.
async fn keeps_sessions(first: &Client, second: &Client) -> Result<bool, PostgresError> {
    let failed = || PostgresError::statement("look for a pooler");
    first
        .batch_execute("SELECT set_config('keyway.session', 'first', false)")
        .await
        .map_err(failed())?;
    second
        .batch_execute("SELECT set_config('keyway.session', 'second', false)")
        .await
        .map_err(failed())?;
    let by_first = begin_and_read(first).await.map_err(failed())?;
    // With a single session behind it, a pooler lets the second client wait for the first.
    let by_second = tokio::time::timeout(POOLER_PROBE_TIMEOUT, begin_and_read(second)).await;
    let Ok(by_second) = by_second else {
        return Ok(false);
    };
    let seen = [by_first, by_second.map_err(failed())?];
    let (one, other) = tokio::join!(
        first.batch_execute("COMMIT"),
        second.batch_execute("COMMIT")
    );
    one.and(other).map_err(failed())?;
    Ok(seen == ["first", "second"])
}

async fn begin_and_read(client: &Client) -> Result<String, Error> {
    let answer = client
        .simple_query("BEGIN; SELECT current_setting('keyway.session', true)")
        .await?;
    let value = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(value.unwrap_or_default().to_owned())
}

/// A pooler may give out sessions in turn: then a round can look right by accident.
const ROUNDS: usize = 2;
