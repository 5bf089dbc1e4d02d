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
#[expect(
    clippy::disallowed_methods,
    reason = "files of a fresh temporary folder"
)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A folder behind a link comes where its paths belong, and belongs to the first link.
    #[test]
    fn everything_is_visited_once_in_the_order_of_paths() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = folder.path().canonicalize().unwrap();
        for path in ["a/x", "a-b/y", "a.c", "ab/c/d", "ab/c-d", "z"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(other.path().join("inside"), "").unwrap();
        for link in ["n", "m"] {
            symlink(other.path().canonicalize().unwrap(), root.join(link)).unwrap();
        }
        fs::write(root.join("m-after"), "").unwrap();
        let place = TreePlace {
            root,
            ..TreePlace::default()
        };
        let mut paths = Vec::new();
        let visit = |visited: Visited<'_>| paths.push(visited.path.to_vec());
        assert!(walk(&place, false, visit).is_ok());
        let expected = [
            "a-b/y", "a.c", "a/x", "ab/c-d", "ab/c/d", "m", "m-after", "m/inside", "n", "z",
        ];
        assert_eq!(paths, expected.map(|path| path.as_bytes().to_vec()));
        assert!(paths.is_sorted());
    }

    /// Files, folders and links count, wherever they lie; what version control keeps does not.
    #[test]
    fn more_files_than_an_approval_covers_are_too_many() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = folder.path().canonicalize().unwrap();
        for path in [".git/HEAD", ".git/config", "a", "b/c"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(other.path().join("inside"), "").unwrap();
        symlink(other.path().canonicalize().unwrap(), root.join("link")).unwrap();
        let place = TreePlace {
            root,
            ..TreePlace::default()
        };
        let walk = |max, leaves_out_git| {
            let mut walk = Walk::new(&place, leaves_out_git);
            walk.files_left = max;
            walk.run(|_| {})
        };
        // `a`, `b`, `b/c`, `link` and `link/inside`; with `.git` and the two files in it.
        for (leaves_out_git, count) in [(true, 5), (false, 8)] {
            assert_eq!(walk(count, leaves_out_git), Ok(()));
            assert_eq!(walk(count - 1, leaves_out_git), Err(TooLarge));
        }
        assert_eq!(MAX_FILES, 100_000, "as approvals and SECURITY.md say");
    }

    #[test]
    fn more_than_a_gibibyte_is_too_much() {
        let folder = tempfile::tempdir().unwrap();
        let place = TreePlace {
            root: folder.path().to_owned(),
            ..TreePlace::default()
        };
        let file = fs::File::create(folder.path().join("large")).unwrap();
        for (size, expected) in [(1 << 30, Ok(())), ((1 << 30) + 1, Err(TooLarge))] {
            file.set_len(size).unwrap();
            let found = walk(&place, false, |_: Visited<'_>| {});
            assert_eq!(found, expected, "{size}");
        }
    }

    /// A plugin whose folder is gone has no files; in one that cannot be listed there may be any.
    #[test]
    fn a_folder_that_cannot_be_listed_is_not_covered() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (root, expected) in [(file.path(), &[true][..]), (Path::new("/none/at/all"), &[])] {
            let place = TreePlace {
                root: root.to_owned(),
                ..TreePlace::default()
            };
            let mut found = Vec::new();
            let visit = |visited: Visited<'_>| found.push(visited.kind.is_uncovered());
            assert_eq!(walk(&place, false, visit), Ok(()));
            assert_eq!(found, expected, "{}", root.display());
        }
    }

    /// Code can be read from a device, and not from a socket.
    #[test]
    fn a_device_is_not_taken_for_a_socket() {
        let device = fs::metadata("/dev/null").unwrap().file_type();
        assert!(EntryKind::Special(special(device)).is_uncovered());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let socket = fs::metadata(path).unwrap().file_type();
        assert!(!EntryKind::Special(special(socket)).is_uncovered());
    }

    /// A mode of 0755 or 0644 stands for what only the superuser can change: the tests may run as any
    /// user.
    #[test]
    fn what_a_link_leads_to_outside_counts_as_far_as_others_can_change_it() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, outside) = (folder.path(), other.path().canonicalize().unwrap());
        let put = |path: &str, mode: u32| {
            let path = outside.join(path);
            match mode & 0o111 {
                0 => fs::write(&path, "").unwrap(),
                _ => fs::create_dir(&path).unwrap(),
            }
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).unwrap();
        for (path, mode) in [
            ("kept", 0o755),
            ("kept/file", 0o644),
            ("mixed", 0o755),
            ("mixed/file", 0o600),
            ("open", 0o700),
            ("open/file", 0o644),
            ("file", 0o644),
            ("mine", 0o600),
        ] {
            put(path, mode);
            if !path.contains('/') {
                symlink(outside.join(path), root.join(path)).unwrap();
            }
        }
        let place = TreePlace {
            root: root.canonicalize().unwrap(),
            ..TreePlace::default()
        };
        let mut walk = Walk::new(&place, false);
        walk.stays = |metadata| metadata.is_symlink() || metadata.mode() & 0o055 != 0;
        let mut found = Vec::new();
        let visit = |visited: Visited<'_>| {
            let path = String::from_utf8(visited.path.to_vec()).unwrap();
            found.push((path, visited.kind.label()));
        };
        assert_eq!(walk.run(visit), Ok(()));
        let expected: [(&str, &[u8]); 6] = [
            ("file", b"link"),
            ("kept", b"link"),
            ("mine", b"link out"),
            ("mixed", b"elsewhere"),
            ("open", b"link"),
            ("open/file", b"file"),
        ];
        assert_eq!(
            found,
            expected.map(|(path, label)| (path.to_owned(), label))
        );
    }

    /// The order of whole paths, byte by byte: that of what is stored.
    #[test]
    fn folders_are_sorted_as_the_paths_below_them() {
        let names = ["a", "a-b", "a.b", "a/", "a/x", "a0", "ab/", "b", "b!", "b/"];
        let item = |text: &str| match text.strip_suffix('/') {
            Some(name) => Item {
                name: name.into(),
                what: What::Folder(None),
            },
            None => Item {
                name: text.into(),
                what: What::Link,
            },
        };
        for one in names {
            for other in names {
                let compared = item(one).cmp(&item(other));
                assert_eq!(compared, one.cmp(other), "{one} and {other}");
            }
        }
    }

    /// What was written in the tick in which it was read may change once more unnoticed.
    #[test]
    fn a_file_is_settled_a_minute_after_it_changed_and_not_before() {
        let stamp = |seconds| FileStamp {
            inode: 1,
            size: 1,
            changed: (seconds, 0),
            is_executable: false,
            tells_changes: true,
        };
        let at = |milliseconds| UNIX_EPOCH + Duration::from_millis(milliseconds);
        assert!(stamp(10).is_settled(at(70_000)));
        assert!(!stamp(10).is_settled(at(69_999)));
        assert!(!stamp(10).is_settled(at(9_000)), "a clock that went back");
        assert!(!stamp(i64::MAX).is_settled(at(70_000)));
        assert!(stamp(-1).is_settled(at(60_000)), "before all clocks");
        let untold = FileStamp {
            tells_changes: false,
            ..stamp(10)
        };
        assert!(!untold.is_settled(at(70_000)));
    }
}
