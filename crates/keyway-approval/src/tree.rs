//! All files below a plugin's folder as one digest, with a cache by inode, size and change time.
//!
//! ```text
//! walk ─▶ stamp of all entries ─same as stored─▶ stored digest      nothing is read
//!                 └──another──▶ file by file: same stamp, stored content; otherwise read
//! ```
//!
//! Three things are left out: Keyway's own folders, the repository of version control at the top,
//! and the values of the entry's own env file, so that another token needs no new approval.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};

use crate::env_values;
use crate::hash::{Hash, Hasher};
use crate::link::{self, Target};
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

/// Where a tree is and what of it does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TreePlace {
    pub(crate) root: PathBuf,
    /// Keyway's own folders.
    pub(crate) skipped: Vec<PathBuf>,
    /// The env file of the entry, of which plain values do not count here: those that decide
    /// something are facts.
    pub(crate) env_file: Option<PathBuf>,
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
        let uncovered = found.uncovered();
        let leaves_out_git = found.leaves_out_git;
        if let Some(known) = known.filter(|known| known.stamp == stamp) {
            return Ok(Tree {
                stamp,
                content: known.content,
                count,
                manifest: None,
                is_settled,
                uncovered,
                leaves_out_git,
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
            uncovered,
            leaves_out_git,
        })
    }

    /// Returns the stamp of the tree as it is now.
    pub(crate) fn stamp(&self) -> Result<Hash, TooLarge> {
        Ok(self.walk()?.stamp())
    }

    fn walk(&self) -> Result<Found, TooLarge> {
        let mut walk = Walk {
            place: self,
            leaves_out_git: self.root.join(GIT).join("HEAD").is_file(),
            folders: vec![(self.root.clone(), PathBuf::new())],
            linked: HashSet::new(),
            seen: 0,
            bytes: 0,
            entries: Vec::new(),
        };
        while let Some((folder, below)) = walk.folders.pop() {
            walk.folder(&folder, &below)?;
        }
        let (mut entries, leaves_out_git) = (walk.entries, walk.leaves_out_git);
        entries.sort_unstable_by(|one, other| one.path().cmp(other.path()));
        Ok(Found {
            entries,
            leaves_out_git,
        })
    }
}

/// Everything that a walk found, by its path.
struct Found {
    entries: Vec<Entry>,
    leaves_out_git: bool,
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

    fn uncovered(&self) -> Vec<String> {
        let entries = self.entries.iter();
        let uncovered =
            entries.filter(|it| matches!(it.kind, EntryKind::Elsewhere(_) | EntryKind::Closed));
        uncovered
            .map(|entry| entry.below.to_string_lossy().into_owned())
            .collect()
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
    /// The entry's own env file, without its plain values.
    Values(Hash),
    /// A link that leads to another entry of the tree, or to what the person cannot change.
    Link(PathBuf),
    /// A link to what is there for another process, or at another time.
    Elsewhere(PathBuf),
    /// A link to a file elsewhere that the person, and so the plugin, can change.
    LinkOut(PathBuf, FileStamp),
    /// A pipe, a socket or a device.
    Special(&'static [u8]),
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
            Self::Values(_) => b"values",
            Self::Link(_) => b"link",
            Self::Elsewhere(_) => b"elsewhere",
            Self::Special(_) => b"special",
            Self::LinkOut(..) => b"link out",
            Self::Closed => b"closed",
        }
    }

    fn stamp(&self) -> Vec<u8> {
        match self {
            Self::File(stamp) => stamp.bytes().to_vec(),
            Self::Values(hash) => hash.to_vec(),
            Self::Special(kind) => kind.to_vec(),
            Self::Link(target) | Self::Elsewhere(target) => target.as_os_str().as_bytes().to_vec(),
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
            // What is known of it is all that counts.
            EntryKind::Values(_)
            | EntryKind::Link(_)
            | EntryKind::Elsewhere(_)
            | EntryKind::Special(_)
            | EntryKind::Closed => true,
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
            kind => Hasher::of(label, &kind.stamp()),
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
        // It may still be run. That it is another file is all that can be told.
        None => hasher.field(b"unreadable", &stamp.bytes()),
    }
    hasher.finish()
}

struct Walk<'a> {
    place: &'a TreePlace,
    leaves_out_git: bool,
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
        let listed = match fs::read_dir(folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) => return self.push(below.to_owned(), folder.to_owned(), EntryKind::Closed),
        };
        for entry in listed.flatten() {
            let name = entry.file_name();
            let is_top = below.as_os_str().is_empty();
            if is_top && name == GIT && self.leaves_out_git {
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
                self.push(below, real, EntryKind::Closed)?;
                continue;
            };
            if metadata.is_dir() {
                self.folders.push((real, below));
            } else if metadata.is_symlink() {
                self.link(below, real)?;
            } else {
                let kind = self.kind(&real, &metadata);
                self.push(below, real, kind)?;
            }
        }
        Ok(())
    }

    /// Returns how something counts that is neither a folder nor a link.
    fn kind(&self, path: &Path, metadata: &Metadata) -> EntryKind {
        let kind = metadata.file_type();
        if !kind.is_file() {
            // They hold nothing that could be approved, and may be read from all the same.
            return EntryKind::Special(match () {
                () if kind.is_fifo() => b"pipe",
                () if kind.is_socket() => b"socket",
                () => b"device",
            });
        }
        let is_env_file = self.place.env_file.as_deref() == Some(path);
        let values = is_env_file
            .then(|| env_values::without_plain(path))
            .flatten();
        values.map_or_else(
            || EntryKind::File(FileStamp::of(metadata)),
            EntryKind::Values,
        )
    }

    /// A link counts by its target, and by what is there if the person could change that.
    fn link(&mut self, below: PathBuf, real: PathBuf) -> Result<(), TooLarge> {
        let written = fs::read_link(&real).unwrap_or_default();
        let target = match link::target(&real) {
            Target::Path(target) => target,
            Target::OfProcess => return self.push(below, real, EntryKind::Elsewhere(written)),
        };
        let is_own = self.counts(&target);
        let kind = match fs::symlink_metadata(&target) {
            Ok(metadata) if is_own || is_systems(&metadata) => EntryKind::Link(written),
            Ok(metadata) if metadata.is_file() => {
                EntryKind::LinkOut(written, FileStamp::of(&metadata))
            }
            Ok(metadata) if metadata.is_dir() => {
                if self.linked.insert((metadata.dev(), metadata.ino())) {
                    self.folders.push((target, below.clone()));
                }
                EntryKind::Link(written)
            }
            Ok(_) if target == Path::new("/dev/null") => EntryKind::Link(written),
            // Once something is there, it counts by itself.
            Err(_) if is_own => EntryKind::Link(written),
            _ => EntryKind::Elsewhere(written),
        };
        self.push(below, real, kind)
    }

    /// Says whether a path is an entry of the tree itself.
    fn counts(&self, path: &Path) -> bool {
        let TreePlace {
            root,
            skipped,
            env_file,
        } = self.place;
        let Ok(below) = path.strip_prefix(root) else {
            return false;
        };
        let is_left_out = skipped.iter().any(|skipped| path.starts_with(skipped))
            || env_file.as_deref() == Some(path)
            || (self.leaves_out_git && below.starts_with(GIT));
        !is_left_out
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
