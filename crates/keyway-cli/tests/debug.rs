//! `--debug`: what happens, by topic, on standard error or in a private file, and never a value.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use std::io::{BufRead as _, BufReader, Write as _};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Canary, Desk, Folder, Keyway};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");
const CALL: &[&str] = &["call", "s", "echo", "message=hello"];

/// Returns the topics of all lines.
fn topics(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with('['));
    let mut topics: Vec<String> = lines
        .map(|line| {
            let rest = line.split(" ms] ").nth(1).unwrap();
            rest.split([' ', ':']).next().unwrap().to_owned()
        })
        .collect();
    topics.sort_unstable();
    topics.dedup();
    topics
}

#[test]
fn a_renewal_is_told_step_by_step_beside_the_result() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let silent = desk.keyway(CALL).run();
    desk.rig.reset();
    let outcome = desk.keyway(&[CALL, &["--debug"]].concat()).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert_eq!(outcome.stdout, silent.stdout, "the result is untouched");
    assert!(silent.stderr.is_empty(), "{}", silent.stderr);
    for part in [
        "config: read `.mcp.json`, entries: 1",
        "config s: transport http, method oauth; no variables",
        "oauth s: refused with HTTP 401, invalid_token, attempt 1",
        "oauth s: renewing the token, which was refused",
        "oauth s: the token endpoint: POST http://127.0.0.1:",
        "oauth s: token.refreshed",
        "transport s: refused with HTTP 401: sent again with a newer credential",
        "transport s: server.connected",
        "authorization (",
        "HTTP 200 after ",
    ] {
        assert!(outcome.stderr.contains(part), "{part}\n{}", outcome.stderr);
    }
    let leaks = desk.leaks(&outcome.everything(), &[]);
    assert!(!leaks.contains_key("what was printed"), "{leaks:?}");
    assert!(
        !outcome.stderr.contains("/mcp"),
        "no path: {}",
        outcome.stderr
    );
}

#[test]
fn a_sign_in_is_told_step_by_step() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let _person = desk.person();
    let outcome = desk.keyway(&["login", "s", "--debug=oauth"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let mut text = outcome.stderr.as_str();
    for part in [
        "oauth s: auth.started",
        "the metadata of the server: GET",
        "the metadata of the authorization server: GET",
        "signing in at 127.0.0.1:",
        "the registration: POST",
        "a person is asked to agree",
        "the token endpoint: POST",
        "oauth s: auth.completed",
    ] {
        let at = text.find(part);
        assert!(at.is_some(), "{part}\n{}", outcome.stderr);
        text = text.get(at.unwrap()..).unwrap();
    }
    assert_eq!(topics(&outcome.stderr), ["oauth"]);
}

#[test]
fn only_the_topics_that_were_asked_for_are_written() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    for (flag, expected) in [
        ("--debug=config", &["config"][..]),
        ("--debug=transport", &["transport"]),
        ("--debug=config,transport", &["config", "transport"]),
        ("--debug=helper", &[]),
    ] {
        let outcome = desk.keyway(&[CALL, &[flag]].concat()).run();
        assert_eq!(topics(&outcome.stderr), expected, "{}", outcome.stderr);
    }
    let outcome = desk.keyway(&[CALL, &["--debug=tea"]].concat()).run();
    assert_eq!(outcome.code, 2, "{}", outcome.everything());
}

#[test]
fn every_command_that_reads_a_plugin_says_what_it_read() {
    let folder = Folder::with_entries(r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#);
    for words in [
        &["check"][..],
        &["status"],
        &["readme"],
        &["migrate", "env"],
        &["migrate", "oauth", "--server", "s", "--offline"],
        &["tools", "s"],
        &["doctor", "--timeout", "1"],
        &["trust", "grant", "s"],
        &["logout", "s"],
    ] {
        let call = Keyway::new(KEYWAY, folder.path()).args(words.iter().copied());
        let outcome = call.args(["--debug=config"]).run();
        let text = &outcome.stderr;
        assert!(
            text.contains("config: read `.mcp.json`, entries: 1"),
            "{words:?}\n{text}"
        );
        assert!(
            text.contains("config s: config.loaded"),
            "{words:?}\n{text}"
        );
    }
}

#[test]
fn a_header_is_shown_by_its_template_and_length_alone() {
    let literal = Canary::hidden("q7Zt9Lw2pXc4VbN8mKj5");
    let value = Canary::hidden("vQ9x7Lk2Wp4Zt8Rb3Nc6Ym1Hd5");
    let helper = Canary::hidden("kT8vQ2mX9wLz4Rb7Yc3N");
    let desk = Desk::with_entry(
        KEYWAY,
        Settings::default(),
        &format!(
            r#", "headers": {{"X-Api-Key": "Bearer ${{T}}", "X-Other": "{}"}},
            "headersHelper": "./h.sh""#,
            literal.value()
        ),
    );
    let script = format!(
        "#!/bin/sh\necho '{{\"X-Fresh\": \"{}\"}}'\n",
        helper.value()
    );
    desk.folder.put("h.sh", script);
    let words = ["probe", "s", "--trust", "--debug-file", "debug.log"];
    let run = |mode: &str| {
        let chmod = Keyway::new("/bin/chmod", desk.folder.path());
        assert_eq!(chmod.args([mode, "h.sh"]).run().code, 0);
        desk.keyway(&words).env("T", value.value()).run()
    };
    let outcome = run("700");
    assert!(topics(&outcome.stderr).is_empty(), "{}", outcome.stderr);
    run("600");
    let text = desk.folder.read("debug.log");
    for part in [
        "header X-Api-Key: `Bearer ${T}`, 33 bytes",
        "header X-Other: `…`, 20 bytes",
        "helper s: helper.ran",
        "run 1 of the helper took ",
        "x-fresh (20 bytes)",
        "oauth s: auth.failed [auth-rejected]",
        "helper s: helper.failed [helper-not-executable]",
        "T is set",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    for canary in [&literal, &value, &helper] {
        assert_eq!(canary.leak(&text), None, "{text}");
    }
    assert_eq!(desk.folder.mode_of("debug.log") & 0o777, 0o600);
}

#[test]
fn a_client_of_run_gets_protocol_and_nothing_else() {
    let script = "read line; printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}}'; cat > /dev/null";
    let folder = Folder::with_entries(r#"{"p": {"command": "./p.sh"}}"#)
        .executable("p.sh", format!("#!/bin/sh\n{script}\n"));
    let call = Keyway::new(KEYWAY, folder.path()).args(["run", "--trust", "--debug"]);
    let mut run = call.env("RUST_LOG", "trace").start();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    writeln!(run.child.stdin.as_mut().unwrap(), "{hello}").unwrap();
    let mut stdout = BufReader::new(run.child.stdout.take().unwrap());
    let mut answer = String::new();
    stdout.read_line(&mut answer).unwrap();
    let outcome = run.outcome();
    let mut rest = String::new();
    stdout.read_line(&mut rest).unwrap();
    assert!(
        answer.starts_with(r#"{"jsonrpc""#) && rest.is_empty(),
        "{answer}{rest}"
    );
    for part in [
        "transport p: starting `./p.sh` with the variables ",
        "transport p: started; isolation: ",
        "transport p: server.connected",
    ] {
        assert!(outcome.stderr.contains(part), "{part}\n{}", outcome.stderr);
    }
}

#[test]
fn the_logs_of_other_people_s_code_stay_off() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let outcome = desk.keyway(CALL).env("RUST_LOG", "trace").run();
    assert_eq!(outcome.code, 0);
    assert!(outcome.stderr.is_empty(), "{}", outcome.stderr);
}

/// Contract §6: standard error to the log, redacted; what is not protocol is logged, not forwarded.
#[test]
fn what_a_local_server_says_beside_the_protocol_is_in_the_debug_output() {
    let canary = Canary::hidden("kw-canary-4f1d9a27c3");
    let script = "#!/bin/sh\necho \"starting with $TOKEN\" >&2\necho 'not protocol'\nexit 3\n";
    let entry = r#"{"s": {"command": "./s.sh", "env": {"TOKEN": "${TOKEN}"}}}"#;
    let folder = Folder::with_entries(entry).executable("s.sh", script);
    let call = Keyway::new(KEYWAY, folder.path()).env("TOKEN", canary.value());
    let outcome = call
        .args(["tools", "s", "--trust", "--debug=transport"])
        .run();
    for part in [
        "transport s: stderr: starting with ",
        "transport s: stdout: not protocol",
    ] {
        assert!(outcome.stderr.contains(part), "{part}\n{}", outcome.stderr);
    }
    assert_eq!(canary.leak(&outcome.everything()), None, "redacted");
}
