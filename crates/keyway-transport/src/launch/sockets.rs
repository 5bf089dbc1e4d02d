//! Sockets of other programs in the system folders that a confined child sees.
//!
//! A socket can be connected to wherever its file is seen, also where nothing may be written. The kernel
//! lists the sockets that have a path; those that lie in a system folder are covered.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::isolation::SYSTEM;

/// Returns the sockets in system folders, without links. Called outside of the child's namespaces:
/// each network namespace has a list of its own.
pub(super) fn in_system_folders() -> Vec<PathBuf> {
    let list = fs::read("/proc/self/net/unix").unwrap_or_default();
    let is_system = |path: &PathBuf| SYSTEM.iter().any(|folder| path.starts_with(folder));
    let real = paths(&list).filter_map(|path| path.canonicalize().ok());
    let mut found: Vec<PathBuf> = real.filter(is_system).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the absolute paths of the kernel's list: the eighth word of a line, to its end.
fn paths(list: &[u8]) -> impl Iterator<Item = &Path> {
    let lines = list.split(|byte| *byte == b'\n');
    lines.filter_map(|line| {
        let start = line.windows(2).position(|pair| pair == b" /")?;
        let path = line.get(start + 1..)?;
        Some(Path::new(OsStr::from_bytes(path)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_and_abstract_names_are_not() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20741 /run/a b\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20742 @abstract\n\
            0000000000000000: 00000002 00000000 00000000 0002 01 20743\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20744 relative\n";
        let found: Vec<&Path> = paths(list).collect();
        assert_eq!(found, [Path::new("/run/a b")]);
    }
}
