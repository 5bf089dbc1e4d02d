//! The writer for people's files: all or nothing, through links, with mode and owner kept.
//!
//! The new content is written beside the file and renamed over it, so that a reader sees the old
//! or the new file and never a part. A second name of the same file (a hard link) keeps the old.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Gid, Uid};
use tempfile::{Builder, NamedTempFile};

use crate::error::WriteError;

/// Replaces the content of a file that was `read` before.
///
/// A link stays a link: what it leads to is written.
///
/// # Errors
///
/// Returns [`WriteError::Changed`] if the file is no longer what was read; it is then left alone.
pub fn replace(path: &Path, read: &[u8], content: &[u8]) -> Result<(), WriteError> {
    replace_with(path, read, content, PERMISSION_BITS)
}

/// Does the same, and removes the permissions of everyone but the owner.
///
/// # Errors
///
/// As for [`replace`].
pub fn replace_private(path: &Path, read: &[u8], content: &[u8]) -> Result<(), WriteError> {
    replace_with(path, read, content, OWNER_ONLY)
}

/// Replaces the content, keeping of the permissions those in `bits`.
fn replace_with(path: &Path, read: &[u8], content: &[u8], bits: u32) -> Result<(), WriteError> {
    let target = fs::canonicalize(path).map_err(|source| failed(path, source))?;
    if rustix::fs::access(&target, Access::WRITE_OK).is_err() {
        let path = path.to_path_buf();
        return Err(WriteError::ReadOnly { path });
    }
    let attempt = || -> io::Result<Option<NamedTempFile>> {
        let before = fs::metadata(&target)?;
        let mode = before.mode() & bits;
        let file = beside(&target, mode, content)?;
        keep_owner(file.as_file(), &before, mode)?;
        Ok((fs::read(&target)? == read).then_some(file))
    };
    match attempt().map_err(|source| failed(path, source))? {
        Some(file) => {
            let persisted = file.persist(&target).map_err(|error| error.error);
            persisted.map_err(|source| failed(path, source))?;
        }
        None => {
            let path = path.to_path_buf();
            return Err(WriteError::Changed { path });
        }
    }
    sync_folder(&target);
    Ok(())
}

/// Creates a file with the permissions `mode`, which are there from the first moment.
///
/// # Errors
///
/// Returns [`WriteError::Exists`] if there is anything under that name, a dangling link included.
pub fn create(path: &Path, content: &[u8], mode: u32) -> Result<(), WriteError> {
    let file = beside(path, mode, content).map_err(|source| failed(path, source))?;
    match file.persist_noclobber(path) {
        Ok(_) => {
            sync_folder(path);
            Ok(())
        }
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            let path = path.to_path_buf();
            Err(WriteError::Exists { path })
        }
        Err(error) => Err(failed(path, error.error)),
    }
}

/// Writes a new file in the folder of `target` and makes sure that it is on the disk.
fn beside(target: &Path, mode: u32, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = Builder::new()
        .prefix(".keyway-")
        .permissions(Permissions::from_mode(OWNER_ONLY))
        .tempfile_in(folder_of(target))?;
    file.write_all(content)?;
    // Set on the open file, so that the umask does not take anything away.
    file.as_file()
        .set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn keep_owner(file: &File, before: &fs::Metadata, mode: u32) -> io::Result<()> {
    let now = file.metadata()?;
    if (now.uid(), now.gid()) == (before.uid(), before.gid()) {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
    rustix::fs::fchown(file, Some(uid), Some(gid))?;
    // Changing the owner takes away the bits that lend rights.
    file.set_permissions(Permissions::from_mode(mode))
}

/// Makes the renaming last; a file system that cannot do that still has the file.
fn sync_folder(target: &Path) {
    let synced = File::open(folder_of(target)).and_then(|folder| folder.sync_all());
    drop(synced);
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn failed(path: &Path, source: io::Error) -> WriteError {
    let path = path.to_path_buf();
    WriteError::Failed { path, source }
}

const PERMISSION_BITS: u32 = 0o7777;
const OWNER_ONLY: u32 = 0o600;

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & PERMISSION_BITS
    }

    #[test]
    fn a_link_stays_a_link_and_mode_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        create(&real, b"old", 0o640).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        replace(&link, b"old", b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert_eq!(mode(&real), 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_private_file_is_taken_away_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        create(&file, b"old", 0o664).unwrap();
        replace_private(&file, b"old", b"new").unwrap();
        assert_eq!(
            (fs::read(&file).unwrap(), mode(&file)),
            (b"new".to_vec(), 0o600)
        );
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        create(&file, b"theirs", 0o644).unwrap();
        let error = replace(&file, b"old", b"new").unwrap_err();
        assert!(matches!(error, WriteError::Changed { .. }));
        assert_eq!(fs::read(&file).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_has_its_mode_whatever_the_umask_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        create(&file, b"a", 0o666).unwrap();
        assert_eq!(mode(&file), 0o666);
        let error = create(&file, b"b", 0o600).unwrap_err();
        assert!(matches!(error, WriteError::Exists { .. }));
        assert_eq!(fs::read(&file).unwrap(), b"a");
        let dangling = folder.path().join("dangling");
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        assert!(create(&dangling, b"b", 0o600).is_err());
    }
}
