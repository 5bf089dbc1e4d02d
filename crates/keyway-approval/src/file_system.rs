//! Whether inode, size and change time of a file tell of every change of its content.
//!
//! A program that has mapped a file into its memory can write it without another change time until
//! the kernel has written the page to the disk: for half a minute on a disk, and for ever where there
//! is none. What another machine, or a program in the place of a file system, says of a file is its own
//! word. Contents that cannot be told by their stamps are read at every look.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The file systems that a walk has met, and whose files they are.
#[derive(Debug)]
pub(crate) struct FileSystems {
    /// By device number: each is asked once.
    on_disk: HashMap<u64, bool>,
    user: u32,
}

impl FileSystems {
    pub(crate) fn new() -> Self {
        Self {
            on_disk: HashMap::new(),
            user: rustix::process::geteuid().as_raw(),
        }
    }

    /// Says whether a file's stamp tells of its changes, from a minute after the last one on; `path` is
    /// where it is.
    pub(crate) fn tell_changes(
        &mut self,
        metadata: &Metadata,
        path: impl FnOnce() -> PathBuf,
    ) -> bool {
        let on_disk = self.on_disk.entry(metadata.dev());
        *on_disk.or_insert_with(|| is_on_disk(&path())) && self.is_own(metadata)
    }

    fn is_own(&self, metadata: &Metadata) -> bool {
        let (owner, group) = (metadata.uid(), metadata.gid());
        no_other_writes(self.user, owner, group, metadata.mode())
    }
}

/// Says whether no other user can write a file, apart from the superuser.
const fn no_other_writes(user: u32, owner: u32, group: u32, mode: u32) -> bool {
    let is_ours = owner == 0 || owner == user;
    // Where every user has a group of the same number, the group is the user.
    let is_group_own = mode & 0o020 == 0 || group == owner;
    is_ours && is_group_own && mode & 0o002 == 0
}

/// Says whether a file system keeps its files on a disk of this machine; not if that cannot be told.
#[cfg(target_os = "linux")]
fn is_on_disk(path: &Path) -> bool {
    let found = rustix::fs::statfs(path).ok();
    // The number is signed on some machines, and has 32 bits.
    let magic = found.map(|it| it.f_type.to_le_bytes());
    let magic = magic.and_then(|bytes| bytes.first_chunk().copied());
    magic.is_some_and(|magic| is_disks(u32::from_le_bytes(magic)))
}

#[cfg(not(target_os = "linux"))]
fn is_on_disk(_path: &Path) -> bool {
    true
}

/// Says whether a file system is one of a disk. Others are kept in memory, by a program or on another
/// machine, or are layers over one that is not known (overlayfs).
#[cfg(target_os = "linux")]
fn is_disks(magic: u32) -> bool {
    DISKS.contains(&magic)
}

/// Magic numbers of `statfs(2)`.
#[cfg(target_os = "linux")]
const DISKS: [u32; 8] = [
    // ext2, ext3 and ext4.
    0xef53,
    // XFS, Btrfs, F2FS, ZFS, bcachefs.
    0x5846_5342,
    0x9123_683e,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0xca45_1a4e,
    // Read only: SquashFS, EROFS.
    0x7371_7368,
    0xe0f5_e1e2,
];

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::{is_disks, no_other_writes};

    /// A group of the owner's own number has no other member.
    #[test]
    fn e05_a_file_that_another_user_can_write_is_told_by_its_owner_and_mode() {
        for (owner, group, mode, expected) in [
            (1000, 1000, 0o644, true),
            (1000, 1000, 0o664, true),
            (1000, 100, 0o644, true),
            (1000, 100, 0o664, false),
            (1000, 1000, 0o646, false),
            (1000, 1000, 0o666, false),
            (1000, 100, 0o646, false),
            (0, 0, 0o664, true),
            (0, 1000, 0o644, true),
            (0, 1000, 0o664, false),
            (1001, 1001, 0o600, false),
            (1001, 1001, 0o666, false),
        ] {
            let found = no_other_writes(1000, owner, group, mode);
            assert_eq!(found, expected, "{owner} {group} {mode:o}");
        }
    }

    #[test]
    fn e05_stamps_are_believed_on_known_file_systems_of_disks_alone() {
        for (name, magic) in [
            ("ext4", 0xef53),
            ("xfs", 0x5846_5342),
            ("btrfs", 0x9123_683e),
        ] {
            assert!(is_disks(magic), "{name}");
        }
        for (name, magic) in [
            ("tmpfs", 0x0102_1994),
            ("overlayfs", 0x794c_7630),
            ("fuse", 0x6573_5546),
            ("nfs", 0x6969),
            ("vboxsf", 0x786f_4256),
            ("unknown", 1),
        ] {
            assert!(!is_disks(magic), "{name}");
        }
    }
}
