//! All files below a plugin's folder as one digest, with a cache by inode, size and change time.
//!
//! ```text
//! walk ─▶ stamp of all entries ─same as stored─▶ stored digest      nothing is read or listed
//!                 └──another──▶ walk, file by file: same stamp, stored content; otherwise read
//! ```
//!
//! Three things are left out: Keyway's own folders, the repository of version control at the top,
//! and the values of the entry's own env file, so that another token needs no new approval.

use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};

use crate::hash::{Hash, Hasher};
use crate::manifest::{Manifest, ManifestFile};
use crate::regular_file;
use crate::walk::{EntryKind, FileStamp, GIT, MAX_BYTES, TooLarge, TreePlace, Visited, walk};

/// The files of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// Names, inodes, sizes and change times.
    pub(crate) stamp: Hash,
    /// Names and contents.
    pub(crate) content: Hash,
    /// How many files there are.
    pub(crate) count: usize,
    /// File by file; not read if the stamp said enough.
    pub(crate) manifest: Option<Arc<Manifest>>,
    /// No file changed so recently that a further change could have the same time.
    pub(crate) is_settled: bool,
    /// Names of what can be read from the tree, but not by us, or not now: it is not covered.
    pub(crate) uncovered: Vec<String>,
    /// The repository of version control is there, and is left out.
    pub(crate) leaves_out_git: bool,
}

/// What is known of a tree from an earlier look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownTree {
    pub(crate) stamp: Hash,
    pub(crate) content: Hash,
}

impl TreePlace {
    /// Counts the tree.
    ///
    /// `known` is what an approval has of it, and `files` is asked for that approval's files only if
    /// the tree is another.
    pub(crate) fn count(
        &self,
        known: Option<KnownTree>,
        files: impl FnOnce() -> Option<Manifest>,
        now: SystemTime,
    ) -> Result<Tree, TooLarge> {
        let leaves_out_git = self.leaves_out_git();
        // Of a tree that is unchanged nothing is kept in memory.
        if let Some(known) = known {
            let tree = self.look(leaves_out_git, now)?.finish(leaves_out_git);
            if tree.stamp == known.stamp {
                return Ok(Tree {
                    content: known.content,
                    ..tree
                });
            }
        }
        let (mut look, mut entries) = (Look::new(now), Vec::new());
        walk(self, leaves_out_git, |visited| {
            look.add(&visited);
            entries.push(Entry::from(visited));
        })?;
        entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        let known = files().unwrap_or_default();
        let manifest = Manifest::new(entries.into_iter().map(|entry| entry.read(&known, now)));
        Ok(Tree {
            content: manifest.content(),
            manifest: Some(Arc::new(manifest)),
            ..look.finish(leaves_out_git)
        })
    }

    /// Returns the stamp of the tree as it is now.
    pub(crate) fn stamp(&self) -> Result<Hash, TooLarge> {
        let leaves_out_git = self.leaves_out_git();
        let look = self.look(leaves_out_git, SystemTime::UNIX_EPOCH)?;
        Ok(look.finish(leaves_out_git).stamp)
    }

    fn look(&self, leaves_out_git: bool, now: SystemTime) -> Result<Look, TooLarge> {
        let mut look = Look::new(now);
        walk(self, leaves_out_git, |visited| look.add(&visited))?;
        Ok(look)
    }

    fn leaves_out_git(&self) -> bool {
        self.root.join(GIT).join("HEAD").is_file()
    }
}

/// What a walk tells of a tree, as it goes.
struct Look {
    now: SystemTime,
    hasher: Hasher,
    count: usize,
    is_settled: bool,
    uncovered: Vec<String>,
}

impl Look {
    fn new(now: SystemTime) -> Self {
        Self {
            now,
            hasher: Hasher::default(),
            count: 0,
            is_settled: true,
            uncovered: Vec::new(),
        }
    }

    fn add(&mut self, visited: &Visited<'_>) {
        let Visited { path, kind, .. } = visited;
        self.hasher.field(b"path", path);
        kind.stamp(|stamp| self.hasher.field(kind.label(), stamp));
        self.count += 1;
        self.is_settled &= kind.is_settled(self.now);
        if kind.is_uncovered() {
            let name = String::from_utf8_lossy(path).into_owned();
            self.uncovered.push(name);
        }
    }

    /// Returns the tree, without its content.
    fn finish(self, leaves_out_git: bool) -> Tree {
        Tree {
            stamp: self.hasher.finish(),
            content: Hash::default(),
            count: self.count,
            manifest: None,
            is_settled: self.is_settled,
            uncovered: self.uncovered,
            leaves_out_git,
        }
    }
}

/// An entry of a tree that is not as it was.
struct Entry {
    path: Vec<u8>,
    /// Where it is.
    real: PathBuf,
    kind: EntryKind,
}

impl From<Visited<'_>> for Entry {
    fn from(visited: Visited<'_>) -> Self {
        Self {
            path: visited.path.to_vec(),
            real: visited.folder.join(visited.name),
            kind: visited.kind,
        }
    }
}

impl Entry {
    /// Returns what counts of the entry; a file is read only if it is not as in `known`.
    fn read(self, known: &Manifest, now: SystemTime) -> ManifestFile {
        let Self { path, real, kind } = self;
        let label = kind.label();
        let mut stamp = kind.stamp(|stamp| Hasher::of(label, stamp));
        if let Some(known) = known.find(&path).filter(|known| known.stamp == stamp) {
            return known.clone();
        }
        if !kind.is_settled(now) {
            // It may yet change without another time, so that this must never be found again.
            stamp = Hash::default();
        }
        let content = match &kind {
            EntryKind::File(stamp) => file_hash(&real, *stamp, b""),
            EntryKind::LinkOut(target, stamp) => {
                file_hash(&real, *stamp, target.as_os_str().as_bytes())
            }
            kind => kind.stamp(|stamp| Hasher::of(label, stamp)),
        };
        ManifestFile {
            path,
            stamp,
            content,
        }
    }
}

fn file_hash(path: &Path, stamp: FileStamp, target: &[u8]) -> Hash {
    let mut hasher = Hasher::default();
    hasher.field(b"target", target);
    hasher.field(b"executable", &[stamp.is_executable.into()]);
    match content(path) {
        Some(content) => hasher.field(b"content", &content),
        // It may still be run. That it is another file is all that can be told.
        None => hasher.field(b"unreadable", &stamp.bytes()),
    }
    hasher.finish()
}

/// Hashes a file; `None` if it cannot be read.
pub(crate) fn content(path: &Path) -> Option<Hash> {
    // It may have grown meanwhile.
    let mut file = regular_file::open(path).ok()?.take(MAX_BYTES + 1);
    let mut hasher = Blake2b::<U32>::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finalize().into()),
            read => hasher.update(buffer.get(..read)?),
        }
    }
}

const BUFFER: usize = 64 * 1024;
