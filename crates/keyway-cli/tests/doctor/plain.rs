//! Faults of files, settings and usage, and servers that do not do as they should.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Folder, Keyway, Outcome};
use serde_json::Value;

use crate::doctor::server::{Answer, Server, certificate, mcp};
use crate::doctor::{KEYWAY, assert_fault, assert_works, doctor};

fn entry(url: &str) -> Folder {
    Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "oauth": false}},
            "off": {{"command": "x", "disabled": true}}}}"#
    ))
}

fn call(folder: &Folder, words: &[&str]) -> Outcome {
    Keyway::new(KEYWAY, folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .args(words.iter().copied())
        .run()
}

/// Asserts the code of a command that gave up, and returns what it says to do.
#[track_caller]
fn assert_gave_up(outcome: &Outcome, code: &str, exit: i32) -> String {
    assert_eq!(outcome.code, exit, "{}", outcome.everything());
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let found = &object["diagnostics"][0];
    assert_eq!(found["code"], code, "{}", outcome.everything());
    found["hint"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_redirect_to_elsewhere_is_not_followed_and_its_target_works_once_it_is_named() {
    let target = Server::start(mcp);
    let location = format!("location: {}?token=CANARY\r\n", target.url());
    let server = Server::start(move |_| Answer::empty(307, &location));
    let folder = entry(&server.url());
    let fix = format!("put `{}` into `url`, if you trust it", target.url());
    assert_fault(&doctor(&folder).run(), "cross-origin-redirect", 1, &fix);
    assert!(target.asked().is_empty());
    assert_works(&doctor(&entry(&target.url())).run());
}

#[test]
fn a_certificate_of_another_name_is_told_as_such() {
    let (root, tls) = certificate(2090);
    let server = Server::start_with(Some(tls), mcp);
    let folder = entry(&format!("https://localhost:{}/mcp", server.port)).file("ca.pem", root);
    let path = folder.at("ca.pem");
    let settings = format!("[network]\nroots = [\"{}\"]\n", path.display());
    folder.put("home/config/config.toml", settings);
    let fix = "put the name that the certificate has into `url`";
    let found = assert_fault(&doctor(&folder).run(), "certificate-name", 5, fix);
    assert_eq!(found["stage"], "tls");
    let text = folder.read(".mcp.json").replace("localhost", "127.0.0.1");
    folder.put(".mcp.json", text);
    assert_works(&doctor(&folder).run());
}

/// A server that has a fault until it is repaired.
fn faulty(
    fault: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> (Server, Arc<AtomicBool>) {
    let repaired = Arc::new(AtomicBool::new(false));
    let is_repaired = Arc::clone(&repaired);
    let server = Server::start(move |request| {
        let fault = fault(request).filter(|_| !is_repaired.load(Ordering::Relaxed));
        fault.map_or_else(
            || mcp(request),
            |body| Answer {
                status: 200,
                headers: String::new(),
                body,
            },
        )
    });
    (server, repaired)
}

/// Follows the hint up to the file for the server's operator; returns what is in it.
fn written_for_others(folder: &Folder, found: &Value) -> String {
    let hint = found["hint"].as_str().unwrap();
    let (_, command) = hint.split_once("that this writes: keyway ").unwrap();
    let words: Vec<&str> = command.split(' ').chain(["--trust"]).collect();
    let outcome = call(folder, &words);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    let text = folder.read("keyway-debug.txt");
    assert!(!text.contains("CANARY"), "{text}");
    text
}

#[test]
fn a_server_that_does_not_speak_the_protocol_or_answers_with_an_error_is_told() {
    let (server, repaired) = faulty(|_| Some("hello CANARY".to_owned()));
    let folder = entry(&server.url());
    let fix = "check the path of `url`, where nothing speaks MCP on any transport; if it is right, send its operator";
    let found = assert_fault(&doctor(&folder).run(), "protocol-error", 1, fix);
    let written = written_for_others(&folder, &found);
    assert!(written.contains("[protocol-error]"), "{written}");
    repaired.store(true, Ordering::Relaxed);
    assert_works(&doctor(&folder).run());
    for (code, fix) in [
        (-32050, "do what its message says"),
        (-32603, "try again in a minute: keyway doctor s;"),
        (-32601, "update it, or send its operator"),
    ] {
        let (server, repaired) = faulty(move |request| {
            let body = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":CODE,"message":"closed"}}"#;
            let is_first = request.contains("\"initialize\"");
            let id = request.split("\"id\":").nth(1).filter(|_| is_first)?;
            let id = id.split([',', '}']).next().unwrap();
            Some(body.replace("ID", id).replace("CODE", &code.to_string()))
        });
        let folder = entry(&server.url());
        let found = assert_fault(&doctor(&folder).run(), "server-error", 1, fix);
        let message = found["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("error {code}: closed")),
            "{message}"
        );
        let written = written_for_others(&folder, &found);
        assert!(written.contains("[server-error]"), "{written}");
        repaired.store(true, Ordering::Relaxed);
        assert_works(&doctor(&folder).run());
    }
}

/// A program is its author's business, not an operator's.
#[test]
fn a_program_that_breaks_the_protocol_is_for_its_author() {
    let script = r##"#!/bin/sh
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
  *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;
    let folder = Folder::with_entries(r#"{"s": {"command": "./s.sh"}}"#).executable("s.sh", script);
    let fix = "update the program; if that does not help, send its author";
    let found = assert_fault(&doctor(&folder).run(), "protocol-error", 1, fix);
    let written = written_for_others(&folder, &found);
    assert!(written.contains("[protocol-error]"), "{written}");
}

#[test]
fn names_that_are_not_there_are_told_with_the_nearest() {
    let server = Server::start(mcp);
    let folder = entry(&server.url());
    let outcome = call(&folder, &["tools", "of", "--format", "json"]);
    let hint = assert_gave_up(&outcome, "unknown-server", 2);
    assert!(hint.contains("`off`"), "{hint}");
    let outcome = call(&folder, &["tools", "qqqqqqq", "--format", "json"]);
    let hint = assert_gave_up(&outcome, "unknown-server", 2);
    assert!(hint.contains("list them: keyway status"), "{hint}");
    assert!(call(&folder, &["status"]).stdout.contains("off"));
    let outcome = call(&folder, &["call", "s", "b", "--format", "json"]);
    assert!(assert_gave_up(&outcome, "unknown-tool", 2).contains("keyway tools s"));
    let outcome = call(
        &folder,
        &["tools", "s", "--format", "json", "--config", "nowhere"],
    );
    let hint = assert_gave_up(&outcome, "unreadable-file", 1);
    assert!(hint.contains("folder of a plugin that is there"), "{hint}");
    let outcome = call(&folder, &["call", "s", "a", "x", "--format", "json"]);
    let _hint = assert_gave_up(&outcome, "wrong-usage", 2);
    assert_eq!(call(&folder, &["tools", "s"]).code, 0);
    let outcome = doctor(&folder).run();
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(object["servers"][1]["code"], "disabled");
}

#[test]
fn a_setting_that_is_not_understood_stops_everything_until_it_is_mended() {
    let server = Server::start(mcp);
    let folder = entry(&server.url());
    folder.put("home/config/config.toml", "[network]\nprxy = \"x\"\n");
    let hint = assert_gave_up(&doctor(&folder).run(), "invalid-setting", 1);
    assert!(hint.contains("proxy"), "{hint}");
    assert!(server.asked().is_empty());
    folder.put("home/config/config.toml", "");
    assert_works(&doctor(&folder).run());
}

#[test]
fn a_folder_that_others_can_enter_is_not_used_and_the_command_that_closes_it_is_named() {
    let server = Server::start(mcp);
    let url = server.url();
    let text =
        format!(r#"{{"s": {{"type": "http", "url": "{url}", "headers": {{"X-Key": "${{K}}"}}}}}}"#);
    let folder = Folder::with_entries(&text)
        .file("home/data/x", "")
        .mode("home/data", 0o755);
    let run = |words: &[&str]| {
        let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
        call.env("K", "CANARY-k").args(words.iter().copied()).run()
    };
    let outcome = run(&["doctor", "--format", "json"]);
    assert_fault(&outcome, "vault-exposed", 1, "chmod 0700");
    let folder = folder.mode("home/data", 0o700);
    drop(std::fs::remove_file(folder.at("home/data/x")));
    let run = |words: &[&str]| {
        let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
        call.env("K", "CANARY-k").args(words.iter().copied()).run()
    };
    assert_fault(
        &run(&["doctor", "--format", "json"]),
        "pending-trust",
        4,
        "keyway trust grant s",
    );
}

#[test]
fn a_vault_that_is_damaged_is_told_and_nothing_is_asked() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let vault = "home/keyway/data/vault.db";
    let backup = std::fs::read(desk.folder.at(vault)).unwrap();
    desk.folder.put(vault, "this is not a vault\n".repeat(40));
    let outcome = desk.keyway(&["doctor", "--format", "json"]).run();
    let fix = "keyway vault repair";
    let found = assert_fault(&outcome, "vault", 1, fix);
    assert_eq!(found["stage"], "trust");
    assert!(
        found["hint"]
            .as_str()
            .unwrap()
            .contains("keyway vault restore FILE")
    );
    assert_ne!(desk.keyway(&["vault", "verify"]).run().code, 0);
    let outcome = desk.keyway(&["vault", "repair"]).run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("is damaged beyond repair"),
        "{}",
        outcome.stderr
    );
    desk.folder.put(vault, backup);
    let outcome = desk.keyway(&["vault", "verify"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert_works(&desk.keyway(&["doctor", "--format", "json"]).run());
    assert_eq!(desk.windows().len(), 1, "the person was not asked");
}
