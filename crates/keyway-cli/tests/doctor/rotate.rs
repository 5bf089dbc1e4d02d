//! `keyway rotate`: the new credential is tested, and only then the old one goes.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Canary, Desk, Folder, Keyway, eventually};

use crate::doctor::server::{Answer, Server, mcp};
use crate::doctor::{KEYWAY, assert_works, doctor};

/// A server that takes the new token, and the old one until that is revoked.
fn server() -> (Server, Arc<AtomicBool>) {
    let revoked = Arc::new(AtomicBool::new(false));
    let is_revoked = Arc::clone(&revoked);
    let server = Server::start(move |request| {
        let is_old = request.contains("authorization: Bearer CANARY-old\n");
        let is_new = request.contains("authorization: Bearer CANARY-new\n");
        if is_new || is_old && !is_revoked.load(Ordering::Relaxed) {
            return mcp(request);
        }
        Answer::empty(401, "")
    });
    (server, revoked)
}

fn folder(server: &Server) -> Folder {
    let url = server.url();
    let entry = format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "headers": {{"Authorization": "Bearer ${{T}}"}}, "envFile": ".env"}}}}"#
    );
    Folder::with_entries(&entry).file(".env", "# mine\nA=1\nexport T='CANARY-old'\nB=2\n")
}

fn rotate(folder: &Folder, new: &str) -> Keyway {
    Keyway::new(KEYWAY, folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .args(["rotate", "s", "--trust"])
        .stdin(format!("{new}\n"))
}

#[test]
fn a_value_in_an_env_file_is_replaced_once_the_new_one_works() {
    let (server, revoked) = server();
    let folder = folder(&server);
    let text = folder.read(".env");
    let outcome = rotate(&folder, "CANARY-wrong").run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("the old value stays"),
        "{}",
        outcome.stderr
    );
    assert!(!outcome.everything().contains("CANARY"));
    assert_eq!(folder.read(".env"), text);
    let outcome = rotate(&folder, "CANARY-new").run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(!outcome.everything().contains("CANARY"));
    assert_eq!(
        folder.read(".env"),
        "# mine\nA=1\nexport T=CANARY-new\nB=2\n"
    );
    assert_eq!(folder.mode_of(".env") & 0o777, 0o600);
    revoked.store(true, Ordering::Relaxed);
    assert_works(&doctor(&folder).run());
    let outcome = rotate(&folder, "").run();
    assert_eq!(outcome.code, 1, "nothing typed: {}", outcome.everything());
}

/// Types `value` into `keyway rotate` on a terminal of its own; returns all that the terminal
/// showed, and whether it went well.
#[expect(
    clippy::disallowed_methods,
    reason = "only a terminal shows what it echoes"
)]
fn typed(folder: &Folder, value: &str) -> (String, bool) {
    let shown = folder.at("shown");
    drop(std::fs::remove_file(&shown));
    let line = format!("{KEYWAY} rotate s --trust");
    let mut script = Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command", &line])
        .arg(&shown)
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder.at("home"))
        .env("KEYWAY_HOME", folder.at("home"))
        .env("SHELL", "/bin/sh")
        .env("TERM", "dumb")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let text = || String::from_utf8_lossy(&std::fs::read(&shown).unwrap_or_default()).into_owned();
    eventually("it asks", || text().contains("Value of T: "));
    let mut keyboard = script.stdin.take().unwrap();
    keyboard.write_all(format!("{value}\r").as_bytes()).unwrap();
    keyboard.flush().unwrap();
    let is_done = script.wait().unwrap().success();
    drop(keyboard);
    (text(), is_done)
}

#[test]
fn what_is_typed_is_not_seen_and_replaces_the_old_value_once_it_works() {
    let (server, revoked) = server();
    let folder = folder(&server);
    let text = folder.read(".env");
    let (shown, is_done) = typed(&folder, "CANARY-wrong");
    assert!(!is_done, "{shown}");
    assert!(shown.contains("the old value stays"), "{shown}");
    assert_eq!(Canary::hidden("CANARY-wrong").leak(&shown), None, "{shown}");
    assert_eq!(folder.read(".env"), text);
    let (shown, is_done) = typed(&folder, "CANARY-new");
    assert!(is_done, "{shown}");
    assert!(shown.contains("the new value works: MCP"), "{shown}");
    assert_eq!(Canary::hidden("CANARY-new").leak(&shown), None, "{shown}");
    assert_eq!(
        folder.read(".env"),
        "# mine\nA=1\nexport T=CANARY-new\nB=2\n"
    );
    revoked.store(true, Ordering::Relaxed);
    assert_works(&doctor(&folder).run());
}

#[test]
fn a_value_in_the_shell_is_tested_and_the_person_told_what_to_change() {
    let (server, _) = server();
    let folder = folder(&server);
    let text = folder.read(".env");
    let call = rotate(&folder, "CANARY-new").env("T", "CANARY-old");
    let outcome = call.run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(outcome.stdout.contains("the new value works: MCP"));
    assert!(outcome.stderr.contains("export T=…"), "{}", outcome.stderr);
    assert!(!outcome.everything().contains("CANARY"));
    assert_eq!(
        folder.read(".env"),
        text,
        "the shell's counts, and no other is touched"
    );
    assert_works(&doctor(&folder).env("T", "CANARY-new").run());
}

#[test]
fn a_value_in_the_vault_is_replaced_once_the_new_one_works() {
    let (server, revoked) = server();
    let folder = folder(&server);
    folder.put(".env", "");
    let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
    let kept = call.args(["env", "set", "T"]).stdin("CANARY-old\n").run();
    assert_eq!(kept.code, 0, "{}", kept.everything());
    assert_works(&doctor(&folder).run());
    let outcome = rotate(&folder, "CANARY-wrong").run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert_works(&doctor(&folder).run());
    let outcome = rotate(&folder, "CANARY-new").run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("replaced in the vault"),
        "{}",
        outcome.stderr
    );
    revoked.store(true, Ordering::Relaxed);
    assert_works(&doctor(&folder).run());
}

#[test]
fn which_variable_has_to_be_said_where_there_are_several() {
    let (server, _) = server();
    let url = server.url();
    let folder = Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "headers": {{"Authorization": "Bearer ${{T}}", "X-Api-Key": "${{K}}"}}}},
            "h": {{"type": "http", "url": "{url}", "headersHelper": "./h.sh"}}}}"#
    ))
    .executable("h.sh", "#!/bin/sh\n");
    let call = || {
        rotate(&folder, "CANARY-new")
            .env("T", "CANARY-old")
            .env("K", "k")
    };
    let outcome = call().run();
    assert_eq!(outcome.code, 2, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("--variable T or K"),
        "{}",
        outcome.stderr
    );
    let outcome = call().args(["--variable", "T"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let helper = Keyway::new(KEYWAY, folder.path()).args(["rotate", "h", "--trust"]);
    let outcome = helper.run();
    assert_eq!(outcome.code, 2, "{}", outcome.everything());
}

#[test]
fn a_sign_in_is_renewed_or_replaced() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let refreshes = desk.rig.refreshes();
    let outcome = desk.keyway(&["rotate", "s"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome.stdout.contains("`s` has a new token: MCP"),
        "{}",
        outcome.stdout
    );
    assert_eq!(desk.rig.refreshes(), refreshes + 1);
    assert_eq!(desk.windows().len(), 1);
    let out = desk.keyway(&["logout", "s"]).run();
    assert_eq!(out.code, 0);
    let _person = desk.person();
    let outcome = desk.keyway(&["rotate", "s"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome.stdout.contains("`s` is signed in again"),
        "{}",
        outcome.stdout
    );
    let leaks = desk.leaks(&outcome.everything(), &[]);
    assert!(!leaks.contains_key("what was printed"), "{leaks:?}");
}
