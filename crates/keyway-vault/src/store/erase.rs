//! Wiping what a deletion leaves behind in the database file and in its log.
//!
//! SQLite zeroes what it deletes (`secure_delete`), but its log keeps the pages as they were. So
//! after a data key was destroyed, the log is copied back and cut to nothing. If that is
//! interrupted or other processes are in the way, the next opening or deletion completes it.
//! Blocks that the file system gave up are beyond reach; the sealed values in them stay sealed.

use keyway_store::Deleted;
use rusqlite::Connection;

use crate::error::VaultError;

use super::{Scope, Vault, connection};

impl Vault {
    /// Wipes the remains of all deletions so far; tells whether that was possible now.
    pub(crate) fn erase(&self) -> Result<Deleted, VaultError> {
        let mut inner = self.lock();
        let erased = erase(&mut inner.connection);
        // The checkpoint takes the lock of a writer, too.
        inner.reopen_if_stuck(&self.data);
        erased
    }

    /// Wipes after a change that has already taken effect, so that failing is not an error.
    pub(crate) fn erase_now_or_later(&self) -> Deleted {
        self.erase().unwrap_or(Deleted::WipePending)
    }

    /// Completes what an earlier process could not.
    pub(super) fn finish_erasing(&self) {
        let pending = self.lock().connection.query_row(
            "SELECT erase_wanted > erase_done FROM header",
            [],
            |row| row.get(0),
        );
        if matches!(pending, Ok(true)) {
            self.erase_now_or_later();
        }
    }
}

fn erase(c: &mut Connection) -> Result<Deleted, VaultError> {
    let failed = || VaultError::database("wipe deleted entries");
    let wanted: i64 = c
        .query_row("SELECT erase_wanted FROM header", [], |row| row.get(0))
        .map_err(failed())?;
    // A process that waits here keeps all others from writing.
    let blocked: bool = connection::impatiently(c, |c| {
        c.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
    })
    .map_err(failed())?;
    if blocked {
        return Ok(Deleted::WipePending);
    }
    c.execute(
        "UPDATE header SET erase_done = max(erase_done, ?1)",
        [wanted],
    )
    .map_err(failed())?;
    Ok(Deleted::Wiped)
}

impl Scope<'_> {
    /// Notes, in the same transaction as a deletion, that its remains have to be wiped.
    pub(crate) fn want_erasure(&self) -> Result<(), VaultError> {
        self.tx
            .execute("UPDATE header SET erase_wanted = erase_wanted + 1", [])
            .map(drop)
            .map_err(VaultError::database("note a deletion"))
    }
}
