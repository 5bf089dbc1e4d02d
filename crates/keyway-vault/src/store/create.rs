//! Whether there is a vault, and making one.
//!
//! ```text
//!   no file, no trace ──▶ key (pending) ──▶ draft: tables, header ──▶ vault.db ──▶ key has its name
//! ```
//!
//! A vault gets its name when it is complete, and its key gets its name after that. So a key without
//! a vault, like a file without content, means that a vault was lost, and no new one is made over it.

use std::path::Path;

use rustix::io::Errno;

use crate::error::{Loss, VaultError};
use crate::folders::{Folder, Folders};
use crate::key::{KeySources, Locator, has_trace_of_a_vault};
use crate::seal::KeyId;

use super::{Vault, connection, header};

impl Vault {
    /// Says whether there is a vault in `folders`; makes nothing, not even a folder.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Lost`] if there was one.
    pub fn exists(folders: &Folders) -> Result<bool, VaultError> {
        // In this order: a key gets its name when the vault has one, so a key that is seen here
        // means that the file was there before.
        let was_there = has_trace_of_a_vault(&folders.config);
        let path = folders.data.join(connection::NAME);
        match path.symlink_metadata() {
            Ok(found) if found.is_file() && found.len() == 0 => Err(lost(&path, Loss::Empty)),
            // SQLite takes a file of one byte for an empty one, and writes a database into it.
            Ok(found) if found.is_file() && found.len() < HEADER => Err(lost(&path, Loss::Damaged)),
            Ok(_) => Ok(true),
            Err(_) if was_there => Err(lost(&path, Loss::Missing)),
            Err(_) => Ok(false),
        }
    }
}

pub(super) fn lost(path: &Path, how: Loss) -> VaultError {
    VaultError::Lost {
        path: path.to_owned(),
        how,
    }
}

/// Makes a vault, unless another process is faster.
pub(super) fn make(data: &Folder, config: &Folder, sources: &KeySources) -> Result<(), VaultError> {
    let vault = KeyId::random()?;
    let locator = Locator {
        sources,
        config,
        vault,
    };
    let (key, record) = locator.choose()?;
    let draft = format!("new-{vault}.db");
    let made = data
        .create_open(&draft)
        .and_then(|file| {
            // Closed first: closing it later would drop SQLite's locks.
            drop(file);
            let connection = connection::make_tables(data, &draft)?;
            header::create(&connection, vault, &key, &record)?;
            close(connection)
        })
        .and_then(|()| match data.publish(&draft, connection::NAME) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(VaultError::file(
                "create",
                &data.path().join(connection::NAME),
                errno,
            )),
        });
    if matches!(made, Ok(true)) {
        // The vault is there from now on, so its key stays whatever happens. If a crash may still
        // take the vault, the key stays pending: one with its name would say that a vault was lost.
        data.sync()?;
        return locator.settle(&record);
    }
    drop(data.remove(&draft));
    // Whether it failed or another vault is there: nothing is sealed with this key.
    locator.retire(&record)?;
    made.map(drop)
}

/// Closes a file that is about to be renamed, so that all of it is written.
pub(super) fn close(connection: rusqlite::Connection) -> Result<(), VaultError> {
    connection
        .close()
        .map_err(|(_, error)| VaultError::database(connection::PREPARE)(error))
}

/// The header of a database file: without all of it there is nothing to open.
const HEADER: u64 = 100;
