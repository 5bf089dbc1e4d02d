//! A control group for a program that is in no PID namespace: through it the kernel ends everything
//! that the program started, whatever session or parent that has by then.
//!
//! ```text
//!   group of Keyway ── host, supervisor
//!        └─ keyway-PID ── first process, program, whatever it starts
//! ```
//!
//! It takes version 2 of control groups (Linux 5.14 for `cgroup.kill`), and that this user may make
//! groups below that of this process: so it is in a systemd user session, and for root.
//!
//! The supervisor ends the group. If it is killed, its host does; if both are, the next supervisor
//! in the same place, which finds the group without a lock.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FlockOperation, access, flock};
use rustix::process::{Pid, getpid};

use crate::timeouts::{GROUP_END_INTERVAL, GROUP_END_TIMEOUT};

/// A group that this process, a supervisor, has made.
#[derive(Debug)]
pub(super) struct ControlGroup {
    path: PathBuf,
    /// Its lock shows that the supervisor lives. It is not handed to children.
    _lock: File,
}

impl ControlGroup {
    /// Makes a group below that of this process; `None` where that is not possible.
    pub(super) fn make() -> Option<Self> {
        let parent = own_group()?;
        end_abandoned(&parent);
        let path = group_of(&parent, getpid());
        fs::create_dir(&path).ok()?;
        let may_move = access(parent.join(MEMBERS), Access::WRITE_OK).is_ok();
        let made = locked(&path).filter(|_| may_move && path.join(KILL).exists());
        if made.is_none() {
            drop(fs::remove_dir(&path));
        }
        Some(Self { path, _lock: made? })
    }

    /// Moves a process into the group, `0` for this one: what it starts then is there from its first
    /// instruction on. For the first one the kernel may take 20 ms.
    pub(super) fn take_in(&self, process: &str) -> io::Result<()> {
        put(&self.path.join(MEMBERS), process)
    }

    /// Returns the processes in the group.
    pub(super) fn members(&self) -> Vec<Pid> {
        let listed = fs::read_to_string(self.path.join(MEMBERS)).unwrap_or_default();
        let numbers = listed.lines().filter_map(|line| line.parse().ok());
        numbers.filter_map(Pid::from_raw).collect()
    }

    /// Ends everything in the group, and the group.
    pub(super) fn end(self) {
        end(&self.path);
    }
}

/// Ends what is left of a supervisor that was killed, a child of this process.
pub(super) fn end_group_of(supervisor: Pid) {
    let Some(parent) = own_group() else {
        return;
    };
    let path = group_of(&parent, supervisor);
    if path.exists() {
        end(&path);
    }
}

/// Ends what supervisors left behind that were killed together with their hosts.
fn end_abandoned(parent: &Path) {
    let groups = fs::read_dir(parent).into_iter().flatten().flatten();
    for group in groups {
        let name = group.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
        if is_ours && let Some(_lock) = locked(&group.path()) {
            end(&group.path());
        }
    }
}

fn group_of(parent: &Path, supervisor: Pid) -> PathBuf {
    parent.join(format!("{PREFIX}{}", supervisor.as_raw_pid()))
}

/// Takes the lock of a group; `None` while its supervisor has it.
fn locked(group: &Path) -> Option<File> {
    let folder = File::open(group).ok()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(folder)
}

fn end(group: &Path) {
    drop(put(&group.join(KILL), "1"));
    // What was killed is in the group until its parent, or process 1, has taken note of its end.
    let mut left = GROUP_END_TIMEOUT;
    while fs::remove_dir(group).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
        let Some(rest) = left.checked_sub(GROUP_END_INTERVAL) else {
            return;
        };
        left = rest;
        std::thread::sleep(GROUP_END_INTERVAL);
    }
}

fn put(file: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).open(file)?;
    file.write_all(text.as_bytes())
}

/// Finds the group of this process in the file system.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let group = in_file_system(&groups, &mounts)?;
    group.join(MEMBERS).exists().then_some(group)
}

/// Reads the two files: the group's name, and where the tree of groups is mounted.
fn in_file_system(groups: &str, mounts: &str) -> Option<PathBuf> {
    // Number 0 is that of version 2.
    let name = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // A part of the tree may be mounted alone, as in some containers.
    let (root, at) = mounts.lines().find_map(mounted)?;
    let name = Path::new(name).strip_prefix(root.trim_start_matches('/'));
    // The words of a path that has blanks are escaped; such a place is not looked for.
    Some(Path::new(at).join(name.ok()?))
}

/// Reads a line of `mountinfo`: which part of a tree of groups is mounted where.
fn mounted(line: &str) -> Option<(&str, &str)> {
    let (mount, system) = line.split_once(" - ")?;
    if !system.starts_with("cgroup2 ") {
        return None;
    }
    let mut words = mount.split(' ').skip(3);
    Some((words.next()?, words.next()?))
}

const PREFIX: &str = "keyway-";
const KILL: &str = "cgroup.kill";
const MEMBERS: &str = "cgroup.procs";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_is_found_where_its_tree_is_mounted() {
        let systemd = "25 1 0:22 / /sys rw - sysfs sysfs rw\n\
            30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "31 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let part = "30 25 0:26 /docker/a1 /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        let own = "3:memory:/x\n0::/user.slice/app.scope\n";
        for (groups, mounts, expected) in [
            (own, systemd, Some("/sys/fs/cgroup/user.slice/app.scope")),
            (
                own,
                hybrid,
                Some("/sys/fs/cgroup/unified/user.slice/app.scope"),
            ),
            ("0::/\n", systemd, Some("/sys/fs/cgroup/")),
            ("0::/docker/a1/b\n", part, Some("/sys/fs/cgroup/b")),
            ("0::/docker/a2\n", part, None),
            ("3:memory:/x\n", systemd, None),
            (own, "25 1 0:22 / /sys rw - sysfs sysfs rw\n", None),
            ("", "", None),
        ] {
            let found = in_file_system(groups, mounts);
            assert_eq!(found.as_deref(), expected.map(Path::new), "{mounts}");
        }
    }
}
