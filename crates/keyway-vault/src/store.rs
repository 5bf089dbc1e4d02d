//! The vault itself: one SQLite file, its key, and transactions that hold the right key.

mod backup;
mod collect_rows;
mod connection;
mod create;
mod damaged;
mod data_key;
mod erase;
mod file_identity;
mod header;
mod inspect;
mod library;
mod manifest;
mod namespace;
mod page_rows;
mod record_store;
mod records;
mod rekey;
mod stuck_lock;

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyway_store::{OwnerId, Timestamp};
use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Obstacle, VaultError};
use crate::folders::{Folder, Folders};
use crate::key::{KeySources, Locator, Protection};
use crate::owner::{Owner, OwnerFolders};
use crate::seal::{Key, KeyId};
use crate::unlocked_key::UnlockedKey;
use crate::use_marker::UseMarkers;

use self::connection::Opened;
use self::file_identity::FileIdentity;
use self::header::Header;

pub(crate) use self::backup::{Log, copy_into, swap};
pub(crate) use self::collect_rows::collect_rows;
pub(crate) use self::damaged::{copy_aside, exclude_others, open_damaged};
pub(crate) use self::data_key::DataKey;
pub(crate) use self::manifest::{Contents, Listing};

pub use self::inspect::Inspection;
pub use self::namespace::Namespace;
pub use self::page_rows::{PageRow, PageValue, Tree, rows_of_pages};
pub use self::records::{Entry, Record, Sealed};
pub use self::rekey::Rekeyed;

/// An open vault. Cheap to share by reference between threads; calls take turns.
#[derive(Debug)]
pub struct Vault {
    data: Folder,
    config: Folder,
    runtime: Folder,
    /// Held for a whole transaction, which may wait for another process that writes; never across
    /// anything that calls back into the vault. Locked on threads that may wait.
    inner: Mutex<Inner>,
    /// Made at the first claim; a process that only reads leaves no lock file.
    /// Held while that file is made or looked for. Neither lock is taken under the other.
    owner: Mutex<Option<Owner>>,
    use_markers: UseMarkers,
    /// Relaxed, like `writes`: numbers to show, which guard no other data.
    reads: AtomicU64,
    /// Relaxed, as above.
    writes: AtomicU64,
}

impl Vault {
    /// Opens the vault in `folders`, and makes it first if there is none.
    ///
    /// # Errors
    ///
    /// [`VaultError::KeyringLocked`], [`VaultError::KeyringTimedOut`], [`VaultError::WrongKey`] and
    /// [`VaultError::Corrupt`] each need another answer from the person; in none of them was
    /// anything changed. [`VaultError::Exposed`] names the file, what is wrong with it and the
    /// command that puts it right.
    pub fn open(folders: &Folders, sources: KeySources) -> Result<Self, VaultError> {
        let data = Folder::open(&folders.data)?;
        let config = Folder::open(&folders.config)?;
        let runtime = Folder::open(&folders.runtime)?;
        if !Self::exists(folders)? {
            create::make(&data, &config, &sources)?;
        }
        let opened = connection::open(&data)?;
        let mut inner = Inner::new(opened, &data, &config, sources)?;
        if inner.obstacle.is_none() {
            upgrade(&mut inner, (&data, &config))?;
            inner.locator(&config).leave_trace(&inner.keys.header.key);
        }
        let vault = Self::with(inner, [data, config, runtime]);
        vault.finish_erasing();
        Ok(vault)
    }

    /// Opens a file of the data folder that is not the vault of other processes.
    pub(crate) fn open_file(
        folders: &Folders,
        name: &str,
        sources: KeySources,
    ) -> Result<Self, VaultError> {
        let data = Folder::open(&folders.data)?;
        let config = Folder::open(&folders.config)?;
        let runtime = Folder::open(&folders.runtime)?;
        let opened = connection::open_alone(&data, name)?;
        let mut inner = Inner::new(opened, &data, &config, sources)?;
        upgrade(&mut inner, (&data, &config))?;
        Ok(Self::with(inner, [data, config, runtime]))
    }

    /// Closes the file, so that all of it is written and it can be renamed.
    pub(crate) fn close_file(self) -> Result<(), VaultError> {
        let inner = self.inner.into_inner();
        create::close(inner.unwrap_or_else(PoisonError::into_inner).connection)
    }

    fn with(inner: Inner, [data, config, runtime]: [Folder; 3]) -> Self {
        Self {
            data,
            config,
            runtime,
            inner: Mutex::new(inner),
            owner: Mutex::new(None),
            use_markers: UseMarkers::default(),
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
        }
    }

    /// Returns the vault's own name, which its copies share.
    pub(crate) fn name(&self) -> KeyId {
        self.lock().keys.header.vault
    }

    /// Gives access to the sealed rows of one namespace.
    #[must_use]
    pub const fn sealed(&self, namespace: Namespace) -> Sealed<'_> {
        Sealed::new(self, namespace)
    }

    /// Describes how well the key is protected.
    #[must_use]
    pub fn protection(&self) -> Protection {
        let inner = self.lock();
        inner
            .locator(&self.config)
            .protection(&inner.keys.header.key)
    }

    /// Returns what another process of this program can open this vault with.
    #[must_use]
    pub fn unlocked_key(&self) -> UnlockedKey {
        let inner = self.lock();
        UnlockedKey::new(inner.keys.header.key.id, inner.keys.wrap.clone())
    }

    /// Returns where the database is.
    #[must_use]
    pub fn data_folder(&self) -> &Path {
        self.data.path()
    }

    /// Returns how often this handle went to the database since it was opened.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics {
            reads: self.reads.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
        }
    }

    /// Runs `work` on one consistent state.
    pub(crate) fn read_scope<T>(
        &self,
        action: &'static str,
        work: impl Fn(&Scope<'_>) -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let folders = (&self.data, &self.config);
        transact(&mut self.lock(), folders, Access::Read, action, work)
    }

    /// Runs `work` while no other process writes; what it changed is on disk when this returns.
    pub(crate) fn write_scope<T>(
        &self,
        action: &'static str,
        work: impl Fn(&Scope<'_>) -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        let folders = (&self.data, &self.config);
        transact(&mut self.lock(), folders, Access::Write, action, work)
    }

    /// Lends this handle's lock, made again if other processes can no longer find it.
    pub(crate) fn with_owner<T>(&self, use_it: impl FnOnce(&Owner) -> T) -> Result<T, VaultError> {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        let current = match owner.take().filter(Owner::is_visible) {
            Some(current) => current,
            None => {
                let new = Owner::new(&self.data).map_err(|error| self.obstructed(error))?;
                for folder in [&self.data, &self.config, &self.runtime] {
                    new.remove_drafts(folder);
                }
                new
            }
        };
        Ok(use_it(owner.insert(current)))
    }

    /// Names what keeps the folder from being changed, if that is why something failed.
    fn obstructed(&self, error: VaultError) -> VaultError {
        let VaultError::File { source, .. } = &error else {
            return error;
        };
        let why = match source.kind() {
            ErrorKind::ReadOnlyFilesystem => Obstacle::ReadOnlyFileSystem,
            ErrorKind::PermissionDenied => Obstacle::PermissionDenied,
            ErrorKind::StorageFull => Obstacle::DiskFull,
            _ => return error,
        };
        let path = self.data.path().join(connection::NAME);
        VaultError::Unwritable { path, why }
    }

    /// Returns this handle's identity, if it has claimed before.
    pub(crate) fn owner_if_any(&self) -> Option<OwnerId> {
        let owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        owner.as_ref().map(|owner| owner.id().clone())
    }

    pub(crate) const fn use_markers(&self) -> &UseMarkers {
        &self.use_markers
    }

    pub(crate) const fn data(&self) -> &Folder {
        &self.data
    }

    /// Opens the run-time folder: it may have been removed and made again since the vault was opened.
    pub(crate) fn runtime(&self) -> Result<Folder, VaultError> {
        Folder::open(self.runtime.path())
    }

    /// Returns where owners of claims have their locks.
    pub(crate) fn owners(&self) -> OwnerFolders<'_> {
        OwnerFolders {
            data: &self.data,
            runtime: self.runtime.path(),
        }
    }

    /// Opens one more connection to the same file.
    pub(crate) fn connect(&self) -> Result<Connection, VaultError> {
        Ok(connection::open(&self.data)?.connection)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in between leaves a transaction that was rolled back, so the state is sound.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often a handle went to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Transactions that only read.
    pub reads: u64,
    /// Transactions that may have written.
    pub writes: u64,
}

/// What the lock of a [`Vault`] guards.
struct Inner {
    /// One without tables while `is_closed`.
    connection: Connection,
    /// Set if it had to be closed and could not be opened again.
    is_closed: bool,
    /// Set while the connection is one for reading only.
    obstacle: Option<Obstacle>,
    file: FileIdentity,
    keys: Keys,
    sources: KeySources,
}

impl Inner {
    fn new(
        opened: Opened,
        data: &Folder,
        config: &Folder,
        sources: KeySources,
    ) -> Result<Self, VaultError> {
        let Opened {
            connection,
            obstacle,
            name,
        } = opened;
        let file = FileIdentity::of(data.path().join(name))?;
        let keys = unlock(&connection, config, &sources)?;
        Ok(Self {
            connection,
            is_closed: false,
            obstacle,
            file,
            keys,
            sources,
        })
    }

    /// Makes sure that the connection leads to the file that has the vault's name, and that it can
    /// be written to if need be.
    fn check(&mut self, data: &Folder, access: Access) -> Result<(), VaultError> {
        self.file.check()?;
        if self.is_closed {
            self.connection = connection::open_for_writing(data)?;
            self.is_closed = false;
        }
        let Some(why) = self.obstacle else {
            return Ok(());
        };
        // The disk may have space again by now, and other processes may have written.
        if let Ok(connection) = connection::open_for_writing(data) {
            self.connection = connection;
            self.obstacle = None;
        } else if access != Access::Read {
            let path = self.file.path.clone();
            return Err(VaultError::Unwritable { path, why });
        }
        Ok(())
    }

    /// Exchanges a connection that holds a lock although its transaction has ended.
    fn reopen_if_stuck(&mut self, data: &Folder) {
        let is_shared = self.file.path.ends_with(connection::NAME);
        if !is_shared
            || self.obstacle.is_some()
            || !stuck_lock::is_held(data, connection::SHARED_MEMORY)
        {
            return;
        }
        let Ok(none) = Connection::open_in_memory() else {
            return;
        };
        // Closed before the next is opened: connections of one process share their locks.
        drop(std::mem::replace(&mut self.connection, none));
        match connection::open_for_writing(data) {
            Ok(connection) => self.connection = connection,
            // Said to the next transaction; this one has succeeded or failed on its own.
            Err(_) => self.is_closed = true,
        }
    }

    const fn locator<'a>(&'a self, config: &'a Folder) -> Locator<'a> {
        Locator {
            sources: &self.sources,
            config,
            vault: self.keys.header.vault,
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// The keys of an unlocked vault, as of one header.
#[derive(Debug)]
pub(crate) struct Keys {
    header: Header,
    /// Wraps data keys.
    wrap: Key,
    /// Seals the manifests.
    index: DataKey,
}

impl Keys {
    pub(crate) const fn index(&self) -> &DataKey {
        &self.index
    }

    fn unwrapped(connection: &Connection, wrap: Key, header: Header) -> Result<Self, VaultError> {
        let index = data_key::load(connection, &wrap, &header.key.id, &header.index)?;
        Ok(Self {
            header,
            wrap,
            index,
        })
    }
}

/// One transaction and the keys that fit what it sees.
pub(crate) struct Scope<'a> {
    pub(crate) tx: &'a Connection,
    pub(crate) keys: &'a Keys,
}

impl Scope<'_> {
    /// Returns the store's clock, which all processes share.
    pub(crate) fn now(&self) -> Result<Timestamp, VaultError> {
        self.tx
            .prepare_cached("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)")
            .and_then(|mut query| query.query_row([], |row| row.get(0)))
            .map(Timestamp::from_unix_millis)
            .map_err(VaultError::database("read the clock"))
    }
}

/// What a transaction is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    /// Writes although the tables are those of an older version.
    Upgrade,
}

/// Runs `work` in a transaction, with the key that the header names at that moment.
fn transact<T>(
    inner: &mut Inner,
    folders: (&Folder, &Folder),
    access: Access,
    action: &'static str,
    work: impl Fn(&Scope<'_>) -> Result<T, VaultError>,
) -> Result<T, VaultError> {
    let outcome = begin_and_end(inner, folders, access, action, work);
    // Looked at however it ended: a transaction that is given up gives its locks up as well.
    if access != Access::Read {
        inner.reopen_if_stuck(folders.0);
    }
    outcome
}

fn begin_and_end<T>(
    inner: &mut Inner,
    (data, config): (&Folder, &Folder),
    access: Access,
    action: &'static str,
    work: impl Fn(&Scope<'_>) -> Result<T, VaultError>,
) -> Result<T, VaultError> {
    let behavior = match access {
        Access::Read => TransactionBehavior::Deferred,
        Access::Write | Access::Upgrade => TransactionBehavior::Immediate,
    };
    inner.check(data, access)?;
    for _ in 0..KEY_CHANGES {
        let tx = inner
            .connection
            .transaction_with_behavior(behavior)
            .map_err(VaultError::database(action))?;
        if access == Access::Write {
            connection::check_schema(&tx, action)?;
        }
        if header::key_id(&tx)? == inner.keys.header.key.id {
            let scope = Scope {
                tx: &tx,
                keys: &inner.keys,
            };
            let out = match work(&scope) {
                // A newer version seals other things: then nothing is damaged.
                Err(damaged @ VaultError::Corrupt { .. }) => {
                    connection::check_schema(&tx, action)?;
                    return Err(damaged);
                }
                out => out?,
            };
            tx.commit().map_err(VaultError::database(action))?;
            return Ok(out);
        }
        // Another process changed the key: ask the source again, holding no lock meanwhile.
        drop(tx);
        inner.keys = unlock(&inner.connection, config, &inner.sources)?;
    }
    Err(VaultError::Busy)
}

/// Brings the vault of an older version to the present schema, in one transaction.
fn upgrade(inner: &mut Inner, folders: (&Folder, &Folder)) -> Result<(), VaultError> {
    let failed = || VaultError::database(connection::PREPARE);
    let found = connection::schema_of(&inner.connection).map_err(failed())?;
    if found == connection::SCHEMA {
        return Ok(());
    }
    transact(
        inner,
        folders,
        Access::Upgrade,
        connection::PREPARE,
        |scope| {
            // Looked at again: another process may have been first.
            let found = connection::schema_of(scope.tx).map_err(failed())?;
            if found >= connection::SCHEMA {
                return Ok(());
            }
            connection::apply_steps(scope.tx, found).map_err(failed())?;
            manifest::split_into_buckets(scope)
        },
    )
}

/// Fetches the key that the header names.
fn unlock(
    connection: &Connection,
    config: &Folder,
    sources: &KeySources,
) -> Result<Keys, VaultError> {
    for _ in 0..KEY_CHANGES {
        let header = header::read(connection)?;
        let id = header.key.id;
        match recall(connection, config, sources, header) {
            // Meanwhile another process changed the key: what looks wrong or lost is only old.
            Err(_) if header::key_id(connection)? != id => {}
            result => return result,
        }
    }
    Err(VaultError::Busy)
}

/// Asks the recorded source for the key.
fn recall(
    connection: &Connection,
    config: &Folder,
    sources: &KeySources,
    header: Header,
) -> Result<Keys, VaultError> {
    let wrap = wrap_of(config, sources, &header)?;
    Keys::unwrapped(connection, wrap, header)
}

/// Asks the recorded source for the key that wraps data keys.
fn wrap_of(config: &Folder, sources: &KeySources, header: &Header) -> Result<Key, VaultError> {
    let handed_over = sources.unlocked.as_ref();
    if let Some(wrap) = handed_over.and_then(|key| key.wrap_of(&header.key.id)) {
        return Ok(wrap.clone());
    }
    let locator = Locator {
        sources,
        config,
        vault: header.vault,
    };
    data_key::wrap_key(&locator.recall(&header.key)?)
}

/// How often the key may change under one call before it gives up.
const KEY_CHANGES: usize = 5;

#[cfg(test)]
pub(crate) mod tests;
