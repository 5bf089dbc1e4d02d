//! `keyway migrate` with a network: no literal goes, and no entry is reduced, before it is known to
//! work without.

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Folder, Keyway, Outcome};
use serde_json::{Value, json};

use crate::doctor::server::{Answer, Server, mcp};
use crate::doctor::{KEYWAY, assert_fault, assert_works, doctor};

const TOKEN: &str = "kT8vQ2mX9wLz4Rb7Yc3N";

fn run(folder: &Folder, words: &[&str]) -> Outcome {
    let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
    call.env("T", TOKEN).args(words.iter().copied()).run()
}

fn with_variable(url: &str) -> Folder {
    Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "headers": {{"Authorization": "Bearer ${{T}}"}}}}}}"#
    ))
}

fn with_literal(url: &str) -> Folder {
    Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "headers": {{"Authorization": "Bearer {TOKEN}"}}}}}}"#
    ))
}

#[test]
fn a_literal_goes_only_after_the_variable_has_worked() {
    let server = Server::wants("authorization: Bearer kT8vQ2mX9wLz4Rb7Yc3N");
    let folder = with_literal(&server.url());
    let outcome = run(&folder, &["migrate", "env", "--write"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome
            .stderr
            .contains("`s` was tested: MCP 2025-06-18 (legacy), 1 tool")
    );
    assert!(!folder.read(".mcp.json").contains(TOKEN));
    assert!(!outcome.everything().contains(TOKEN));
    let works = doctor(&folder).args(["--env-file", ".env"]).run();
    assert_works(&works);
}

#[test]
fn a_literal_that_would_not_work_as_a_variable_stays() {
    let server = Server::wants("authorization: Bearer another");
    let folder = with_literal(&server.url());
    let before = folder.files();
    let text = folder.read(".mcp.json");
    let outcome = run(&folder, &["migrate", "env", "--write"]);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    for part in ["nothing was changed: `s`", "HTTP 401", "`--offline`"] {
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    }
    assert!(!outcome.everything().contains(TOKEN));
    assert_eq!(folder.read(".mcp.json"), text);
    let new = folder
        .files()
        .into_iter()
        .filter(|file| !before.contains(file));
    let new: Vec<String> = new.filter(|file| !file.starts_with("home")).collect();
    assert!(new.is_empty(), "{new:?}");
    let outcome = run(&folder, &["migrate", "env", "--write", "--offline"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(!folder.read(".mcp.json").contains(TOKEN));
}

#[test]
fn a_program_does_not_run_because_of_a_migration() {
    let script = "#!/bin/sh\ntouch ran\nexit 3\n";
    let entry = format!(r#"{{"p": {{"command": "./p.sh", "env": {{"API_TOKEN": "{TOKEN}"}}}}}}"#);
    let folder = Folder::with_entries(&entry).executable("p.sh", script);
    let outcome = run(&folder, &["migrate", "env", "--write"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let said = "`p` was not tested: `p` is not approved; nothing was run or sent";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    assert!(!folder.at("ran").exists());

    let folder = Folder::with_entries(&entry).executable("p.sh", script);
    let outcome = run(&folder, &["migrate", "env", "--write", "--trust"]);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(folder.at("ran").exists(), "now it is approved");
    assert!(
        folder.read(".mcp.json").contains(TOKEN),
        "and it does not work"
    );
}

#[test]
fn an_entry_is_reduced_only_if_the_server_offers_a_sign_in() {
    let headers = r#", "headers": {"Authorization": "Bearer ${T}"}"#;
    let desk = Desk::with_entry(KEYWAY, Settings::default(), headers);
    let words = ["migrate", "oauth", "--server", "s", "--write"];
    let outcome = desk.keyway(&words).env("T", TOKEN).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome
            .stderr
            .contains("`s` was asked: it offers sign-in with OAuth")
    );
    // The server was asked, so that no diagnostic says that it was not.
    assert!(!outcome.everything().contains("oauth-not-checked"));
    assert!(
        desk.rig.seen("/register").is_empty(),
        "nothing was registered"
    );
    assert!(!desk.folder.read(".mcp.json").contains("headers"));
    for asked in desk.rig.seen("/mcp") {
        assert!(
            !format!("{asked:?}").contains(TOKEN),
            "it was asked without"
        );
    }
    let examined = desk.keyway(&["doctor", "--format", "json"]).run();
    assert_fault(&examined, "sign-in-required", 3, "keyway login s");
    desk.sign_in();
    assert_works(&desk.keyway(&["doctor", "--format", "json"]).run());

    let server = Server::wants("authorization: Bearer kT8vQ2mX9wLz4Rb7Yc3N");
    let folder = with_variable(&server.url());
    let text = folder.read(".mcp.json");
    for flags in [&["--write"][..], &[]] {
        let words = [&["migrate", "oauth", "--server", "s"], flags].concat();
        let outcome = run(&folder, &words);
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        for part in ["nothing was changed: `s`", "OAuth", "`--offline`"] {
            assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
        }
        assert_eq!(folder.read(".mcp.json"), text);
    }
    let words = ["migrate", "oauth", "--server", "s", "--write", "--offline"];
    assert_eq!(run(&folder, &words).code, 0);
    assert_ne!(folder.read(".mcp.json"), text);
}

/// A server that takes a fixed token, and would take a sign-in as well.
fn both_ways(request: &str) -> Answer {
    let host = request.lines().find_map(|line| line.strip_prefix("host: "));
    let origin = format!("http://{}", host.unwrap());
    let document = |value: Value| Answer {
        status: 200,
        headers: String::new(),
        body: value.to_string(),
    };
    let path = request.split(' ').nth(1).unwrap();
    if path.starts_with("/.well-known/oauth-protected-resource") {
        let resource = format!("{origin}/mcp");
        return document(json!({ "resource": resource, "authorization_servers": [origin] }));
    }
    if path.starts_with("/.well-known/oauth-authorization-server") {
        return document(json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"],
        }));
    }
    if request.contains("authorization: Bearer kT8vQ2mX9wLz4Rb7Yc3N") {
        return mcp(request);
    }
    Answer::empty(401, "www-authenticate: Bearer\r\n")
}

#[test]
fn a_server_that_would_take_a_sign_in_is_told_with_the_way_to_it() {
    let server = Server::start(both_ways);
    let folder = with_variable(&server.url());
    let outcome = doctor(&folder).env("T", TOKEN).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(object["servers"][0]["result"], "ok");
    let found = &object["diagnostics"][0];
    assert_eq!(
        (&found["code"], &found["severity"]),
        (&"prefer-oauth".into(), &"note".into())
    );
    let hint = found["hint"].as_str().unwrap();
    assert_eq!(hint, "keyway migrate oauth s");
    let words: Vec<&str> = hint.split(' ').skip(1).collect();
    let outcome = run(&folder, &[&words[..], &["--write"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert_fault(
        &doctor(&folder).run(),
        "sign-in-required",
        3,
        "keyway login s",
    );
    let asked = server.asked();
    assert!(
        asked
            .iter()
            .all(|request| !request.starts_with("POST /register"))
    );

    let plain = Server::wants("authorization: Bearer kT8vQ2mX9wLz4Rb7Yc3N");
    let folder = with_variable(&plain.url());
    assert_works(&doctor(&folder).env("T", TOKEN).run());
}
