//! The tree of a confined child: system folders to read, what was granted, and nothing else.
//!
//! It is built beside the person's and then takes its place; the person's is gone from the
//! namespace afterwards, sockets of other programs included.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::fs::Mode;
use rustix::mount::{MountFlags, UnmountFlags};

use super::granted::{Granted, HELD, by_descriptor};
use super::mounts::own_processes;
use super::paths::IsolatedPaths;
use super::{Request, mount_table, pins};

/// Builds the tree and enters it. Our folders are covered already, so a granted folder around them
/// does not show them.
pub(super) fn enter(places: &IsolatedPaths, request: Request<'_>) -> io::Result<()> {
    // Before the base covers what may lie below it.
    let sources = Source::all(places)?;
    let homes = homes(places, request);
    rustix::mount::mount("tmpfs", BASE, "tmpfs", LIVELY, c"mode=0755")?;
    let tree = Tree(PathBuf::from(BASE));
    for folder in ["proc", "run", "var"] {
        tree.folder(Path::new(folder))?;
    }
    tree.devices(&sources)?;
    for path in ["/tmp", "/var/tmp"] {
        tree.empty(Path::new(path), c"mode=1777")?;
    }
    symlink("../run", tree.at(Path::new("/var/run")))?;
    let (mut sealed, mut open, mut written) = (Vec::new(), Vec::new(), Vec::new());
    for (source, path) in outer_first(&sources, &homes) {
        if tree.has_link(path) {
            continue;
        }
        let Some(source) = source else {
            if tree.can_be_emptied(path, &sources) {
                tree.empty(path, c"mode=0700")?;
                open.push(tree.at(path));
            }
            continue;
        };
        if source.kind == MountKind::ReadOnly {
            pins::put(&tree.at(path), &written)?;
        }
        tree.show(source, path)?;
        match source.kind {
            MountKind::ReadOnly => sealed.push(tree.at(path)),
            MountKind::ReadWrite | MountKind::Device => written.push(tree.at(path)),
        }
    }
    for socket in request.sockets {
        tree.cover_socket(socket)?;
    }
    open.append(&mut written);
    mount_table::seal(&sealed, &open)?;
    rustix::mount::mount_remount(tree.at(Path::new("/dev")), READ_ONLY, c"")?;
    own_processes(&tree.at(Path::new("/proc")))?;
    std::env::set_current_dir(BASE)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")?;
    Ok(rustix::mount::mount_remount("/", READ_ONLY, c"")?)
}

/// Returns the folders that the child finds empty, with and without links, unless a folder around
/// them was granted. The entry decides about some of them.
pub(super) fn homes(places: &IsolatedPaths, request: Request<'_>) -> Vec<PathBuf> {
    let own_folders = request.own_folders.into_iter().flatten();
    let own_folders =
        own_folders.flat_map(|path| [Some(path.to_owned()), path.canonicalize().ok()]);
    let given: Vec<&Granted> = places.writable().chain(places.readable()).collect();
    let is_given = |path: &Path| given.iter().any(|it| path.starts_with(&it.real));
    let is_home = |path: &PathBuf| {
        let is_system = SYSTEM
            .iter()
            .chain(PROGRAMS)
            .any(|system| path.as_os_str() == *system);
        is_plain(path) && !is_system && !path.starts_with("/tmp") && !is_given(path)
    };
    own_folders.flatten().filter(is_home).collect()
}

/// Says whether a path stays below the root wherever that lies.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && path.parent().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Returns what is shown besides devices, and where: a folder before what lies in it, so that the
/// nearest one decides about a path, and of two at one path the one that may be written. Without a
/// source there is an empty folder.
fn outer_first<'a>(
    sources: &'a [Source],
    homes: &'a [PathBuf],
) -> Vec<(Option<&'a Source>, &'a Path)> {
    let sources = sources
        .iter()
        .filter(|source| source.kind != MountKind::Device);
    let sources = sources.flat_map(|source| source.paths().map(move |path| (Some(source), path)));
    let homes = homes.iter().map(|path| (None, path.as_path()));
    // Stable: what may be written comes last in `sources`.
    let mut shown: Vec<_> = homes.chain(sources).collect();
    shown.sort_by_key(|(_, path)| path.components().count());
    shown
}

/// Something of the person's tree, held open.
struct Source {
    kind: MountKind,
    /// As it was written.
    written: PathBuf,
    /// Without links.
    real: PathBuf,
    /// `None` for a link, which is created again.
    opened: Option<OwnedFd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountKind {
    ReadOnly,
    ReadWrite,
    Device,
}

impl Source {
    fn all(places: &IsolatedPaths) -> io::Result<Vec<Self>> {
        let mut sources = Vec::new();
        for path in SYSTEM {
            sources.extend(Self::system(Path::new(path))?);
        }
        // Often a link into a folder of a service, of which only this file is needed.
        if let Ok(names) = fs::canonicalize(RESOLVER) {
            sources.push(Self::open(MountKind::ReadOnly, &names, &names)?);
        }
        for path in DEVICES {
            let path = Path::new(path);
            sources.push(Self::open(MountKind::Device, path, path)?);
        }
        let granted = places
            .writable()
            .map(|granted| (MountKind::ReadWrite, granted));
        let read_only = places.readable();
        let read_only = read_only.map(|granted| (MountKind::ReadOnly, granted));
        for (kind, granted) in read_only.chain(granted) {
            sources.push(Self {
                kind,
                written: granted.written.clone(),
                real: granted.real.clone(),
                opened: Some(granted.opened.try_clone()?),
            });
        }
        Ok(sources)
    }

    /// Returns nothing for what this system does not have.
    fn system(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
            Err(_) => Ok(None),
            Ok(found) if found.is_symlink() => Ok(Some(Self {
                kind: MountKind::ReadOnly,
                written: path.to_owned(),
                real: path.to_owned(),
                opened: None,
            })),
            Ok(_) => Self::open(MountKind::ReadOnly, path, path).map(Some),
        }
    }

    fn open(kind: MountKind, written: &Path, real: &Path) -> io::Result<Self> {
        let opened = rustix::fs::open(real, HELD, Mode::empty())?;
        Ok(Self {
            kind,
            written: written.to_owned(),
            real: real.to_owned(),
            opened: Some(opened),
        })
    }

    /// Returns the paths that it is to be seen at.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        let written = Some(self.written.as_path());
        let is_other = |path: &&Path| is_plain(path) && *path != self.real;
        std::iter::once(self.real.as_path()).chain(written.filter(is_other))
    }
}

/// The tree while it is built, by the folder that will be its root.
struct Tree(PathBuf);

impl Tree {
    fn at(&self, path: &Path) -> PathBuf {
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Says whether a link lies on the way or at the end, which may lead out of the tree while it is
    /// built. What it leads to has a path without links, and is shown there.
    fn has_link(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.at(above).is_symlink())
    }

    fn folder(&self, path: &Path) -> io::Result<PathBuf> {
        let path = self.at(path);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&path)?;
        Ok(path)
    }

    /// Says whether an empty folder can be put there without making one in a folder of the person's.
    fn can_be_emptied(&self, path: &Path, sources: &[Source]) -> bool {
        match fs::symlink_metadata(self.at(path)) {
            Ok(found) => found.is_dir(),
            Err(error) => {
                let mut shown = sources.iter().flat_map(Source::paths);
                error.kind() == io::ErrorKind::NotFound
                    && !shown.any(|shown| path.starts_with(shown) && self.at(shown).exists())
            }
        }
    }

    /// Puts an empty folder there, in memory, which is gone after the child.
    fn empty(&self, path: &Path, mode: &std::ffi::CStr) -> io::Result<()> {
        let path = self.folder(path)?;
        Ok(rustix::mount::mount("tmpfs", path, "tmpfs", LIVELY, mode)?)
    }

    /// Covers a socket by a file that is none, where it is seen.
    fn cover_socket(&self, path: &Path) -> io::Result<()> {
        let target = self.at(path);
        let found = fs::symlink_metadata(&target);
        if !is_plain(path) || !found.is_ok_and(|found| found.file_type().is_socket()) {
            return Ok(());
        }
        let nothing = self.at(Path::new("/dev/null"));
        Ok(rustix::mount::mount_bind(nothing, target)?)
    }

    /// Shows something of the person's at a path.
    fn show(&self, source: &Source, path: &Path) -> io::Result<()> {
        let Some(opened) = &source.opened else {
            return symlink(fs::read_link(&source.real)?, self.at(path));
        };
        let kind = rustix::fs::fstat(opened)?.st_mode;
        let target = if rustix::fs::FileType::from_raw_mode(kind).is_dir() {
            self.folder(path)?
        } else {
            self.file(path)?
        };
        Ok(rustix::mount::mount_bind_recursive(
            by_descriptor(opened),
            target,
        )?)
    }

    fn file(&self, path: &Path) -> io::Result<PathBuf> {
        if let Some(folder) = path.parent() {
            self.folder(folder)?;
        }
        let path = self.at(path);
        if !path.exists() {
            drop(File::create(&path)?);
        }
        Ok(path)
    }

    fn devices(&self, sources: &[Source]) -> io::Result<()> {
        self.empty(Path::new("/dev"), c"mode=0755")?;
        for device in sources
            .iter()
            .filter(|source| source.kind == MountKind::Device)
        {
            self.show(device, &device.real)?;
        }
        for (name, target) in DESCRIPTORS {
            symlink(target, self.at(Path::new(name)))?;
        }
        self.empty(Path::new("/dev/shm"), c"mode=1777")
    }
}

/// Where the tree is built.
const BASE: &str = "/tmp";

/// Programs may be executed and written here.
const LIVELY: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// The same, and nothing may be written.
const READ_ONLY: MountFlags = LIVELY.union(MountFlags::BIND).union(MountFlags::RDONLY);

/// Which server answers for names.
const RESOLVER: &str = "/etc/resolv.conf";

/// What programs need of the system, to read and execute.
pub(in crate::launch) const SYSTEM: &[&str] = &[
    "/bin",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/opt",
    "/run/current-system",
    "/sbin",
    "/snap",
    "/sys/devices/system/cpu",
    "/usr",
    "/var/lib/ca-certificates",
];

/// Homes of users that are no person: what lies there are programs.
const PROGRAMS: &[&str] = &["/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/usr/sbin"];

/// Devices that hold nothing of the person's.
pub(super) const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// Names of what a process has open.
const DESCRIPTORS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_on_the_way_or_at_the_end_is_found_within_the_tree_alone() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree(folder.path().to_owned());
        let plain = tree.folder(Path::new("/home/ada")).unwrap();
        symlink("/", plain.join("out")).unwrap();
        for (path, found) in [
            ("/home/ada/out", true),
            ("/home/ada/out/etc", true),
            ("/home/ada", false),
            ("/home/ada/absent", false),
        ] {
            assert_eq!(tree.has_link(Path::new(path)), found, "{path}");
        }
    }

    fn source(kind: MountKind, written: &str, real: &str) -> Source {
        Source {
            kind,
            written: written.into(),
            real: real.into(),
            opened: None,
        }
    }

    #[test]
    fn the_nearest_folder_decides_and_of_two_at_one_path_the_one_that_may_be_written() {
        let sources = [
            source(MountKind::Device, "/dev/null", "/dev/null"),
            source(MountKind::ReadOnly, "/work/lib", "/work/lib"),
            source(MountKind::ReadOnly, "/work", "/work"),
            source(MountKind::ReadWrite, "work", "/work"),
            source(MountKind::ReadWrite, "/by/a/link", "/data"),
        ];
        let homes = [PathBuf::from("/home/ada"), PathBuf::from("/data")];
        let shown: Vec<_> = outer_first(&sources, &homes)
            .into_iter()
            .map(|(source, path)| (path.to_str().unwrap(), source.map(|it| it.kind)))
            .collect();
        assert_eq!(
            shown,
            [
                ("/data", None),
                ("/work", Some(MountKind::ReadOnly)),
                ("/work", Some(MountKind::ReadWrite)),
                ("/data", Some(MountKind::ReadWrite)),
                ("/home/ada", None),
                ("/work/lib", Some(MountKind::ReadOnly)),
                ("/by/a/link", Some(MountKind::ReadWrite)),
            ]
        );
    }

    #[test]
    fn a_home_is_empty_unless_it_is_of_the_system_or_was_granted() {
        let granted = tempfile::TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let granted = granted.path().canonicalize().unwrap();
        let places = IsolatedPaths {
            granted: Granted::all(std::slice::from_ref(&granted), &[]).unwrap(),
            ..IsolatedPaths::default()
        };
        let isolation = crate::launch::isolation::Isolation::default();
        let inside = granted.join("home");
        for (path, is_empty) in [
            ("/none/home", true),
            ("/usr/none", true),
            ("/usr/sbin", false),
            ("/etc", false),
            ("/", false),
            ("/tmp/home", false),
            ("/none/../home", false),
            ("none", false),
            (inside.to_str().unwrap(), false),
        ] {
            let request = Request {
                isolation: &isolation,
                hidden: &[],
                root: None,
                sockets: &[],
                own_folders: [None, Some(Path::new(path)), None],
            };
            let found = homes(&places, request);
            assert_eq!(found.contains(&PathBuf::from(path)), is_empty, "{path}");
        }
    }

    #[test]
    fn an_empty_folder_is_made_only_where_nothing_of_the_persons_is_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree(folder.path().to_owned());
        tree.folder(Path::new("/work")).unwrap();
        tree.folder(Path::new("/home/ada")).unwrap();
        drop(File::create(tree.at(Path::new("/file"))).unwrap());
        let sources = [
            source(MountKind::ReadWrite, "/work", "/work"),
            source(MountKind::ReadOnly, "/absent", "/absent"),
        ];
        for (path, expected) in [
            ("/home/ada", true),
            ("/home/bob", true),
            ("/absent/home", true),
            ("/work", true),
            ("/work/home", false),
            ("/file", false),
            ("/file/home", false),
        ] {
            let found = tree.can_be_emptied(Path::new(path), &sources);
            assert_eq!(found, expected, "{path}");
        }
    }
}
