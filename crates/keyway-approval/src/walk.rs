//! A walk through all files below a folder, in the order of their paths, without a list of them.
//!
//! One folder is in memory at a time, and those around it: its names are sorted, with a slash behind
//! those of folders, so that what is visited comes in the order of whole paths, byte by byte. That
//! order is part of what is stored, and does not depend on the file system.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::env_values;
use crate::file_system::FileSystems;
use crate::hash::Hash;
use crate::link::{self, Resolver, Target};
use crate::timeouts::SETTLED_AFTER;

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

/// Something that is not a folder, or a folder that cannot be listed.
pub(crate) struct Visited<'a> {
    /// Seen from the root; below a link to a folder, as if the folder were there.
    pub(crate) path: &'a [u8],
    /// The folder that it is in.
    pub(crate) folder: &'a Path,
    /// Its name there; empty for the root itself.
    pub(crate) name: &'a OsStr,
    pub(crate) kind: EntryKind,
}

/// What counts of an entry of a tree.
#[derive(Debug)]
pub(crate) enum EntryKind {
    File(FileStamp),
    /// The entry's own env file, without its plain values.
    Values(Hash),
    /// A link that leads to another entry of the tree, or to what the person cannot change; with
    /// every link on the way that could change.
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

#[derive(Debug, Clone, Copy)]
pub(crate) struct FileStamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
    pub(crate) is_executable: bool,
    /// See [`FileSystems::tell_changes`]. It is not part of what is stored.
    tells_changes: bool,
}

impl FileStamp {
    fn of(metadata: &Metadata, tells_changes: bool) -> Self {
        Self {
            tells_changes,
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            is_executable: metadata.mode() & 0o111 != 0,
        }
    }

    pub(crate) fn bytes(self) -> [u8; 33] {
        let Self {
            inode,
            size,
            changed: (seconds, nanoseconds),
            is_executable,
            tells_changes: _,
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

    /// Says whether a further change would have another stamp.
    ///
    /// What is written to a mapped file has no new time until the page was written to the disk, which
    /// takes the kernel half a minute (`vm.dirty_expire_centisecs`), and a file system tells times by a
    /// clock that ticks slowly.
    fn is_settled(self, now: SystemTime) -> bool {
        let seconds = u64::try_from(self.changed.0).unwrap_or_default();
        let changed = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        let since = changed.and_then(|changed| now.duration_since(changed).ok());
        self.tells_changes && since.is_some_and(|since| since >= SETTLED_AFTER)
    }
}

impl EntryKind {
    pub(crate) const fn label(&self) -> &'static [u8] {
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

    /// Gives what the entry is known by to `take`, without a copy where there is one already.
    pub(crate) fn stamp<T>(&self, take: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Self::File(stamp) => take(&stamp.bytes()),
            Self::Values(hash) => take(hash),
            Self::Special(kind) => take(kind),
            Self::Link(target) | Self::Elsewhere(target) => take(target.as_os_str().as_bytes()),
            Self::LinkOut(target, stamp) => {
                let target = target.as_os_str().as_bytes();
                take(&[stamp.bytes().as_slice(), target].concat())
            }
            Self::Closed => take(&[]),
        }
    }

    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        match self {
            Self::File(stamp) | Self::LinkOut(_, stamp) => stamp.is_settled(now),
            // What is known of it is all that counts.
            Self::Values(_)
            | Self::Link(_)
            | Self::Elsewhere(_)
            | Self::Special(_)
            | Self::Closed => true,
        }
    }

    /// Says whether what can be read there is not covered.
    pub(crate) const fn is_uncovered(&self) -> bool {
        match self {
            Self::Elsewhere(_) | Self::Closed => true,
            // No program is read from a socket.
            Self::Special(kind) => !matches!(*kind, b"socket"),
            Self::File(_) | Self::Values(_) | Self::Link(_) | Self::LinkOut(..) => false,
        }
    }
}

/// Shows everything in the tree to `visit`, in the order of paths.
pub(crate) fn walk(
    place: &TreePlace,
    leaves_out_git: bool,
    visit: impl FnMut(Visited<'_>),
) -> Result<(), TooLarge> {
    Walk::new(place, leaves_out_git).run(visit)
}

/// A folder that is visited.
struct Listing {
    folder: PathBuf,
    /// What is still to be visited, the next one last.
    items: Vec<Item>,
    /// How much of the path is that of the folder.
    length: usize,
}

struct Item {
    name: OsString,
    what: What,
}

enum What {
    /// A folder, which may be elsewhere.
    Folder(Option<PathBuf>),
    /// A link, looked at when it is its turn: a folder that several lead to belongs to the first.
    Link,
    Entry(EntryKind),
}

impl Item {
    /// Compares by what whole paths are compared by: what follows below a folder is a slash.
    fn cmp(&self, other: &Self) -> Ordering {
        let slash = |item: &Self| matches!(item.what, What::Folder(_)).then_some(b'/');
        let (one, two) = (self.name.as_bytes(), other.name.as_bytes());
        let common = one.len().min(two.len());
        let by_name = one.get(..common).cmp(&two.get(..common));
        // One name is the beginning of the other: the slash of a folder counts like any byte.
        by_name.then_with(|| {
            let next = one.get(common).copied().or_else(|| slash(self));
            let other_next = two.get(common).copied().or_else(|| slash(other));
            next.cmp(&other_next)
                .then_with(|| one.len().cmp(&two.len()))
        })
    }
}

impl Listing {
    fn insert(&mut self, item: Option<Item>) {
        if let Some(item) = item {
            let at = self.items.partition_point(|it| it.cmp(&item).is_gt());
            self.items.insert(at, item);
        }
    }
}

struct Walk<'a> {
    place: &'a TreePlace,
    leaves_out_git: bool,
    /// Says whether something outside stays as it is.
    stays: fn(&Metadata) -> bool,
    /// Folders elsewhere that a link led to, by device and inode: none is walked twice.
    linked: HashSet<(u64, u64)>,
    file_systems: FileSystems,
    /// Folders of the system that a link led to, and whether all below them stays as it is: none is
    /// looked at twice.
    systems: HashMap<PathBuf, bool>,
    systems_left: usize,
    files_left: usize,
    bytes: u64,
}

impl<'a> Walk<'a> {
    fn new(place: &'a TreePlace, leaves_out_git: bool) -> Self {
        Self {
            place,
            leaves_out_git,
            stays: link::is_systems,
            linked: HashSet::new(),
            file_systems: FileSystems::new(),
            systems: HashMap::new(),
            systems_left: MAX_SYSTEMS,
            files_left: MAX_FILES,
            bytes: 0,
        }
    }

    fn run(mut self, mut visit: impl FnMut(Visited<'_>)) -> Result<(), TooLarge> {
        let mut path: Vec<u8> = Vec::new();
        let mut open = vec![self.list(self.place.root.clone(), 0)?];
        while let Some(listing) = open.last_mut() {
            path.truncate(listing.length);
            let Some(Item { name, what }) = listing.items.pop() else {
                open.pop();
                continue;
            };
            if !path.is_empty() && !name.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            let kind = match what {
                What::Folder(elsewhere) => {
                    let real = elsewhere.unwrap_or_else(|| listing.folder.join(&name));
                    let next = self.list(real, path.len())?;
                    open.push(next);
                    continue;
                }
                What::Link => {
                    let (kind, linked) = self.link(&listing.folder.join(&name));
                    listing.insert(linked.map(|target| Item {
                        name: name.clone(),
                        what: What::Folder(Some(target)),
                    }));
                    kind
                }
                What::Entry(kind) => kind,
            };
            self.count_bytes(&kind)?;
            visit(Visited {
                path: &path,
                folder: &listing.folder,
                name: &name,
                kind,
            });
        }
        Ok(())
    }

    /// Lists a folder; `length` is that of its path in the tree.
    fn list(&mut self, folder: PathBuf, length: usize) -> Result<Listing, TooLarge> {
        let mut items = Vec::new();
        match fs::read_dir(&folder) {
            Ok(listed) => {
                for entry in listed.flatten() {
                    items.extend(self.item(&folder, &entry, length == 0)?);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => items.push(Item {
                name: OsString::new(),
                what: What::Entry(EntryKind::Closed),
            }),
        }
        items.sort_unstable_by(|one, other| other.cmp(one));
        Ok(Listing {
            folder,
            items,
            length,
        })
    }

    /// Looks at an entry once; `None` if it does not count.
    fn item(
        &mut self,
        folder: &Path,
        entry: &DirEntry,
        is_top: bool,
    ) -> Result<Option<Item>, TooLarge> {
        let name = entry.file_name();
        if is_top && name == GIT && self.leaves_out_git {
            return Ok(None);
        }
        self.files_left = self.files_left.checked_sub(1).ok_or(TooLarge)?;
        if self.place.skipped.iter().any(|it| is_at(it, folder, &name)) {
            return Ok(None);
        }
        // The listing says what is a folder, and of the others the open folder is asked: no path is
        // looked up again.
        let what = match entry.file_type() {
            Ok(kind) if kind.is_dir() => What::Folder(None),
            Ok(kind) if kind.is_symlink() => What::Link,
            _ => match entry.metadata() {
                Ok(metadata) => What::Entry(self.kind(folder, &name, &metadata)),
                Err(_) => What::Entry(EntryKind::Closed),
            },
        };
        Ok(Some(Item { name, what }))
    }

    /// Returns how something counts that is neither a folder nor a link.
    fn kind(&mut self, folder: &Path, name: &OsStr, metadata: &Metadata) -> EntryKind {
        let kind = metadata.file_type();
        if !kind.is_file() {
            return EntryKind::Special(special(kind));
        }
        let env_file = self.place.env_file.as_deref();
        let env_file = env_file.filter(|file| is_at(file, folder, name));
        let values = env_file.and_then(env_values::without_plain);
        if let Some(values) = values {
            return EntryKind::Values(values);
        }
        let path = || folder.join(name);
        let tells_changes = self.file_systems.tell_changes(metadata, path);
        EntryKind::File(FileStamp::of(metadata, tells_changes))
    }

    /// A link counts by its target, and by what is there if the person could change that. Returns
    /// the folder elsewhere that it leads to, if that is to be walked.
    fn link(&mut self, real: &Path) -> (EntryKind, Option<PathBuf>) {
        let written = fs::read_link(real).unwrap_or_default();
        let folder = real.parent().unwrap_or(Path::new("/"));
        let counts: &dyn Fn(&Path) -> bool = &|path| self.counts(path);
        let resolver = Resolver {
            counts,
            stays: self.stays,
        };
        let target = match resolver.resolve(folder, &written) {
            Target::Path(target) => target,
            Target::OfProcess(_) => return (EntryKind::Elsewhere(written), None),
        };
        let known_by = target.known_by(&written);
        // Links on the way count by themselves.
        let is_own = self.counts(&target.path);
        let is_fixed = !is_own && resolver.is_fixed(&target.path);
        match fs::symlink_metadata(&target.path) {
            Ok(_) if is_own => (EntryKind::Link(known_by), None),
            Ok(metadata) if metadata.is_file() && is_fixed => (EntryKind::Link(known_by), None),
            Ok(metadata) if metadata.is_file() => {
                let path = || target.path.clone();
                let tells_changes = self.file_systems.tell_changes(&metadata, path);
                let stamp = FileStamp::of(&metadata, tells_changes);
                (EntryKind::LinkOut(known_by, stamp), None)
            }
            // The superuser's folder is not walked: it may be the whole system.
            Ok(metadata) if metadata.is_dir() && is_fixed => {
                let known = self.systems.get(&target.path).copied();
                let mut left = self.systems_left;
                let keeps = known.unwrap_or_else(|| resolver.keeps_below(&target.path, &mut left));
                self.systems_left = left;
                self.systems.insert(target.path, keeps);
                match keeps {
                    true => (EntryKind::Link(known_by), None),
                    false => (EntryKind::Elsewhere(known_by), None),
                }
            }
            Ok(metadata) if metadata.is_dir() => {
                let is_new = self.linked.insert((metadata.dev(), metadata.ino()));
                (EntryKind::Link(known_by), is_new.then_some(target.path))
            }
            Ok(_) if target.path == Path::new("/dev/null") => (EntryKind::Link(known_by), None),
            // Once something is there, it counts by itself.
            Err(_) if is_own => (EntryKind::Link(known_by), None),
            _ => (EntryKind::Elsewhere(known_by), None),
        }
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

    fn count_bytes(&mut self, kind: &EntryKind) -> Result<(), TooLarge> {
        if let EntryKind::File(stamp) | EntryKind::LinkOut(_, stamp) = kind {
            self.bytes = self.bytes.saturating_add(stamp.size);
            if self.bytes > MAX_BYTES {
                return Err(TooLarge);
            }
        }
        Ok(())
    }
}

/// Names what holds nothing that could be approved, and may be read from all the same.
fn special(kind: FileType) -> &'static [u8] {
    match () {
        () if kind.is_fifo() => b"pipe",
        () if kind.is_socket() => b"socket",
        () => b"device",
    }
}

/// Says whether `path` is that of `name` in `folder`, without putting that together.
fn is_at(path: &Path, folder: &Path, name: &OsStr) -> bool {
    path.file_name() == Some(name) && path.parent() == Some(folder)
}

/// How many files, folders and links an approval covers.
const MAX_FILES: usize = 100_000;
/// How many bytes an approval covers.
pub(crate) const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// How much is looked at in folders of the system that links lead to.
const MAX_SYSTEMS: usize = 20_000;
/// What version control keeps: it changes with every fetch, and nothing runs from there.
pub(crate) const GIT: &str = ".git";

#[cfg(test)]
mod tests;
