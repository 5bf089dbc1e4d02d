//! What the vault asks of the SQLite that it was built with.
//!
//! The options with which this workspace compiles SQLite make it smaller, and no more: they stand
//! in the workspace's cargo configuration, which does not travel with a published crate. A build
//! elsewhere may have other options, so that what safety rests on is set for each connection and
//! compared here.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ffi};

/// Fails if SQLite was compiled such that the vault cannot keep its promises.
pub(super) fn check(connection: &Connection) -> rusqlite::Result<()> {
    UNFIT
        .iter()
        .try_for_each(|option| refuse(connection, option))
}

/// Sets `option` and fails if it then has another value.
pub(super) fn set(connection: &Connection, option: DbConfig, on: bool) -> rusqlite::Result<()> {
    if connection.set_db_config(option, on)? == on {
        return Ok(());
    }
    Err(unfit(format!("SQLite did not take over {option:?}")))
}

fn refuse(connection: &Connection, option: &str) -> rusqlite::Result<()> {
    let query = "SELECT sqlite_compileoption_used(?1)";
    if connection.query_row(query, [option], |row| row.get::<_, bool>(0))? {
        return Err(unfit(format!("SQLite was compiled with `{option}`")));
    }
    Ok(())
}

fn unfit(what: String) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_MISUSE), Some(what))
}

/// Connections are used by several threads; a commit is on the disk; readers do not wait for writers;
/// an edited file is found damaged and not trusted.
const UNFIT: [&str; 4] = [
    "THREADSAFE=0",
    "NO_SYNC",
    "OMIT_WAL",
    "OMIT_INTEGRITY_CHECK",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_this_build_is_fit() {
        check(&Connection::open_in_memory().unwrap()).unwrap();
    }

    #[test]
    fn an_option_that_the_library_has_is_refused_by_name() {
        let connection = Connection::open_in_memory().unwrap();
        let used: String = connection
            .query_row("SELECT sqlite_compileoption_get(0)", [], |row| row.get(0))
            .unwrap();
        let error = refuse(&connection, &used).unwrap_err();
        assert!(error.to_string().contains(&used), "{error}");
    }
}
