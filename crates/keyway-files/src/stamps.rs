//! Noticing that files have changed, by looking at them now and then.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How files look from outside; two that are the same stand for the same content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamps {
    files: BTreeMap<PathBuf, Option<Stamp>>,
    are_own: bool,
}

/// How one file looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    /// The time of the last status change, which the writer of a file cannot set back.
    changed: Option<(i64, i64)>,
}

impl Stamps {
    /// Looks at files, links followed; one that is not there counts as well.
    #[must_use]
    pub fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self::look(files, false)
    }

    /// Looks at files that only we write. Their state may change when they are merely opened: the
    /// database of the superuser sets their owner each time.
    #[must_use]
    pub fn of_own(files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self::look(files, true)
    }

    fn look(files: impl IntoIterator<Item = PathBuf>, are_own: bool) -> Self {
        let files = files.into_iter().map(|file| {
            let stamp = stamp(&file, are_own);
            (file, stamp)
        });
        Self {
            files: files.collect(),
            are_own,
        }
    }

    /// Returns how these files look: those that are known as they were, others as they are now.
    #[must_use]
    pub fn with(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut now = BTreeMap::new();
        for file in files {
            match self.files.remove_entry(&file) {
                Some((file, stamp)) => drop(now.insert(file, stamp)),
                None if now.contains_key(&file) => {}
                None => {
                    let stamp = stamp(&file, self.are_own);
                    now.insert(file, stamp);
                }
            }
        }
        self.files = now;
        self
    }

    /// Looks at the same files again.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::look(self.files.keys().cloned(), self.are_own)
    }
}

fn stamp(file: &Path, is_own: bool) -> Option<Stamp> {
    let found = fs::metadata(file).ok()?;
    Some(Stamp {
        device: found.dev(),
        inode: found.ino(),
        bytes: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (!is_own).then(|| (found.ctime(), found.ctime_nsec())),
    })
}

#[cfg(test)]
mod tests {
    use keyway_testkit::Folder;

    use super::*;

    #[test]
    fn every_way_to_change_a_file_is_noticed() {
        let folder = Folder::new().file("a", "one").file("other", "two");
        let before = Stamps::of([folder.at("a"), folder.at("b")]);
        assert_eq!(before, before.again());
        folder.put("a", "longer");
        let longer = before.again();
        assert_ne!(longer, before);
        fs::rename(folder.at("other"), folder.at("a")).unwrap();
        let renamed = before.again();
        assert_ne!(renamed, longer);
        folder.put("b", "");
        let appeared = before.again();
        assert_ne!(appeared, renamed);
        fs::remove_file(folder.at("a")).unwrap();
        assert_ne!(before.again(), appeared);
    }

    #[test]
    fn of_our_own_files_only_the_content_counts() {
        let folder = Folder::new().file("a", "one");
        let (own, foreign) = (
            Stamps::of_own([folder.at("a")]),
            Stamps::of([folder.at("a")]),
        );
        // What the database does to its files when the superuser opens them.
        let metadata = fs::metadata(folder.at("a")).unwrap();
        // The clock of the file system moves in steps.
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::os::unix::fs::chown(folder.at("a"), Some(metadata.uid()), Some(metadata.gid()))
            .unwrap();
        assert_eq!(own.again(), own);
        assert_ne!(foreign.again(), foreign);
        folder.put("a", "two and more");
        assert_ne!(own.again(), own);
    }
}
