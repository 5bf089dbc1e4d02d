//! What an idle `keyway run` and a `keyway serve` after large messages take: the real program, its
//! resident memory as the system tells it.
//!
//! The promise of the idle program holds for the program as it is released, where
//! `cargo xtask bench memory` runs this. An unoptimised program is mostly its own code, whose size
//! says nothing: there, only what it has allocated is counted.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement stops where it cannot go on"
)]

use std::time::{Duration, Instant};

use keyway_testkit::{Client, Folder, Gateway, Keyway, Upstream, eventually, mcp};
use serde_json::json;

#[test]
fn one_server_stays_small_and_ten_are_little_more() {
    let one = idle(1);
    let ten = idle(10);
    println!("idle `keyway run`: {one:.1} MiB with one http server, {ten:.1} MiB with ten");
    let [most_of_one, most_of_ten] = LIMITS;
    assert!(one < most_of_one, "{one:.1} MiB, not {most_of_one}");
    assert!(ten < most_of_ten, "{ten:.1} MiB, not {most_of_ten}");
    assert!(ten < one * SHARED, "ten take {ten:.1} MiB, one {one:.1}");
}

/// Has so many servers list their tools, lets everything come to rest, and returns MiB.
fn idle(servers: usize) -> f64 {
    let entries: Vec<String> = (0..servers).map(entry).collect();
    let folder = Folder::with_entries(&format!("{{{}}}", entries.join(",")));
    let run = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .args(["run"])
        .env("KEYWAY_HOME", folder.at("home"));
    let mut client = Client::start(&run);
    assert_eq!(client.tools().len(), servers, "all are there");
    // Rest is the absence of events: nothing tells when it has come.
    std::thread::sleep(Duration::from_secs(1));
    let taken = resident(client.running.child.id());
    drop(client.leave());
    taken
}

/// The allocator would keep twice as much as the largest message that it has had back.
#[test]
fn large_messages_leave_no_memory_behind() {
    let server = Upstream::start(|request| {
        let answer = mcp(request, |_, params| Some(params.clone()));
        answer.with("mcp-session-id", "s")
    });
    let url = server.url("/mcp");
    let folder = Folder::with_entries(&format!(r#"{{"s": {{"type": "http", "url": "{url}"}}}}"#));
    let keyway = || {
        Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
            .env("KEYWAY_HOME", folder.at("home"))
    };
    let capability = Gateway::token(keyway(), &["--name", "n"]);
    let gateway = Gateway::start(keyway(), &["."]);
    let process = gateway.running.child.id();
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    });
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let welcome = gateway.post("/mcp/s", Some(&capability), &hello.to_string());
    let mut lines = welcome.lines();
    let session = lines.find_map(|line| line.strip_prefix("mcp-session-id: "));
    let headers = format!(
        "authorization: Bearer {capability}\r\nmcp-session-id: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n",
        session.unwrap()
    );
    let echo = |bytes: usize| {
        let params = json!({"name": "echo", "arguments": {"text": "x".repeat(bytes)}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = gateway.request("POST", "/mcp/s", &headers, &call.to_string());
        assert!(answer.len() > bytes, "{answer:.300}");
    };
    echo(100);
    let before = resident(process);
    for _ in 0..3 {
        echo(LARGE);
    }
    eventually("the last message is freed", || {
        resident(process) < before + LEFT_BEHIND
    });
}

/// What waits for clients that do not read has a common limit, and is given back when they leave.
#[test]
fn forty_clients_that_do_not_read_take_no_more_than_the_limit_and_leave_nothing() {
    let folder = Folder::new()
        .file("p/.mcp.json", PROGRAM)
        .file("p/server.sh", LINES);
    let keyway = || {
        Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
            .env("KEYWAY_HOME", folder.at("home"))
            .env("PATH", "/usr/bin:/bin")
    };
    let capability = Gateway::token(keyway(), &["--name", "n"]);
    let gateway = Gateway::start(keyway(), &["p", "--trust", "--quiet"]);
    let process = gateway.running.child.id();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let session = || {
        let welcome = gateway.post("/mcp/s", Some(&capability), hello);
        let mut lines = welcome.lines();
        let id = lines.find_map(|line| line.strip_prefix("mcp-session-id: "));
        format!(
            "authorization: Bearer {capability}\r\nmcp-session-id: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n",
            id.unwrap_or_else(|| panic!("{welcome}"))
        )
    };
    let sessions: Vec<String> = (0..CLIENTS).map(|_| session()).collect();
    let before = resident(process);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"line"}}"#;
    let send = |headers: &String| gateway.send("POST", "/mcp/s", headers, call);
    let waiting: Vec<_> = sessions.iter().map(send).collect();
    let (mut peak, started) = (before, Instant::now());
    eventually("everything is sent that will be", || {
        peak = f64::max(peak, resident(process));
        started.elapsed() > SENDING
    });
    println!("{CLIENTS} clients that do not read: {before:.1} MiB before, {peak:.1} MiB at most");
    // All together would be 400 MB; without any no client would have been sent to.
    let taken = peak - before;
    assert!(taken < MAX_WAITING, "{taken:.1} MiB, not {MAX_WAITING}");
    assert!(taken > LEFT_BEHIND, "{taken:.1} MiB: nothing was sent");
    drop(waiting);
    for headers in &sessions {
        drop(gateway.request("DELETE", "/mcp/s", headers, ""));
    }
    let mut left = 0.0;
    eventually("it is given back", || {
        left = resident(process) - before;
        left < LEFT_BEHIND
    });
    println!("{left:.1} MiB more than before after they left");
}

/// Returns what a process takes, in MiB.
fn resident(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix(COUNTED));
    let resident = resident.and_then(|text| text.split_whitespace().next());
    let kib: f64 = resident.unwrap().parse().unwrap();
    kib / 1024.0
}

/// Starts a server that keeps sessions, and returns its entry.
fn entry(number: usize) -> String {
    let server = Upstream::start(|request| {
        let answer = mcp(request, |method, _| {
            let tools = json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]});
            (method == "tools/list").then_some(tools)
        });
        answer.with("mcp-session-id", "s")
    });
    let url = server.url("/mcp");
    format!(r#""s{number}": {{"type": "http", "url": "{url}"}}"#)
}

/// What is counted: all that is resident, or of an unoptimised program what it has allocated.
const COUNTED: &str = if cfg!(debug_assertions) {
    "RssAnon:"
} else {
    "VmRSS:"
};

/// With one server and with ten, in MiB.
const LIMITS: [f64; 2] = if cfg!(debug_assertions) {
    [4.5, 6.5]
} else {
    [15.0, 25.0]
};

/// How many times what one takes ten may take.
const SHARED: f64 = if cfg!(debug_assertions) { 1.8 } else { 1.3 };

const LARGE: usize = 10_000_000;
const CLIENTS: usize = 40;
/// 64 MiB of large messages, one of up to 64 MiB beyond that, and what sessions and programs take.
const MAX_WAITING: f64 = 170.0;
/// Long enough for forty programs to send what is taken, and shorter than a client may keep silent.
const SENDING: Duration = Duration::from_secs(12);
const PROGRAM: &str = r#"{"s": {"command": "sh", "args": ["${HOST_PLUGIN_ROOT}/server.sh"]}}"#;
/// Answers every call with a line of 10 MB.
const LINES: &str = r#"
while read -r line; do
    case $line in *'"id":'*) ;; *) continue ;; esac
    id=${line#*'"id":'}; id=${id%%,*}; id=${id%%'}'*}
    case $line in
    *'"initialize"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
        head -c 10000000 /dev/zero | tr '\0' x
        printf '"}]}}\n' ;;
    esac
done
"#;
/// In MiB, less than one of them.
const LEFT_BEHIND: f64 = 9.0;
