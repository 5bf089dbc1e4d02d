//! Owners of claims: one lock file per handle, which the kernel frees when its process dies.
//!
//! The lock is `flock(2)` on a file in the run-time folder. A file that is gone or can be locked
//! belongs to no living process. Owners carry the name of their run-time folder: whether an owner
//! in another one (a container with its own) lives cannot be seen from here, and then only the
//! lifetime of its claim ends it.

use std::os::fd::OwnedFd;

use keyway_store::OwnerId;
use rustix::fs::{AtFlags, FlockOperation};
use rustix::io::Errno;

use crate::error::VaultError;
use crate::folders::Folder;
use crate::seal::KeyId;

/// What the text of an [`OwnerId`] of ours consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalOwner {
    runtime: String,
    name: String,
}

impl LocalOwner {
    /// Reads a stored identity; `None` if another program wrote it.
    pub(crate) fn parse(id: &OwnerId) -> Option<Self> {
        let (runtime, name) = id.as_str().split_once('-')?;
        let ours = |part: &str| part.len() == 32 && part.bytes().all(|b| b.is_ascii_hexdigit());
        (ours(runtime) && ours(name)).then(|| Self {
            runtime: runtime.to_owned(),
            name: name.to_owned(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn id(&self) -> OwnerId {
        OwnerId::new(format!("{}-{}", self.runtime, self.name))
    }

    fn file(&self) -> String {
        format!("{}{SUFFIX}", self.name)
    }
}

/// A handle's own lock, held until it is dropped or the process dies.
#[derive(Debug)]
pub(crate) struct Owner {
    id: OwnerId,
    file: String,
    folder: Folder,
    lock: OwnedFd,
}

impl Owner {
    pub(crate) fn new(runtime: &Folder) -> Result<Self, VaultError> {
        let folder = runtime.folder(FOLDER)?;
        remove_dead(&folder);
        let owner = LocalOwner {
            runtime: runtime_name(runtime)?,
            name: KeyId::random()?.to_string(),
        };
        // Locked before it gets its name, so that no other process ever finds it unlocked.
        let draft = format!("new-{}", owner.name);
        let path = folder.path().join(&draft);
        let lock = folder.create_open(&draft)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|errno| VaultError::file("lock", &path, errno))?;
        // For a person who has to end it. On a full disk the name alone has to do.
        let pid = std::process::id().to_string();
        let _written: Result<usize, Errno> = rustix::io::write(&lock, pid.as_bytes());
        folder
            .publish(&draft, &owner.file())
            .map_err(|errno| VaultError::file("rename", &path, errno))?;
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

    /// Tells whether the lock can still be found by others; a run-time folder may be emptied.
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
    /// Its run-time folder is another one.
    Unknown,
}

/// Looks whether an owner lives; an identity that this crate did not write counts as dead.
pub(crate) fn liveness(runtime: &Folder, owner: &OwnerId) -> Result<Liveness, VaultError> {
    let Some(owner) = LocalOwner::parse(owner) else {
        return Ok(Liveness::Dead);
    };
    if owner.runtime != runtime_name(runtime)? {
        return Ok(Liveness::Unknown);
    }
    let folder = runtime.folder(FOLDER)?;
    let Some(file) = folder.open_file(&owner.file())? else {
        return Ok(Liveness::Dead);
    };
    // Shared, so that two who look at the same moment do not take each other for the owner.
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Liveness::Dead),
        Err(Errno::WOULDBLOCK) => Ok(Liveness::Alive),
        Err(errno) => Err(VaultError::file(
            "lock",
            &folder.path().join(owner.file()),
            errno,
        )),
    }
}

/// Tells whether an owner of this run-time folder lives; one that cannot be looked at counts.
pub(crate) fn is_locked(runtime: &Folder, name: &str) -> bool {
    let Ok(runtime_name) = runtime_name(runtime) else {
        return true;
    };
    let id = OwnerId::new(format!("{runtime_name}-{name}"));
    liveness(runtime, &id).map_or(true, |found| found == Liveness::Alive)
}

/// Returns the process of an owner in this run-time folder.
pub(crate) fn process(runtime: &Folder, owner: &OwnerId) -> Option<u32> {
    let owner = LocalOwner::parse(owner)?;
    let folder = runtime.folder(FOLDER).ok()?;
    let text = folder.read(&owner.file()).ok()??;
    std::str::from_utf8(text.expose()).ok()?.trim().parse().ok()
}

/// Returns the random name of this run-time folder, and gives it one first if need be.
fn runtime_name(runtime: &Folder) -> Result<String, VaultError> {
    for _ in 0..2 {
        if let Some(name) = runtime.read(NAME)? {
            let name = String::from_utf8_lossy(name.expose()).trim().to_owned();
            return Ok(name);
        }
        runtime.create(NAME, KeyId::random()?.to_string().as_bytes())?;
    }
    let gone = std::io::ErrorKind::NotFound;
    Err(VaultError::file("read", &runtime.path().join(NAME), gone))
}

/// Removes the lock files of owners that died. Failing leaves them for the next time.
pub(crate) fn remove_dead(folder: &Folder) {
    let Ok(entries) = std::fs::read_dir(folder.path()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.ends_with(SUFFIX)) else {
            continue;
        };
        if let Ok(Some(file)) = folder.open_file(name)
            && rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_ok()
        {
            drop(folder.remove(name));
        }
    }
}

const FOLDER: &str = "owners";
const NAME: &str = "id";
pub(crate) const SUFFIX: &str = ".lock";
