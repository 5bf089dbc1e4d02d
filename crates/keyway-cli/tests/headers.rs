//! `keyway headers`, as a client's helper runs it: without a terminal and with few variables.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Gateway, Keyway, Outcome, Terminal};
use serde_json::Value;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");
const CLIENT_URL: &str = "CLAUDE_CODE_MCP_SERVER_URL";
const REFUSED: &str = "Bearer keyway-has-no-credential";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Returns the one header that was printed.
fn authorization(outcome: &Outcome) -> String {
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let printed: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let members = printed.as_object().unwrap();
    assert_eq!(members.len(), 1, "{}", outcome.stdout);
    members["Authorization"].as_str().unwrap().to_owned()
}

fn direct(desk: &Desk) -> Keyway {
    desk.without_browser(&["headers", "s", "--direct"])
}

/// Switches the direct kind on, as a person does.
pub(crate) fn allow(desk: &Desk) {
    // What it prints holds the token, and goes nowhere.
    let mut terminal = Terminal::start(
        &desk.without_browser(&[]),
        "\"$KEYWAY\" headers s --direct > /dev/null",
    );
    terminal.wait_for("cannot be known");
    terminal.answer("[y/N]", "y\r");
    drop(terminal.end());
}

/// Asks the server itself with a token: a refresh token opens nothing there.
fn is_accepted(desk: &Desk, token: &str) -> bool {
    let origin = desk.rig.origin();
    let mut stream = TcpStream::connect(origin.strip_prefix("http://").unwrap()).unwrap();
    let length = INITIALIZE.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nauthorization: Bearer {token}\r\n\
         content-length: {length}\r\n\r\n{INITIALIZE}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.starts_with("HTTP/1.1 200")
}

#[test]
fn gateway_opens_the_one_server_for_the_token_that_is_printed() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let more = format!(
        r#"{{"s": {{"type": "http", "url": "{0}"}}, "other": {{"type": "http", "url": "{0}"}}}}"#,
        desk.rig.mcp()
    );
    desk.folder.put(".mcp.json", more);
    let gateway = Gateway::start(desk.without_browser(&[]), &[]);
    let printed = authorization(&desk.without_browser(&["headers", "s"]).run());
    let again = authorization(&desk.without_browser(&["headers", "s"]).run());
    assert_eq!(printed, again);
    let token = printed.strip_prefix("Bearer ").unwrap();
    let said = gateway.said();
    let route = said.lines().find(|line| line.ends_with("/s")).unwrap();
    let (_, path) = route.split_once("/mcp/").unwrap();
    let path = format!("/mcp/{path}");
    let opened = gateway.post(&path, Some(token), INITIALIZE);
    assert!(opened.starts_with("HTTP/1.1 200"), "{opened}");
    let other = format!("{}other", path.strip_suffix('s').unwrap());
    let closed = gateway.post(&other, Some(token), INITIALIZE);
    assert!(closed.starts_with("HTTP/1.1 403"), "{closed}");
    // A client that names its address gets the token for that route alone.
    let named = |url: &str| {
        let call = desk.without_browser(&["headers", "s"]).env(CLIENT_URL, url);
        authorization(&call.run())
    };
    assert_eq!(named(&gateway.url(&path)), printed);
    for url in [
        "https://evil.example/mcp",
        "http://127.0.0.1:9/mcp/x/s",
        &gateway.url("/mcp"),
    ] {
        assert_eq!(named(url), REFUSED, "{url}");
    }
}

#[test]
fn revoked_token_stays_revoked_until_the_person_renews_it() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let run = |words: &[&str]| desk.without_browser(words).run();
    let first = authorization(&run(&["headers", "p:s"]));
    assert!(first.starts_with("Bearer kwgt_"), "{first}");
    let listed = run(&["token", "list"]);
    assert!(listed.stdout.contains("headers:p:s"), "{}", listed.stdout);
    let revoked = run(&["token", "revoke", "headers:p:s"]);
    assert_eq!(revoked.code, 0, "{}", revoked.everything());
    let refused = run(&["headers", "p:s"]);
    assert_eq!(authorization(&refused), REFUSED);
    assert!(refused.stderr.contains("--renew"), "{}", refused.stderr);
    let failed = run(&["headers", "p:s", "--fail"]);
    assert_eq!((failed.code, failed.stdout.as_str()), (1, ""));
    let renewed = authorization(&run(&["headers", "p:s", "--renew"]));
    assert_ne!(renewed, first);
    assert_eq!(authorization(&run(&["headers", "p:s"])), renewed);
}

#[test]
fn access_token_goes_out_only_where_the_person_switched_that_on() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.forget();
    let before = direct(&desk).run();
    assert_eq!(authorization(&before), REFUSED);
    assert!(before.stderr.contains("--direct"), "{}", before.stderr);
    allow(&desk);
    let events = desk.folder.at("home/events");
    let call = direct(&desk).args(["--events"]).args([events.clone()]);
    let printed = authorization(&call.run());
    assert!(desk.rig.journal().is_empty(), "nothing is sent");
    let token = printed.strip_prefix("Bearer ").unwrap();
    assert!(is_accepted(&desk, token));
    let told = std::fs::read_to_string(events).unwrap();
    assert!(told.contains("token.handed_out"), "{told}");
    assert!(!told.contains(token));
    let status = desk.without_browser(&["status"]).run().stdout;
    assert!(status.contains("handed to clients"), "{status}");
    // The client's own word about where it sends the headers counts.
    let elsewhere = direct(&desk).env(CLIENT_URL, "https://evil.example/mcp");
    assert_eq!(authorization(&elsewhere.run()), REFUSED);
    let own = direct(&desk).env(CLIENT_URL, desk.rig.mcp());
    assert_eq!(authorization(&own.run()), printed);
    let off = desk.without_browser(&["headers", "s", "--no-direct"]).run();
    assert_eq!(off.code, 0, "{}", off.everything());
    assert_eq!(authorization(&direct(&desk).run()), REFUSED);
}

#[test]
fn entry_that_changes_its_address_has_to_be_allowed_again() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    allow(&desk);
    assert_ne!(authorization(&direct(&desk).run()), REFUSED);
    let other = format!("{}?tenant=2", desk.rig.mcp());
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{other}"}}}}"#);
    desk.folder.put(".mcp.json", entry);
    assert_eq!(authorization(&direct(&desk).run()), REFUSED);
}

#[test]
fn program_that_keyway_starts_gets_no_credential() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    allow(&desk);
    let script = format!(
        "#!/bin/sh\n{{ {KEYWAY} headers s --direct; {KEYWAY} headers p:s; }} > \"$OUT\" 2>/dev/null\n"
    );
    desk.folder.put("ask.sh", script);
    let out = desk.folder.at("home/tmp/out");
    let entries = format!(
        r#"{{"s": {{"type": "http", "url": "{}"}}, "p": {{"command": "sh", "args": ["ask.sh"], "env": {{"OUT": "{}", "HOME": "{}", "KEYWAY_HOME": "{}"}}}}}}"#,
        desk.rig.mcp(),
        out.display(),
        desk.folder.at("home").display(),
        desk.folder.at("home/keyway").display(),
    );
    desk.folder.put(".mcp.json", entries);
    let failed = desk.without_browser(&["tools", "p", "--trust"]).run();
    let printed = std::fs::read_to_string(&out);
    let printed = printed.unwrap_or_else(|_| panic!("not run: {}", failed.everything()));
    assert!(!printed.contains("kwgt_"), "{printed}");
    let issued = desk.rig.secrets();
    assert!(!issued.iter().any(|it| printed.contains(it)), "{printed}");
}

#[test]
fn url_is_accepted_wherever_a_server_is() {
    let desk = Desk::new(KEYWAY, Settings::default());
    std::fs::remove_file(desk.folder.at(".mcp.json")).unwrap();
    let url = desk.rig.mcp();
    let _person = desk.person();
    let run = |words: &[&str]| {
        let outcome = desk.keyway(words).run();
        assert_eq!(outcome.code, 0, "{words:?}: {}", outcome.everything());
        outcome.stdout
    };
    run(&["login", &url]);
    assert!(run(&["tools", &url]).contains("echo"));
    assert_eq!(run(&["call", &url, "echo", "message=x"]), "Echo: x\n");
    assert!(run(&["doctor", &url]).contains("server"));
    let printed = authorization(&desk.without_browser(&["headers", &url]).run());
    assert!(printed.starts_with("Bearer kwgt_"), "{printed}");
    assert_eq!(desk.windows().len(), 1, "one sign-in serves them all");
    let both = desk.keyway(&["tools", &url, "s"]).run();
    assert_eq!(both.code, 2, "{}", both.everything());
}
