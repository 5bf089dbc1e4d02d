//! Room on the disk, taken with a claim, so that the commit fits although others filled it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

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
    let file = data.create_open(&name)?;
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
        let owner = name.strip_prefix(PREFIX).and_then(|it| it.rsplit_once('-'));
        if owner.is_some_and(|(owner, _)| is_dead(&OwnerId::new(owner))) {
            drop(data.remove(name));
        }
    }
}

/// One handle may hold several claims, each with space of its own.
fn name(owner: &OwnerId, grant: &GrantKey) -> String {
    let mut hasher = DefaultHasher::new();
    grant.hash(&mut hasher);
    format!("{PREFIX}{owner}-{:016x}", hasher.finish())
}

const PREFIX: &str = "reserve-";
/// A commit writes a few pages of 4 KiB to the log, the tokens among them.
const BYTES: u64 = 256 * 1024;
