//! Disks that are full or slow: a small one in a mount namespace of its own, and `strace`, which
//! delays what waits for a disk.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use keyway_testkit::{Desk, Keyway};

/// A person's Keyway folder on a small disk; it is gone with this value.
#[derive(Debug)]
pub(crate) struct SmallDisk {
    /// Keeps the namespace.
    keeper: Child,
}

impl SmallDisk {
    /// Mounts one for a desk; `None` where a person may not make namespaces.
    pub(crate) fn mount(desk: &Desk) -> Option<Self> {
        let at = desk.folder.at("home/keyway");
        std::fs::create_dir_all(&at).unwrap();
        let script =
            "mount -t tmpfs -o size=3m,mode=700 tmpfs \"$0\" && echo ready && exec sleep 7200";
        let mut keeper = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .arg(&at)
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let mut said = BufReader::new(keeper.stdout.take()?);
        said.read_line(&mut line).ok()?;
        let disk = Self { keeper };
        (line.trim() == "ready").then_some(disk)
    }

    /// Prepares a program on this disk.
    pub(crate) fn program(&self, desk: &Desk, words: &[&str]) -> Keyway {
        let keeper = self.keeper.id().to_string();
        let enter = ["--user", "--mount", "--preserve-credentials", "--target"];
        // Entering a namespace leads to its root.
        let back = ["--", "sh", "-c", "cd \"$0\" && exec \"$@\""];
        let folder = desk.folder.path().to_str().unwrap();
        let inside = enter.into_iter().chain([keeper.as_str()]).chain(back);
        let inside = inside.chain([folder]).chain(words.iter().copied());
        Keyway::new("/usr/bin/nsenter", desk.folder.path())
            .args(inside)
            .env("HOME", desk.folder.at("home"))
            .env("KEYWAY_HOME", desk.folder.at("home/keyway"))
            .env("TMPDIR", desk.folder.at("home/tmp"))
    }

    /// Fills the disk to its last byte.
    pub(crate) fn fill(&self, desk: &Desk) {
        let script = "head -c 9M /dev/zero > home/keyway/fill; test -s home/keyway/fill";
        let filled = self.program(desk, &["sh", "-c", script]).run();
        assert_eq!(filled.code, 0, "{}", filled.everything());
    }

    /// Frees the disk again.
    pub(crate) fn empty(&self, desk: &Desk) {
        let emptied = self.program(desk, &["rm", "home/keyway/fill"]).run();
        assert_eq!(emptied.code, 0, "{}", emptied.everything());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(self.keeper.kill());
        drop(self.keeper.wait());
    }
}

/// Prepares a command whose every wait for the disk takes `millis` longer; `None` without `strace`.
pub(crate) fn slow(desk: &Desk, program: &str, words: &[&str], millis: u64) -> Option<Keyway> {
    let strace = "/usr/bin/strace";
    if !Path::new(strace).exists() {
        return None;
    }
    let delay = format!("inject=fsync,fdatasync:delay_enter={}", millis * 1000);
    let traced = [
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=fsync,fdatasync",
        "-e",
        &delay,
    ];
    let all = traced.iter().copied().chain([program]);
    let all = all.chain(words.iter().copied());
    Some(
        Keyway::new(strace, desk.folder.path())
            .args(all)
            .env("HOME", desk.folder.at("home"))
            .env("KEYWAY_HOME", desk.folder.at("home/keyway"))
            .env("TMPDIR", desk.folder.at("home/tmp")),
    )
}
