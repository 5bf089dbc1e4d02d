//! `keyway run` for a server that nobody has signed in to: it answers at once, lists what it can,
//! and a call gets somebody in.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests stop where they cannot go on"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Keyway, Running};
use serde_json::{Value, json};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// An MCP client on the pipes of `keyway run`.
struct Client {
    running: Running,
    input: ChildStdin,
    messages: Receiver<Value>,
    next: u64,
    /// Notifications that came while an answer was waited for.
    told: Vec<Value>,
}

impl Client {
    fn start(keyway: &Keyway) -> Self {
        Self::introduced(keyway, &json!({}))
    }

    fn introduced(keyway: &Keyway, capabilities: &Value) -> Self {
        let mut running = keyway.start();
        let input = running.child.stdin.take().unwrap();
        let output = running.child.stdout.take().unwrap();
        let mut client = Self {
            running,
            input,
            messages: lines(output),
            next: 0,
            told: Vec::new(),
        };
        let started = Instant::now();
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "t", "version": "1" },
        });
        client.ask("initialize", &params);
        // Nobody has to be there for this.
        assert!(started.elapsed() < Duration::from_secs(5));
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.messages.recv_timeout(PATIENCE).unwrap();
            if message.get("id") == Some(&json!(id)) {
                return message;
            }
            self.told.push(message);
        }
    }

    fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    fn call(&mut self, tool: &str) -> Value {
        let params = json!({
            "name": tool,
            "arguments": { "message": "hello" },
            "_meta": { "progressToken": "p" },
        });
        self.ask("tools/call", &params)
    }

    /// Waits for a notification.
    fn wait_for(&mut self, method: &str) {
        let is_it = |message: &Value| message["method"] == method;
        while !self.told.iter().any(is_it) {
            let message = self.messages.recv_timeout(PATIENCE).unwrap();
            self.told.push(message);
        }
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Goes away and returns what was printed besides the protocol.
    fn leave(mut self) -> String {
        drop(self.input);
        let outcome = self.running.outcome();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        outcome.stderr
    }
}

fn lines(output: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Standard output carries protocol only.
            let message = serde_json::from_str(&line).unwrap();
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}

fn desk() -> Desk {
    Desk::new(KEYWAY, Settings::default())
}

#[test]
fn t15_who_never_signed_in_gets_answers_at_once_and_one_tool_that_signs_in() {
    let desk = desk();
    let mut client = Client::start(&desk.keyway(&["run", "--server", "s"]));
    assert_eq!(client.tools(), ["sign_in"]);
    // Listing asks nobody.
    assert_eq!(desk.windows().len(), 0);
    let person = desk.person();
    let answer = client.call("sign_in");
    assert_eq!(answer["result"]["isError"], Value::Null, "{answer}");
    client.wait_for("notifications/tools/list_changed");
    assert_eq!(client.tools(), ["echo"]);
    let answer = client.call("echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
    drop(person);
    assert_eq!(desk.windows().len(), 1);
    assert_eq!(client.leave(), "");
}

#[test]
fn a_call_of_a_remembered_tool_signs_in_first_and_then_does_it() {
    let desk = desk();
    let _person = desk.person();
    let mut client = Client::start(&desk.keyway(&["run"]));
    assert_eq!(client.tools(), ["sign_in"]);
    client.call("sign_in");
    client.wait_for("notifications/tools/list_changed");
    assert_eq!(client.tools(), ["echo"]);
    client.leave();
    let out = desk.keyway(&["logout", "s"]).run();
    assert_eq!(out.code, 0, "{}", out.everything());
    let mut client = Client::start(&desk.keyway(&["run"]));
    assert_eq!(client.tools(), ["echo"]);
    assert_eq!(desk.windows().len(), 1);
    let answer = client.call("echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
    assert_eq!(desk.windows().len(), 2);
    let told = client.told.iter();
    let progress = told.filter(|it| it["method"] == "notifications/progress");
    assert!(progress.count() > 0);
}

#[test]
fn a_sign_in_by_another_process_is_noticed_within_a_second() {
    let desk = desk();
    let mut client = Client::start(&desk.without_browser(&["run", "--server", "s"]));
    assert_eq!(client.tools(), ["sign_in"]);
    desk.sign_in();
    let signed_in = Instant::now();
    client.wait_for("notifications/tools/list_changed");
    assert!(
        signed_in.elapsed() < Duration::from_secs(3),
        "loaded machines included"
    );
    assert_eq!(client.tools(), ["echo"]);
}

#[test]
fn where_nobody_can_be_asked_a_call_says_which_command_signs_in() {
    let desk = desk();
    let mut client = Client::start(&desk.without_browser(&["run", "--server", "s"]));
    let answer = client.call("sign_in");
    let text = answer.to_string();
    assert!(text.contains("keyway login"), "{text}");
    assert_eq!(desk.windows().len(), 0);
}

#[test]
fn one_server_without_a_sign_in_takes_nothing_from_the_others() {
    let desk = desk();
    let other = Desk::new(KEYWAY, Settings::default());
    let entries = json!({
        "s": { "type": "http", "url": desk.rig.mcp() },
        "t": { "type": "http", "url": other.rig.mcp() },
    });
    std::fs::remove_file(desk.folder.at(".mcp.json")).unwrap();
    keyway_file(&desk, &entries);
    let _person = desk.person();
    let signed_in = desk.keyway(&["login", "t"]).run();
    assert_eq!(signed_in.code, 0, "{}", signed_in.everything());
    let mut client = Client::start(&desk.keyway(&["run"]));
    assert_eq!(client.tools(), ["s__sign_in", "t__echo"]);
    let answer = client.call("t__echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
}

#[expect(clippy::disallowed_methods, reason = "a plugin's file in a test")]
fn keyway_file(desk: &Desk, entries: &Value) {
    std::fs::write(desk.folder.at(".mcp.json"), entries.to_string()).unwrap();
}

const PATIENCE: Duration = Duration::from_secs(30);
