//! Where tests keep what they throw away: in memory, where there is a folder for it.
//!
//! The tests make some ten thousand small databases and wait for each to be on the disk. On a slow
//! one that is most of their time, and none of what they show.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use crate::child;

/// A folder of our own, gone with this value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Returns a folder in memory, if there is space for it and programs can be started there.
    ///
    /// A set `TMPDIR` takes precedence.
    pub(crate) fn in_memory() -> Option<Self> {
        let is_chosen = std::env::var_os("TMPDIR").is_some();
        if is_chosen || !Path::new(MEMORY).is_dir() || free_mebibytes(MEMORY)? < ENOUGH {
            return None;
        }
        Self::below(Path::new(MEMORY))
    }

    fn below(parent: &Path) -> Option<Self> {
        // Sockets have their place in here: the name is short.
        let path = parent.join(format!("keyway-{}", process::id()));
        // Some tests run a program as another user, who has to pass through but not to look around.
        DirBuilder::new().mode(0o711).create(&path).ok()?;
        let scratch = Self(path);
        can_start(&scratch.0).then_some(scratch)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns a folder that every user may write to: PostgreSQL refuses to run as root.
    pub(crate) fn shared(&self, name: &str) -> Option<PathBuf> {
        let path = self.0.join(name);
        fs::create_dir(&path).ok()?;
        fs::set_permissions(&path, Permissions::from_mode(0o1777)).ok()?;
        Some(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left over is in memory and small; there is no one to tell.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Says whether a script that lies in `folder` can be run: containers often forbid it.
fn can_start(folder: &Path) -> bool {
    let script = folder.join("script");
    let written = fs::write(&script, "#!/bin/sh\n")
        .and_then(|()| fs::set_permissions(&script, Permissions::from_mode(0o700)));
    let ran = written.and_then(|()| Command::new(&script).status());
    drop(fs::remove_file(&script));
    ran.is_ok_and(|status| status.success())
}

fn free_mebibytes(folder: &str) -> Option<u64> {
    let mut df = Command::new("df");
    df.args(["--output=avail", "--block-size=1M", folder]);
    read_free(&child::capture(&mut df).ok()?)
}

/// Reads the number below the heading.
fn read_free(table: &str) -> Option<u64> {
    table.lines().nth(1)?.trim().parse().ok()
}

const MEMORY: &str = "/dev/shm";
/// In MiB; the tests need less than half of it.
const ENOUGH: u64 = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_stands_below_the_heading() {
        assert_eq!(read_free("Avail\n24103\n"), Some(24103));
        assert_eq!(read_free("   Avail\n      63\n"), Some(63));
        assert_eq!(read_free("Avail\n"), None);
        assert_eq!(read_free("df: no such file"), None);
    }

    #[test]
    fn a_folder_is_our_own_and_goes_with_its_value() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(parent.path()).unwrap();
        let path = scratch.path().to_owned();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        // Others pass through and see nothing.
        assert_eq!(mode & 0o777, 0o711);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        fs::write(path.join("left-over"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_shared_can_be_written_by_everyone_and_goes_with_the_rest() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(parent.path()).unwrap();
        let shared = scratch.shared("postgres").unwrap();
        let mode = fs::metadata(&shared).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o1777);
        drop(scratch);
        assert!(!shared.exists());
    }

    #[test]
    fn a_folder_that_exists_already_is_not_taken() {
        let parent = tempfile::tempdir().unwrap();
        let first = Scratch::below(parent.path()).unwrap();
        assert!(Scratch::below(parent.path()).is_none());
        assert!(first.path().exists());
    }
}
