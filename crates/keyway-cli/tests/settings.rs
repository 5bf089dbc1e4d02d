//! `config.toml` as commands obey it: below flags and environment, above the entry.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at the real environment and stop where they cannot go on"
)]

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::sync::mpsc;

use keyway_testkit::{Folder, Keyway, PATIENCE};

/// A program that is not an MCP server: it notes what it sees and ends.
const NOTES: &str = r#"{"mcpServers": {"s": {"command": "${HOST_PLUGIN_ROOT}/notes.sh"}, "t": {"command": "${HOST_PLUGIN_ROOT}/notes.sh"}}}"#;

fn folder(entries: &str, settings: &str) -> Folder {
    Folder::with_entries(entries)
        .file(".claude-plugin/plugin.json", r#"{"name": "acme"}"#)
        .executable(
            "notes.sh",
            "#!/bin/sh\nenv > seen.txt\ncat ../../*/home/config/config.toml home/config/config.toml > settings.txt\nexit 0\n",
        )
        .file("home/config/config.toml", settings)
        .mode("home/config", 0o700)
}

fn keyway(folder: &Folder) -> Keyway {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .env("PATH", path)
        .env("SHELL_SECRET", "CANARY-shell")
}

#[test]
fn a_broken_file_stops_what_connects_and_nothing_else() {
    let folder = folder(NOTES, "[sandbox]\nprofil = \"off\"\n");
    for arguments in [
        &["tools", "s", "--trust"][..],
        &["status"],
        &["trust", "list"],
        &["run", "--trust"],
    ] {
        let outcome = keyway(&folder).args(arguments.iter().copied()).run();
        assert_eq!(outcome.code, 1, "{arguments:?} {}", outcome.everything());
        assert!(
            outcome
                .stderr
                .contains("config.toml:2:1: there is no setting `profil` in `sandbox`"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains("hint: did you mean `profile`?"));
        assert!(outcome.stdout.is_empty(), "{}", outcome.stdout);
    }
    assert!(!folder.at("seen.txt").exists());
    assert_eq!(keyway(&folder).args(["check", "--quiet"]).run().code, 0);
}

#[test]
fn a_file_that_others_may_write_is_not_obeyed() {
    let folder = folder(NOTES, "").mode("home/config/config.toml", 0o666);
    let outcome = keyway(&folder).args(["tools", "s", "--trust"]).run();
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.contains("can be written by others"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("hint: chmod go-w"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_profile_is_the_flag_s_then_the_environment_s_then_the_file_s() {
    let folder = folder(NOTES, "[defaults]\nprofile = \"work\"\n");
    assert_eq!(keyway(&folder).args(["trust", "grant", "s"]).run().code, 0);
    let lists = |call: Keyway| call.run().stdout.contains("acme:s");
    assert!(lists(keyway(&folder).args(["trust", "list"])));
    let status = keyway(&folder).args(["status"]).run().stdout;
    let row = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(!row("s ").contains("needs approval"), "{status}");
    assert!(row("t ").contains("needs approval"), "{status}");
    let run = |call: Keyway, words: &[&str]| {
        // What the program wrote into the plugin would ask again.
        for written in ["seen.txt", "settings.txt"] {
            drop(std::fs::remove_file(folder.at(written)));
        }
        call.args(words.iter().copied()).run().code
    };
    let code = |call: Keyway| run(call, &["tools", "s"]);
    assert_eq!(code(keyway(&folder)), 1, "approved, though not a server");
    assert_eq!(code(keyway(&folder).env("KEYWAY_PROFILE", "home")), 4);
    let both = keyway(&folder).env("KEYWAY_PROFILE", "home");
    assert_eq!(run(both, &["tools", "s", "--profile", "work"]), 1);
}

#[test]
fn only_the_server_that_is_named_gets_more() {
    let weaker = "[sandbox.servers.\"acme:s\"]\nsource = \"../..\"\nprofile = \"off\"\ninherit_environment = true\n";
    let folder = folder(NOTES, weaker);
    let run = |server: &str| {
        let outcome = keyway(&folder).args(["tools", server, "--trust"]).run();
        assert_eq!(outcome.code, 1, "not a server: {}", outcome.everything());
        (folder.read("seen.txt"), folder.read("settings.txt"))
    };
    let (environment, settings) = run("t");
    assert!(!environment.contains("SHELL_SECRET"), "{environment}");
    assert!(settings.is_empty(), "{settings}");
    let (environment, settings) = run("s");
    assert!(
        environment.contains("SHELL_SECRET=CANARY-shell"),
        "{environment}"
    );
    assert_eq!(settings.lines().count(), 4, "{settings}");
}

#[test]
fn a_proxy_is_the_environment_s_before_the_file_s() {
    let entries = r#"{"s": {"type": "http", "url": "https://h.example/mcp"}}"#;
    let (own, kept) = (proxy(), proxy());
    let folder = folder(
        entries,
        &format!("[network]\nproxy = \"http://127.0.0.1:{}\"\n", kept.port),
    );
    let outcome = keyway(&folder).args(["tools", "s"]).run();
    assert_eq!(outcome.code, 5, "{}", outcome.everything());
    assert!(kept.asked().starts_with("CONNECT h.example:443 "));
    let call = keyway(&folder).env("ALL_PROXY", format!("http://127.0.0.1:{}", own.port));
    assert_eq!(call.args(["tools", "s"]).run().code, 5);
    assert!(own.asked().starts_with("CONNECT h.example:443 "));
    assert!(
        kept.lines.try_recv().is_err(),
        "the file's was asked as well"
    );
}

#[test]
fn roots_and_certificates_that_cannot_be_read_are_named() {
    let entries = r#"{"s": {"type": "http", "url": "https://h.example/mcp"}}"#;
    for (settings, words) in [
        (
            "[network]\nroots = [\"nowhere.pem\"]\n",
            "cannot read a root certificate file",
        ),
        (
            "[network]\nclient_certificate = \"nowhere.pem\"\nclient_key = \"nowhere.key\"\n",
            "home/config/nowhere.pem",
        ),
    ] {
        let outcome = keyway(&folder(entries, settings))
            .args(["tools", "s"])
            .run();
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn colour_is_the_flag_s_then_the_environment_s_then_the_file_s() {
    let folder = folder(NOTES, "[defaults]\ncolor = \"always\"\n");
    let colors = |call: Keyway| call.run().stdout.contains('\u{1b}');
    assert!(colors(keyway(&folder).args(["status"])));
    assert!(!colors(
        keyway(&folder).env("NO_COLOR", "1").args(["status"])
    ));
    assert!(!colors(
        keyway(&folder).args(["status", "--color", "never"])
    ));
    let both = keyway(&folder).env("NO_COLOR", "1");
    assert!(colors(both.args(["status", "--color", "always"])));
}

/// Takes down the first line of each connection, and closes it.
struct Proxy {
    port: u16,
    lines: mpsc::Receiver<String>,
}

impl Proxy {
    fn asked(&self) -> String {
        let line = self.lines.recv_timeout(PATIENCE).unwrap();
        // It is tried again while nothing was sent.
        while self.lines.try_recv().is_ok() {}
        line
    }
}

fn proxy() -> Proxy {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    Proxy { port, lines }
}
