//! The processes that use a sign-in right now, and asking them to stop: one lock file per user,
//! which the kernel frees when its process dies.
//!
//! Removing the file asks; freeing the lock answers. Nothing is written to the store for it.
//! All sessions of a process share one file, so that a session costs no descriptor.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
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

/// The marks of a process, one for each sign-in that it uses.
#[derive(Debug, Default)]
pub(crate) struct UseMarkers {
    /// By the start of the file's name. Held while a file is made, so that two sessions that begin
    /// together make one; locked on threads that may wait, under no other lock of the vault.
    by_prefix: Mutex<BTreeMap<String, Weak<LockFileMarker>>>,
}

impl UseMarkers {
    /// Returns the mark of a sign-in; a new one if it has none, or one that asks to stop.
    pub(crate) fn mark(
        &self,
        runtime: &Folder,
        grant: &GrantKey,
    ) -> Result<SharedMarker, VaultError> {
        let by_prefix = self.by_prefix.lock();
        let mut by_prefix = by_prefix.unwrap_or_else(PoisonError::into_inner);
        let prefix = prefix(grant);
        let known = by_prefix.get(&prefix).and_then(Weak::upgrade);
        if let Some(marker) = known.filter(|marker| !marker.is_stop_requested()) {
            return Ok(SharedMarker(marker));
        }
        let marker = Arc::new(LockFileMarker::new(runtime, &prefix)?);
        by_prefix.retain(|_, marker| marker.strong_count() > 0);
        by_prefix.insert(prefix, Arc::downgrade(&marker));
        Ok(SharedMarker(marker))
    }
}

/// One session's part in a mark, which goes with the last of them.
#[derive(Debug)]
pub(crate) struct SharedMarker(Arc<LockFileMarker>);

impl UseMarker for SharedMarker {
    fn is_stop_requested(&self) -> bool {
        self.0.is_stop_requested()
    }
}

/// A file that is locked for as long as the sign-in is in use.
///
/// ```text
///   draft, locked ──publish──▶ in use ──stop_users removes the file──▶ asked to stop
///                                │                                          │ unmark
///                                └──dropped, or the process dies──▶ free ◀──┘
/// ```
#[derive(Debug)]
struct LockFileMarker {
    folder: Folder,
    name: String,
    lock: OwnedFd,
}

impl LockFileMarker {
    fn new(runtime: &Folder, prefix: &str) -> Result<Self, VaultError> {
        let folder = runtime.folder(FOLDER)?;
        let own = KeyId::random()?.to_string();
        // Locked before it gets its name, so that no other process ever finds it unlocked.
        let draft = format!("{DRAFT}{own}");
        let path = folder.path().join(&draft);
        let lock = folder.create_open(&draft)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|errno| VaultError::lock(&path, errno))?;
        let name = format!("{prefix}{own}{SUFFIX}");
        folder
            .publish(&draft, &name)
            .map_err(|errno| VaultError::file("rename", &path, errno))?;
        remove_dead(&folder, &lock);
        Ok(Self { folder, name, lock })
    }

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
pub(crate) fn stop_users(
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
