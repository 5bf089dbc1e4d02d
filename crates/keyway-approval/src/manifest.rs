//! The files of a tree one by one, so that a change can be named, and an unchanged file is not read
//! again.

use crate::hash::{Hash, Hasher};

/// The files of a tree, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    files: Vec<ManifestFile>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestFile {
    /// Seen from the root.
    pub(crate) path: Vec<u8>,
    /// When it was what it is: inode, size and change time.
    pub(crate) stamp: Hash,
    /// What it is.
    pub(crate) content: Hash,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileChange {
    /// It was not there.
    Added,
    /// It is not there any more.
    Removed,
    /// It is another.
    Changed,
}

impl FileChange {
    /// Returns the word that is shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "new",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl Manifest {
    /// Takes files that are sorted by path.
    pub(crate) fn new(files: impl Iterator<Item = ManifestFile>) -> Self {
        Self {
            files: files.collect(),
        }
    }

    pub(crate) fn find(&self, path: &[u8]) -> Option<&ManifestFile> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_slice().cmp(path));
        self.files.get(at.ok()?)
    }

    /// Returns the digest of names and contents.
    pub(crate) fn content(&self) -> Hash {
        let mut hasher = Hasher::default();
        for file in &self.files {
            hasher.field(b"path", &file.path);
            hasher.field(b"content", &file.content);
        }
        hasher.finish()
    }

    /// Returns the files that differ, by name.
    pub(crate) fn changes_since(&self, before: &Self) -> Vec<(String, FileChange)> {
        let name = |file: &ManifestFile| String::from_utf8_lossy(&file.path).into_owned();
        let mut changes = Vec::new();
        for file in &self.files {
            match before.find(&file.path) {
                None => changes.push((name(file), FileChange::Added)),
                Some(old) if old.content != file.content => {
                    changes.push((name(file), FileChange::Changed));
                }
                Some(_) => {}
            }
        }
        let gone = before.files.iter();
        let gone = gone.filter(|file| self.find(&file.path).is_none());
        changes.extend(gone.map(|file| (name(file), FileChange::Removed)));
        changes.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        changes
    }

    /// Returns the bytes that a store keeps.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for ManifestFile {
            path,
            stamp,
            content,
        } in &self.files
        {
            let length = u32::try_from(path.len()).unwrap_or_default();
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(path);
            bytes.extend_from_slice(stamp);
            bytes.extend_from_slice(content);
        }
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote; `None` for anything else.
    #[must_use]
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut files = Vec::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let (path, rest) = rest.split_at_checked(length)?;
            let (stamp, rest) = rest.split_first_chunk()?;
            let (content, rest) = rest.split_first_chunk()?;
            files.push(ManifestFile {
                path: path.to_vec(),
                stamp: *stamp,
                content: *content,
            });
            bytes = rest;
        }
        files
            .is_sorted_by(|one, other| one.path < other.path)
            .then_some(Self { files })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(files: &[(&str, u8)]) -> Manifest {
        Manifest::new(files.iter().map(|(path, content)| ManifestFile {
            path: path.as_bytes().to_vec(),
            stamp: [7; 32],
            content: [*content; 32],
        }))
    }

    #[test]
    fn what_was_stored_is_read_only_whole_and_in_order() {
        let whole = manifest(&[("a", 1), ("a/b", 2), ("c", 3)]);
        let bytes = whole.to_bytes();
        assert_eq!(Manifest::from_bytes(&bytes), Some(whole));
        assert_eq!(Manifest::from_bytes(&[]), Some(Manifest::default()));
        assert_eq!(Manifest::from_bytes(&bytes[..bytes.len() - 1]), None);
        for files in [&[("b", 1), ("a", 1)][..], &[("a", 1), ("a", 2)]] {
            let bytes = manifest(files).to_bytes();
            assert_eq!(Manifest::from_bytes(&bytes), None, "{files:?}");
        }
    }

    #[test]
    fn a_file_is_new_changed_or_removed_by_its_content() {
        let before = manifest(&[("a", 1), ("b", 1), ("c", 1)]);
        let now = manifest(&[("a", 1), ("b", 2), ("d", 1)]);
        let changes: Vec<_> = now
            .changes_since(&before)
            .into_iter()
            .map(|(path, change)| format!("{path} {}", change.as_str()))
            .collect();
        assert_eq!(changes, ["b changed", "c removed", "d new"]);
        assert!(now.changes_since(&now).is_empty());
        assert_ne!(now.content(), before.content());
        assert_eq!(now.find(b"b").map(|file| file.content), Some([2; 32]));
        assert_eq!(now.find(b"c"), None);
    }
}
