//! `keyway probe`: the health address first, the list call decides.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests stop where they cannot go on"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use keyway_testkit::{Folder, Keyway, Outcome};
use serde_json::Value;

#[test]
fn a_server_with_a_health_address_that_lists_its_tools_works() {
    let server = Server::start(200, 200);
    let outcome = probe(&server, &["--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(object["health"]["result"], "ok");
    assert_eq!(object["connect"]["result"], "ok");
    assert_eq!(object["connect"]["what"], "MCP 2025-06-18, 1 tools");
    assert_eq!(object["diagnostics"], Value::Array(Vec::new()));
    let asked = server.asked();
    // The path without its slash, no query, the entry's headers.
    assert!(
        asked[0].starts_with("GET /mcp/health HTTP/1.1\r\n"),
        "{asked:?}"
    );
    assert!(
        asked[0]
            .to_lowercase()
            .contains("authorization: bearer canary-1\r\n")
    );
    assert!(
        asked.iter().any(|request| request.contains("tools/list")),
        "{asked:?}"
    );
    assert!(!outcome.everything().contains("CANARY"));
}

#[test]
fn an_address_that_says_nothing_leaves_it_to_the_list_call() {
    for status in [302, 404, 405, 501, 500] {
        let server = Server::start(status, 200);
        let outcome = probe(&server, &[]);
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        let line = format!("health   inconclusive  HTTP {status}");
        assert!(outcome.stdout.contains(&line), "{}", outcome.stdout);
        assert!(outcome.stdout.contains("connect  ok"), "{}", outcome.stdout);
        let health = server
            .asked()
            .iter()
            .filter(|asked| asked.contains("/health ") || asked.contains("/elsewhere"))
            .count();
        assert_eq!(health, 1, "no redirect is followed, nothing asked again");
    }
}

#[test]
fn a_refused_credential_is_explained_and_fails() {
    let server = Server::start(401, 401);
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
    let discovery = server
        .asked()
        .iter()
        .filter(|asked| asked.contains("well-known"))
        .count();
    assert_eq!(discovery, 0);
}

#[test]
fn a_healthy_address_alone_proves_nothing() {
    let server = Server::start(200, 403);
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
fn nothing_is_asked_without_approval_and_nobody_there_is_the_network() {
    let server = Server::start(200, 200);
    let folder = folder(server.port);
    let outcome = keyway(&folder).args(["probe", "s"]).run();
    assert_eq!(outcome.code, 4, "{}", outcome.everything());
    assert!(server.asked().is_empty());
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
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
    let server = Server::start(401, 401);
    let port = server.port;
    let folder = Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp", "headersHelper": "./h.sh"}}}}"#
    ))
    .executable("h.sh", "#!/bin/sh\necho run >> \"$PLUGIN_ROOT/runs.txt\"\necho '{\"X-Key\": \"'$$'\"}'\n");
    let outcome = keyway(&folder).args(["probe", "s", "--trust"]).run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    let asked = server.asked();
    let health = asked
        .iter()
        .filter(|asked| asked.starts_with("GET /mcp/health "))
        .count();
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

fn probe(server: &Server, arguments: &[&str]) -> Outcome {
    let folder = folder(server.port);
    let call = keyway(&folder).args(["probe", "s", "--trust"]);
    call.args(arguments.iter().copied()).run()
}

/// A server whose health address and whose own address answer with what they are told to.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(health: u16, own: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let journal = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let journal = Arc::clone(&journal);
                std::thread::spawn(move || serve(stream, health, own, &journal));
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, health: u16, own: u16, journal: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let lower = head.to_lowercase();
        let length = lower.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        journal.lock().unwrap().push(format!("{head}{body}"));
        let (status, answer) = if head.starts_with("GET /mcp/health ") {
            (health, String::new())
        } else if head.starts_with("POST /mcp") && own == 200 {
            (own, answer(&body))
        } else if head.starts_with("POST ") {
            (own, String::new())
        } else {
            (405, String::new())
        };
        let text = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nlocation: /elsewhere\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        stream.write_all(text.as_bytes()).unwrap();
    }
}

fn answer(body: &str) -> String {
    let request: Value = serde_json::from_str(body).unwrap();
    let id = &request["id"];
    let outcome = match request["method"].as_str().unwrap() {
        "initialize" => {
            r#""result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}"#
        }
        "tools/list" => r#""result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#,
        method if method.starts_with("notifications/") => return String::new(),
        _ => r#""error":{"code":-32601,"message":"no"}"#,
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#)
}
