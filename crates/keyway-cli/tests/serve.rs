//! `keyway serve` and `keyway token` as a person uses them, with a client that nobody here wrote.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start servers, and stop where they cannot"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use keyway_testkit::{Folder, Keyway};

/// Threat C10: what a client shows us never reaches a server, and neither does a capability for
/// another plugin.
#[test]
fn c10_the_capability_goes_no_further_and_opens_its_own_plugin_alone() {
    let upstream = Journal::start();
    let entry = |name: &str| {
        format!(
            r#"{{"{name}": {{"type": "http", "url": "http://127.0.0.1:{}/{name}", "headers": {{"X-Own": "own"}}}}}}"#,
            upstream.port
        )
    };
    let folder = Folder::new()
        .file("a/.mcp.json", entry("one"))
        .file("b/.mcp.json", entry("two"));
    let token = token(&folder, &["--name", "only-a", "--server", "a:*"]);
    let gateway = Gateway::start(&folder, &["a", "b"]);
    let refused = gateway.post("/mcp/b/two", Some(&token), HELLO);
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    assert!(
        gateway
            .post("/mcp/a/one", None, HELLO)
            .starts_with("HTTP/1.1 403 ")
    );
    assert!(upstream.seen().is_empty(), "{:?}", upstream.seen());
    let welcome = gateway.post("/mcp/a/one", Some(&token), HELLO);
    assert!(welcome.starts_with("HTTP/1.1 200 "), "{welcome}");
    let seen = upstream.seen();
    assert!(!seen.is_empty());
    for request in &seen {
        assert!(request.starts_with("POST /one "), "{request}");
        assert!(request.contains("x-own: own"), "{request}");
        assert!(
            !request.to_lowercase().contains("authorization"),
            "{request}"
        );
        assert!(!request.contains(&token));
    }
    // The list shows names, never the token.
    let list = keyway(&folder).args(["token", "list"]).run();
    assert!(
        list.stdout.contains("only-a") && list.stdout.contains("a:*"),
        "{}",
        list.stdout
    );
    assert!(!list.everything().contains(&token));
    assert_eq!(
        keyway(&folder)
            .args(["token", "revoke", "only-a"])
            .run()
            .code,
        0
    );
    std::thread::sleep(Duration::from_millis(1500));
    let revoked = gateway.post("/mcp/a/one", Some(&token), HELLO);
    assert!(revoked.starts_with("HTTP/1.1 403 "), "{revoked}");
}

/// There is one thread for everybody, and a key may take its time.
#[test]
fn others_are_answered_while_the_vault_is_opened_for_one() {
    let upstream = Journal::start();
    let entry = format!(
        r#"{{"s": {{"type": "http", "url": "http://127.0.0.1:{}/s", "headers": {{"X-Own": "${{OWN}}"}}}}}}"#,
        upstream.port
    );
    let folder = Folder::new()
        .file("a/.mcp.json", entry)
        .file("key", "5a".repeat(32));
    let (slow, key) = (folder.at("slow"), folder.at("key"));
    let (slow, key) = (slow.display(), key.display());
    let command = format!("if test -e {slow}; then sleep 3; fi; cat {key}");
    let made = keyway(&folder)
        .args(["token", "new", "--name", "n", "--server", "a:*"])
        .env("KEYWAY_KEY_COMMAND", &command)
        .run();
    let token = made.stdout.trim();
    let variables = [("KEYWAY_KEY_COMMAND", command.as_str()), ("OWN", "1")];
    let gateway = Gateway::start_with(&folder, &["a"], &variables);
    std::fs::write(folder.at("slow"), "").unwrap();
    std::thread::scope(|scope| {
        let begun = Instant::now();
        let one = scope.spawn(|| gateway.post("/mcp/a/s", Some(token), HELLO));
        std::thread::sleep(Duration::from_millis(500));
        std::fs::remove_file(folder.at("slow")).unwrap();
        let other = gateway.post("/healthz", None, "");
        assert!(other.starts_with("HTTP/1.1 200 "), "{other}");
        assert!(begun.elapsed() < Duration::from_secs(3));
        let welcome = one.join().unwrap();
        assert!(welcome.starts_with("HTTP/1.1 200 "), "{welcome}");
        assert!(begun.elapsed() >= Duration::from_secs(3));
    });
}

#[test]
fn a_token_is_made_once_under_a_name_and_a_bare_server_is_that_of_this_plugin() {
    let folder = Folder::with_entries(r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#);
    let made = token(&folder, &["--name", "n", "--server", "s"]);
    assert!(
        made.starts_with("kwcap_") && made.len() > 40,
        "{}",
        made.len()
    );
    let again = keyway(&folder).args(["token", "new", "--name", "n"]).run();
    assert_eq!(again.code, 1, "{}", again.everything());
    let unknown = keyway(&folder)
        .args(["token", "new", "--name", "m", "--server", "none"])
        .run();
    assert_eq!(unknown.code, 2, "{}", unknown.everything());
    let list = keyway(&folder).args(["token", "list"]).run();
    assert!(list.stdout.contains(":s"), "{}", list.stdout);
    assert_eq!(
        keyway(&folder).args(["token", "revoke", "none"]).run().code,
        1
    );
}

/// The collector is told who asked what of whom, and nothing that was said.
#[test]
fn a_collector_gets_a_span_of_each_request_and_none_of_its_content() {
    let (upstream, collector) = (Journal::start(), Journal::start());
    let folder = Folder::new().file(
        "a/.mcp.json",
        format!(
            r#"{{"one": {{"type": "http", "url": "http://127.0.0.1:{}/", "headers": {{"X-Own": "canary-own"}}}},
                 "gone": {{"type": "http", "url": "http://127.0.0.1:9/"}}}}"#,
            upstream.port
        ),
    );
    let token = token(&folder, &["--name", "editor"]);
    let endpoint = format!("http://127.0.0.1:{}", collector.port);
    let gateway = Gateway::start_with(
        &folder,
        &["a"],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-collector=of-mine"),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ],
    );
    let hello = HELLO.replace("\"t\"", "\"canary-client\"");
    let welcome = gateway.post("/mcp/a/one", Some(&token), &hello);
    assert!(welcome.starts_with("HTTP/1.1 200 "), "{welcome}");
    let told = collector.nth(0);
    assert!(told.starts_with("POST /v1/traces "), "{told}");
    assert!(told.contains("x-collector: of-mine"), "{told}");
    let (_, body) = told.split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["name"], "initialize");
    let text = span.to_string();
    assert!(text.contains("editor") && text.contains("one"), "{text}");
    assert_eq!(span["status"], serde_json::json!({}), "{text}");
    assert!(!told.contains("canary") && !told.contains(&token), "{told}");
    let failed = gateway.post("/mcp/a/gone", Some(&token), HELLO);
    assert!(failed.contains("unreachable"), "{failed}");
    let told = collector.nth(1);
    assert!(told.contains(r#""status":{"code":2}"#), "{told}");
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let folder = Folder::with_entries(r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#);
    let refused = keyway(&folder)
        .args(["serve", "--listen", "0.0.0.0:0"])
        .run();
    assert_eq!(refused.code, 1, "{}", refused.everything());
    assert!(
        refused.stderr.contains("not a loopback address"),
        "{}",
        refused.stderr
    );
    assert!(refused.stdout.is_empty());
}

#[test]
fn calls_under_way_are_all_answered_when_it_is_told_to_end() {
    let upstream = Journal::start();
    let entry = format!(
        r#"{{"s": {{"type": "http", "url": "http://127.0.0.1:{}/"}}}}"#,
        upstream.port
    );
    let folder = Folder::new().file("p/.mcp.json", entry);
    let token = token(&folder, &["--name", "n"]);
    let mut gateway = Gateway::start(&folder, &["p"]);
    let welcome = gateway.post("/mcp/p/s", Some(&token), HELLO);
    let (_, rest) = welcome.split_once("mcp-session-id: ").expect(&welcome);
    let session = rest.lines().next().unwrap();
    let shown = format!("{token}\r\nMcp-Session-Id: {session}");
    let before = upstream.seen().len();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (100..100 + CALLS)
            .map(|id| {
                let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#);
                let (gateway, shown) = (&gateway, &shown);
                scope.spawn(move || (id, gateway.post("/mcp/p/s", Some(shown), &call)))
            })
            .collect();
        while upstream.seen().len() < before + CALLS {
            std::thread::sleep(Duration::from_millis(10));
        }
        let process = rustix::process::Pid::from_child(&gateway.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        for call in calls {
            let (id, answer) = call.join().unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 "), "{id}: {answer}");
            assert!(answer.contains(&format!(r#""id":{id},"#)), "{id}: {answer}");
        }
    });
    assert!(gateway.child.wait().unwrap().success());
    assert!(TcpStream::connect(("127.0.0.1", gateway.port)).is_err());
}

#[test]
fn the_official_client_works_through_the_gateway() {
    let script =
        tools().join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let Ok(script) = script.canonicalize() else {
        println!("skipped: no reference server; `cargo xtask tools --setup` installs it");
        return;
    };
    let entry = format!(
        r#"{{"local": {{"command": "node", "args": ["{}", "stdio"]}},
            "down": {{"type": "http", "url": "http://127.0.0.1:9/"}}}}"#,
        script.display()
    );
    let folder = Folder::new().file("p/.mcp.json", entry);
    let token = token(&folder, &["--name", "n"]);
    let gateway = Gateway::start(&folder, &["p"]);
    let client = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/serve/client.mjs");
    for (path, prefix) in [
        ("/mcp/p/local", ""),
        ("/mcp/local", ""),
        ("/mcp", "local__"),
    ] {
        let output = Command::new("node")
            .args([&client, &tools().join("npm/node_modules")])
            .arg(format!("http://localhost:{}{path}", gateway.port))
            .arg(prefix)
            .env("CAPABILITY", &token)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            printed.contains(r#""echo":"Echo: hello""#),
            "{path}: {printed} {errors}"
        );
        assert!(
            printed.contains(r#""asked":1"#),
            "{path}: {printed} {errors}"
        );
        assert!(
            !printed.contains(r#""progress":0"#),
            "{path}: {printed} {errors}"
        );
    }
}

fn token(folder: &Folder, arguments: &[&str]) -> String {
    let made = keyway(folder)
        .args(["token", "new"])
        .args(arguments.iter().copied())
        .run();
    assert_eq!(made.code, 0, "{}", made.everything());
    made.stdout.trim().to_owned()
}

fn keyway(folder: &Folder) -> Keyway {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .env("PATH", path)
}

fn tools() -> PathBuf {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    std::env::var_os("KEYWAY_TOOLS").map_or(beside, PathBuf::from)
}

/// `keyway serve` on a port of its own.
struct Gateway {
    child: Child,
    port: u16,
}

impl Gateway {
    fn start(folder: &Folder, plugins: &[&str]) -> Self {
        Self::start_with(folder, plugins, &[])
    }

    fn start_with(folder: &Folder, plugins: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_keyway"))
            .arg("serve")
            .args(plugins)
            .args(["--trust", "--listen", "127.0.0.1:0", "--quiet"])
            .current_dir(folder.path())
            .env("KEYWAY_HOME", folder.at("home"))
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("http://127.0.0.1:").unwrap();
        let port = port.strip_suffix("/mcp").unwrap().parse().unwrap();
        Self { child, port }
    }

    fn post(&self, path: &str, token: Option<&str>, body: &str) -> String {
        let port = self.port;
        let shown = token.map_or(String::new(), |it| {
            format!("Authorization: Bearer {it}\r\n")
        });
        let length = body.len();
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\n{shown}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A server that welcomes everybody and keeps the heads of what it was sent. Calls take a second.
struct Journal {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Journal {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let journal = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let journal = Arc::clone(&journal);
                std::thread::spawn(move || welcome(stream, &journal));
            }
        });
        Self { port, seen }
    }

    /// Waits for a request.
    fn nth(&self, at: usize) -> String {
        for _ in 0..200 {
            if let Some(found) = self.seen().into_iter().nth(at) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nothing came");
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn welcome(stream: TcpStream, journal: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
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
        let message: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        journal.lock().unwrap().push(head + &body);
        if message.get("method").is_some_and(|it| it == "tools/call") {
            std::thread::sleep(Duration::from_secs(1));
        }
        let id = message.get("id").cloned().unwrap_or_default();
        let result = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"t","version":"1"}}"#;
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let length = answer.len();
        let text = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{answer}"
        );
        if writer.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const CALLS: usize = 20;
