//! All files below a plugin's folder as one digest, with a cache by inode, size and change time.
//!
//! ```text
//! walk ─▶ stamp of all entries ─same as stored─▶ stored digest      nothing is read or listed
//!                 └──another──▶ walk, file by file: same stamp, stored content; otherwise read
//! ```
//!
//! A stamp counts only where it tells of every change ([`crate::file_system`]): a file that changed less
//! than a minute ago, or is not on a disk, is read whatever its stamp.
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
use keyway_files::regular_file;

use crate::hash::{Hash, Hasher};
use crate::manifest::{Manifest, ManifestFile};
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
    /// The stamps of all files tell of any further change.
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
            if tree.is_settled && tree.stamp == known.stamp {
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

    /// Says whether the tree is still as in `before`, which was counted at `then`. What its stamps told
    /// then is told by them now; the rest is read.
    pub(crate) fn is_still(&self, before: &Tree, then: SystemTime) -> bool {
        let is_same = self.stamp().is_ok_and(|stamp| stamp == before.stamp);
        if !is_same || before.is_settled {
            return is_same;
        }
        let files = || before.manifest.as_deref().cloned();
        let now = self.count(None, files, then);
        now.is_ok_and(|now| now.content == before.content)
    }

    /// Returns the stamp of the tree as it is now.
    fn stamp(&self) -> Result<Hash, TooLarge> {
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
        if !kind.is_settled(now) {
            // It may yet change without another time, so that this must never be found again.
            stamp = Hash::default();
        } else if let Some(known) = known.find(&path).filter(|known| known.stamp == stamp) {
            return known.clone();
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

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "files of a fresh temporary folder"
)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::time::Duration;

    use super::*;

    /// A tree of one file, and when that changed.
    fn tree_of_one(folder: &Path) -> (TreePlace, SystemTime) {
        let file = folder.join("a.js");
        fs::write(&file, "1").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let place = TreePlace {
            root: folder.to_owned(),
            ..TreePlace::default()
        };
        (place, changed(&file))
    }

    fn changed(file: &Path) -> SystemTime {
        let seconds = fs::metadata(file).unwrap().ctime();
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.try_into().unwrap())
    }

    /// Says whether the content is read, although the stamp is the known one: what is known of it is
    /// not what is there, as after a write to a mapped file.
    fn is_read(place: &TreePlace, now: SystemTime) -> bool {
        let other = [7; 32];
        let fresh = place.count(None, || None, now).unwrap();
        let known = KnownTree {
            stamp: fresh.stamp,
            content: other,
        };
        let file = fresh.manifest.as_ref().unwrap().find(b"a.js").unwrap();
        let file = ManifestFile {
            content: other,
            // As an earlier version kept it, also of a file whose stamp tells nothing.
            stamp: stamp_of(place),
            ..file.clone()
        };
        let manifest = Manifest::new(std::iter::once(file));
        let by_file = place.count(None, || Some(manifest.clone()), now).unwrap();
        let whole = place.count(Some(known), || Some(manifest), now).unwrap();
        assert_eq!(
            whole.content == fresh.content,
            by_file.content == fresh.content
        );
        whole.content == fresh.content
    }

    fn stamp_of(place: &TreePlace) -> Hash {
        let mut found = Hash::default();
        let visit = |visited: Visited<'_>| {
            let label = visited.kind.label();
            found = visited.kind.stamp(|stamp| Hasher::of(label, stamp));
        };
        walk(place, false, visit).unwrap();
        found
    }

    /// Beside the test itself, which is on a disk where the folder of temporary files may not be.
    fn on_disk() -> tempfile::TempDir {
        let test = std::env::current_exe().unwrap();
        tempfile::tempdir_in(test.parent().unwrap()).unwrap()
    }

    #[test]
    fn a_file_is_read_until_a_minute_after_it_changed_and_not_later() {
        let folder = on_disk();
        let (place, changed) = tree_of_one(folder.path());
        assert!(is_read(&place, changed + Duration::from_secs(59)));
        assert!(!is_read(&place, changed + Duration::from_secs(60)));
    }

    #[test]
    fn a_file_that_another_user_can_write_is_always_read() {
        let folder = on_disk();
        let (place, _) = tree_of_one(folder.path());
        let file = folder.path().join("a.js");
        for (mode, expected) in [(0o646, true), (0o600, false), (0o755, false)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let later = changed(&file) + Duration::from_secs(3600);
            assert_eq!(is_read(&place, later), expected, "{mode:o}");
        }
    }

    /// A page that was mapped there before is never written to a disk, so that its file keeps its time.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_in_memory_is_always_read() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let (place, changed) = tree_of_one(folder.path());
        let later = changed + Duration::from_secs(3600);
        assert!(is_read(&place, later));
        let tree = place.count(None, || None, later).unwrap();
        assert!(!tree.is_settled, "so that no approval keeps its stamp");
        assert!(place.is_still(&tree, later));
    }

    /// The last look before a start, at a file whose time would not tell.
    #[test]
    fn a_start_is_refused_if_the_content_is_another_under_the_same_stamp() {
        let folder = on_disk();
        let (place, changed) = tree_of_one(folder.path());
        let soon = changed + Duration::from_secs(3);
        let tree = place.count(None, || None, soon).unwrap();
        assert!(place.is_still(&tree, soon));
        let other = Tree {
            content: [7; 32],
            ..tree
        };
        assert!(!place.is_still(&other, soon));
    }
}
