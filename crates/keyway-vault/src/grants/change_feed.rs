//! Changes that other processes made, found by asking SQLite whether its file was written.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyway_store::{ChangeFeed, StoreError};
use rusqlite::Connection;

use crate::error::VaultError;
use crate::store::SideConnection;
use crate::timeouts::CHANGE_POLL_INTERVAL;

/// Reads through a connection of its own: `data_version` counts the writes of other connections.
pub(super) struct SqliteChangeFeed {
    connection: Arc<SideConnection>,
    /// Of this connection: another one counts otherwise.
    version: i64,
    notices: i64,
}

impl SqliteChangeFeed {
    pub(super) fn new(connection: Arc<SideConnection>) -> Result<Self, VaultError> {
        let mut feed = Self {
            connection,
            version: 0,
            notices: 0,
        };
        let found = Arc::clone(&feed.connection).with(|connection, _| {
            // In this order: a change between the two reads is reported at the first call.
            let version = data_version(connection)?;
            Ok((version, count(connection)?))
        })?;
        (feed.version, feed.notices) = found;
        Ok(feed)
    }
}

fn data_version(connection: &Connection) -> Result<i64, VaultError> {
    connection
        .pragma_query_value(None, "data_version", |row| row.get(0))
        .map_err(VaultError::database(ACTION))
}

fn count(connection: &Connection) -> Result<i64, VaultError> {
    connection
        .query_row("SELECT notices FROM header", [], |row| row.get(0))
        .map_err(VaultError::database(ACTION))
}

impl ChangeFeed for SqliteChangeFeed {
    fn changed(&mut self) -> Result<bool, StoreError> {
        let before = (self.version, self.notices);
        let found = self.connection.with(|connection, is_new| {
            let version = data_version(connection)?;
            if !is_new && version == before.0 {
                return Ok(before);
            }
            Ok((version, count(connection)?))
        })?;
        (self.version, self.notices) = found;
        Ok(self.notices != before.1)
    }

    fn wait(&mut self, at_most: Duration) -> Result<bool, StoreError> {
        let end = Instant::now() + at_most;
        loop {
            if self.changed()? {
                return Ok(true);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(left.min(CHANGE_POLL_INTERVAL));
        }
    }
}

impl fmt::Debug for SqliteChangeFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteChangeFeed")
            .field("notices", &self.notices)
            .finish_non_exhaustive()
    }
}

const ACTION: &str = "report changes";
