//! Hints that a person follows: each of these was wrong once, or contradicted another command.
//!
//! The two that a server without a credential and the dashboard gave are in `dashboard/unneeded.rs`
//! and beside the overview page.

mod followed;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Answer, Desk, Folder, Keyway, Upstream, mcp};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

fn keyway(folder: &Folder, words: &[&str]) -> Keyway {
    Keyway::new(KEYWAY, folder.path())
        .env("HOME", folder.at("home"))
        .env("KEYWAY_HOME", folder.at("home/keyway"))
        .args(words.iter().copied())
}

fn everything(folder: &Folder, words: &[&str]) -> String {
    keyway(folder, words).run().everything()
}

/// A server that refuses fresh tokens, as a command tells it.
fn loop_as_told_by(words: &[&str]) -> String {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.set(|settings| settings.rejects_all = true);
    desk.keyway(words).run().everything()
}

fn refused_key_of_the_vault() -> String {
    let server = Upstream::start(|_| Answer::empty(401));
    let folder = Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{}", "headers": {{"X-API-Key": "${{SEARCH_KEY}}"}}}}}}"#,
        server.url("/mcp")
    ));
    let set = keyway(&folder, &["env", "set", "SEARCH_KEY"]).stdin("kT8vQ2mX9wLz4Rb7Yc3N");
    assert_eq!(set.run().code, 0);
    everything(&folder, &["doctor", "s", "--trust"])
}

fn adopted_key() -> String {
    let entry = r#"{"mcpServers": {"keyed": {"type": "http", "url": "https://keyed.example/mcp",
        "headers": {"X-API-Key": "kT8vQ2mX9wLz4Rb7Yc3N"}}}}"#;
    let folder = Folder::new().file("home/.cursor/mcp.json", entry);
    let adopted = keyway(&folder, &["adopt", "cursor", "--yes"]).run();
    assert_eq!(adopted.code, 0, "{}", adopted.everything());
    everything(&folder, &["status", "--config", "home/keyway/data/own"])
}

fn variable_in_an_argument() -> String {
    let entry = r#"{"neon": {"command": "npx", "args": ["neon", "${NEON_API_KEY}"]}}"#;
    everything(&Folder::with_entries(entry), &["readme"])
}

fn schema_of_another() -> String {
    let entry = r#"{"$schema": "https://other.example/s.json", "mcpServers": {}}"#;
    everything(
        &Folder::with_entries(entry),
        &["check", "--pedantic", "--verbose"],
    )
}

fn unknown_command() -> String {
    everything(&Folder::new(), &["list"])
}

#[test]
fn every_hint_of_the_table_says_what_helps_and_not_what_does_not() {
    let operator = "its operator has to correct the audience or issuer of the tokens";
    let doctor = || loop_as_told_by(&["doctor", "s"]);
    let call = || loop_as_told_by(&["call", "s", "echo", "message=x"]);
    let rows: [(&dyn Fn() -> String, &str, &str); 7] = [
        (&doctor, operator, "again and again"),
        (&call, operator, "again and again"),
        (
            &refused_key_of_the_vault,
            "keyway rotate s",
            "export SEARCH_KEY",
        ),
        (&adopted_key, "set, in the vault", "missing"),
        (
            &variable_in_an_argument,
            "| neon | stdio | variables that you set |",
            "nothing to set up",
        ),
        (&schema_of_another, "keyway schema", "editors write `urn:"),
        (&unknown_command, "status", "install"),
    ];
    for (told, right, wrong) in rows {
        let told = told();
        assert!(told.contains(right), "{right}: {told}");
        assert!(!told.contains(wrong), "{wrong}: {told}");
    }
}

/// What a hint tells to send to the operator of a server is written, with what went wrong and
/// without the token.
#[test]
fn a_log_for_the_operator_is_written_by_the_command_that_is_named() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.set(|settings| settings.rejects_all = true);
    for (topic, told) in [("oauth", "renewing"), ("transport", "401")] {
        let topic = format!("--debug={topic}");
        let words = ["doctor", "s", &topic, "--debug-file", "keyway-debug.txt"];
        let outcome = desk.keyway(&words).run();
        assert_ne!(outcome.code, 0, "{topic}");
        let log = desk.folder.read("keyway-debug.txt");
        assert!(log.contains(told), "{topic}: {log}");
        assert_eq!(desk.leaks(&log, &[]), [].into(), "{topic}");
        std::fs::remove_file(desk.folder.at("keyway-debug.txt")).unwrap();
    }
}

/// A call whose name or arguments are wrong is told which commands list what there is.
#[test]
fn what_a_server_has_is_listed_by_the_commands_that_are_named() {
    let server = Upstream::start(|request| {
        let asked: serde_json::Value = serde_json::from_str(&request.body).unwrap_or_default();
        if asked["method"] == "initialize" {
            let result = serde_json::json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "s", "version": "1"},
            });
            let answer = serde_json::json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
            return Answer::json(200, &answer);
        }
        mcp(request, |method, _| match method {
            "tools/list" => Some(serde_json::json!({
                "tools": [{"name": "only-tool", "inputSchema": {"type": "object"}}]
            })),
            "resources/list" => Some(serde_json::json!({
                "resources": [{"uri": "doc://only-resource", "name": "r"}]
            })),
            "resources/templates/list" => Some(serde_json::json!({"resourceTemplates": []})),
            _ => None,
        })
    });
    let url = server.url("/mcp");
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}"}}}}"#);
    let folder = Folder::with_entries(&entry);
    for (words, listed) in [
        (&["tools", "s", "--trust"][..], "only-tool"),
        (
            &["tools", "s", "--format", "json", "--trust"],
            r#""only-tool""#,
        ),
        (&["resources", "s", "--trust"], "doc://only-resource"),
    ] {
        let outcome = keyway(&folder, words).run();
        assert_eq!(outcome.code, 0, "{words:?} {}", outcome.everything());
        assert!(
            outcome.stdout.contains(listed),
            "{words:?} {}",
            outcome.stdout
        );
    }
}

/// A helper with a clock: what it prints in one connection, before and after its hint is followed.
#[test]
fn a_time_stamp_is_new_for_each_request_once_the_hint_is_followed() {
    let server = Upstream::start(|request| {
        mcp(request, |method, _| match method {
            "tools/list" => Some(serde_json::json!({
                "tools": [{"name": "t", "inputSchema": {"type": "object"}}]
            })),
            _ => Some(serde_json::json!({"content": []})),
        })
    });
    let entries = |helper: &str| {
        let url = server.url("/mcp");
        format!(r#"{{"s": {{"type": "http", "url": "{url}", "headersHelper": {helper}}}}}"#)
    };
    let script = "#!/bin/sh\nprintf '{\"X-Timestamp\": \"%s\"}' \"$(date +%s%N)\"\n";
    let stamps = |folder: &Folder| {
        let before = server.seen().len();
        let outcome = keyway(folder, &["call", "s", "t", "--trust"]).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        let seen = server.seen().into_iter().skip(before);
        let posts = seen.filter(|request| request.method == "POST");
        let stamps = posts.filter_map(|it| it.header("x-timestamp").map(str::to_owned));
        let stamps: Vec<String> = stamps.collect();
        let different: std::collections::BTreeSet<&String> = stamps.iter().collect();
        (stamps.len(), different.len())
    };
    let folder = Folder::with_entries(&entries(r#""./stamp.sh""#)).executable("stamp.sh", script);
    let said = everything(&folder, &["check", "--verbose"]);
    assert!(
        said.contains("info[helper-runs-once]: the helper prints a time stamp"),
        "{said}"
    );
    assert!(
        said.contains(r#"`{"command": ["…"], "refresh": "request"}`"#),
        "{said}"
    );
    let (requests, different) = stamps(&folder);
    assert!(requests > 1 && different == 1, "{different} of {requests}");
    let followed = r#"{"command": ["./stamp.sh"], "refresh": "request"}"#;
    folder.put(".mcp.json", entries(followed));
    let said = everything(&folder, &["check", "--verbose"]);
    assert!(!said.contains("helper-runs-once"), "{said}");
    let (requests, different) = stamps(&folder);
    assert!(
        requests > 1 && different == requests,
        "{different} of {requests}"
    );
}
