//! Our folders, covered by empty ones in a mount namespace that only this process sees.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use super::{IsolatedPaths, IsolationProfile};

/// Covers what is hidden, and says so; an error means that this system does not allow it.
///
/// Under [`IsolationProfile::Confine`] the child also gets a `/tmp` of its own, unless something in the
/// common one was granted.
pub(super) fn cover(places: &IsolatedPaths, profile: IsolationProfile) -> io::Result<bool> {
    enter_namespace()?;
    // New mounts of the person still arrive here; ours never get out.
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", downstream)?;
    let exposed = Exposed::of(places)?;
    for path in &places.hidden {
        if path.is_dir() {
            cover_folder(path, &exposed)?;
        } else {
            cover_file(path)?;
        }
    }
    if profile == IsolationProfile::Confine && has_private_tmp(places) {
        rustix::mount::mount("tmpfs", TMP, "tmpfs", SETTLED, c"mode=1777")?;
    }
    Ok(true)
}

/// Says whether `/tmp` can be replaced without hiding something that was granted.
pub(super) fn has_private_tmp(places: &IsolatedPaths) -> bool {
    !places.granted.iter().any(|path| path.starts_with(TMP))
}

/// Enters a mount namespace, with a user namespace around it where that is needed.
#[expect(
    deprecated,
    reason = "its successor is unsafe for the sake of descriptor tables, which are not unshared"
)]
fn enter_namespace() -> io::Result<()> {
    use rustix::thread::unshare;

    if unshare(UnshareFlags::NEWNS).is_ok() {
        return Ok(());
    }
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    // The person stays who they are; nobody else has a number in here.
    put("/proc/self/setgroups", "deny")?;
    put("/proc/self/uid_map", &format!("{user} {user} 1"))?;
    put("/proc/self/gid_map", &format!("{group} {group} 1"))
}

fn cover_folder(path: &Path, exposed: &[Exposed]) -> io::Result<()> {
    rustix::mount::mount("tmpfs", path, "tmpfs", SETTLED, c"size=64k,mode=0111")?;
    for inner in exposed.iter().filter(|inner| inner.path.starts_with(path)) {
        fs::create_dir_all(&inner.path)?;
        let source = format!("/proc/self/fd/{}", inner.folder.as_raw_fd());
        rustix::mount::mount_bind_recursive(source, &inner.path)?;
    }
    let read_only = SETTLED | MountFlags::BIND | MountFlags::RDONLY;
    Ok(rustix::mount::mount_remount(path, read_only, c"")?)
}

/// A device where devices do not work: it cannot be opened.
fn cover_file(path: &Path) -> io::Result<()> {
    rustix::mount::mount_bind("/dev/null", path)?;
    let no_device = SETTLED | MountFlags::BIND | MountFlags::RDONLY;
    Ok(rustix::mount::mount_remount(path, no_device, c"")?)
}

/// A granted folder inside a hidden one, held open while that is covered.
struct Exposed {
    path: PathBuf,
    folder: OwnedFd,
}

impl Exposed {
    fn of(places: &IsolatedPaths) -> io::Result<Vec<Self>> {
        let is_inside = |path: &Path| places.hidden.iter().any(|hidden| path.starts_with(hidden));
        let inside = places.granted.iter().filter(|path| is_inside(path));
        inside
            .map(|path| {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                Ok(Self {
                    path: path.clone(),
                    folder: rustix::fs::open(path, flags, Mode::empty())?,
                })
            })
            .collect()
    }
}

fn put(path: &str, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// No devices, no set-user-ID; nothing to execute is in there anyway.
const SETTLED: MountFlags = MountFlags::NOSUID
    .union(MountFlags::NODEV)
    .union(MountFlags::NOEXEC);
const TMP: &str = "/tmp";
