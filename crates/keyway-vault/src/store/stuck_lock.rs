//! Locks that a connection still holds although its transaction has ended.
//!
//! SQLite takes no notice of an unlock that fails (`ENOLCK`: the kernel has no memory for the record
//! of it). Its connection then keeps every other process from writing, and itself as well, for as
//! long as it is open: a process that waits for another one's commit would wait in vain. Closing the
//! connection gives up what it holds, so it is enough to know.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;

use crate::folders::Folder;

/// Tells whether this process holds a lock on a file of the folder that keeps others out. Where the system does not list
/// locks, as others than Linux, it holds none that is known.
///
/// Called with no transaction open. A connection of another handle that is at work just then looks
/// the same; closing one's own does no harm.
pub(super) fn is_held(folder: &Folder, name: &str) -> bool {
    let file = folder.path().join(name).symlink_metadata();
    let Ok(file) = file else { return false };
    let mut locks = String::new();
    let list = File::open(LIST).and_then(|file| file.take(LIST_LIMIT).read_to_string(&mut locks));
    list.is_ok() && has_exclusive(&locks, std::process::id(), file.ino())
}

/// Looks for an exclusive lock of a process among the lines of `/proc/locks`:
///
/// ```text
/// 3: POSIX  ADVISORY  WRITE 4711 fd:01:393229 120 120
/// ```
///
/// By the number of the file alone: some file systems show another device to `stat`.
fn has_exclusive(locks: &str, process: u32, file: u64) -> bool {
    let (process, file) = (process.to_string(), format!(":{file}"));
    locks.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next() == Some("POSIX")
            && words.nth(1) == Some("WRITE")
            && words.next() == Some(&process)
            && words.next().is_some_and(|place| place.ends_with(&file))
    })
}

const LIST: &str = "/proc/locks";
/// Some ten thousand locks.
const LIST_LIMIT: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exclusive_lock_of_this_process_on_this_file_counts() {
        let line = "3: POSIX  ADVISORY  WRITE 4711 fd:01:393229 120 120\n";
        assert!(has_exclusive(line, 4711, 393_229));
        for other in [
            "3: POSIX  ADVISORY  READ 4711 fd:01:393229 120 120\n",
            "3: POSIX  ADVISORY  WRITE 711 fd:01:393229 120 120\n",
            "3: POSIX  ADVISORY  WRITE 4711 fd:01:1393229 120 120\n",
            "3: FLOCK  ADVISORY  WRITE 4711 fd:01:393229 0 EOF\n",
            "3: -> POSIX  ADVISORY  WRITE 4711 fd:01:393229 120 120\n",
            "3: POSIX\n\n",
        ] {
            assert!(!has_exclusive(other, 4711, 393_229), "{other}");
        }
    }
}
