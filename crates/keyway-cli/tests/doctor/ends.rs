//! Commands that a person ends, and servers that have not answered yet.

use std::io::{BufRead as _, BufReader, Write as _};
use std::time::Instant;

use keyway_testkit::{Folder, Keyway, PATIENCE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::doctor::server::{Server, hanging, hanging_and_told, mcp};
use crate::doctor::{KEYWAY, assert_works, doctor};

/// A person does not wait for a server that hangs: Ctrl-C ends the command at once and says so.
#[test]
fn ctrl_c_ends_the_examination_at_once_and_scripts_are_told_too() {
    for (signal, format) in [
        (Signal::INT, "json"),
        (Signal::TERM, "json"),
        (Signal::INT, "human"),
    ] {
        let (port, asked) = hanging_and_told();
        let folder = Folder::with_entries(&format!(
            r#"{{"s": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp", "oauth": false}}}}"#
        ));
        let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
        let words = ["doctor", "--format", format, "--timeout", "600"];
        let mut running = call.args(words).start();
        // It listens for signals before it sends a request.
        asked.recv_timeout(PATIENCE).unwrap();
        let began = Instant::now();
        let pid = Pid::from_raw(i32::try_from(running.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        let outcome = running.outcome();
        assert!(began.elapsed() < PATIENCE, "{signal:?}");
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        let told = &outcome.stderr;
        assert!(told.ends_with("error: cancelled\n"), "{told}");
        if format == "json" {
            let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
            assert_eq!(object["diagnostics"][0]["code"], "cancelled");
        }
        // What the page says: once more, and this time a server answers.
        let server = Server::start(mcp);
        let text = folder.read(".mcp.json");
        let text = text.replace(&port.to_string(), &server.port.to_string());
        folder.put(".mcp.json", text);
        assert_works(&doctor(&folder).run());
    }
}

/// A list of the tools of many servers says which of them has not answered yet.
#[test]
fn a_server_that_has_not_answered_is_connecting_and_the_others_work() {
    let (good, port) = (Server::start(mcp), hanging());
    let folder = Folder::with_entries(&format!(
        r#"{{"good": {{"type": "http", "url": "{}", "oauth": false}},
            "slow": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp", "oauth": false}}}}"#,
        good.url()
    ));
    let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
    let mut running = call.args(["run"]).start();
    let mut input = running.child.stdin.take().unwrap();
    let mut output = BufReader::new(running.child.stdout.take().unwrap());
    let mut ask = |id: u32, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").unwrap();
    };
    let mut answer = |id: u32| -> Value {
        loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0, "it ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer;
            }
        }
    };
    let client = json!({"name": "t", "version": "1"});
    let greeting =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    ask(1, "initialize", greeting);
    let _greeted = answer(1);
    let call = |name: &str| json!({"name": name, "arguments": {}});
    ask(2, "tools/call", call("slow__status"));
    ask(3, "tools/call", call("good__a"));
    // The other one answers before, in its own words.
    let other = answer(3).to_string();
    assert!(other.contains("-32601"), "{other}");
    let told = answer(2);
    let told = &told["result"]["structuredContent"];
    assert_eq!(told["code"], "connecting", "{told}");
    assert_eq!(told["state"], "pending", "{told}");
    let hint = told["hint"].as_str().unwrap();
    assert!(hint.contains("keyway doctor slow"), "{hint}");
}
