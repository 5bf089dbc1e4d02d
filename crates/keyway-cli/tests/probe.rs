//! `keyway probe`: the health address first, the list call decides.

use keyway_testkit::{Answer, Folder, Keyway, Outcome, Request, Upstream, free_port, mcp};
use serde_json::{Value, json};

#[test]
fn a_server_with_a_health_address_that_lists_its_tools_works() {
    let server = server(200, 200);
    let outcome = probe(&server, &["--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(object["health"]["result"], "ok");
    assert_eq!(object["connect"]["result"], "ok");
    assert_eq!(object["connect"]["what"], "MCP 2025-11-25 (legacy), 1 tool");
    assert_eq!(object["diagnostics"], Value::Array(Vec::new()));
    let asked = server.seen();
    // The path without its slash, no query, the entry's headers.
    assert!(
        is_health(&asked[0]) && asked[0].query.is_empty(),
        "{asked:?}"
    );
    assert_eq!(asked[0].header("authorization"), Some("Bearer CANARY-1"));
    let lists = |request: &Request| request.body.contains("tools/list");
    assert!(asked.iter().any(lists), "{asked:?}");
    assert!(!outcome.everything().contains("CANARY"));
}

#[test]
fn an_address_that_says_nothing_leaves_it_to_the_list_call() {
    for status in [302, 404, 405, 501, 500] {
        let server = server(status, 200);
        let outcome = probe(&server, &[]);
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        let line = format!("health   inconclusive  HTTP {status}");
        assert!(outcome.stdout.contains(&line), "{}", outcome.stdout);
        assert!(outcome.stdout.contains("connect  ok"), "{}", outcome.stdout);
        let asked = server.seen();
        let asks = |request: &&Request| is_health(request) || request.path == "/elsewhere";
        let health = asked.iter().filter(asks).count();
        assert_eq!(health, 1, "no redirect is followed, nothing asked again");
    }
}

#[test]
fn a_refused_credential_is_explained_and_fails() {
    let server = server(401, 401);
    let outcome = probe(&server, &["--format", "json"]);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(object["health"]["result"], "refused");
    assert_eq!(object["connect"]["result"], "failed");
    assert_eq!(object["diagnostics"][0]["code"], "auth-rejected");
    assert_eq!(object["diagnostics"][0]["http"]["status"], 401);
    assert!(object["diagnostics"][0]["hint"].is_string());
    assert!(outcome.stderr.contains("HTTP 401"), "{}", outcome.stderr);
    assert!(!outcome.everything().contains("CANARY"));
    let discovers = |request: &Request| request.path.contains("well-known");
    assert!(!server.seen().iter().any(discovers));
}

#[test]
fn a_healthy_address_alone_proves_nothing() {
    let server = server(200, 403);
    let outcome = probe(&server, &[]);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(outcome.stdout.contains("health   ok"), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("connect  failed"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn nothing_is_sent_without_approval_and_a_missing_server_is_a_network_fault() {
    let server = server(200, 200);
    let folder = folder(server.port());
    let outcome = keyway(&folder).args(["probe", "s"]).run();
    assert_eq!(outcome.code, 4, "{}", outcome.everything());
    assert!(server.seen().is_empty());
    let port = free_port();
    let folder = self::folder(port);
    let outcome = keyway(&folder).args(["probe", "s", "--trust"]).run();
    assert_eq!(outcome.code, 5, "{}", outcome.everything());
    assert!(
        outcome.stdout.contains("health   unreachable"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_refused_helper_is_run_once_more() {
    let server = server(401, 401);
    let port = server.port();
    let folder = Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp", "headersHelper": "./h.sh"}}}}"#
    ))
    .executable("h.sh", "#!/bin/sh\necho '{\"X-Key\": \"'$$'\"}'\n");
    let outcome = keyway(&folder).args(["probe", "s", "--trust"]).run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    let asked = server.seen();
    let health = asked.iter().filter(|asked| is_health(asked)).count();
    assert_eq!(health, 2, "{asked:?}");
}

fn keyway(folder: &Folder) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .env("TOKEN", "CANARY-1")
}

fn folder(port: u16) -> Folder {
    Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp/?trace=1",
            "headers": {{"Authorization": "Bearer ${{TOKEN}}"}}}}}}"#
    ))
}

fn probe(server: &Upstream, arguments: &[&str]) -> Outcome {
    let folder = folder(server.port());
    let call = keyway(&folder).args(["probe", "s", "--trust"]);
    call.args(arguments.iter().copied()).run()
}

/// A server whose health address and whose own address answer with what they are told to.
fn server(health: u16, own: u16) -> Upstream {
    Upstream::start(move |request| {
        let answer = match request.method.as_str() {
            "GET" if is_health(request) => Answer::empty(health),
            "POST" if own == 200 => mcp(request, |method, _| {
                let tools = json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]});
                (method == "tools/list").then_some(tools)
            }),
            "POST" => Answer::empty(own),
            _ => Answer::empty(405),
        };
        answer.with("location", "/elsewhere")
    })
}

fn is_health(request: &Request) -> bool {
    request.method == "GET" && request.path == "/mcp/health"
}
