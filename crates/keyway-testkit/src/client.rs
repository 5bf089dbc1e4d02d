//! A client of before 2026 on the pipes of `keyway run`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::{Keyway, PATIENCE, Running};

/// A client with an initialized session; the process is killed with it. Every method panics on
/// failure: it is for tests.
#[derive(Debug)]
pub struct Client {
    /// Notifications and requests that came while an answer was waited for.
    pub told: Vec<Value>,
    /// The process; its pipes are the client's.
    pub running: Running,
    input: ChildStdin,
    messages: Receiver<Value>,
    next: u64,
}

#[expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test whose client fails must stop"
)]
impl Client {
    /// Starts the program and sends `initialize`.
    #[must_use]
    pub fn start(call: &Keyway) -> Self {
        let mut running = call.start();
        let input = running.child.stdin.take().expect("a pipe");
        let output = running.child.stdout.take().expect("a pipe");
        let mut client = Self {
            told: Vec::new(),
            running,
            input,
            messages: messages(output),
            next: 0,
        };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" },
        });
        let welcome = client.ask("initialize", &params);
        assert!(welcome.get("result").is_some(), "{welcome}");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Sends a request and returns its number.
    pub fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for the answer to a request.
    pub fn hear(&mut self, id: u64) -> Value {
        loop {
            let message = self.next_message();
            if message.get("id") == Some(&json!(id)) && message.get("method").is_none() {
                return message;
            }
            self.told.push(message);
        }
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.hear(id)
    }

    /// Returns the names of all tools; if it gets no list, the answer.
    pub fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", &json!({}));
        let Some(tools) = answer.pointer("/result/tools").and_then(Value::as_array) else {
            return vec![answer.to_string()];
        };
        let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        names.map(str::to_owned).collect()
    }

    /// Calls a tool with a message, and wants to hear of its progress.
    pub fn call(&mut self, tool: &str) -> Value {
        let params = json!({
            "name": tool,
            "arguments": { "message": "hello" },
            "_meta": { "progressToken": "p" },
        });
        self.ask("tools/call", &params)
    }

    /// Waits for a notification.
    pub fn wait_for(&mut self, method: &str) {
        let is_it = |message: &Value| message.get("method").is_some_and(|it| it == method);
        while !self.told.iter().any(is_it) {
            let message = self.next_message();
            self.told.push(message);
        }
    }

    /// Goes away and returns what was printed besides the protocol.
    #[must_use]
    pub fn leave(mut self) -> String {
        drop(self.input);
        let outcome = self.running.outcome();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        outcome.stderr
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("a reader");
    }

    fn next_message(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("a message")
    }
}

#[expect(clippy::expect_used, reason = "standard output carries protocol only")]
fn messages(output: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    drop(std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let message = serde_json::from_str(&line).expect("a message");
            if sender.send(message).is_err() {
                return;
            }
        }
    }));
    receiver
}
