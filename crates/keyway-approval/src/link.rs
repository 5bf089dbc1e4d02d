//! Where a path leads, step by step as the system goes: a link is followed before `..` goes up from
//! it, what is another thing for each process is noticed on the way, and so is every link that
//! others than the superuser could lead elsewhere.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Path(Resolved),
    /// To what is another thing for each process, or through more links than the system follows;
    /// the path is where that was noticed.
    OfProcess(PathBuf),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Without links; there need be nothing.
    pub(crate) path: PathBuf,
    /// Links on the way that could lead elsewhere tomorrow, and what each says.
    pub(crate) loose: Vec<(PathBuf, PathBuf)>,
    /// Nothing on the way, nor what is there, can be changed; below a folder it may be.
    pub(crate) is_fixed: bool,
}

impl Resolved {
    /// Returns what a link counts by that says `written`: that alone, if all else on the way counts
    /// by itself or cannot change.
    pub(crate) fn known_by(&self, written: &Path) -> PathBuf {
        let mut bytes = written.as_os_str().as_bytes().to_vec();
        let hops = self.loose.iter().flat_map(|(link, says)| [link, says]);
        let target = (!self.loose.is_empty()).then_some(&self.path);
        for path in hops.chain(target) {
            // No path has such a byte in it.
            bytes.push(0);
            bytes.extend_from_slice(path.as_os_str().as_bytes());
        }
        PathBuf::from(OsString::from_vec(bytes))
    }
}

/// Follows paths.
#[derive(Clone, Copy)]
pub(crate) struct Resolver<'a> {
    /// Says whether what is at a path counts by itself, so that it may change.
    pub(crate) counts: &'a dyn Fn(&Path) -> bool,
    /// Says whether something stays as it is.
    pub(crate) stays: fn(&Metadata) -> bool,
}

impl Resolver<'_> {
    /// Resolves a path seen from `base`, which is taken to be free of links.
    pub(crate) fn resolve(self, base: &Path, path: &Path) -> Target {
        let mut at = base.to_path_buf();
        // The last one is next.
        let mut rest = reversed(path);
        let (mut loose, mut links, mut is_fixed) = (Vec::new(), 0, true);
        while let Some(part) = rest.pop() {
            match part.components().next() {
                Some(Component::RootDir) => at = PathBuf::from("/"),
                Some(Component::ParentDir) => {
                    at.pop();
                }
                Some(Component::Normal(name)) => {
                    is_fixed = is_fixed && self.keeps(&at);
                    at.push(name);
                }
                _ => {}
            }
            // A text that is looked at without a folder has its root where no process has anything.
            let is_base = || is_of_process(base) && at.starts_with(base);
            if is_of_process(&at) && !is_base() {
                return Target::OfProcess(at);
            }
            if let Ok(written) = fs::read_link(&at) {
                links += 1;
                if links > MAX_LINKS {
                    return Target::OfProcess(at);
                }
                rest.extend(reversed(&written));
                let link = at.clone();
                at.pop();
                if !is_fixed && !(self.counts)(&link) {
                    loose.push((link, written));
                }
            }
        }
        Target::Path(Resolved {
            is_fixed: is_fixed && self.keeps(&at),
            path: at,
            loose,
        })
    }

    /// Says whether nothing on the way to a path, nor what is there, can be changed.
    pub(crate) fn is_fixed(self, path: &Path) -> bool {
        let target = self.resolve(Path::new("/"), path);
        matches!(target, Target::Path(target) if target.is_fixed)
    }

    /// Says whether everything below a folder that stays does so too. `left` is how much is still
    /// looked at; of more it is not known.
    pub(crate) fn keeps_below(self, folder: &Path, left: &mut usize) -> bool {
        let (mut open, mut seen) = (vec![folder.to_path_buf()], HashSet::new());
        while let Some(folder) = open.pop() {
            if !seen.insert(folder.clone()) {
                continue;
            }
            let Ok(listed) = fs::read_dir(&folder) else {
                return false;
            };
            for entry in listed {
                *left = left.saturating_sub(1);
                let target = entry.map(|entry| self.resolve(&folder, entry.file_name().as_ref()));
                let path = match target {
                    Ok(Target::Path(target)) if *left > 0 && target.is_fixed => target.path,
                    _ => return false,
                };
                match fs::symlink_metadata(&path) {
                    Ok(metadata) if metadata.is_dir() => open.push(path),
                    Ok(metadata) if !metadata.is_file() => return false,
                    // A link to nothing, where only the superuser can put something.
                    _ => {}
                }
            }
        }
        true
    }

    /// Says whether what is at a path counts or stays. Where there is nothing, the folder around it
    /// decided.
    fn keeps(self, path: &Path) -> bool {
        (self.counts)(path)
            || match fs::symlink_metadata(path) {
                Ok(metadata) => (self.stays)(&metadata),
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            }
    }
}

/// Goes up where a path says so as the system does: from where a link leads, not from where it is.
/// A link from which nothing goes up stays. `root` is taken to be free of links.
pub(crate) fn normal(path: &Path, root: &Path) -> PathBuf {
    let resolver = Resolver {
        counts: &|_| true,
        stays: |_| true,
    };
    let (mut real, below) = match path.strip_prefix(root) {
        Ok(below) => (root.to_path_buf(), below),
        Err(_) => (PathBuf::new(), path),
    };
    let mut named = PathBuf::new();
    let mut rest = below.components();
    while let Some(part) = rest.next() {
        match part {
            Component::CurDir => {}
            // Each part is followed once, however often the path goes up.
            Component::ParentDir => match resolver.resolve(&real, &named) {
                Target::Path(Resolved { mut path, .. }) => {
                    path.pop();
                    (real, named) = (path, PathBuf::new());
                }
                Target::OfProcess(at) => return at.join("..").join(rest.as_path()),
            },
            other => named.push(other),
        }
    }
    match named.as_os_str().is_empty() {
        true => real,
        false => real.join(named),
    }
}

/// Says whether only the superuser can change something. Through a device or a socket of its own
/// nothing of the file system changes.
pub(crate) fn is_superusers(metadata: &Metadata) -> bool {
    metadata.uid() == 0 && is_kept(metadata.mode())
}

/// Says whether only its owner can change what has such a mode.
fn is_kept(mode: u32) -> bool {
    let is_closed = mode & 0o022 == 0;
    match mode & KIND {
        SYMLINK | CHARACTER_DEVICE | BLOCK_DEVICE | SOCKET => true,
        // The stores of Nix and Guix: their group adds to them, and replaces nothing.
        FOLDER => is_closed || mode & 0o1002 == 0o1000,
        _ => is_closed,
    }
}

/// The same where we are not: an upgrade of the system needs no new approval.
pub(crate) fn is_systems(metadata: &Metadata) -> bool {
    is_superusers(metadata) && !rustix::process::geteuid().is_root()
}

fn is_of_process(path: &Path) -> bool {
    OF_PROCESS.iter().any(|folder| path.starts_with(folder))
}

fn reversed(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev();
    parts.map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// Which bits of a mode say what it is of, as POSIX has them.
const KIND: u32 = 0o170_000;
const SOCKET: u32 = 0o140_000;
const SYMLINK: u32 = 0o120_000;
const BLOCK_DEVICE: u32 = 0o060_000;
const FOLDER: u32 = 0o040_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
/// `/dev/fd` and the standard streams are links to the first.
const OF_PROCESS: &[&str] = &["/proc", "/dev/fd"];
/// As many as Linux follows.
const MAX_LINKS: usize = 40;

#[cfg(test)]
mod tests;
