//! Disks that are full or slow: a small one in a mount namespace of its own, and `strace`, which
//! delays what waits for a disk.

use std::path::Path;

use keyway_testkit::{Desk, Keyway};

use crate::namespace::Namespace;

/// A person's Keyway folder on a small disk; it is gone with this value.
#[derive(Debug)]
pub(crate) struct SmallDisk(Namespace);

impl SmallDisk {
    /// Mounts one for a desk; `None` where a person may not make namespaces.
    pub(crate) fn mount(desk: &Desk) -> Option<Self> {
        let at = desk.folder.at("home/keyway");
        std::fs::create_dir_all(&at).unwrap();
        let script = "mount -t tmpfs -o size=3m,mode=700 tmpfs \"$0\"";
        Namespace::make(script, &[at.to_str()?]).map(Self)
    }

    /// Prepares a program on this disk.
    pub(crate) fn program(&self, desk: &Desk, words: &[&str]) -> Keyway {
        self.0.program(desk, words)
    }

    /// Fills the disk to its last byte.
    pub(crate) fn fill(&self, desk: &Desk) {
        let script = "head -c 9M /dev/zero > home/keyway/fill; test -s home/keyway/fill";
        let filled = self.program(desk, &["sh", "-c", script]).run();
        assert_eq!(filled.code, 0, "{}", filled.everything());
    }

    /// Lets nothing be written to the disk any more.
    pub(crate) fn make_read_only(&self, desk: &Desk) {
        let words = ["mount", "-o", "remount,ro", "home/keyway"];
        let mounted = self.program(desk, &words).run();
        assert_eq!(mounted.code, 0, "{}", mounted.everything());
    }

    /// Frees the disk again.
    pub(crate) fn empty(&self, desk: &Desk) {
        let emptied = self.program(desk, &["rm", "home/keyway/fill"]).run();
        assert_eq!(emptied.code, 0, "{}", emptied.everything());
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
