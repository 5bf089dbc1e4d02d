//! Copies of the whole vault, and giving one the vault's name.
//!
//! A copy is sealed as the vault is, and opens with the key of its day, which is not in it.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::error::VaultError;
use crate::folders::Folder;
use crate::seal::KeyId;

use super::{Vault, connection};

impl Vault {
    /// Writes a copy of the vault to a new file (0600), consistent whatever other processes do.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::BackupExists`] if there is such a file, which is left as it is.
    pub fn backup(&self, to: &Path) -> Result<(), VaultError> {
        let failed = |source| VaultError::file("create", to, source);
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(to);
        let file = made.map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => VaultError::BackupExists {
                path: to.to_owned(),
            },
            _ => failed(source),
        })?;
        let name = to.to_str().ok_or_else(|| VaultError::invalid_name("copy"));
        let copied = name.and_then(|name| {
            // SQLite fills an empty file, and leaves out what was deleted.
            let inner = self.lock();
            inner.file.check()?;
            inner
                .connection
                .execute("VACUUM INTO ?1", [name])
                .map_err(VaultError::database("be copied"))
        });
        let copied = copied
            .and_then(|_| file.sync_all().map_err(failed))
            .and_then(|()| sync_folder_of(to));
        if copied.is_err() {
            // Half a copy must not be taken for one.
            drop(std::fs::remove_file(to));
        }
        copied
    }
}

/// Copies a file from anywhere to a draft in the data folder.
pub(crate) fn copy_into(data: &Folder, draft: &str, from: &Path) -> Result<(), VaultError> {
    let failed = |source| VaultError::file("read", from, source);
    let mut source = File::open(from).map_err(failed)?;
    if source.metadata().map_err(failed)?.len() == 0 {
        return Err(VaultError::NotAVault {
            path: from.to_owned(),
        });
    }
    let mut target = File::from(data.create_open(draft)?);
    std::io::copy(&mut source, &mut target).map_err(failed)?;
    Ok(())
}

/// What becomes of the log of a vault that makes way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// It is written into the file.
    Ends,
    /// It stays beside the file, which is not written to.
    MovesAside,
}

/// Gives a finished file the vault's name; returns the name that the earlier one got.
///
/// Nothing may have the earlier one open: its log would be taken for that of the new one.
pub(crate) fn swap(data: &Folder, draft: &str, log: Log) -> Result<Option<PathBuf>, VaultError> {
    let name = connection::NAME;
    let mut previous = None;
    if data.size(name)?.is_some() {
        let aside = format!("old-{}.db", KeyId::random()?);
        if log == Log::Ends {
            end_log(data)?;
        }
        for side in connection::SIDE_FILES {
            // What is left belongs to a file that does not open; the pair stays together.
            let moved = data.rename(&format!("{name}{side}"), &format!("{aside}{side}"));
            moved.or_else(|error| match error {
                VaultError::File { source, .. } if source.kind() == ErrorKind::NotFound => Ok(()),
                error => Err(error),
            })?;
        }
        data.link(name, &aside)?;
        previous = Some(data.path().join(aside));
    }
    data.rename(draft, name)?;
    data.sync()?;
    Ok(previous)
}

/// Copies the log into the database and removes it, which takes that no other process has it open.
fn end_log(data: &Folder) -> Result<(), VaultError> {
    let path = data.path().join(connection::NAME);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let ended = Connection::open_with_flags(path, flags)
        .and_then(|connection| {
            connection.pragma_update_and_check(None, "journal_mode", "DELETE", |row| {
                row.get::<_, String>(0)
            })
        })
        .map_err(VaultError::database("end its log"));
    match ended {
        Err(VaultError::Busy) => Err(VaultError::Busy),
        // SQLite says that the mode stayed where others are in the way.
        Ok(mode) if mode == "wal" => Err(VaultError::Busy),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn sync_folder_of(path: &Path) -> Result<(), VaultError> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|source| VaultError::file("sync", folder, source))
}
