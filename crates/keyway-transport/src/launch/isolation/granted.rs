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
mod tests;
