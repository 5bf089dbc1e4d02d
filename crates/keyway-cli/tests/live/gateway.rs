//! `keyway serve` as a process, and clients of it over HTTP.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;

use keyway_testkit::{Folder, Gateway as Process, Keyway};
use serde_json::{Value, json};

use crate::live::keyway;

pub(crate) struct Gateway {
    pub(crate) process: Process,
    pub(crate) token: String,
}

impl Gateway {
    /// Serves plugins of a folder, and has a token for all of them.
    pub(crate) fn start(folder: &Folder, words: &[&str], variables: &[(&str, &str)]) -> Self {
        let token = Process::token(keyway(folder, &[]), &["--name", "t"]);
        let call = around(&folder.at("home"), folder, variables);
        let process = Process::start(call, words);
        Self { process, token }
    }

    /// Serves the folder itself, from another home.
    pub(crate) fn at(home: &Path, folder: &Folder, token: String) -> Self {
        let process = Process::start(around(home, folder, &[]), &[]);
        Self { process, token }
    }

    /// Says whether there is anything at a path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.begin(path).is_some()
    }

    /// Begins a session; `None` if there is nothing.
    pub(crate) fn begin(&self, path: &str) -> Option<Session<'_>> {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let (head, _) = self.post(path, "", &hello);
        if head.starts_with("HTTP/1.1 404") {
            return None;
        }
        let id = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id")
                .then(|| value.to_owned())
        });
        let session = Session {
            gateway: self,
            path: path.to_owned(),
            id: id.expect(&head),
        };
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        drop(self.post(path, &session.id, &told));
        Some(session)
    }

    /// Returns the numbers about it.
    pub(crate) fn metrics(&self) -> String {
        let headers = self.headers("");
        self.process.request("GET", "/metrics", &headers, "")
    }

    fn headers(&self, session: &str) -> String {
        let session = match session {
            "" => String::new(),
            id => format!("mcp-session-id: {id}\r\n"),
        };
        let token = &self.token;
        format!(
            "authorization: Bearer {token}\r\n{session}content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        )
    }

    /// Opens a stream.
    pub(crate) fn stream(&self, path: &str) -> TcpStream {
        self.process.send("GET", path, &self.headers(""), "")
    }

    pub(crate) fn post(&self, path: &str, session: &str, message: &Value) -> (String, String) {
        let (headers, message) = (self.headers(session), message.to_string());
        let answer = self.process.request("POST", path, &headers, &message);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }
}

/// Prepares a call whose surroundings are those of every runner.
pub(crate) fn around(home: &Path, folder: &Folder, variables: &[(&str, &str)]) -> Keyway {
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", home)
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path());
    variables
        .iter()
        .fold(call, |call, (name, value)| call.env(name, *value))
}

pub(crate) struct Session<'a> {
    gateway: &'a Gateway,
    path: String,
    id: String,
}

impl Session<'_> {
    /// Sends a request; `None` if the session is over.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let (head, body) = self.gateway.post(&self.path, &self.id, &message);
        if head.starts_with("HTTP/1.1 404") {
            return None;
        }
        let is_event = |line: &&str| line.starts_with("data: {");
        let text = body.lines().rfind(is_event);
        let text = text.map_or(body.as_str(), |line| &line["data: ".len()..]);
        Some(serde_json::from_str(text).expect(&head))
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        let answer = self.ask("tools/list", &json!({}));
        let Some(answer) = answer else {
            return vec!["the session is over".to_owned()];
        };
        let tools = answer["result"]["tools"].as_array();
        let tools = tools.cloned().unwrap_or_default();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }

    pub(crate) fn call(&self, tool: &str) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool}));
        answer.unwrap_or_else(|| json!("the session is over"))
    }

    /// Returns the tenant that the server sees.
    pub(crate) fn tenant(&self) -> String {
        let answer = self.call("whoami");
        let text = answer["result"]["content"][0]["text"].as_str();
        text.map_or_else(|| answer.to_string(), str::to_owned)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ask("ping", &json!({})).is_none()
    }

    /// Reads the stream for what belongs to no request, until a line says it.
    pub(crate) fn hears(&self, what: &str) {
        let headers = self.gateway.headers(&self.id);
        let stream = self.gateway.process.send("GET", &self.path, &headers, "");
        let mut lines = BufReader::new(stream).lines();
        loop {
            let line = lines.next().expect("more of the stream").expect(what);
            if line.contains(what) {
                return;
            }
        }
    }
}
