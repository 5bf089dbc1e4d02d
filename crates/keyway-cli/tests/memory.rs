//! What an idle `keyway run` takes: the real program, its resident memory as the system tells it.
//!
//! The promise holds for the program as it is released, where `cargo xtask bench memory` runs this;
//! unoptimised programs are larger, and have limits that catch what grows all the same.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement stops where it cannot go on"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use keyway_testkit::{Folder, Keyway};
use serde_json::{Value, json};

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
    let mut running = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .args(["run"])
        .env("KEYWAY_HOME", folder.at("home"))
        .start();
    let mut input = running.child.stdin.take().unwrap();
    let mut lines = BufReader::new(running.child.stdout.take().unwrap()).lines();
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    writeln!(input, "{hello}\n{ready}\n{list}").unwrap();
    let listed = loop {
        let line = lines.next().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("id") == Some(&json!(2)) {
            break message;
        }
    };
    let tools = listed.pointer("/result/tools").unwrap();
    assert_eq!(tools.as_array().unwrap().len(), servers, "all are there");
    std::thread::sleep(Duration::from_secs(1));
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|text| text.split_whitespace().next());
    let kib: f64 = resident.unwrap().parse().unwrap();
    drop(input);
    let outcome = running.outcome();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    kib / 1024.0
}

/// Starts a server and returns its entry.
fn entry(number: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    format!(r#""s{number}": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp"}}"#)
}

/// Answers what a client of before 2026 asks; the server keeps sessions.
fn serve(stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let length = head.to_lowercase();
        let length = length.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        if writer.write_all(answer(&body).as_bytes()).is_err() {
            return;
        }
    }
}

fn answer(body: &[u8]) -> String {
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let id = message.get("id").cloned();
    let result = match (message.get("method").and_then(Value::as_str), &id) {
        (_, None) => {
            let status = if body.is_empty() { "405 No" } else { "202 Ok" };
            return format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        }
        (Some("initialize"), _) => json!({ "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "t", "version": "1" },
        }}),
        (Some("tools/list"), _) => json!({ "result": { "tools": [
            { "name": "echo", "inputSchema": { "type": "object" } },
        ]}}),
        _ => json!({ "error": { "code": -32601, "message": "Method not found" } }),
    };
    let mut whole = json!({ "jsonrpc": "2.0", "id": id });
    let members = whole.as_object_mut().unwrap();
    members.extend(result.as_object().unwrap().clone());
    let text = whole.to_string();
    let length = text.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s\r\nContent-Length: {length}\r\n\r\n{text}"
    )
}

/// With one server and with ten, in MiB.
const LIMITS: [f64; 2] = if cfg!(debug_assertions) {
    [36.0, 38.0]
} else {
    [15.0, 25.0]
};

/// How many times what one takes ten may take.
const SHARED: f64 = 1.3;
