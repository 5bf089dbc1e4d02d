//! What an idle `keyway run` takes: the real program, its resident memory as the system tells it.
//!
//! The promise holds for the program as it is released, where `cargo xtask bench memory` runs this;
//! unoptimised programs are larger, and have limits that catch what grows all the same.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement stops where it cannot go on"
)]

use std::time::Duration;

use keyway_testkit::{Client, Folder, Keyway, Upstream, mcp};
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
    std::thread::sleep(Duration::from_secs(1));
    let process = client.running.child.id();
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|text| text.split_whitespace().next());
    let kib: f64 = resident.unwrap().parse().unwrap();
    drop(client.leave());
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

/// With one server and with ten, in MiB.
const LIMITS: [f64; 2] = if cfg!(debug_assertions) {
    [36.0, 38.0]
} else {
    [15.0, 25.0]
};

/// How many times what one takes ten may take.
const SHARED: f64 = 1.3;
