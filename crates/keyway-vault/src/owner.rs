//! Owners of claims: one lock file per handle, which the kernel frees when its process dies.
//!
//! The lock is `flock(2)` on a file below the data folder, which all processes that share a vault
//! have in common, whatever their run-time folders are. A file that is gone or can be locked belongs
//! to no living process. Owners carry the name of the folder they lie in: processes of an earlier
//! version have theirs in the run-time folder, which is looked at as well. Whether an owner in a
//! third folder lives cannot be seen from here, and then only the lifetime of its claim ends it.

use std::os::fd::OwnedFd;
use std::path::Path;

use keyway_store::OwnerId;
use rustix::fs::{AtFlags, FlockOperation};
use rustix::io::Errno;

use crate::error::VaultError;
use crate::folders::Folder;
use crate::seal::KeyId;

/// What the text of an [`OwnerId`] of ours consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalOwner {
    /// The name of the folder that `owners` lies in.
    place: String,
    name: String,
}

impl LocalOwner {
    /// Reads a stored identity; `None` if another program wrote it.
    pub(crate) fn parse(id: &OwnerId) -> Option<Self> {
        let (place, name) = id.as_str().split_once('-')?;
        let ours = |part: &str| part.len() == 32 && part.bytes().all(|b| b.is_ascii_hexdigit());
        (ours(place) && ours(name)).then(|| Self {
            place: place.to_owned(),
            name: name.to_owned(),
        })
    }

    fn id(&self) -> OwnerId {
        OwnerId::new(format!("{}-{}", self.place, self.name))
    }

    fn file(&self) -> String {
        format!("{}{SUFFIX}", self.name)
    }
}

/// A handle's own lock, held until it is dropped or the process dies.
///
/// ```text
///   draft, locked ──publish──▶ alive ──dropped: file removed, then unlocked──▶ gone
///                                └──process dies: unlocked──▶ dead ──remove_dead──▶ gone
/// ```
#[derive(Debug)]
pub(crate) struct Owner {
    id: OwnerId,
    file: String,
    folder: Folder,
    lock: OwnedFd,
}

impl Owner {
    pub(crate) fn new(data: &Folder) -> Result<Self, VaultError> {
        let folder = data.folder(FOLDER)?;
        let owner = LocalOwner {
            place: place_name(&folder)?,
            name: KeyId::random()?.to_string(),
        };
        // Locked before it gets its name, so that no other process ever finds it unlocked.
        let draft = format!("{DRAFT}{}", owner.name);
        let path = folder.path().join(&draft);
        let lock = folder.create_open(&draft)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|errno| VaultError::lock(&path, errno))?;
        // For a person who has to end it. On a full disk the name alone has to do.
        let pid = std::process::id().to_string();
        let _written: Result<usize, Errno> = rustix::io::write(&lock, pid.as_bytes());
        folder
            .publish(&draft, &owner.file())
            .map_err(|errno| VaultError::file("rename", &path, errno))?;
        remove_dead(&folder, &lock);
        Ok(Self {
            id: owner.id(),
            file: owner.file(),
            folder,
            lock,
        })
    }

    pub(crate) const fn id(&self) -> &OwnerId {
        &self.id
    }

    /// Removes drafts that [`Folder::create`] left in a folder when its process was killed. Those of
    /// a vault's own file have longer names, and are removed by what makes them.
    pub(crate) fn remove_drafts(&self, folder: &Folder) {
        let is_draft = |name: &str| {
            let id = name.strip_prefix(DRAFT);
            id.is_some_and(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()))
        };
        remove_if(folder, &self.lock, |name| {
            is_draft(name).then_some(OLD_DRAFT)
        });
    }

    /// Tells whether other processes can still find the lock; its folder may have been emptied.
    pub(crate) fn is_visible(&self) -> bool {
        is_there(&self.folder, &self.file, &self.lock)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // The lock is freed right after, when the descriptor closes.
        drop(self.folder.remove(&self.file));
    }
}

/// Tells whether a name still leads to an open file.
pub(crate) fn is_there(folder: &Folder, name: &str, file: &OwnedFd) -> bool {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let held = rustix::fs::fstat(file);
    matches!((found, held), (Ok(found), Ok(held))
        if (found.st_dev, found.st_ino) == (held.st_dev, held.st_ino))
}

/// What can be said of an owner from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    Alive,
    Dead,
    /// Its lock lies in a folder that is not known here.
    Unknown,
}

/// The folders in which owners can have their locks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnerFolders<'a> {
    pub(crate) data: &'a Folder,
    /// Where earlier versions had them; it need not exist any more.
    pub(crate) runtime: &'a Path,
}

impl OwnerFolders<'_> {
    /// Looks whether an owner lives; an identity that this crate did not write counts as dead.
    pub(crate) fn liveness(&self, owner: &OwnerId) -> Result<Liveness, VaultError> {
        let Some(owner) = LocalOwner::parse(owner) else {
            return Ok(Liveness::Dead);
        };
        let Some(folder) = self.of(&owner)? else {
            return Ok(Liveness::Unknown);
        };
        let Some(file) = folder.open_file(&owner.file())? else {
            return Ok(Liveness::Dead);
        };
        // Shared, so that two processes that look at the same moment do not take each other for the
        // owner.
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(Liveness::Dead),
            Err(Errno::WOULDBLOCK) => Ok(Liveness::Alive),
            Err(errno) => Err(VaultError::lock(&folder.path().join(owner.file()), errno)),
        }
    }

    /// Returns the process of an owner.
    pub(crate) fn process(&self, owner: &OwnerId) -> Option<u32> {
        let owner = LocalOwner::parse(owner)?;
        let folder = self.of(&owner).ok()??;
        let text = folder.read(&owner.file()).ok()??;
        std::str::from_utf8(text.expose()).ok()?.trim().parse().ok()
    }

    /// Returns the folder that an owner has its lock in, if it is one of these.
    fn of(&self, owner: &LocalOwner) -> Result<Option<Folder>, VaultError> {
        let folder = self.data.folder(FOLDER)?;
        if place_name(&folder)? == owner.place {
            return Ok(Some(folder));
        }
        if !self.runtime.join(FOLDER).is_dir() {
            return Ok(None);
        }
        // The name of a run-time folder lies beside its locks.
        let runtime = Folder::open(self.runtime)?;
        let name = runtime.read(NAME)?;
        let is_it = name.is_some_and(|name| name.expose().trim_ascii() == owner.place.as_bytes());
        is_it.then(|| runtime.folder(FOLDER)).transpose()
    }
}

/// Returns the random name of a folder of locks, and gives it one first if need be.
fn place_name(folder: &Folder) -> Result<String, VaultError> {
    for _ in 0..2 {
        if let Some(name) = folder.read(NAME)? {
            let name = String::from_utf8_lossy(name.expose()).trim().to_owned();
            return Ok(name);
        }
        folder.create(NAME, KeyId::random()?.to_string().as_bytes())?;
    }
    let gone = std::io::ErrorKind::NotFound;
    Err(VaultError::file("read", &folder.path().join(NAME), gone))
}

/// Removes the lock files of owners that died, and drafts that never became anything: of processes
/// that were killed in between. `own` was locked just now.
pub(crate) fn remove_dead(folder: &Folder, own: &OwnedFd) {
    remove_if(folder, own, |name| {
        let is_draft = name.starts_with(DRAFT);
        (is_draft || name.ends_with(SUFFIX)).then_some(if is_draft { OLD_DRAFT } else { 0 })
    });
}

/// Removes the files that `old_after` knows once they are that many seconds old and no process has
/// them locked. Failing leaves them for the next time. `own` was made just now: its time is that of
/// the file system's clock.
fn remove_if(folder: &Folder, own: &OwnedFd, old_after: impl Fn(&str) -> Option<i64>) {
    let Ok(entries) = std::fs::read_dir(folder.path()) else {
        return;
    };
    let now = modified(own);
    let age = |file: &OwnedFd| Some(now?.saturating_sub(modified(file)?));
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((name, old_after)) = name.to_str().and_then(|it| Some((it, old_after(it)?)))
        else {
            continue;
        };
        if let Ok(Some(file)) = folder.open_file(name)
            && (old_after == 0 || age(&file).is_some_and(|age| age > old_after))
            && rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_ok()
        {
            drop(folder.remove(name));
        }
    }
}

/// Returns when a file was changed last, in seconds since 1970.
fn modified(file: &OwnedFd) -> Option<i64> {
    Some(rustix::fs::fstat(file).ok()?.st_mtime)
}

/// Begins the name of a file that is not finished.
pub(crate) const DRAFT: &str = "new-";
/// In seconds. One between being made and being locked or named is new; no process needs an hour for
/// that.
const OLD_DRAFT: i64 = 3600;
const FOLDER: &str = "owners";
const NAME: &str = "id";
pub(crate) const SUFFIX: &str = ".lock";
