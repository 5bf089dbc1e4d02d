//! Which folders of ours a host knows, by what they are and not by what they are called.
//!
//! A folder is covered before every start of a child. If another one lay under its name by then,
//! that one would be covered and ours would lie open elsewhere. So a host remembers device and
//! inode of each folder when it first meets it, and starts nothing once they differ. Nothing of
//! this is stored: device numbers change with every reboot and in every container.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::LaunchError;

/// A folder or file by its place in a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderId {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl FolderId {
    /// Returns `None` for what is not a folder.
    pub(super) fn of(found: &fs::Metadata) -> Option<Self> {
        let (device, inode) = (found.dev(), found.ino());
        found.is_dir().then_some(Self { device, inode })
    }
}

/// A path with what lay there when this process met it; a file has no id, because files are replaced
/// when they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownPath {
    pub(super) path: PathBuf,
    pub(super) id: Option<FolderId>,
}

/// A grant, with what it led to when the person was asked about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownGrant {
    /// As it was written.
    pub(super) path: PathBuf,
    /// Without links.
    pub(super) real: PathBuf,
    /// A file has none, because files are replaced when they are written.
    pub(super) id: Option<FolderId>,
}

impl KnownGrant {
    /// Makes one of what was found: the path as it was written, the path without links, and device and
    /// inode of a folder.
    #[must_use]
    pub fn new(
        path: impl Into<PathBuf>,
        real: impl Into<PathBuf>,
        folder: Option<(u64, u64)>,
    ) -> Self {
        Self {
            path: path.into(),
            real: real.into(),
            id: folder.map(|(device, inode)| FolderId { device, inode }),
        }
    }

    /// Says whether this is what lies there now.
    pub(super) fn is_there(&self) -> bool {
        let real = fs::canonicalize(&self.path).is_ok_and(|real| real == self.real);
        real && id_of(&self.path).is_ok_and(|id| id == self.id)
    }
}

/// The folders of ours that were met so far, with what they are. Clones share what they know; a
/// process with several hosts gives all of them a clone of one.
#[derive(Debug, Clone, Default)]
pub struct KnownFolders(
    /// Held for one look or one entry.
    Arc<Mutex<HashMap<PathBuf, FolderId>>>,
);

impl KnownFolders {
    /// Remembers the folders that are there, so that none can be exchanged before the first start.
    pub(super) fn remember(&self, paths: &[PathBuf]) {
        let mut known = self.lock();
        for path in paths {
            if let Ok(Some(id)) = id_of(path) {
                known.entry(path.clone()).or_insert(id);
            }
        }
    }

    /// Returns the folders with what they are. One that was never met is made, because what appears
    /// later could not be hidden from a child that runs.
    pub(super) fn identify(&self, paths: &[PathBuf]) -> Result<Vec<KnownPath>, LaunchError> {
        let mut known = self.lock();
        let mut hidden = Vec::with_capacity(paths.len());
        for path in paths {
            let found = match (id_of(path), known.get(path)) {
                (Ok(found), None) => found,
                (Ok(found), Some(before)) if found == Some(*before) => found,
                (Err(error), None) if error.kind() == io::ErrorKind::NotFound => {
                    make(path).map_err(LaunchError::Spawn)?
                }
                (Err(error), None) => return Err(LaunchError::Spawn(error)),
                (_, Some(_)) => return Err(LaunchError::FolderReplaced { path: path.clone() }),
            };
            if let Some(id) = found {
                known.insert(path.clone(), id);
            }
            hidden.push(KnownPath {
                path: path.clone(),
                id: found,
            });
        }
        Ok(hidden)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, FolderId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns those of other processes' places that are there. They may come and go: this process
/// keeps nothing in them, so it does not know what should lie there.
pub(super) fn find_others(paths: &[PathBuf]) -> Vec<KnownPath> {
    let found = paths.iter().filter_map(|path| {
        if !path.exists() && path.parent()?.is_dir() {
            // What appears later could not be hidden from a child that runs.
            drop(DirBuilder::new().mode(0o700).create(path));
        }
        Some(KnownPath {
            path: path.clone(),
            id: id_of(path).ok()?,
        })
    });
    found.collect()
}

/// Returns a plugin's folder with what it is now; `None` for one that is not there.
pub(crate) fn look_at_root(root: Option<&Path>) -> Option<KnownPath> {
    let path = root?.to_owned();
    let id = Some(id_of(&path).ok()??);
    Some(KnownPath { path, id })
}

fn make(path: &Path) -> io::Result<Option<FolderId>> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    id_of(path)
}

/// Returns `None` for what is there and is not a folder.
fn id_of(path: &Path) -> io::Result<Option<FolderId>> {
    Ok(FolderId::of(&fs::metadata(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e1_a_folder_that_was_exchanged_or_moved_is_refused_and_not_made_again() {
        let home = tempfile::TempDir::new().unwrap();
        let known = KnownFolders::default();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at(".config/keyway")).unwrap();
        let paths = [at(".config/keyway"), at("new/deep")];
        let first = known.identify(&paths).unwrap();
        assert!(at("new/deep").is_dir());
        assert_eq!(known.identify(&paths).unwrap(), first);

        fs::rename(at(".config"), at(".moved")).unwrap();
        let refused = known.identify(&paths).unwrap_err();
        assert!(matches!(refused, LaunchError::FolderReplaced { .. }));
        assert!(!at(".config").exists(), "nothing is made in its place");

        fs::create_dir_all(at(".config/keyway")).unwrap();
        let refused = known.identify(&paths).unwrap_err();
        assert!(matches!(refused, LaunchError::FolderReplaced { .. }));

        fs::remove_dir_all(at(".config")).unwrap();
        fs::rename(at(".moved"), at(".config")).unwrap();
        assert_eq!(known.identify(&paths).unwrap(), first);
    }

    #[test]
    fn e1_what_was_remembered_counts_before_the_first_start() {
        let home = tempfile::TempDir::new().unwrap();
        let folder = home.path().join("keyway");
        let known = KnownFolders::default();
        known.remember(std::slice::from_ref(&folder));
        fs::create_dir(&folder).unwrap();
        known.remember(std::slice::from_ref(&folder));
        fs::rename(&folder, home.path().join("away")).unwrap();
        // A clone knows the same, and another host nothing of it.
        let folder = [folder];
        assert!(known.clone().identify(&folder).is_err());
        assert!(KnownFolders::default().identify(&folder).is_ok());
    }

    #[test]
    fn e2_other_places_are_made_only_where_their_folder_is() {
        let home = tempfile::TempDir::new().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir(at(".config")).unwrap();
        let paths = [at(".config/keyway"), at(".local/share/keyway")];
        for _ in 0..2 {
            let found = find_others(&paths);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].path, paths[0]);
            // It may be another one the next time.
            fs::rename(&paths[0], at("away")).unwrap();
            fs::remove_dir(at("away")).unwrap();
        }
        assert!(!at(".local").exists());
    }

    #[test]
    fn a_file_may_be_replaced() {
        let home = tempfile::TempDir::new().unwrap();
        let file = home.path().join("key");
        let known = KnownFolders::default();
        for _ in 0..2 {
            drop(fs::File::create(home.path().join("new")).unwrap());
            fs::rename(home.path().join("new"), &file).unwrap();
            assert_eq!(
                known.identify(std::slice::from_ref(&file)).unwrap()[0].id,
                None
            );
        }
    }

    /// Only what is not there is made; what cannot be looked at is reported as it is.
    #[test]
    fn a_folder_that_cannot_be_looked_at_is_not_made() {
        let home = tempfile::TempDir::new().unwrap();
        let link = home.path().join("loop");
        std::os::unix::fs::symlink(&link, &link).unwrap();
        let seen = fs::metadata(&link).unwrap_err().raw_os_error();
        let refused = KnownFolders::default().identify(&[link]).unwrap_err();
        let LaunchError::Spawn(error) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(error.raw_os_error(), seen);
    }

    #[test]
    fn other_places_that_are_there_are_found_whatever_is_around_them() {
        let found = find_others(&[PathBuf::from("/")]);
        assert_eq!(found.len(), 1);
        assert!(found[0].id.is_some());
    }
}
