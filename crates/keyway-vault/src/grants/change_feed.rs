//! Changes that other processes made, found by asking SQLite whether its file was written.

use std::fmt;
use std::time::{Duration, Instant};

use keyway_store::{ChangeFeed, StoreError};
use rusqlite::Connection;

use crate::error::VaultError;
use crate::timeouts::CHANGE_POLL_INTERVAL;

/// Reads through a connection of its own: `data_version` counts the writes of other connections.
pub(super) struct SqliteChangeFeed {
    connection: Connection,
    version: i64,
    notices: i64,
}

impl SqliteChangeFeed {
    pub(super) fn new(connection: Connection) -> Result<Self, VaultError> {
        let mut feed = Self {
            connection,
            version: 0,
            notices: 0,
        };
        // In this order: a change between the two reads is reported at the first call.
        feed.version = feed.data_version()?;
        feed.notices = feed.count()?;
        Ok(feed)
    }

    fn data_version(&self) -> Result<i64, VaultError> {
        self.connection
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(VaultError::database(ACTION))
    }

    fn count(&self) -> Result<i64, VaultError> {
        self.connection
            .query_row("SELECT notices FROM header", [], |row| row.get(0))
            .map_err(VaultError::database(ACTION))
    }
}

impl ChangeFeed for SqliteChangeFeed {
    fn changed(&mut self) -> Result<bool, StoreError> {
        let version = self.data_version()?;
        if version == self.version {
            return Ok(false);
        }
        let notices = self.count()?;
        let changed = notices != self.notices;
        (self.version, self.notices) = (version, notices);
        Ok(changed)
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
