//! `keyway serve` and `keyway token` as a person uses them, with a third-party client.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start servers, and stop where they cannot"
)]

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use keyway_testkit::rig::{Seen, Settings};
use keyway_testkit::{
    Answer, Desk, Folder, Gateway, Keyway, Request, Tools, Upstream, eventually, mcp,
};
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process};
use serde_json::json;

#[test]
fn a_client_keeps_its_session_when_the_gateway_is_restarted() {
    let upstream = upstream();
    let entry = format!(
        r#"{{"one": {{"type": "http", "url": "http://127.0.0.1:{}/one"}}}}"#,
        upstream.port()
    );
    let folder = Folder::new().file("a/.mcp.json", entry);
    let token = token(&folder, &["--name", "client"]);
    let first = serve(&folder, &["a"]);
    let welcome = first.post("/mcp/a/one", Some(&token), HELLO);
    let mut lines = welcome.lines();
    let session = lines.find_map(|it| it.strip_prefix("mcp-session-id: "));
    let session = session.expect("a session").to_owned();
    drop(first);
    let second = serve(&folder, &["a"]);
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let ask = |id: &str| {
        let shown = format!(
            "authorization: Bearer {token}\r\nmcp-session-id: {id}\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        );
        second.request("POST", "/mcp/a/one", &shown, list)
    };
    let answer = ask(&session);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let mut other = session.clone();
    other.replace_range(20..21, if &session[20..21] == "A" { "B" } else { "A" });
    let answer = ask(&other);
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}

#[test]
fn a_server_that_was_added_a_moment_ago_is_found() {
    let upstream = upstream();
    let entry = |name: &str| {
        let port = upstream.port();
        format!(r#""{name}": {{"type": "http", "url": "http://127.0.0.1:{port}/{name}"}}"#)
    };
    let folder = Folder::new().file("a/.mcp.json", format!("{{{}}}", entry("first")));
    let narrow = token(
        &folder,
        &[
            "--name", "narrow", "--server", "a:new-0", "--server", "a:new-2",
        ],
    );
    let wide = token(&folder, &["--name", "wide"]);
    let gateway = serve(&folder, &["a"]);
    // More often than a regular look could come in time by chance.
    let mut all = entry("first");
    for round in 0..4 {
        let name = format!("new-{round}");
        all = format!("{all}, {}", entry(&name));
        folder.put("a/.mcp.json", format!("{{{all}}}"));
        let path = format!("/mcp/a/{name}");
        let token = if round % 2 == 0 { &narrow } else { &wide };
        let welcome = gateway.post(&path, Some(token), HELLO);
        assert!(welcome.starts_with("HTTP/1.1 200 "), "{round}: {welcome}");
    }
    let unknown = gateway.post("/mcp/a/none", Some(&wide), HELLO);
    assert!(unknown.starts_with("HTTP/1.1 404 "), "{unknown}");
}

/// Threat C10: a client's gateway token never reaches a server, and neither does one for another
/// plugin.
#[test]
fn c10_the_token_goes_no_further_and_opens_its_own_plugin_alone() {
    let upstream = upstream();
    let entry = |name: &str| {
        format!(
            r#"{{"{name}": {{"type": "http", "url": "http://127.0.0.1:{}/{name}", "headers": {{"X-Own": "own"}}}}}}"#,
            upstream.port()
        )
    };
    let folder = Folder::new()
        .file("a/.mcp.json", entry("one"))
        .file("b/.mcp.json", entry("two"));
    let token = token(&folder, &["--name", "only-a", "--server", "a:*"]);
    let gateway = serve(&folder, &["a", "b"]);
    let refused = gateway.post("/mcp/b/two", Some(&token), HELLO);
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    assert!(refused.contains("does not open this path"), "{refused}");
    let unknown = gateway.post("/mcp/c/none", Some(&token), HELLO);
    assert_eq!(
        unknown.lines().last(),
        refused.lines().last(),
        "no more is said"
    );
    let without = gateway.post("/mcp/a/one", None, HELLO);
    assert!(without.contains("keyway token new"), "{without}");
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
        assert_eq!((&*request.method, &*request.path), ("POST", "/one"));
        assert_eq!(request.header("x-own"), Some("own"), "{request}");
        assert_eq!(request.header("authorization"), None, "{request}");
        assert!(!request.to_string().contains(&token));
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
    eventually("it does not count any more", || {
        let revoked = gateway.post("/mcp/a/one", Some(&token), HELLO);
        revoked.starts_with("HTTP/1.1 403 ")
    });
}

/// One thread serves all clients, and a key may take its time.
#[test]
fn no_client_waits_for_the_key_of_a_vault_that_is_open() {
    let (slow, upstream) = (SlowKey::new(), upstream());
    let token = slow.token();
    // A missing variable may be among the stored ones, so each client looks again.
    let gateway = slow.serve(&upstream, &[]);
    // A key that is asked for now is never given.
    std::fs::write(slow.folder.at("slow"), "").unwrap();
    let one = gateway.post("/mcp/a/s", Some(&token), HELLO);
    assert!(one.starts_with("HTTP/1.1 "), "{one}");
    let other = gateway.post("/healthz", None, "");
    assert!(other.starts_with("HTTP/1.1 200 "), "{other}");
    assert!(
        !slow.folder.at("begun").exists(),
        "the key was asked for again"
    );
}

#[test]
fn the_first_client_waits_for_no_look_at_what_was_just_looked_at() {
    let (slow, upstream) = (SlowKey::new(), upstream());
    let token = slow.token();
    let gateway = slow.serve(&upstream, &[("OWN", "1")]);
    // A read of the key now waits forever.
    std::fs::write(slow.folder.at("slow"), "").unwrap();
    let welcome = gateway.post("/mcp/a/s", Some(&token), HELLO);
    assert!(welcome.starts_with("HTTP/1.1 200 "), "{welcome}");
    assert_eq!(nth(&upstream, 0).header("x-own"), Some("1"));
}

#[test]
fn the_table_of_files_does_not_grow_while_clients_wait() {
    let (folder, upstream) = (Folder::new(), upstream());
    let url = upstream.url("/s");
    folder.put(
        "a/.mcp.json",
        format!(r#"{{"s": {{"type": "http", "url": "{url}"}}}}"#),
    );
    let gateway = serve(&folder, &["a"]);
    let status = format!("/proc/{}/status", gateway.running.child.id());
    let status = std::fs::read_to_string(status).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
    let size: u64 = size.unwrap().trim().parse().unwrap();
    let most = getrlimit(Resource::Nofile).maximum;
    assert!(size >= most.map_or(4096, |most| most.min(4096)), "{size}");
}

/// A key that is only got while there is no file `slow`.
struct SlowKey {
    folder: Folder,
    command: String,
}

impl SlowKey {
    fn new() -> Self {
        let folder = Folder::new().file("key", "5a".repeat(32));
        let at = |name: &str| folder.at(name).display().to_string();
        let (slow, begun, key) = (at("slow"), at("begun"), at("key"));
        let command = format!("while test -e {slow}; do touch {begun}; sleep 0.1; done; cat {key}");
        Self { folder, command }
    }

    fn token(&self) -> String {
        let call = keyway(&self.folder).env("KEYWAY_KEY_COMMAND", &self.command);
        let made = call.args(["token", "new", "--name", "n", "--server", "a:*"]);
        made.run().stdout.trim().to_owned()
    }

    fn serve(&self, upstream: &Upstream, variables: &[(&str, &str)]) -> Gateway {
        let entry = format!(
            r#"{{"s": {{"type": "http", "url": "http://127.0.0.1:{}/s", "headers": {{"X-Own": "${{OWN}}"}}}}}}"#,
            upstream.port()
        );
        self.folder.put("a/.mcp.json", entry);
        let own = [("KEYWAY_KEY_COMMAND", self.command.as_str())];
        serve_with(&self.folder, &["a"], &[&own, variables].concat())
    }
}

#[test]
fn a_token_is_made_once_under_a_name_and_a_bare_server_is_that_of_this_plugin() {
    let folder = Folder::with_entries(r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#);
    let made = token(&folder, &["--name", "n", "--server", "s"]);
    assert!(
        made.starts_with("kwgt_") && made.len() > 40,
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

#[test]
fn a_token_that_could_not_be_printed_is_not_in_force() {
    let folder = Folder::with_entries(r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#);
    // A pipe whose only reader is gone.
    let closed_pipe = "mkfifo p && exec 3<>p 4>p 3<&- && \"$0\" \"$@\" >&4; echo $? >&2";
    for (name, script) in [
        ("full", "\"$0\" \"$@\" >/dev/full; echo $? >&2"),
        ("null", "\"$0\" \"$@\" >/dev/null; echo $? >&2"),
        ("closed", "\"$0\" \"$@\" >&-; echo $? >&2"),
        ("pipe", closed_pipe),
    ] {
        let made = keyway(&folder)
            .args(["token", "new", "--name", name])
            .started_by(["/bin/sh", "-c", script])
            .run();
        assert_eq!(
            made.stderr.lines().last(),
            Some("1"),
            "{name}: {}",
            made.stderr
        );
        let list = keyway(&folder).args(["token", "list"]).run();
        assert!(!list.stdout.contains(name), "{name}: {}", list.stdout);
    }
    let tokens = || -> serde_json::Value {
        let list = keyway(&folder).args(["token", "list", "--format", "json"]);
        let list: serde_json::Value = serde_json::from_str(&list.run().stdout).unwrap();
        list["tokens"].clone()
    };
    assert_eq!(tokens(), json!([]));
    token(&folder, &["--name", "seen"]);
    let created = tokens()[0]["created_at"].clone();
    assert!(
        created.as_str().is_some_and(|it| it.ends_with('Z')),
        "{created}"
    );
}

/// `serve` prints a server as a path, and a token names it otherwise.
#[test]
fn a_path_is_not_a_server_name_and_the_right_name_is_suggested() {
    let entry = r#"{"s s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#;
    let folder = Folder::new().file("alpha/.mcp.json", entry);
    let new = |name: &str, more: &[&str]| {
        let call = keyway(&folder).args(["token", "new", "--name", "n", "--server", name]);
        call.args(more.iter().copied()).run()
    };
    for path in [
        "alpha/s%20s",
        "/mcp/alpha/s%20s",
        "http://127.0.0.1:5399/mcp/alpha/s%20s/",
    ] {
        for more in [[].as_slice(), &["--config", "alpha"]] {
            let refused = new(path, more);
            assert_eq!(refused.code, 2, "{}", refused.everything());
            let hint = "did you mean `alpha:s s`?";
            assert!(refused.stderr.contains(hint), "{}", refused.stderr);
        }
    }
    let list = keyway(&folder).args(["token", "list"]).run();
    assert!(list.stdout.contains("no tokens"), "{list:?}");
    for (name, note) in [
        ("alpha:nope", Some("note: there is no `alpha:nope` yet")),
        ("beta:nope", Some("note: the plugin here is `alpha`")),
        ("alpha:*", None),
        ("alpha:s s", None),
        ("s s", None),
    ] {
        let made = new(name, &["--config", "alpha"]);
        assert_eq!(made.code, 0, "{}", made.everything());
        assert_eq!(made.stderr.contains("note: "), note.is_some(), "{name}");
        assert!(made.stderr.contains(note.unwrap_or_default()), "{made:?}");
        let revoked = keyway(&folder).args(["token", "revoke", "n"]).run();
        assert_eq!(revoked.code, 0, "{}", revoked.everything());
    }
}

#[test]
fn two_plugins_of_one_name_are_both_named_and_one_that_stands_twice_is_told_so() {
    let entry = r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#;
    let folder = Folder::new()
        .file("one/same/.mcp.json", entry)
        .file("two/same/.mcp.json", entry);
    let serve = |paths: [&str; 2]| {
        let call = keyway(&folder).args(["serve", "--listen", "127.0.0.1:0"]);
        let outcome = call.args(paths).run();
        assert_eq!(outcome.code, 2, "{}", outcome.everything());
        outcome.stderr
    };
    let both = serve(["one/same", "two/same"]);
    for part in ["`one/same`", "`two/same`", "both called `same`", "hint: "] {
        assert!(both.contains(part), "{both}");
    }
    let twice = serve(["one/same", "two/../one/same/.mcp.json"]);
    assert!(twice.contains("is given twice"), "{twice}");
}

/// The collector is told which client asked what of which server, and nothing of the content.
#[test]
fn a_collector_gets_a_span_of_each_request_and_none_of_its_content() {
    let (upstream, collector) = (upstream(), Upstream::start(|_| Answer::empty(200)));
    let folder = Folder::new().file(
        "a/.mcp.json",
        format!(
            r#"{{"one": {{"type": "http", "url": "http://127.0.0.1:{}/", "headers": {{"X-Own": "canary-own"}}}},
                 "gone": {{"type": "http", "url": "http://127.0.0.1:9/"}}}}"#,
            upstream.port()
        ),
    );
    let token = token(&folder, &["--name", "editor"]);
    let endpoint = collector.url("");
    let gateway = serve_with(
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
    let told = nth(&collector, 0);
    assert_eq!((&*told.method, &*told.path), ("POST", "/v1/traces"));
    assert_eq!(told.header("x-collector"), Some("of-mine"), "{told}");
    let body: serde_json::Value = serde_json::from_str(&told.body).unwrap();
    let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["name"], "initialize");
    let text = span.to_string();
    assert!(text.contains("editor") && text.contains("one"), "{text}");
    assert_eq!(span["status"], serde_json::json!({}), "{text}");
    let told = told.to_string();
    assert!(!told.contains("canary") && !told.contains(&token), "{told}");
    let welcome = gateway.post("/mcp/a/gone", Some(&token), HELLO);
    let (_, rest) = welcome.split_once("mcp-session-id: ").expect(&welcome);
    let shown = format!(
        "{token}\r\nMcp-Session-Id: {}",
        rest.lines().next().unwrap()
    );
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}"#;
    let failed = gateway.post("/mcp/a/gone", Some(&shown), call);
    assert!(failed.contains("unreachable"), "{failed}");
    eventually("the failed call is told", || {
        let seen = collector.seen();
        seen.iter()
            .any(|it| it.body.contains(r#""status":{"code":2}"#))
    });
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let folder = Folder::with_entries(r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#);
    let refused = keyway(&folder)
        .args(["serve", "--listen", "0.0.0.0:0"])
        .run();
    assert_eq!(refused.code, 2, "{}", refused.everything());
    assert!(
        refused.stderr.contains("not a loopback address"),
        "{}",
        refused.stderr
    );
    assert!(refused.stdout.is_empty());
}

#[test]
fn calls_under_way_are_all_answered_when_it_is_told_to_end() {
    let upstream = upstream();
    let entry = format!(
        r#"{{"s": {{"type": "http", "url": "http://127.0.0.1:{}/"}}}}"#,
        upstream.port()
    );
    let folder = Folder::new().file("p/.mcp.json", entry);
    let token = token(&folder, &["--name", "n"]);
    let mut gateway = serve(&folder, &["p"]);
    let welcome = gateway.post("/mcp/p/s", Some(&token), HELLO);
    let (_, rest) = welcome.split_once("mcp-session-id: ").expect(&welcome);
    let session = rest.lines().next().unwrap();
    let shown = format!("{token}\r\nMcp-Session-Id: {session}");
    std::thread::scope(|scope| {
        let calls: Vec<_> = (100..100 + CALLS)
            .map(|id| {
                let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#);
                let (gateway, shown) = (&gateway, &shown);
                scope.spawn(move || (id, gateway.post("/mcp/p/s", Some(shown), &call)))
            })
            .collect();
        let is_call = |request: &Request| request.body.contains("tools/call");
        eventually("all calls are under way", || {
            upstream.seen().iter().filter(|it| is_call(it)).count() >= CALLS
        });
        let process = Pid::from_child(&gateway.running.child);
        kill_process(process, Signal::TERM).unwrap();
        for call in calls {
            let (id, answer) = call.join().unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 "), "{id}: {answer}");
            assert!(answer.contains(&format!(r#""id":{id},"#)), "{id}: {answer}");
        }
    });
    assert!(gateway.running.child.wait().unwrap().success());
    assert!(TcpStream::connect(("127.0.0.1", gateway.port())).is_err());
}

#[test]
fn whoever_ends_it_twice_does_not_wait_and_calls_are_told_that_nothing_comes() {
    let upstream = Upstream::start(|request| {
        mcp(request, |method, _| {
            if method == "tools/call" {
                // The answer never comes.
                loop {
                    std::thread::park();
                }
            }
            Some(json!({}))
        })
    });
    let url = upstream.url("/");
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}"}}}}"#);
    let folder = Folder::new().file("p/.mcp.json", entry);
    let token = token(&folder, &["--name", "n"]);
    let mut gateway = Gateway::start(keyway(&folder), &["p", "--trust"]);
    let welcome = gateway.post("/mcp/p/s", Some(&token), HELLO);
    let (_, rest) = welcome.split_once("mcp-session-id: ").expect(&welcome);
    let shown = format!(
        "{token}\r\nMcp-Session-Id: {}",
        rest.lines().next().unwrap()
    );
    let process = Pid::from_child(&gateway.running.child);
    let interrupt = || kill_process(process, Signal::INT).unwrap();
    let answer = std::thread::scope(|scope| {
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#;
        let call = scope.spawn(|| gateway.post("/mcp/p/s", Some(&shown), call));
        let is_call = |request: &Request| request.body.contains("tools/call");
        eventually("the call has come", || upstream.seen().iter().any(is_call));
        interrupt();
        eventually("it says what it waits for", || {
            gateway.said().contains("a call is in flight")
        });
        assert!(!call.is_finished());
        interrupt();
        call.join().unwrap()
    });
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains(r#""id":7,"error""#), "{answer}");
    assert!(gateway.running.child.wait().unwrap().success());
}

#[test]
fn the_official_client_works_through_the_gateway() {
    let Some(tools) = Tools::find(&[EVERYTHING]) else {
        return;
    };
    let entry = format!(
        r#"{{"local": {{"command": "node", "args": ["{}", "stdio"]}},
            "down": {{"type": "http", "url": "http://127.0.0.1:9/"}}}}"#,
        tools.at(EVERYTHING)
    );
    let folder = Folder::new().file("p/.mcp.json", entry);
    let token = token(&folder, &["--name", "n"]);
    let gateway = serve(&folder, &["p"]);
    let client = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/serve/client.mjs");
    for (path, prefix) in [
        ("/mcp/p/local", ""),
        ("/mcp/local", ""),
        ("/mcp", "local__"),
    ] {
        let output = Command::new("node")
            .arg(&client)
            .arg(tools.modules())
            .arg(format!("http://localhost:{}{path}", gateway.port()))
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

fn token(folder: &Folder, words: &[&str]) -> String {
    Gateway::token(keyway(folder), words)
}

fn serve(folder: &Folder, plugins: &[&str]) -> Gateway {
    serve_with(folder, plugins, &[])
}

fn serve_with(folder: &Folder, plugins: &[&str], variables: &[(&str, &str)]) -> Gateway {
    let call = variables
        .iter()
        .fold(keyway(folder), |call, (name, value)| call.env(name, *value));
    Gateway::start(call, &[plugins, &["--trust", "--quiet"]].concat())
}

fn keyway(folder: &Folder) -> Keyway {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .env("PATH", path)
}

/// A server that knows every method. Calls take a second.
fn upstream() -> Upstream {
    Upstream::start(|request| {
        mcp(request, |method, _| {
            if method == "tools/call" {
                // Slow on command, so that calls are under way when the gateway is ended.
                std::thread::sleep(Duration::from_secs(1));
            }
            Some(json!({}))
        })
    })
}

/// Waits for a request.
fn nth(upstream: &Upstream, at: usize) -> Request {
    eventually("a request comes", || upstream.seen().len() > at);
    upstream.seen().swap_remove(at)
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const CALLS: usize = 20;
/// Below `KEYWAY_TOOLS`: the reference server.
const EVERYTHING: &str = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// A session of a client, which repeats its id with every message.
struct Conversation<'a> {
    gateway: &'a Gateway,
    headers: String,
}

impl<'a> Conversation<'a> {
    fn begin(gateway: &'a Gateway, token: &str) -> Self {
        let welcome = gateway.post("/mcp/s", Some(token), HELLO);
        let session = welcome.split("mcp-session-id: ").nth(1);
        let session = session.and_then(|rest| rest.split("\r\n").next());
        let session = session.unwrap_or_else(|| panic!("no session: {welcome}"));
        Self {
            gateway,
            headers: format!("{token}\r\nmcp-session-id: {session}"),
        }
    }

    fn ask(&self, method: &str, params: &serde_json::Value) -> String {
        let message = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
        let headers = Some(self.headers.as_str());
        self.gateway.post("/mcp/s", headers, &message.to_string())
    }

    fn call(&self) -> String {
        let params = json!({ "name": "echo", "arguments": { "message": "hello" } });
        self.ask("tools/call", &params)
    }
}

/// A job has the sign-in of its account and no other, and no person is asked when that is gone.
#[test]
fn a_service_account_uses_its_own_sign_in_and_asks_no_person_for_another() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    let person = desk.person();
    for login in [&["login", "s"][..], &["login", "s", "--account", "bot"]] {
        let outcome = desk.keyway(login).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }
    drop(person);
    let words = ["--name", "nightly", "--server", "s", "--account", "bot"];
    let job = Gateway::token(desk.keyway(&[]), &words);
    let own = Gateway::token(desk.keyway(&[]), &["--name", "own"]);
    let gateway = Gateway::start(desk.keyway(&[]), &["--trust", "--quiet"]);
    let shown = |token: &str| {
        desk.rig.forget();
        let answer = Conversation::begin(&gateway, token).call();
        assert!(answer.contains("Echo: hello"), "{answer}");
        let seen = desk.rig.seen("/mcp");
        let mut seen = seen.iter().rev();
        let shown = seen.find_map(|it| it.request.header("authorization").map(str::to_owned));
        shown.unwrap()
    };
    assert_ne!(shown(&job), shown(&own), "two sign-ins");
    let list = desk.keyway(&["token", "list"]).run().stdout;
    let line = list.lines().find(|line| line.contains("nightly")).unwrap();
    assert!(line.contains(":s as bot"), "{list}");
    let outcome = desk.keyway(&["logout", "s", "--account", "bot"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    desk.rig.forget();
    let windows = desk.windows().len();
    let refused = Conversation::begin(&gateway, &job).call();
    assert!(!refused.contains("Echo: hello"), "{refused}");
    assert!(
        refused.contains("the account that this token is bound to"),
        "{refused}"
    );
    assert!(refused.contains("keyway login"), "{refused}");
    assert!(refused.contains("--account bot"), "{refused}");
    assert_eq!(desk.windows().len(), windows, "a person was asked");
    let sent = desk.rig.seen("/mcp");
    let is_shown = |it: &Seen| it.request.header("authorization").is_some();
    assert!(!sent.iter().any(is_shown), "another sign-in was used");
    assert!(
        shown(&own).starts_with("Bearer "),
        "the person's own is untouched"
    );
}

#[test]
fn a_service_account_is_for_one_server() {
    let folder = Folder::with_entries(r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#);
    for servers in [
        &["--server", "p:*"][..],
        &["--server", "p:s", "--server", "p:t"],
        &[],
    ] {
        let words = ["token", "new", "--name", "n", "--account", "bot"];
        let refused = keyway(&folder)
            .args(words)
            .args(servers.iter().copied())
            .run();
        assert_eq!(refused.code, 2, "{}", refused.everything());
        let list = keyway(&folder).args(["token", "list"]).run();
        assert_eq!(list.stdout, "no tokens\n");
    }
}

#[test]
fn a_policy_of_config_toml_hides_a_tool_and_refuses_its_calls() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    desk.sign_in();
    let plugin = desk
        .folder
        .path()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let rules =
        format!("[policies.\"{plugin}:s\".clients.limited]\ntools = {{ echo = \"deny\" }}\n");
    desk.folder.put("home/keyway/config/config.toml", rules);
    let limited = Gateway::token(desk.keyway(&[]), &["--name", "limited"]);
    let free = Gateway::token(desk.keyway(&[]), &["--name", "free"]);
    let gateway = Gateway::start(desk.keyway(&[]), &["--trust", "--quiet"]);
    let client = Conversation::begin(&gateway, &limited);
    let listed = client.ask("tools/list", &json!({}));
    assert!(!listed.contains("\"echo\""), "{listed}");
    desk.rig.forget();
    let refused = client.call();
    assert!(refused.contains("-32051"), "{refused}");
    assert!(
        refused.contains("is denied to `limited` by a policy"),
        "{refused}"
    );
    let called = |it: &Seen| format!("{:?}", it.request).contains("tools/call");
    assert!(!desk.rig.seen("/mcp").iter().any(called));
    let answer = Conversation::begin(&gateway, &free).call();
    assert!(answer.contains("Echo: hello"), "{answer}");
}

/// A minute is the shortest time that can be set; on a clock that is moved by hand the same is
/// tested in `keyway_mcp::idle`.
#[test]
#[ignore = "takes a minute"]
fn idle_program_of_a_session_ends_and_the_next_request_starts_it_again() {
    let folder = Folder::new();
    let log = folder.at("log");
    let script = format!(
        r#"#!/bin/sh
echo started >> {log}
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}' ;;
    *'"tools/list"'*) result='{{"tools":[]}}' ;;
    *) continue ;;
  esac
  printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
done
echo ended >> {log}
"#,
        log = log.display()
    );
    folder.put("p/server.sh", script);
    let entry = r#"{"s": {"command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/server.sh"]}}"#;
    folder.put("p/.mcp.json", entry);
    let token = token(&folder, &["--name", "n"]);
    // In a folder that is private by now.
    folder.put("home/config/config.toml", "[gateway]\nidle_minutes = 1\n");
    let gateway = serve(&folder, &["p"]);
    let written = || std::fs::read_to_string(&log).unwrap_or_default();
    let client = Conversation::begin(&gateway, &token);
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let noted = gateway.post("/mcp/s", Some(&client.headers), initialized);
    assert!(noted.starts_with("HTTP/1.1 202"), "{noted}");
    let listed = client.ask("tools/list", &json!({}));
    assert!(listed.contains(r#""tools":[]"#), "{listed}");
    eventually("the program ends", || written() == "started\nended\n");
    let listed = client.ask("tools/list", &json!({}));
    assert!(listed.contains(r#""tools":[]"#), "{listed}");
    assert_eq!(written(), "started\nended\nstarted\n");
}
