//! Our folders, covered by empty ones in a mount namespace that only this child sees.
//!
//! A cover alone is not enough: Linux refuses to rename a mount point, but not the folder around it,
//! and what the child renames is renamed for all processes. So every name on the way to a hidden
//! folder is made a mount point as well. That happens in a second view of the folder that holds the
//! name, because a mount in the first view would keep files from being moved across it. The views
//! lie below the cover of the first hidden folder, where no process gets. One view of a folder
//! serves all names in it, however many hidden folders they lead to:
//!
//! ```text
//! ~/.config/keyway          ours
//!   └ cover                 views of / and ~, in which `home` and `.config` are mount points
//!       └ upper cover       what the child sees: nothing, read-only
//! ~/.local/share/keyway     ours
//!   └ cover                 what the child sees: nothing, read-only
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags, access};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};

use super::granted::{Granted, by_descriptor, id_of};
use super::mount_table;
use super::paths::{HiddenPlace, IsolatedPaths, Step};

/// Covers what is hidden; an error means that this system does not allow it.
pub(super) fn cover(places: &IsolatedPaths) -> io::Result<()> {
    keep_in()?;
    let (folders, files): (Vec<&HiddenPlace>, Vec<&HiddenPlace>) =
        places.hidden.iter().partition(|place| place.id.is_some());
    for file in &files {
        cover_file(&file.path)?;
    }
    for folder in &folders {
        put_cover(folder)?;
    }
    // A file has no cover that a view could lie below.
    if let Some(first) = folders.first() {
        let steps = places.hidden.iter().flat_map(|place| &place.steps);
        fix_names(&first.path, steps)?;
    }
    for folder in &folders {
        settle_cover(&folder.path, places)?;
    }
    let real = |own: &[Granted]| own.iter().map(|own| own.real.clone()).collect::<Vec<_>>();
    mount_table::seal(&real(&places.own_read_only), &real(&places.own))?;
    // Terminals of the person can be opened by name; this child gets terminals of its own.
    let terminals = c"newinstance,ptmxmode=0666,mode=0620";
    let quiet = MountFlags::NOSUID | MountFlags::NOEXEC;
    if Path::new(TERMINALS).is_dir() {
        rustix::mount::mount("devpts", TERMINALS, "devpts", quiet, terminals)?;
    }
    Ok(())
}

/// New mounts of the person still arrive here; ours never get out.
fn keep_in() -> io::Result<()> {
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    Ok(rustix::mount::mount_change("/", downstream)?)
}

/// Mounts a `/proc` that speaks of the processes of this namespace alone.
///
/// What it also shows is of the whole machine. Only root may write there: a program that the kernel
/// starts for every crash (`/proc/sys/kernel/core_pattern`) would run outside of all this.
pub(super) fn own_processes(at: &Path) -> io::Result<()> {
    rustix::mount::mount("proc", at, "proc", SETTLED, c"")?;
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let of_machine = MACHINE.iter().map(|name| at.join(name));
    for path in of_machine.filter(|path| path.exists()) {
        rustix::mount::mount_bind(&path, &path)?;
        let read_only = SETTLED | MountFlags::BIND | MountFlags::RDONLY;
        rustix::mount::mount_remount(&path, read_only, c"")?;
    }
    Ok(())
}

/// Covers the terminals of the person that are not in [`TERMINALS`], as far as this user may open
/// them: virtual consoles, what those show, and serial consoles. Boards on USB stay.
pub(super) fn cover_consoles() -> io::Result<()> {
    keep_in()?;
    for entry in fs::read_dir("/dev").into_iter().flatten().flatten() {
        let name = entry.file_name();
        if is_console(&name.to_string_lossy()) && can_be_opened(&entry.path()) {
            rustix::mount::mount_bind("/dev/null", entry.path())?;
        }
    }
    Ok(())
}

fn is_console(name: &str) -> bool {
    // `/dev/tty` itself is the terminal of the process that opens it, and a child has none.
    let is_line =
        |rest: &str| rest.starts_with(|first: char| first == 'S' || first.is_ascii_digit());
    name == "console" || name.starts_with("vcs") || name.strip_prefix("tty").is_some_and(is_line)
}

fn can_be_opened(path: &Path) -> bool {
    [Access::READ_OK, Access::WRITE_OK]
        .into_iter()
        .any(|wanted| access(path, wanted).is_ok())
}

/// Covers a folder with an empty one.
fn put_cover(folder: &HiddenPlace) -> io::Result<()> {
    let path = &folder.path;
    // By descriptor, so that what is covered is what was compared.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let ours = rustix::fs::open(path, flags, Mode::empty())?;
    let found = id_of(&ours)?;
    if folder.id != Some(found) {
        return Err(Errno::STALE.into());
    }
    rustix::mount::mount("tmpfs", by_descriptor(&ours), "tmpfs", SETTLED, EMPTY)?;
    if fs::metadata(path)?.dev() == found.device {
        // Its name leads elsewhere meanwhile.
        return Err(Errno::STALE.into());
    }
    Ok(())
}

/// Makes every name of `steps` a mount point in a view below the cover at `path`, and covers the
/// views.
fn fix_names<'a>(path: &Path, steps: impl Iterator<Item = &'a Step>) -> io::Result<()> {
    // What is put in the way of a rename; a mount of its own, because the cover cannot be copied.
    let nothing = path.join("nothing");
    fs::create_dir(&nothing)?;
    rustix::mount::mount("tmpfs", &nothing, "tmpfs", SETTLED, EMPTY)?;
    let no_file = nothing.join("file");
    drop(File::create(&no_file)?);
    // Until all are there: a view of the home must not copy the views before it.
    rustix::mount::mount_change(path, MountPropagationFlags::UNBINDABLE)?;
    let mut views: BTreeMap<&Path, PathBuf> = BTreeMap::new();
    let mut fixed = BTreeSet::new();
    for step in steps {
        // Folders that lie together share most of the way.
        if !fixed.insert((&step.folder, &step.name)) {
            continue;
        }
        let count = views.len();
        let view = views.entry(&step.folder).or_default();
        if view.as_os_str().is_empty() {
            *view = path.join(count.to_string());
            make_view(&step.folder, view)?;
        }
        let name = view.join(&step.name);
        if step.is_link {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let link = rustix::fs::open(&name, flags, Mode::empty())?;
            rustix::mount::mount_bind(&no_file, by_descriptor(&link))?;
        } else {
            rustix::mount::mount_bind(&nothing, &name)?;
        }
    }
    // A child may make namespaces of its own, and copies must then be possible again.
    rustix::mount::mount_change(path, MountPropagationFlags::PRIVATE)?;
    Ok(rustix::mount::mount(
        "tmpfs", path, "tmpfs", SETTLED, EMPTY,
    )?)
}

/// Shows a folder a second time.
pub(super) fn make_view(folder: &Path, view: &Path) -> io::Result<()> {
    fs::create_dir(view)?;
    // What is mounted inside comes along only where it may not be left behind.
    match rustix::mount::mount_bind(folder, view) {
        Err(Errno::INVAL) => Ok(rustix::mount::mount_bind_recursive(folder, view)?),
        outcome => Ok(outcome?),
    }
}

/// Shows in a cover what is the program's own, and nothing else.
fn settle_cover(path: &Path, places: &IsolatedPaths) -> io::Result<()> {
    let own = places.own.iter().chain(&places.own_read_only);
    for inner in own.filter(|inner| inner.real.starts_with(path)) {
        fs::create_dir_all(&inner.real)?;
        rustix::mount::mount_bind_recursive(by_descriptor(&inner.opened), &inner.real)?;
    }
    // What is the program's own inside can be reached, and nothing can be listed.
    fs::set_permissions(path, fs::Permissions::from_mode(0o111))?;
    let read_only = SETTLED | MountFlags::BIND | MountFlags::RDONLY;
    Ok(rustix::mount::mount_remount(path, read_only, c"")?)
}

/// A device where devices do not work: it cannot be opened.
fn cover_file(path: &Path) -> io::Result<()> {
    rustix::mount::mount_bind("/dev/null", path)?;
    let no_device = SETTLED | MountFlags::BIND | MountFlags::RDONLY;
    Ok(rustix::mount::mount_remount(path, no_device, c"")?)
}

/// No devices, no set-user-ID; nothing to execute is in there anyway.
pub(super) const SETTLED: MountFlags = MountFlags::NOSUID
    .union(MountFlags::NODEV)
    .union(MountFlags::NOEXEC);
/// A folder that holds names alone.
const EMPTY: &CStr = c"size=64k,mode=0700";
const TERMINALS: &str = "/dev/pts";
/// What `/proc` shows of the whole machine and root could write.
const MACHINE: [&str; 4] = ["sys", "sysrq-trigger", "irq", "bus"];
