//! Noticing what other processes did, by asking SQLite whether anybody wrote.

use std::fmt;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::VaultError;

use super::Watch;

/// Watches through a connection of its own.
pub(super) struct SqliteWatch {
    connection: Connection,
    version: i64,
    notices: i64,
}

impl SqliteWatch {
    pub(super) fn new(connection: Connection) -> Result<Self, VaultError> {
        let mut watch = Self {
            connection,
            version: 0,
            notices: 0,
        };
        // In this order: what comes in between is told at the first call.
        watch.version = watch.data_version()?;
        watch.notices = watch.count()?;
        Ok(watch)
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

impl Watch for SqliteWatch {
    fn changed(&mut self) -> Result<bool, VaultError> {
        let version = self.data_version()?;
        if version == self.version {
            return Ok(false);
        }
        let notices = self.count()?;
        let changed = notices != self.notices;
        (self.version, self.notices) = (version, notices);
        Ok(changed)
    }

    fn wait(&mut self, at_most: Duration) -> Result<bool, VaultError> {
        let end = Instant::now() + at_most;
        loop {
            if self.changed()? {
                return Ok(true);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(left.min(INTERVAL));
        }
    }
}

impl fmt::Debug for SqliteWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteWatch")
            .field("notices", &self.notices)
            .finish_non_exhaustive()
    }
}

const ACTION: &str = "be watched";
/// Asking costs microseconds: SQLite compares a number in shared memory.
const INTERVAL: Duration = Duration::from_millis(200);
