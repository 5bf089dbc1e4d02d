//! An MCP client on the pipes of `keyway run`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use keyway_testkit::{Keyway, Running};
use serde_json::{Value, json};

/// An MCP client on the pipes of `keyway run`.
pub(crate) struct Client {
    running: Running,
    input: ChildStdin,
    messages: Receiver<Value>,
    next: u64,
    /// Notifications that came while an answer was waited for.
    pub(crate) told: Vec<Value>,
}

impl Client {
    pub(crate) fn start(keyway: &Keyway) -> Self {
        Self::introduced(keyway, &json!({}))
    }

    pub(crate) fn introduced(keyway: &Keyway, capabilities: &Value) -> Self {
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

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
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

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    pub(crate) fn call(&mut self, tool: &str) -> Value {
        let params = json!({
            "name": tool,
            "arguments": { "message": "hello" },
            "_meta": { "progressToken": "p" },
        });
        self.ask("tools/call", &params)
    }

    /// Waits for a notification.
    pub(crate) fn wait_for(&mut self, method: &str) {
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
    pub(crate) fn leave(mut self) -> String {
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

const PATIENCE: Duration = Duration::from_secs(30);
