//! All files below a plugin's folder as one digest, with a cache by inode, size and change time.
//!
//! ```text
//! walk ─▶ stamp of all entries ─same as stored─▶ stored digest      nothing is read
//!                 └──another──▶ file by file: same stamp, stored content; otherwise read
//! ```

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};

use crate::hash::{Hash, Hasher};
use crate::manifest::{Manifest, ManifestFile};
use crate::regular_file;

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
}

/// What is known of a tree from an earlier look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownTree {
    pub(crate) stamp: Hash,
    pub(crate) content: Hash,
}

/// Where a tree is and what of it does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TreePlace {
    pub(crate) root: PathBuf,
    /// Keyway's own folders, and files of which counts what they say: of those that declare servers
    /// the entry, of env files the values that decide something.
    pub(crate) skipped: Vec<PathBuf>,
}

/// There are more files, or more bytes, than an approval covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

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
        let found = self.walk()?;
        let stamp = found.stamp();
        let is_settled = found.is_settled(now);
        let count = found.entries.len();
        if let Some(known) = known.filter(|known| known.stamp == stamp) {
            return Ok(Tree {
                stamp,
                content: known.content,
                count,
                manifest: None,
                is_settled,
            });
        }
        let known = files().unwrap_or_default();
        let manifest = Manifest::new(found.entries.iter().map(|entry| entry.read(&known, now)));
        Ok(Tree {
            stamp,
            content: manifest.content(),
            count,
            manifest: Some(Arc::new(manifest)),
            is_settled,
        })
    }

    /// Returns the stamp of the tree as it is now.
    pub(crate) fn stamp(&self) -> Result<Hash, TooLarge> {
        Ok(self.walk()?.stamp())
    }

    fn walk(&self) -> Result<Found, TooLarge> {
        let mut walk = Walk {
            place: self,
            folders: vec![(self.root.clone(), PathBuf::new())],
            linked: HashSet::new(),
            seen: 0,
            bytes: 0,
            entries: Vec::new(),
        };
        while let Some((folder, below)) = walk.folders.pop() {
            walk.folder(&folder, &below)?;
        }
        let mut entries = walk.entries;
        entries.sort_unstable_by(|one, other| one.path().cmp(other.path()));
        Ok(Found { entries })
    }
}

/// Everything that a walk found, by its path.
struct Found {
    entries: Vec<Entry>,
}

impl Found {
    fn stamp(&self) -> Hash {
        let mut hasher = Hasher::default();
        for entry in &self.entries {
            hasher.field(b"path", entry.path());
            hasher.field(entry.kind.label(), &entry.kind.stamp());
        }
        hasher.finish()
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        self.entries.iter().all(|entry| entry.is_settled(now))
    }
}

struct Entry {
    /// Seen from the root; below a link to a folder, as if the folder were there.
    below: PathBuf,
    /// Where it is.
    real: PathBuf,
    kind: EntryKind,
}

enum EntryKind {
    File(FileStamp),
    /// A link that leads to another entry of the tree, nowhere, or to what the person cannot change.
    Link(PathBuf),
    /// A link to a file elsewhere that the person, and so the plugin, can change.
    LinkOut(PathBuf, FileStamp),
    /// A folder that cannot be listed.
    Closed,
}

#[derive(Clone, Copy)]
struct FileStamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
    is_executable: bool,
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            is_executable: metadata.mode() & 0o111 != 0,
        }
    }

    fn bytes(self) -> [u8; 33] {
        let Self {
            inode,
            size,
            changed: (seconds, nanoseconds),
            is_executable,
        } = self;
        let mut bytes = [0; 33];
        let parts = [
            inode.to_le_bytes(),
            size.to_le_bytes(),
            seconds.to_le_bytes(),
            nanoseconds.to_le_bytes(),
        ];
        for (to, from) in bytes.iter_mut().zip(parts.as_flattened()) {
            *to = *from;
        }
        if let Some(last) = bytes.last_mut() {
            *last = is_executable.into();
        }
        bytes
    }

    /// A file system tells times by a clock that ticks slowly: what is written in the same tick as
    /// it was read looks unchanged.
    fn is_settled(self, now: SystemTime) -> bool {
        let seconds = u64::try_from(self.changed.0).unwrap_or_default();
        let changed = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        let since = changed.and_then(|changed| now.duration_since(changed).ok());
        since.is_some_and(|since| since >= SETTLED_AFTER)
    }
}

impl EntryKind {
    const fn label(&self) -> &'static [u8] {
        match self {
            Self::File(_) => b"file",
            Self::Link(_) => b"link",
            Self::LinkOut(..) => b"link out",
            Self::Closed => b"closed",
        }
    }

    fn stamp(&self) -> Vec<u8> {
        match self {
            Self::File(stamp) => stamp.bytes().to_vec(),
            Self::Link(target) => target.as_os_str().as_bytes().to_vec(),
            Self::LinkOut(target, stamp) => {
                let target = target.as_os_str().as_bytes();
                [stamp.bytes().as_slice(), target].concat()
            }
            Self::Closed => Vec::new(),
        }
    }
}

impl Entry {
    fn path(&self) -> &[u8] {
        self.below.as_os_str().as_bytes()
    }

    fn is_settled(&self, now: SystemTime) -> bool {
        match self.kind {
            EntryKind::File(stamp) | EntryKind::LinkOut(_, stamp) => stamp.is_settled(now),
            EntryKind::Link(_) | EntryKind::Closed => true,
        }
    }

    /// Returns what counts of the entry; a file is read only if it is not as in `known`.
    fn read(&self, known: &Manifest, now: SystemTime) -> ManifestFile {
        let (path, label) = (self.path(), self.kind.label());
        let mut stamp = Hasher::of(label, &self.kind.stamp());
        if let Some(known) = known.find(path).filter(|known| known.stamp == stamp) {
            return known.clone();
        }
        if !self.is_settled(now) {
            // It may yet change without another time, so that this must never be found again.
            stamp = Hash::default();
        }
        let content = match &self.kind {
            EntryKind::File(stamp) => file_hash(&self.real, *stamp, b""),
            EntryKind::LinkOut(target, stamp) => {
                file_hash(&self.real, *stamp, target.as_os_str().as_bytes())
            }
            EntryKind::Link(target) => Hasher::of(label, target.as_os_str().as_bytes()),
            EntryKind::Closed => Hasher::of(label, b""),
        };
        ManifestFile {
            path: path.to_vec(),
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
        None => hasher.field(b"unreadable", b""),
    }
    hasher.finish()
}

struct Walk<'a> {
    place: &'a TreePlace,
    /// Still to be listed: where it is, and how it is called in the tree.
    folders: Vec<(PathBuf, PathBuf)>,
    /// Folders elsewhere that a link led to, by device and inode: none is walked twice.
    linked: HashSet<(u64, u64)>,
    seen: usize,
    bytes: u64,
    entries: Vec<Entry>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, below: &Path) -> Result<(), TooLarge> {
        let Ok(listed) = fs::read_dir(folder) else {
            return self.push(below.to_owned(), folder.to_owned(), EntryKind::Closed);
        };
        for entry in listed.flatten() {
            let name = entry.file_name();
            if name == GIT {
                continue;
            }
            self.seen += 1;
            if self.seen > MAX_FILES {
                return Err(TooLarge);
            }
            let (real, below) = (folder.join(&name), below.join(&name));
            if self.place.skipped.contains(&real) {
                continue;
            }
            // Asked of the open folder: no path is looked up again.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                self.folders.push((real, below));
            } else if metadata.is_file() {
                self.push(below, real, EntryKind::File(FileStamp::of(&metadata)))?;
            } else if metadata.is_symlink() {
                self.link(below, real)?;
            }
            // Pipes, sockets and devices hold nothing that could be approved.
        }
        Ok(())
    }

    /// A link counts by its target, and by what is there if the person could change that.
    fn link(&mut self, below: PathBuf, real: PathBuf) -> Result<(), TooLarge> {
        let written = fs::read_link(&real).unwrap_or_default();
        let Ok(target) = fs::canonicalize(&real) else {
            return self.push(below, real, EntryKind::Link(written));
        };
        let Ok(metadata) = fs::metadata(&target) else {
            return self.push(below, real, EntryKind::Link(written));
        };
        if self.place.counts(&target) || is_systems(&metadata) {
            return self.push(below, real, EntryKind::Link(written));
        }
        if metadata.is_file() {
            let kind = EntryKind::LinkOut(written, FileStamp::of(&metadata));
            return self.push(below, real, kind);
        }
        if metadata.is_dir() && self.linked.insert((metadata.dev(), metadata.ino())) {
            self.folders.push((target, below.clone()));
        }
        self.push(below, real, EntryKind::Link(written))
    }

    fn push(&mut self, below: PathBuf, real: PathBuf, kind: EntryKind) -> Result<(), TooLarge> {
        if let EntryKind::File(stamp) | EntryKind::LinkOut(_, stamp) = &kind {
            self.bytes = self.bytes.saturating_add(stamp.size);
            if self.bytes > MAX_BYTES {
                return Err(TooLarge);
            }
        }
        self.entries.push(Entry { below, real, kind });
        Ok(())
    }
}

impl TreePlace {
    /// Says whether a path is an entry of the tree itself.
    fn counts(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else {
            return false;
        };
        let is_skipped = self.skipped.iter().any(|skipped| path.starts_with(skipped));
        !is_skipped && !below.components().any(|part| part.as_os_str() == GIT)
    }
}

/// Says whether only the superuser can change something, and we are not: an upgrade of the system
/// needs no new approval.
pub(crate) fn is_systems(metadata: &Metadata) -> bool {
    let is_writable = metadata.mode() & 0o022 != 0 && !metadata.is_symlink();
    metadata.uid() == 0 && !is_writable && !rustix::process::geteuid().is_root()
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

/// How many files, folders and links an approval covers.
pub(crate) const MAX_FILES: usize = 100_000;
/// How many bytes an approval covers.
pub(crate) const MAX_BYTES: u64 = 1024 * 1024 * 1024;
const SETTLED_AFTER: Duration = Duration::from_secs(2);
const BUFFER: usize = 64 * 1024;
/// What version control keeps: it changes with every fetch, and nothing runs from there.
const GIT: &str = ".git";
