//! The command as a whole: files, approval, many servers at once, and what a person reads.

use std::io::Read as _;
use std::time::{Duration, Instant};

use keyway_testkit::{Folder, Keyway};
use serde_json::Value;

use crate::doctor::server::{Server, hanging, mcp};
use crate::doctor::{KEYWAY, assert_fault, doctor};

#[test]
fn twenty_servers_of_which_five_hang_take_no_longer_than_one_that_hangs() {
    let good = Server::start(mcp);
    let entries: Vec<String> = (0..20)
        .map(|at| {
            let port = if at % 4 == 0 { hanging() } else { good.port };
            format!(r#""s{at}": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp"}}"#)
        })
        .collect();
    let folder = Folder::with_entries(&format!("{{{}}}", entries.join(", ")));
    let started = Instant::now();
    let outcome = doctor(&folder).args(["--timeout", "12"]).run();
    let took = started.elapsed();
    assert_eq!(outcome.code, 5, "{}", outcome.everything());
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let servers = object["servers"].as_array().unwrap();
    for (at, server) in servers.iter().enumerate() {
        let expected = if at % 4 == 0 { "timeout" } else { "" };
        let code = server["code"].as_str().unwrap_or_default();
        assert_eq!(code, expected, "{at}: {server}");
    }
    assert_eq!(servers.len(), 20);
    // One after the other they take a minute.
    assert!(took < Duration::from_secs(45), "{took:?}");
}

/// On a terminal, which `script` makes.
#[test]
fn progress_is_visible_while_servers_hang() {
    let good = Server::start(mcp);
    let entries: Vec<String> = (0..20)
        .map(|at| {
            let port = if at % 4 == 0 { hanging() } else { good.port };
            format!(r#""s{at:02}": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp"}}"#)
        })
        .collect();
    let folder = Folder::with_entries(&format!("{{{}}}", entries.join(", ")));
    let command = format!("'{KEYWAY}' doctor --timeout 100");
    let call = Keyway::new("/usr/bin/script", folder.path());
    let mut running = call.args(["-qefc", &command, "/dev/null"]).start();
    let mut screen = running.child.stdout.take().unwrap();
    let started = Instant::now();
    let mut seen = Vec::new();
    let is_late = |seen: &[u8]| {
        let text = String::from_utf8_lossy(seen);
        let last = text
            .rsplit("\u{1b}[20A")
            .next()
            .unwrap_or_default()
            .to_owned();
        let done = last.matches(" ok").count();
        let waiting = last.matches('…').count();
        (done == 15 && waiting == 5, last)
    };
    // Long before the first of those that hang is given up, everything else is on the screen.
    loop {
        let mut bytes = [0; 4096];
        let count = screen.read(&mut bytes).unwrap();
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&bytes[..count]);
        let (is_there, last) = is_late(&seen);
        if is_there {
            assert!(last.contains("s00  health …"), "{last}");
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(90), "{last}");
    }
    drop(running.child.kill());
}

#[test]
fn nothing_is_sent_before_it_is_approved() {
    let server = Server::start(mcp);
    let folder = Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{}", "headers": {{"X-Key": "${{KEY}}"}}}},
            "off": {{"command": "x", "disabled": true}}}}"#,
        server.url()
    ));
    let call = |words: &[&str]| {
        let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
        call.env("KEY", "CANARY-key")
            .args(words.iter().copied())
            .run()
    };
    let outcome = call(&["doctor", "--format", "json"]);
    let found = assert_fault(&outcome, "pending-trust", 4, "keyway trust grant s");
    assert_eq!(found["stage"], "trust");
    assert!(server.asked().is_empty());
    let granted = call(&["trust", "grant", "s"]);
    let outcome = call(&["doctor"]);
    assert_eq!(
        outcome.code,
        0,
        "{}{}",
        granted.everything(),
        outcome.everything()
    );
    assert!(
        outcome.stdout.contains("disabled in its file"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("MCP 2025-06-18 (legacy), 1 tool"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_person_reads_what_happened_why_and_what_to_do() {
    let server = Server::wants("authorization: Bearer CANARY-good");
    let folder = Folder::with_entries(&format!(
        r#"{{"a": {{"type": "http", "url": "{}", "headers": {{"Authorization": "Bearer ${{T}}"}}}},
            "b": {{"type": "http", "url": ""}}, "c": {{"type": "telepathy", "url": "x"}}}}"#,
        server.url()
    ));
    let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
    let outcome = call
        .env("T", "YOUR_TOKEN")
        .args(["doctor", "--trust"])
        .run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    for part in [
        "SERVER  RESULT  STAGE",
        "a       fault   challenge  token-placeholder",
        "b       fault   rules      not-configured",
        "c       fault   rules      unknown-type",
        "  why   An example was copied and never filled in.",
        "  next  set a new value: export T=…",
        "\nmore about a code in brackets: keyway explain CODE\n",
    ] {
        assert!(outcome.stdout.contains(part), "{part}\n{}", outcome.stdout);
    }
    assert!(outcome.stderr.is_empty(), "{}", outcome.stderr);
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_its_line() {
    let folder = Folder::with_entries("{\"s\": {\"url\": \"https://h.example\"}\n  oops");
    let found = assert_fault(&doctor(&folder).run(), "invalid-json", 1, "");
    assert_eq!(found["stage"], "file");
    assert!(found["source"]["line"].as_u64().unwrap() >= 1);
    let outcome = doctor(&folder).args(["--server", "nobody"]).run();
    assert_eq!(outcome.code, 2, "{}", outcome.everything());
}
