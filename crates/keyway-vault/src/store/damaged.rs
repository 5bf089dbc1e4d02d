//! Getting at what is left of a damaged vault, without writing to it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use rusqlite::Connection;
use rustix::fs::{FlockOperation, OFlags};

use crate::error::{Loss, VaultError};
use crate::folders::{Folder, Folders};
use crate::key::KeySources;

use super::header::Header;
use super::page_rows::page_size;
use super::{
    FileIdentity, Inner, Keys, Scope, Vault, connection, create, data_key, header, unlock, upgrade,
    wrap_of,
};

/// Makes sure that no other process has the vault open, or opens it.
///
/// A process with an open connection holds a shared lock on the file. The lock ends with the
/// descriptor, or with any other of this file in this process.
pub(crate) fn exclude_others(data: &Folder) -> Result<File, VaultError> {
    let path = data.path().join(connection::NAME);
    data.inspect(connection::NAME)?;
    // For writing, because the lock takes that; nothing is written.
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&path)
        .map_err(|source| VaultError::file("open", &path, source))?;
    match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Err(VaultError::Busy),
        Err(errno) => Err(VaultError::file("lock", &path, errno)),
    }
}

/// Copies the database, which `vault` has locked, and its log.
///
/// The database is read through `vault` itself: closing any other descriptor of it would end the
/// lock, whichever descriptor took it.
///
/// A file that was cut off is made as long as its header says, with zeros: SQLite opens no file that
/// is shorter, and reads every page that is whole.
pub(crate) fn copy_aside(mut vault: &File, data: &Folder, copy: &str) -> Result<(), VaultError> {
    let path = data.path().join(connection::NAME);
    let failed = |source| VaultError::file("copy", &path, source);
    let mut contents = Vec::new();
    vault.rewind().map_err(failed)?;
    vault.read_to_end(&mut contents).map_err(failed)?;
    let mut target = File::from(data.create_open(copy)?);
    target.write_all(&contents).map_err(failed)?;
    if let Some(length) = length_by_header(&contents)
        && length > contents.len() as u64
    {
        target.set_len(length).map_err(failed)?;
    }
    let path = data.path().join(connection::LOG);
    let failed = |source| VaultError::file("copy", &path, source);
    match std::fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        log => {
            let log = log.map_err(failed)?;
            let mut target = File::from(data.create_open(&format!("{copy}-wal"))?);
            target.write_all(&log).map_err(failed)
        }
    }
}

/// Returns how long a database is by its header (section 1.3 of SQLite's file format); `None` where
/// that cannot be: the header may be damaged too.
fn length_by_header(contents: &[u8]) -> Option<u64> {
    let page = u64::try_from(page_size(contents)?).ok()?;
    let pages = contents.get(28..32)?.try_into().ok()?;
    let length = page.checked_mul(u32::from_be_bytes(pages).into())?;
    (length <= MAX_LENGTH).then_some(length)
}

/// Opens the copy as far as that takes its header and key, and nothing else.
pub(crate) fn open_damaged(
    folders: &Folders,
    copy: &str,
    sources: KeySources,
) -> Result<Vault, VaultError> {
    let beyond_repair = |error| match error {
        VaultError::Corrupt { .. } | VaultError::NotAVault { .. } => {
            create::lost(&folders.data.join(connection::NAME), Loss::Damaged)
        }
        error => error,
    };
    let data = Folder::open(&folders.data)?;
    let config = Folder::open(&folders.config)?;
    let runtime = Folder::open(&folders.runtime)?;
    let opened = connection::open_alone(&data, copy).map_err(beyond_repair)?;
    let connection = opened.connection;
    let keys = keys(&connection, &config, &sources).map_err(beyond_repair)?;
    let mut inner = Inner {
        file: FileIdentity::of(data.path().join(copy))?,
        is_closed: false,
        connection,
        obstacle: None,
        keys,
        sources,
    };
    upgrade(&mut inner, (&data, &config)).map_err(beyond_repair)?;
    Ok(Vault::with(inner, [data, config, runtime]))
}

/// Fetches the keys; where that of the lists does not open, the lists get a new one.
fn keys(
    connection: &Connection,
    config: &Folder,
    sources: &KeySources,
) -> Result<Keys, VaultError> {
    match unlock(connection, config, sources) {
        Err(VaultError::Corrupt { .. }) => {
            let header = header::read(connection)?;
            let wrap = wrap_of(config, sources, &header)?;
            let index = data_key::create(connection, &wrap, &header.key.id)?;
            connection
                .execute("UPDATE header SET index_key = ?1", [index.id().as_bytes()])
                .map_err(VaultError::database(ACTION))?;
            let header = Header {
                index: *index.id(),
                ..header
            };
            Ok(Keys {
                header,
                wrap,
                index,
            })
        }
        keys => keys,
    }
}

impl Vault {
    /// Makes a draft with the header of this vault, and runs `work` while the draft is attached as
    /// `draft`, for rows to be copied to it.
    pub(crate) fn salvage<T>(
        &self,
        draft: &str,
        work: impl FnOnce(&Scope<'_>) -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        drop(self.data.create_open(draft)?);
        create::close(connection::make_tables(&self.data, draft)?)?;
        let path = std::fs::canonicalize(self.data.path().join(draft))
            .map_err(|source| VaultError::file("find", self.data.path(), source))?;
        let path = path
            .to_str()
            .ok_or_else(|| VaultError::invalid_name("folder"))?;
        let inner = self.lock();
        let run = |sql: &str, parameters: &[&dyn rusqlite::ToSql]| {
            let done = inner.connection.execute(sql, parameters);
            done.map(drop).map_err(VaultError::database(ACTION))
        };
        run("ATTACH ?1 AS draft", &[&path])?;
        run("INSERT INTO draft.header SELECT * FROM header", &[])?;
        let scope = Scope {
            tx: &inner.connection,
            keys: &inner.keys,
        };
        scope.copy_data_key(inner.keys.header.index.as_bytes())?;
        let done = work(&scope)?;
        run("DETACH draft", &[])?;
        Ok(done)
    }
}

impl Scope<'_> {
    /// Copies a data key to the draft.
    pub(crate) fn copy_data_key(&self, id: &[u8]) -> Result<(), VaultError> {
        let copied = self.tx.execute(
            "INSERT OR IGNORE INTO draft.data_keys SELECT * FROM data_keys WHERE id = ?1",
            [id],
        );
        copied.map(drop).map_err(VaultError::database(ACTION))
    }
}

const ACTION: &str = "be repaired";
/// No vault comes near: ten thousand sign-ins take some 40 MiB.
const MAX_LENGTH: u64 = 16 << 30;
