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

    /// Says whether no other user can write a file, apart from the superuser.
    fn is_own(&self, metadata: &Metadata) -> bool {
        let (owner, mode) = (metadata.uid(), metadata.mode());
        let is_ours = owner == 0 || owner == self.user;
        // Where every user has a group of the same number, the group is the user.
        let is_group_own = mode & 0o020 == 0 || metadata.gid() == owner;
        is_ours && is_group_own && mode & 0o002 == 0
    }
}

/// Says whether a file system keeps its files on a disk of this machine; not if that cannot be told.
#[cfg(target_os = "linux")]
fn is_on_disk(path: &Path) -> bool {
    let found = rustix::fs::statfs(path).ok();
    // The number is signed on some machines, and has 32 bits.
    let magic = found.map(|it| it.f_type.to_le_bytes());
    let magic = magic.and_then(|bytes| bytes.first_chunk().copied());
    magic.is_some_and(|magic| !ELSEWHERE.contains(&u32::from_le_bytes(magic)))
}

#[cfg(not(target_os = "linux"))]
fn is_on_disk(_path: &Path) -> bool {
    true
}

/// Magic numbers of `statfs(2)`.
#[cfg(target_os = "linux")]
const ELSEWHERE: [u32; 14] = [
    // In memory: tmpfs, ramfs, hugetlbfs.
    0x0102_1994,
    0x8584_58f6,
    0x9584_58f6,
    // Kept by a program (FUSE), or by the host of a virtual machine (9P).
    0x6573_5546,
    0x0102_1997,
    // On another machine: NFS, CIFS, SMB 2, SMB, AFS, Ceph, Coda, Lustre, GPFS.
    0x6969,
    0xff53_4d42,
    0xfe53_4d42,
    0x517b,
    0x5346_414f,
    0x00c3_6400,
    0x7375_7245,
    0x0bd0_0bd0,
    0x4750_4653,
];
