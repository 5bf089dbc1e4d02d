//! Opening the database file, safely and with the settings that durability rests on.

use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::library;
use crate::error::VaultError;
use crate::folders::Folder;

/// Opens the database in `folder`, of this version or an older one.
pub(super) fn open(folder: &Folder) -> Result<Connection, VaultError> {
    let deadline = Instant::now() + BUSY;
    loop {
        // Changing to the log mode and recovering a log take a lock without waiting for it.
        match try_open(folder).and_then(|mut connection| {
            prepare(folder, &mut connection)?;
            Ok(connection)
        }) {
            Err(VaultError::Busy) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn try_open(folder: &Folder) -> Result<Connection, VaultError> {
    for name in SIDE_FILES {
        folder.inspect(name)?;
    }
    if !folder.inspect(NAME)? {
        folder.create(NAME, b"")?;
    }
    // SQLite refuses a link anywhere in the path; only the last part matters, and was checked.
    let path = std::fs::canonicalize(folder.path())
        .map_err(|source| VaultError::file("find", folder.path(), source))?
        .join(NAME);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection =
        Connection::open_with_flags(path, flags).map_err(VaultError::database(OPEN))?;
    configure(&mut connection).map_err(VaultError::database(OPEN))?;
    Ok(connection)
}

fn configure(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait_for_others))?;
    library::check(connection)?;
    // The file may have been edited: nothing in it may run code or rewrite what we do.
    for (option, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        library::set(connection, option, on)?;
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update_and_check(None, "secure_delete", "ON", |_| Ok(()))?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cell_size_check", "ON")
}

/// Runs `work` such that it gives up on others after a moment.
pub(super) fn impatiently<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.busy_timeout(MOMENT)?;
    let result = work(connection);
    connection.busy_handler(Some(wait_for_others))?;
    result
}

/// Waits a little before the next attempt to get a lock; tells whether there is one.
///
/// SQLite's own way sleeps for a tenth of a second after a few attempts, and who sleeps that long
/// gets nothing from busy writers. Times differ, so that those who wait do not march in step.
fn wait_for_others(attempt: i32) -> bool {
    let spread = u64::from(std::process::id()).wrapping_add(attempt.unsigned_abs().into()) % 5;
    std::thread::sleep(Duration::from_millis(1 + spread));
    u128::from(attempt.unsigned_abs()) * AVERAGE_MS < BUSY.as_millis()
}

/// Makes the tables of a new database; those of an older version are changed once its key is there.
fn prepare(folder: &Folder, connection: &mut Connection) -> Result<(), VaultError> {
    let path = folder.path().join(NAME);
    let found = schema_of(connection).map_err(VaultError::database(OPEN))?;
    if found > SCHEMA {
        return Err(VaultError::NewerSchema {
            path,
            found,
            supported: SCHEMA,
        });
    }
    if found > 0 || create_tables(connection).map_err(VaultError::database(PREPARE))? {
        return Ok(());
    }
    Err(VaultError::NotAVault { path })
}

/// Makes all tables; tells whether the database is ours.
fn create_tables(connection: &mut Connection) -> rusqlite::Result<bool> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if schema_of(&tx)? > 0 {
        // Another process was first.
        return Ok(true);
    }
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables > 0 {
        return Ok(false);
    }
    apply_steps(&tx, 0)?;
    tx.commit()?;
    Ok(true)
}

/// Changes the tables of schema `found` to the present ones.
pub(super) fn apply_steps(connection: &Connection, found: i64) -> rusqlite::Result<()> {
    for step in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        connection.execute_batch(step)?;
    }
    connection.pragma_update(None, "user_version", SCHEMA)
}

/// Refuses to write if a newer version changed the tables since the file was opened.
pub(super) fn check_schema(
    connection: &Connection,
    action: &'static str,
) -> Result<(), VaultError> {
    let found = schema_of(connection).map_err(VaultError::database(action))?;
    if found == SCHEMA {
        return Ok(());
    }
    let path = connection.path().map(std::path::PathBuf::from);
    Err(VaultError::NewerSchema {
        path: path.unwrap_or_default(),
        found,
        supported: SCHEMA,
    })
}

pub(super) fn schema_of(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

pub(super) const NAME: &str = "vault.db";
const SIDE_FILES: [&str; 3] = ["vault.db-wal", "vault.db-shm", "vault.db-journal"];
const OPEN: &str = "be opened";
pub(super) const PREPARE: &str = "prepare its tables";
/// How long to wait for other processes.
const BUSY: Duration = Duration::from_secs(5);
const AVERAGE_MS: u128 = 3;
/// How long to wait where it can as well be done later.
const MOMENT: Duration = Duration::from_millis(250);
pub(super) const SCHEMA: i64 = MIGRATIONS.len() as i64;
/// One step per schema version; a step that was released never changes.
const MIGRATIONS: [&str; 3] = [
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
];
