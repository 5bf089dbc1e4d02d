//! Which file systems cannot hold a vault.
//!
//! SQLite's log needs memory shared between processes and dependable locks, and owner and mode have
//! to mean something: none of it holds across machines.

use std::os::fd::OwnedFd;
use std::path::Path;

use crate::error::VaultError;

/// Refuses a folder on a file system that is shared with other machines.
#[cfg(target_os = "linux")]
pub(super) fn refuse_network(path: &Path, folder: &OwnedFd) -> Result<(), VaultError> {
    let stat = rustix::fs::fstatfs(folder).map_err(|e| VaultError::file("inspect", path, e))?;
    let Ok(magic) = u64::try_from(stat.f_type) else {
        return Ok(());
    };
    let kind = if magic & 0xffff_ffff == FUSE {
        let device = rustix::fs::fstat(folder)
            .map_err(|e| VaultError::file("inspect", path, e))?
            .st_dev;
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let kind = fuse_kind(&mounts, device).unwrap_or_else(|| "fuse".to_owned());
        Some(kind).filter(|kind| !LOCAL_FUSE.contains(&kind.as_str()))
    } else {
        NETWORK
            .iter()
            .find(|(known, _)| *known == magic & 0xffff_ffff)
            .map(|(_, kind)| (*kind).to_owned())
    };
    match kind {
        Some(kind) => Err(VaultError::NetworkFileSystem {
            path: path.to_owned(),
            kind,
        }),
        None => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn refuse_network(_path: &Path, _folder: &OwnedFd) -> Result<(), VaultError> {
    Ok(())
}

/// Finds the type of the mount with this device number (proc(5), `mountinfo`).
#[cfg(target_os = "linux")]
fn fuse_kind(mounts: &str, device: u64) -> Option<String> {
    let number = format!(
        "{}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device)
    );
    mounts.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        let same = mount.split(' ').nth(2)? == number;
        same.then(|| source.split(' ').next().map(str::to_owned))
            .flatten()
    })
}

/// Magic numbers of `statfs(2)`. 9P is how a virtual machine or WSL shows its host's files.
#[cfg(target_os = "linux")]
const NETWORK: [(u64, &str); 12] = [
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x517b, "smb"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "afs"),
    (0x00c3_6400, "ceph"),
    (0x7375_7245, "coda"),
    (0x564c, "ncp"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x2003_0528, "orangefs"),
];
#[cfg(target_os = "linux")]
const FUSE: u64 = 0x6573_5546;
/// File systems in user space that keep their files on this machine. Any other is refused.
#[cfg(target_os = "linux")]
const LOCAL_FUSE: [&str; 9] = [
    "fuseblk",
    "fuse.bindfs",
    "fuse.cryfs",
    "fuse.encfs",
    "fuse.fuse-overlayfs",
    "fuse.gocryptfs",
    "fuse.mergerfs",
    "fuse.securefs",
    "virtiofs",
];

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn kind_of_a_fuse_mount_is_read_from_the_mount_table() {
        let table = "22 1 254:0 / / rw - ext4 /dev/vda rw\n\
            90 22 0:51 / /mnt/a\\040b rw,nosuid shared:1 - fuse.sshfs host:/ rw\n";
        let device = rustix::fs::makedev(0, 51);
        assert_eq!(fuse_kind(table, device).as_deref(), Some("fuse.sshfs"));
        assert!(!LOCAL_FUSE.contains(&"fuse.sshfs"));
        assert_eq!(fuse_kind(table, rustix::fs::makedev(0, 52)), None);
    }
}
