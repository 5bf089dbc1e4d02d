//! Noticing that files have changed, by looking at them now and then.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// How files look from outside; two that are the same stand for the same content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamps(BTreeMap<PathBuf, Option<Stamp>>);

/// How one file looks. The time of a change of its state cannot be set back by who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamps {
    /// Looks at files, links followed; one that is not there counts as well.
    #[must_use]
    pub fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let stamp = |file: &PathBuf| {
            let found = fs::metadata(file).ok()?;
            Some(Stamp {
                device: found.dev(),
                inode: found.ino(),
                bytes: found.size(),
                modified: (found.mtime(), found.mtime_nsec()),
                changed: (found.ctime(), found.ctime_nsec()),
            })
        };
        let files = files.into_iter();
        Self(files.map(|file| (file.clone(), stamp(&file))).collect())
    }

    /// Returns how these files look: those that are known as they were, others as they are now.
    #[must_use]
    pub fn with(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut now = Self::default();
        for file in files {
            match self.0.remove_entry(&file) {
                Some((file, stamp)) => drop(now.0.insert(file, stamp)),
                None if now.0.contains_key(&file) => {}
                None => now.0.extend(Self::of([file]).0),
            }
        }
        now
    }

    /// Looks at the same files again.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::of(self.0.keys().cloned())
    }
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
}
