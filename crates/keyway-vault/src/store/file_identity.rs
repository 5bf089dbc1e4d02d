//! Which file a connection leads to.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::create::lost;
use crate::error::{Loss, VaultError};

/// Which file a connection leads to. Device numbers change with a reboot, so it is stored nowhere.
pub(super) struct FileIdentity {
    pub(super) path: PathBuf,
    device: u64,
    inode: u64,
}

impl FileIdentity {
    pub(super) fn of(path: PathBuf) -> Result<Self, VaultError> {
        let found = path.symlink_metadata();
        let found = found.map_err(|source| VaultError::file("inspect", &path, source))?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
            path,
        })
    }

    /// Says whether the name still leads to the file. What is written to another one is lost with
    /// this process, and what another process planted there must not be used.
    pub(super) fn check(&self) -> Result<(), VaultError> {
        let how = match self.path.symlink_metadata() {
            Ok(found) if (found.dev(), found.ino()) == (self.device, self.inode) => return Ok(()),
            Ok(_) => Loss::Replaced,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Loss::Missing,
            Err(source) => return Err(VaultError::file("inspect", &self.path, source)),
        };
        Err(lost(&self.path, how))
    }
}
