//! Opening the database file, safely and with the settings that durability rests on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, FlockOperation, StatVfsMountFlags, fcntl_lock};
use rustix::io::Errno;

use super::{library, stuck_lock};
use crate::error::{Obstacle, VaultError};
use crate::folders::Folder;
use crate::owner::DRAFT;
use crate::seal::KeyId;
use crate::timeouts::{BUSY_TIMEOUT, CHECKPOINT_BUSY_TIMEOUT};

/// An open database, and what keeps it from being changed.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) obstacle: Option<Obstacle>,
    /// The file in the data folder.
    pub(super) name: String,
}

/// Opens the database in `folder`, of this version or an older one.
///
/// Where it cannot be changed, because the disk is full or read-only, it is opened for reading.
pub(super) fn open(folder: &Folder) -> Result<Opened, VaultError> {
    let opened = open_for_writing(folder);
    let obstacle = match &opened {
        Err(VaultError::Database { .. }) => obstacle(folder),
        _ => None,
    };
    let Some(obstacle) = obstacle else {
        let obstacle = None;
        return opened.map(|connection| Opened {
            connection,
            obstacle,
            name: NAME.to_owned(),
        });
    };
    let connection = open_for_reading(folder)?;
    Ok(Opened {
        connection,
        obstacle: Some(obstacle),
        name: NAME.to_owned(),
    })
}

/// Opens a file that no other process knows, without a log: after closing it is one file.
pub(super) fn open_alone(folder: &Folder, name: &str) -> Result<Opened, VaultError> {
    let mut connection = without_log(folder, name)?;
    defend(&mut connection).map_err(VaultError::database(OPEN))?;
    check_tables(folder, &connection)?;
    Ok(Opened {
        connection,
        obstacle: None,
        name: name.to_owned(),
    })
}

/// Opens the database for reading and writing.
pub(super) fn open_for_writing(folder: &Folder) -> Result<Connection, VaultError> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        // Changing to the log mode and recovering a log take a lock without waiting for it.
        match try_open(folder).and_then(|connection| {
            check_tables(folder, &connection)?;
            Ok(connection)
        }) {
            Err(VaultError::Busy) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            // Recovering a log takes locks as well. Closed, so that they go with it.
            Ok(stuck)
                if stuck_lock::is_held(folder, SHARED_MEMORY) && Instant::now() < deadline =>
            {
                drop(stuck);
                std::thread::sleep(Duration::from_millis(5));
            }
            // SQLite takes a lock that the file system does not have for one that others hold.
            Err(VaultError::Busy) => return Err(without_locks(folder).unwrap_or(VaultError::Busy)),
            result => return result,
        }
    }
}

/// Tries such a lock as SQLite takes, on a file that no other process knows.
fn without_locks(folder: &Folder) -> Option<VaultError> {
    let name = format!("{DRAFT}{}", KeyId::random().ok()?);
    let file = folder.create_open(&name).ok()?;
    let locked = fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive);
    drop(folder.remove(&name));
    let errno = locked.err().filter(|errno| *errno == Errno::NOLCK)?;
    Some(VaultError::lock(&folder.path().join(NAME), errno))
}

fn try_open(folder: &Folder) -> Result<Connection, VaultError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(file(folder, NAME)?, flags)
        .map_err(VaultError::database(OPEN))?;
    configure(&mut connection).map_err(VaultError::database(OPEN))?;
    Ok(connection)
}

/// Opens the database where nothing can be written, not even the memory that processes share.
///
/// Without a log, nothing of it can change: a process that wanted to would need a log. If one frees
/// space and writes nevertheless, what is read meanwhile may not fit together; the seals show that.
pub(super) fn open_for_reading(folder: &Folder) -> Result<Connection, VaultError> {
    let log = folder.size(LOG)?.unwrap_or(0);
    let path = file(folder, NAME)?;
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => address.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(*byte)),
            byte => address.push_str(&format!("%{byte:02x}")),
        }
    }
    address.push_str(if log == 0 { "?immutable=1" } else { "?mode=ro" });
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let failed = || VaultError::database(OPEN);
    let mut connection = Connection::open_with_flags(address, flags).map_err(failed())?;
    defend(&mut connection).map_err(failed())?;
    check_tables(folder, &connection)?;
    Ok(connection)
}

/// Finds out what keeps the files in a folder from being changed.
fn obstacle(folder: &Folder) -> Option<Obstacle> {
    let system = rustix::fs::fstatvfs(folder).ok()?;
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Some(Obstacle::ReadOnlyFileSystem);
    }
    // SQLite's shared memory takes 32 KiB.
    if system.f_bavail.saturating_mul(system.f_frsize) < 64 * 1024 {
        return Some(Obstacle::DiskFull);
    }
    let may_write = |path: &Path| rustix::fs::access(path, Access::WRITE_OK).is_ok();
    let may_write = may_write(folder.path()) && may_write(&folder.path().join(NAME));
    (!may_write).then_some(Obstacle::PermissionDenied)
}

/// Returns the path of a file of the vault, after the checks.
fn file(folder: &Folder, name: &str) -> Result<PathBuf, VaultError> {
    for side in SIDE_FILES {
        folder.inspect(&format!("{name}{side}"))?;
    }
    folder.inspect(name)?;
    // SQLite refuses a link anywhere in the path; only the last part matters, and was checked.
    let path = std::fs::canonicalize(folder.path())
        .map_err(|source| VaultError::file("find", folder.path(), source))?;
    Ok(path.join(name))
}

/// Opens a new, empty file that no other process knows, and makes the tables in it.
pub(super) fn make_tables(folder: &Folder, name: &str) -> Result<Connection, VaultError> {
    make_older_tables(folder, name, SCHEMA)
}

/// As [`make_tables`], with the tables of an older version.
pub(super) fn make_older_tables(
    folder: &Folder,
    name: &str,
    schema: i64,
) -> Result<Connection, VaultError> {
    let connection = without_log(folder, name)?;
    let made = apply(&connection, 0, schema);
    made.map_err(VaultError::database(PREPARE))?;
    Ok(connection)
}

fn without_log(folder: &Folder, name: &str) -> Result<Connection, VaultError> {
    let failed = || VaultError::database(OPEN);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(file(folder, name)?, flags).map_err(failed())?;
    connection
        .pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))
        .map_err(failed())?;
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(failed())?;
    Ok(connection)
}

fn defend(connection: &mut Connection) -> rusqlite::Result<()> {
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
    connection.pragma_update(None, "cell_size_check", "ON")
}

fn configure(connection: &mut Connection) -> rusqlite::Result<()> {
    defend(connection)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update_and_check(None, "secure_delete", "ON", |_| Ok(()))?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// Runs `work` such that it gives up on others after a moment.
pub(super) fn impatiently<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.busy_timeout(CHECKPOINT_BUSY_TIMEOUT)?;
    let result = work(connection);
    connection.busy_handler(Some(wait_for_others))?;
    result
}

/// Waits a little before the next attempt to get a lock; tells whether there is one.
///
/// SQLite's own way sleeps for a tenth of a second after a few attempts, and a process that sleeps
/// that long never gets the lock from busy writers. Times differ, so that waiting processes do not
/// retry in step.
fn wait_for_others(attempt: i32) -> bool {
    let spread = u64::from(std::process::id()).wrapping_add(attempt.unsigned_abs().into()) % 5;
    std::thread::sleep(Duration::from_millis(1 + spread));
    u128::from(attempt.unsigned_abs()) * AVERAGE_MS < BUSY_TIMEOUT.as_millis()
}

/// Refuses what is not a vault, or that of a newer version.
fn check_tables(folder: &Folder, connection: &Connection) -> Result<(), VaultError> {
    let path = folder.path().join(NAME);
    match schema_of(connection).map_err(VaultError::database(OPEN))? {
        0 => Err(VaultError::NotAVault { path }),
        found if found > SCHEMA => Err(VaultError::NewerSchema {
            path,
            found,
            supported: SCHEMA,
        }),
        _ => Ok(()),
    }
}

/// Changes the tables of schema `found` to the present ones.
pub(super) fn apply_steps(connection: &Connection, found: i64) -> rusqlite::Result<()> {
    apply(connection, found, SCHEMA)
}

fn apply(connection: &Connection, found: i64, wanted: i64) -> rusqlite::Result<()> {
    let [found_steps, wanted_steps] = [found, wanted].map(|it| usize::try_from(it).unwrap_or(0));
    let steps = MIGRATIONS.iter().take(wanted_steps).skip(found_steps);
    for step in steps {
        connection.execute_batch(step)?;
    }
    connection.pragma_update(None, "user_version", wanted)
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
pub(super) const LOG: &str = "vault.db-wal";
pub(super) const SHARED_MEMORY: &str = "vault.db-shm";
pub(super) const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];
const OPEN: &str = "be opened";
pub(super) const PREPARE: &str = "prepare its tables";
const AVERAGE_MS: u128 = 3;
pub(super) const SCHEMA: i64 = MIGRATIONS.len() as i64;
/// One step per schema version; a step that was released never changes.
const MIGRATIONS: [&str; 3] = [
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
];
