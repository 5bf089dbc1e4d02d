//! `--events FILE`: what changes, each kind provoked for real, and no secret among it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests stop where they cannot go on"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};

use keyway::events::Kind;
use keyway_testkit::rig::{Consent, Settings};
use keyway_testkit::{Desk, Gateway, Running};
use serde_json::Value;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// Runs a command that records, and returns its exit code with what it recorded.
fn recorded(desk: &Desk, words: &[&str]) -> (i32, Vec<String>) {
    let words = [words, &["--events", "events.jsonl"]].concat();
    let before = log(desk).lines().count();
    let outcome = desk.keyway(&words).run();
    let new = told(desk).split_off(before);
    let printed = desk.leaks(&outcome.everything(), &[]);
    assert!(!printed.contains_key("what was printed"), "{printed:?}");
    (outcome.code, new)
}

fn log(desk: &Desk) -> String {
    std::fs::read_to_string(desk.folder.at("events.jsonl")).unwrap_or_default()
}

/// Returns everything that was recorded, as `event server code`.
fn told(desk: &Desk) -> Vec<String> {
    let text = log(desk);
    let lines = text.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["schema_version"], 1);
        assert!(event["seq"].is_u64() && event["ts"].is_string(), "{line}");
        let word = |name: &str| event[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", word("event"), word("server"), word("code"))
    });
    lines.collect()
}

#[track_caller]
fn assert_told(told: &[String], expected: &[&str]) {
    let mut left = told.iter();
    for one in expected {
        assert!(left.any(|found| found == one), "{one} in {told:#?}");
    }
}

fn helper(desk: &Desk, script: &str) {
    let text = format!("#!/bin/sh\n{script}\n");
    desk.folder.put("h.sh", text);
}

/// Signs in, renews, fails to renew and signs out.
fn by_oauth() -> Desk {
    let desk = Desk::new(KEYWAY, Settings::default());
    let (code, told_of) = recorded(&desk, &["doctor"]);
    assert_eq!(code, 3);
    assert_told(
        &told_of,
        &[
            "config.loaded s -",
            "auth.required s sign-in-required",
            "server.failed s sign-in-required",
        ],
    );
    {
        let _person = desk.person();
        desk.rig.set(|settings| settings.consent = Consent::Denies);
        let (code, told_of) = recorded(&desk, &["login", "s"]);
        assert_ne!(code, 0);
        assert_told(&told_of, &["auth.started s -", "auth.failed s auth-failed"]);
        desk.rig
            .set(|settings| settings.consent = Consent::Approves);
        let (code, told_of) = recorded(&desk, &["login", "s"]);
        assert_eq!(code, 0);
        assert_told(&told_of, &["auth.started s -", "auth.completed s -"]);
    }
    let call = ["call", "s", "echo", "message=hello"];
    let (_, told_of) = recorded(&desk, &call);
    assert_eq!(told_of, ["config.loaded s -", "server.connected s -"]);
    crate::headers::allow(&desk);
    // Its output is the token; what is recorded is not.
    let words = ["headers", "s", "--direct", "--events", "events.jsonl"];
    assert_eq!(desk.keyway(&words).run().code, 0);
    assert_eq!(told(&desk).last().unwrap(), "token.handed_out s -");
    desk.rig.reset();
    let (_, told_of) = recorded(&desk, &call);
    let (refreshed, connected) = ("token.refreshed s -", "server.connected s -");
    assert_eq!(told_of, ["config.loaded s -", refreshed, connected]);
    desk.rig.reset();
    desk.rig.set(|settings| settings.token_status = Some(503));
    let (code, told_of) = recorded(&desk, &call);
    assert_eq!(code, 5);
    let failed = "token.refresh_failed s authorization-server-error";
    assert_told(
        &told_of,
        &[failed, "server.failed s authorization-server-error"],
    );
    desk.rig.set(|settings| settings.token_status = None);
    let (_, told_of) = recorded(&desk, &["logout", "s"]);
    assert_told(&told_of, &["token.cleared s -"]);
    desk
}

/// Approves, and runs a helper that works and one that does not.
fn by_helper() -> Desk {
    let more = r#", "headersHelper": "./h.sh"}, "off": {"command": "x", "disabled": true"#;
    let other = Desk::with_entry(KEYWAY, Settings::default(), more);
    let other = with_helper(other);
    let (code, told_of) = recorded(&other, &["doctor", "--server", "s"]);
    assert_eq!(code, 4);
    assert_told(
        &told_of,
        &[
            "config.skipped off disabled",
            "trust.requested s -",
            "trust.decided s pending-trust",
        ],
    );
    let (_, told_of) = recorded(&other, &["trust", "grant", "s"]);
    assert_told(&told_of, &["trust.decided s -"]);
    let (_, told_of) = recorded(&other, &["probe", "s"]);
    assert_told(
        &told_of,
        &[
            "helper.ran s -",
            "auth.failed s auth-rejected",
            "server.failed s auth-rejected",
        ],
    );
    helper(&other, "exit 7");
    let (_, told_of) = recorded(&other, &["probe", "s", "--trust"]);
    assert_told(
        &told_of,
        &[
            "helper.failed s helper-failed",
            "server.failed s helper-failed",
        ],
    );
    other
}

#[test]
fn each_kind_is_told_where_it_happens_and_none_holds_a_secret() {
    let mut kinds = BTreeSet::new();
    for desk in [&by_oauth(), &by_helper()] {
        let text = log(desk);
        assert!(!text.contains("http") && !text.contains('?'), "{text}");
        let leaks = desk.leaks("", &["CANARY-of-the-helper"]);
        assert!(!leaks.contains_key("events.jsonl"), "{leaks:?}");
        assert_eq!(desk.folder.mode_of("events.jsonl") & 0o777, 0o600);
        let words = told(desk).into_iter();
        kinds.extend(words.map(|line| line.split(' ').next().unwrap().to_owned()));
    }
    // That one needs a system without isolation: `e13_programs_without_isolation_are_announced_or_refused`.
    let here = |kind: &&Kind| **kind != Kind::IsolationReduced;
    let all = Kind::ALL.iter().filter(here);
    let all: BTreeSet<String> = all.map(|kind| kind.as_str().to_owned()).collect();
    assert_eq!(kinds, all);
}

fn with_helper(desk: Desk) -> Desk {
    use std::os::unix::fs::PermissionsExt as _;
    helper(&desk, r#"echo '{"X-Api-Key": "CANARY-of-the-helper"}'"#);
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(desk.folder.at("h.sh"), mode).unwrap();
    desk
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Sends `initialize` to `keyway run` and waits for its answer.
fn greeted(run: &mut Running) -> String {
    writeln!(run.child.stdin.as_mut().unwrap(), "{HELLO}").unwrap();
    let mut answer = String::new();
    let stdout = run.child.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut answer).unwrap();
    answer
}

#[test]
fn what_passes_through_unchanged_is_told_as_well() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.reset();
    let words = ["run", "--server", "s", "--events", "events.jsonl"];
    let mut run = desk.without_browser(&words).start();
    let answer = greeted(&mut run);
    assert!(answer.contains("serverInfo"), "{answer}");
    drop(run.outcome());
    assert_told(
        &told(&desk),
        &["token.refreshed s -", "server.connected s -"],
    );

    let before = told(&desk).len();
    let token = Gateway::token(desk.keyway(&[]), &["--name", "n"]);
    let serve = Gateway::start(desk.without_browser(&[]), &["--events", "events.jsonl"]);
    let plugin = desk.folder.path().file_name().unwrap().to_str().unwrap();
    let answer = serve.post(&format!("/mcp/{plugin}/s"), Some(&token), HELLO);
    assert!(answer.contains("serverInfo"), "{answer}");
    drop(serve);
    let told_of = told(&desk).split_off(before);
    assert_told(&told_of, &["config.loaded s -", "server.connected s -"]);
    let text = log(&desk);
    assert!(!text.contains(&token));
}

#[test]
fn a_program_that_ends_under_a_client_is_told() {
    let script = "read line; printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}}'; sleep 1; exit 3";
    let folder = keyway_testkit::Folder::with_entries(r#"{"p": {"command": "./p.sh"}}"#)
        .executable("p.sh", format!("#!/bin/sh\n{script}\n"));
    let call = keyway_testkit::Keyway::new(KEYWAY, folder.path());
    let call = call.args(["run", "--trust", "--events", "events.jsonl"]);
    let mut run = call.start();
    assert!(greeted(&mut run).contains("serverInfo"));
    let text = keyway_testkit::appears("the end is told", || {
        let text = std::fs::read_to_string(folder.at("events.jsonl")).ok()?;
        let is_told =
            |line: &str| line.contains("server.failed") && line.contains(r#""code":"child-ended""#);
        text.lines().any(is_told).then_some(text)
    });
    let is_connected =
        |line: &str| line.contains("server.connected") && line.contains(r#""server":"p""#);
    assert!(text.lines().any(is_connected), "{text}");
}
