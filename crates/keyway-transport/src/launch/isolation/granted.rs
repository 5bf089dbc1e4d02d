//! What a child gets although its profile alone would keep it away, held open.
//!
//! A path can lead elsewhere from one look to the next: programs of the person rename folders and
//! replace them by links. So each is opened once; what was opened is compared with what is hidden,
//! and later shown by its descriptor.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::launch::known_folders::{FolderId, KnownGrant, KnownPath};

/// A folder or file that was granted.
#[derive(Debug)]
pub(super) struct Granted {
    /// As it was written, which the program may use as well.
    pub(super) written: PathBuf,
    /// Without links.
    pub(super) real: PathBuf,
    pub(super) opened: OwnedFd,
}

impl Granted {
    /// Opens those that are there; an error if one of them is not what the person was asked about.
    pub(super) fn all(paths: &[PathBuf], known: &[KnownGrant]) -> io::Result<Vec<Self>> {
        let mut granted = Vec::with_capacity(paths.len());
        for path in paths {
            granted.extend(match known.iter().find(|known| known.path == *path) {
                Some(known) => Self::approved(known)?,
                None => Self::follow(path).ok(),
            });
        }
        granted.sort_unstable_by(|left, right| left.real.cmp(&right.real));
        granted.dedup_by(|left, right| left.real == right.real && left.written == right.written);
        Ok(granted)
    }

    /// Opens a grant; `None` if it is gone.
    fn approved(known: &KnownGrant) -> io::Result<Option<Self>> {
        let opened = match Self::follow(&known.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let id = Some(id_of(&opened.opened)?).filter(|_| known.id.is_some());
        if opened.real != known.real || id != known.id || opened.is_folder()? != id.is_some() {
            return Err(Errno::STALE.into());
        }
        Ok(Some(opened))
    }

    /// Opens the plugin's folder. It has no links in its path, and is the one that the host knew
    /// before it compared the plugin's files.
    pub(super) fn of_root(root: &KnownPath) -> io::Result<Self> {
        let start = rustix::fs::open("/", FOLDER, Mode::empty())?;
        let opened = descend(start, root.path.strip_prefix("/").unwrap_or(&root.path));
        // By this number the host knows that it was the root.
        let opened = opened.map_err(|_| Errno::STALE)?;
        if root.id != Some(id_of(&opened)?) {
            return Err(Errno::STALE.into());
        }
        Self::new(&root.path, opened)
    }

    /// Opens the folders that the host made, in those that are hidden and elsewhere. Below a hidden
    /// folder there is no link on the way.
    pub(super) fn own(
        paths: &[PathBuf],
        hidden: &[KnownPath],
    ) -> io::Result<(Vec<Self>, Vec<Self>)> {
        let (mut inside, mut elsewhere) = (Vec::new(), Vec::new());
        for path in paths {
            let around = hidden.iter().filter_map(|place| {
                let rest = path.strip_prefix(&place.path).ok()?;
                Some((place, rest))
            });
            let nearest = around.min_by_key(|(_, rest)| rest.components().count());
            let Some((place, rest)) = nearest else {
                elsewhere.extend(Self::follow(path).ok());
                continue;
            };
            let start = rustix::fs::open(&place.path, FOLLOWED, Mode::empty())?;
            if place.id != Some(id_of(&start)?) || rest.as_os_str().is_empty() {
                return Err(Errno::INVAL.into());
            }
            match descend(start, rest) {
                Ok(opened) => inside.push(Self::new(path, opened)?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok((inside, elsewhere))
    }

    /// Says whether a folder around it, or itself, is one of those that are hidden, by what they are.
    pub(super) fn lies_in(&self, is_hidden: impl Fn(FolderId) -> bool) -> io::Result<bool> {
        let is_folder = self.is_folder()?;
        let mut at = if is_folder {
            rustix::fs::openat(&self.opened, ".", FOLDER, Mode::empty())?
        } else {
            let folder = self.real.parent().unwrap_or(Path::new("/"));
            rustix::fs::open(folder, FOLDER, Mode::empty())?
        };
        loop {
            let id = id_of(&at)?;
            if is_hidden(id) {
                return Ok(true);
            }
            let above = rustix::fs::openat(&at, "..", FOLDER, Mode::empty())?;
            if id_of(&above)? == id {
                return Ok(false);
            }
            at = above;
        }
    }

    pub(super) fn is_folder(&self) -> io::Result<bool> {
        let mode = rustix::fs::fstat(&self.opened)?.st_mode;
        Ok(FileType::from_raw_mode(mode).is_dir())
    }

    fn follow(path: &Path) -> io::Result<Self> {
        Self::new(path, rustix::fs::open(path, HELD, Mode::empty())?)
    }

    fn new(written: &Path, opened: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            written: written.to_owned(),
            real: fs::read_link(by_descriptor(&opened))?,
            opened,
        })
    }
}

/// Opens what lies below a folder, without following a link.
fn descend(start: OwnedFd, below: &Path) -> io::Result<OwnedFd> {
    let mut at = start;
    for part in below.components() {
        let Component::Normal(name) = part else {
            return Err(Errno::INVAL.into());
        };
        at = rustix::fs::openat(&at, name, FOLDER, Mode::empty())?;
    }
    Ok(at)
}

pub(super) fn id_of(opened: &OwnedFd) -> io::Result<FolderId> {
    let found = rustix::fs::fstat(opened)?;
    let (device, inode) = (found.st_dev, found.st_ino);
    Ok(FolderId { device, inode })
}

/// Returns a path to what a descriptor stands for, wherever that lies by now.
pub(super) fn by_descriptor(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// Anything, to stand for it and not to read it.
pub(super) const HELD: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
/// A folder, to find things in and not to read.
const FOLLOWED: OFlags = HELD.union(OFlags::DIRECTORY);
/// The same, and not through a link.
const FOLDER: OFlags = FOLLOWED.union(OFlags::NOFOLLOW);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn fresh() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::TempDir::new().unwrap();
        let root = home.path().canonicalize().unwrap();
        (home, root)
    }

    fn id(path: &Path) -> Option<FolderId> {
        FolderId::of(&fs::metadata(path).unwrap())
    }

    fn written(granted: &[Granted]) -> Vec<&Path> {
        granted.iter().map(|it| it.written.as_path()).collect()
    }

    #[test]
    fn a_folder_is_granted_by_each_of_its_names_once() {
        let (_home, root) = fresh();
        let [one, link, none] = ["one", "a-link", "none"].map(|name| root.join(name));
        fs::create_dir(&one).unwrap();
        symlink(&one, &link).unwrap();
        let paths = [one.clone(), link.clone(), none, link.clone()];
        let granted = Granted::all(&paths, &[]).unwrap();
        assert_eq!(written(&granted), [one.as_path(), &link]);
        assert!(granted.iter().all(|it| it.real == one));
    }

    /// Threat E1: what lies there now is shown to the program.
    #[test]
    fn e1_a_grant_that_is_not_what_was_approved_is_refused() {
        let (_home, root) = fresh();
        let at = |name: &str| root.join(name);
        fs::create_dir(at("folder")).unwrap();
        drop(fs::File::create(at("file")).unwrap());
        let known = [
            KnownGrant {
                path: at("folder"),
                real: at("folder"),
                id: id(&at("folder")),
            },
            KnownGrant {
                path: at("file"),
                real: at("file"),
                id: None,
            },
        ];
        let opened = || {
            let paths = [at("folder"), at("file")];
            Granted::all(&paths, &known).ok().map(|it| it.len())
        };
        assert_eq!(opened(), Some(2));
        // The same folder, but by a link; none; another folder.
        fs::rename(at("folder"), at("away")).unwrap();
        symlink(at("away"), at("folder")).unwrap();
        assert_eq!(opened(), None);
        fs::remove_file(at("folder")).unwrap();
        assert_eq!(opened(), Some(1), "it is gone");
        fs::create_dir(at("folder")).unwrap();
        assert_eq!(opened(), None);
        fs::remove_dir(at("folder")).unwrap();
        symlink(at("folder"), at("folder")).unwrap();
        assert_eq!(opened(), None, "what cannot be looked at is not gone");
        fs::remove_file(at("folder")).unwrap();
        // Files are replaced, but not by folders.
        fs::remove_file(at("file")).unwrap();
        drop(fs::File::create(at("file")).unwrap());
        assert_eq!(opened(), Some(1));
        fs::remove_file(at("file")).unwrap();
        fs::create_dir(at("file")).unwrap();
        assert_eq!(opened(), None);
    }

    #[test]
    fn what_the_host_made_is_opened_inside_of_what_is_hidden_without_links() {
        let (_home, root) = fresh();
        let at = |name: &str| root.join(name);
        for name in ["keyway/own", "keyway/deep/own", "other"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        symlink(at("other"), at("keyway/link")).unwrap();
        let place = |name: &str, of: &str| KnownPath {
            path: at(name),
            id: id(&at(of)),
        };
        let hidden = [
            place("keyway", "keyway"),
            place("keyway/deep", "keyway/deep"),
        ];
        let own = |name: &str, hidden: &[KnownPath]| {
            let (inside, elsewhere) = Granted::own(&[at(name)], hidden).ok()?;
            Some((inside.len(), elsewhere.len()))
        };
        for (name, expected) in [
            ("keyway/own", Some((1, 0))),
            ("keyway/deep/own", Some((1, 0))),
            ("keyway/none", Some((0, 0))),
            ("other", Some((0, 1))),
            ("none", Some((0, 0))),
            ("keyway/link", None),
            ("keyway", None),
        ] {
            assert_eq!(own(name, &hidden), expected, "{name}");
        }
        let exchanged = [place("keyway", "other")];
        assert_eq!(own("keyway/own", &exchanged), None);
    }

    #[test]
    fn a_folder_or_file_lies_in_every_folder_around_it() {
        let (_home, root) = fresh();
        let at = |name: &str| root.join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::create_dir(at("c")).unwrap();
        drop(fs::File::create(at("a/file")).unwrap());
        for (path, folder, expected) in [
            ("a/b", "a", true),
            ("a/b", "a/b", true),
            ("a/file", "a", true),
            ("a/b", "c", false),
            ("a/file", "a/b", false),
            ("a", "a/b", false),
        ] {
            let granted = Granted::follow(&at(path)).unwrap();
            let hidden = id(&at(folder)).unwrap();
            let found = granted.lies_in(|id| id == hidden).unwrap();
            assert_eq!(found, expected, "{path} in {folder}");
        }
    }

    /// Threat E1: its files were compared by the host.
    #[test]
    fn e1_a_plugins_folder_is_opened_without_links_and_as_the_one_that_is_known() {
        let (_home, root) = fresh();
        let at = |name: &str| root.join(name);
        for name in ["plugin", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        symlink(at("plugin"), at("link")).unwrap();
        for (path, of, is_opened) in [
            ("plugin", "plugin", true),
            ("plugin", "other", false),
            ("link", "plugin", false),
            ("none", "plugin", false),
        ] {
            let known = KnownPath {
                path: at(path),
                id: id(&at(of)),
            };
            assert_eq!(Granted::of_root(&known).is_ok(), is_opened, "{path} {of}");
        }
    }
}
