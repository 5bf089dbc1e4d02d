//! A thread of Codex, by `codex app-server`: its tools can be called without a model.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use keyway_testkit::PATIENCE;
use serde_json::{Value, json};

/// A thread with its servers started; the process is killed with it.
pub(crate) struct Thread {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    id: String,
    next: u64,
}

impl Thread {
    /// Starts one; `command` has its words up to `app-server`.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .arg("app-server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Ok(message) = serde_json::from_str(&line) {
                    drop(sender.send(message));
                }
            }
        });
        let mut thread = Self {
            child,
            input,
            messages,
            id: String::new(),
            next: 0,
        };
        let client = json!({ "clientInfo": { "name": "tests", "version": "1" } });
        thread.ask("initialize", &client);
        thread.say(&json!({ "method": "initialized" }));
        let started = thread.ask("thread/start", &json!({}));
        let id = started["result"]["thread"]["id"].as_str();
        thread.id = id.unwrap_or_else(|| panic!("{started}")).to_owned();
        thread
    }

    /// Calls a tool, and returns the answer.
    pub(crate) fn call(&mut self, server: &str, tool: &str, message: &str) -> Value {
        let params = json!({
            "threadId": self.id,
            "server": server,
            "tool": tool,
            "arguments": { "message": message },
        });
        self.ask("mcpServer/tool/call", &params)
    }

    fn say(&mut self, message: &Value) {
        self.input
            .write_all(format!("{message}\n").as_bytes())
            .unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.say(&json!({ "id": id, "method": method, "params": params }));
        loop {
            let message = self.messages.recv_timeout(PATIENCE).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
