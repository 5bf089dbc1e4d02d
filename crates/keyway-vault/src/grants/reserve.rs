//! Room on the disk, taken with a claim, so that the commit fits although others filled it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::ErrorKind;

use keyway_store::{GrantKey, OwnerId};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::error::VaultError;
use crate::folders::Folder;

/// Reserves disk space for the commit of one claim; tells whether there was none yet.
///
/// A file system that cannot reserve space is not an error: there the journal and the retries of
/// the commit have to do.
pub(super) fn take(data: &Folder, owner: &OwnerId, grant: &GrantKey) -> Result<bool, VaultError> {
    let name = name(owner, grant);
    if data.inspect(&name)? {
        return Ok(false);
    }
    let file = match data.create_open(&name) {
        // Another thread of this process was quicker.
        Err(VaultError::File { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
            return Ok(false);
        }
        created => created?,
    };
    match fallocate(&file, FallocateFlags::empty(), 0, BYTES) {
        Err(errno @ (Errno::NOSPC | Errno::DQUOT)) => {
            data.remove(&name)?;
            Err(VaultError::file("reserve room in", data.path(), errno))
        }
        _ => Ok(true),
    }
}

/// Gives the space back, so that the database gets it.
pub(super) fn free(data: &Folder, owner: &OwnerId, grant: &GrantKey) {
    // Failing leaves a small file, which is swept when its owner is gone.
    drop(data.remove(&name(owner, grant)));
}

/// Removes the reserves of owners that do not live any more.
pub(super) fn sweep(data: &Folder, is_dead: impl Fn(&OwnerId) -> bool) {
    let Ok(entries) = std::fs::read_dir(data.path()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        // The owner, and behind the last hyphen the grant.
        let kind = [PREFIX, UNSTORED].into_iter();
        let owner = kind.filter_map(|kind| name.strip_prefix(kind)).next();
        let owner = owner.and_then(|it| it.rsplit_once('-'));
        if owner.is_some_and(|(owner, _)| is_dead(&OwnerId::new(owner))) {
            drop(data.remove(name));
        }
    }
}

/// Shows that an owner has a new sign-in that is stored nowhere.
pub(super) fn show_unstored(data: &Folder, owner: &OwnerId, grant: &GrantKey) {
    drop(data.create_open(&format!("{UNSTORED}{owner}-{}", hash(grant))));
}

/// Shows it no longer.
pub(super) fn hide_unstored(data: &Folder, owner: &OwnerId, grant: &GrantKey) {
    drop(data.remove(&format!("{UNSTORED}{owner}-{}", hash(grant))));
}

/// Lists the owners that show it; they may have died since.
pub(super) fn unstored(data: &Folder, grant: &GrantKey) -> Vec<OwnerId> {
    let Ok(entries) = std::fs::read_dir(data.path()) else {
        return Vec::new();
    };
    let suffix = format!("-{}", hash(grant));
    let names = entries.flatten().map(|entry| entry.file_name());
    let owner = |name: std::ffi::OsString| {
        let owner = name.to_str()?.strip_prefix(UNSTORED)?;
        Some(OwnerId::new(owner.strip_suffix(&suffix)?))
    };
    names.filter_map(owner).collect()
}

/// One handle may hold several claims, each with space of its own.
fn name(owner: &OwnerId, grant: &GrantKey) -> String {
    format!("{PREFIX}{owner}-{}", hash(grant))
}

fn hash(grant: &GrantKey) -> String {
    let mut hasher = DefaultHasher::new();
    grant.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

const PREFIX: &str = "reserve-";
const UNSTORED: &str = "unstored-";
/// A commit writes a few pages of 4 KiB to the log, the tokens among them.
const BYTES: u64 = 256 * 1024;
