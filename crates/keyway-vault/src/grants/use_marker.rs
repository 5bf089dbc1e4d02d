//! The processes that use a sign-in right now, and asking them to stop: one lock file per user,
//! which the kernel frees when its process dies.
//!
//! Removing the file asks; freeing the lock answers. Nothing is written to the store for it.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use blake2::{Blake2b256, Digest as _};
use keyway_store::{GrantKey, StoppedUsers, UseMarker};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::error::VaultError;
use crate::folders::Folder;
use crate::seal::KeyId;

use crate::owner::{DRAFT, SUFFIX, is_there, remove_dead};
use crate::timeouts::USERS_POLL_INTERVAL;

/// A file that is locked for as long as the sign-in is in use.
///
/// ```text
///   draft, locked ──publish──▶ in use ──stop_users removes the file──▶ asked to stop
///                                │                                          │ unmark
///                                └──dropped, or the process dies──▶ free ◀──┘
/// ```
#[derive(Debug)]
pub(super) struct LockFileMarker {
    folder: Folder,
    name: String,
    lock: OwnedFd,
}

impl LockFileMarker {
    pub(super) fn new(runtime: &Folder, grant: &GrantKey) -> Result<Self, VaultError> {
        let folder = runtime.folder(FOLDER)?;
        let own = KeyId::random()?.to_string();
        // Locked before it gets its name, so that no other process ever finds it unlocked.
        let draft = format!("{DRAFT}{own}");
        let path = folder.path().join(&draft);
        let lock = folder.create_open(&draft)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|errno| VaultError::lock(&path, errno))?;
        let name = format!("{}{own}{SUFFIX}", prefix(grant));
        folder
            .publish(&draft, &name)
            .map_err(|errno| VaultError::file("rename", &path, errno))?;
        remove_dead(&folder, &lock);
        Ok(Self { folder, name, lock })
    }
}

impl UseMarker for LockFileMarker {
    fn is_stop_requested(&self) -> bool {
        !is_there(&self.folder, &self.name, &self.lock)
    }
}

impl Drop for LockFileMarker {
    fn drop(&mut self) {
        // The lock is freed right after, when the descriptor closes.
        drop(self.folder.remove(&self.name));
    }
}

/// Asks all users of a sign-in to stop, and waits for them.
pub(super) fn stop_users(
    runtime: &Folder,
    grant: &GrantKey,
    timeout: Duration,
) -> Result<StoppedUsers, VaultError> {
    let folder = runtime.folder(FOLDER)?;
    let entries = std::fs::read_dir(folder.path())
        .map_err(|source| VaultError::file("list", folder.path(), source))?;
    let prefix = prefix(grant);
    let mut users = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(&prefix)) else {
            continue;
        };
        let Some(file) = folder.open_file(name)? else {
            continue;
        };
        folder.remove(name)?;
        users.push(file);
    }
    // The lock of a process that died is free: there is nothing to wait for.
    users.retain(is_held);
    let told = users.len();
    let end = Instant::now() + timeout;
    while !users.is_empty() && Instant::now() < end {
        std::thread::sleep(USERS_POLL_INTERVAL);
        users.retain(is_held);
    }
    Ok(StoppedUsers::new(told - users.len(), users.len()))
}

fn is_held(file: &OwnedFd) -> bool {
    // Shared, so that two processes that look at once do not take each other for the user. A lock
    // that is obtained is released with `file`.
    let locked = rustix::fs::flock(file, FlockOperation::NonBlockingLockShared);
    locked == Err(Errno::WOULDBLOCK)
}

/// Returns the start of the names of a sign-in's lock files, which does not reveal the sign-in.
fn prefix(grant: &GrantKey) -> String {
    let hash = Blake2b256::digest(grant.index());
    let hash = hash.iter().take(16);
    let mut name: String = hash.map(|byte| format!("{byte:02x}")).collect();
    name.push('-');
    name
}

const FOLDER: &str = "users";
