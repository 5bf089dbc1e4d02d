//! A mount namespace in which a person's commands run, those that have no environment included.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use keyway_testkit::{Desk, Keyway};

/// A namespace; it is gone with this value.
#[derive(Debug)]
pub(crate) struct Namespace {
    /// Keeps the namespace.
    keeper: Child,
}

impl Namespace {
    /// Makes one and mounts by `script`, which gets `words` from `$0` on; `None` where a person may
    /// not make namespaces.
    pub(crate) fn make(script: &str, words: &[&str]) -> Option<Self> {
        let script = format!("{script} && echo ready && exec sleep 7200");
        let mut keeper = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let mut said = BufReader::new(keeper.stdout.take()?);
        said.read_line(&mut line).ok()?;
        let namespace = Self { keeper };
        (line.trim() == "ready").then_some(namespace)
    }

    /// Prepares a program in it.
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
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.keeper.kill());
        drop(self.keeper.wait());
    }
}
