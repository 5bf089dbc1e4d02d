//! `keyway serve` as a process, and clients of it over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use keyway_testkit::Folder;
use serde_json::{Value, json};

use crate::keyway;

pub(crate) struct Gateway {
    pub(crate) child: Child,
    port: u16,
    token: String,
    said: Arc<Mutex<String>>,
}

impl Gateway {
    /// Serves plugins of a folder, and has a token for all of them.
    pub(crate) fn start(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let home = folder.at("home");
        let made = keyway(folder, &["token", "new", "--name", "t"]).run();
        Self::at(&home, folder, arguments, variables, made.stdout.trim())
    }

    pub(crate) fn at(
        home: &Path,
        folder: &Folder,
        arguments: &[&str],
        variables: &[(&str, &str)],
        token: &str,
    ) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_keyway"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .current_dir(folder.path())
            .env_clear()
            .env("KEYWAY_HOME", home)
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .env("PATH", "/usr/bin:/bin")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("http://127.0.0.1:").unwrap();
        let port = port.strip_suffix("/mcp").unwrap().parse().unwrap();
        let said: Arc<Mutex<String>> = Arc::default();
        let heard = Arc::clone(&said);
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                heard.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Self {
            child,
            port,
            token: token.to_owned(),
            said,
        }
    }

    /// Returns what it said beside the protocol.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
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

    fn request(&self, method: &str, path: &str, session: &str, body: &str) -> TcpStream {
        let (port, token, length) = (self.port, &self.token, body.len());
        let session = match session {
            "" => String::new(),
            id => format!("Mcp-Session-Id: {id}\r\n"),
        };
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {token}\r\n{session}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    fn post(&self, path: &str, session: &str, message: &Value) -> (String, String) {
        let mut stream = self.request("POST", path, session, &message.to_string());
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
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
        let stream = self.gateway.request("GET", &self.path, &self.id, "");
        stream.set_read_timeout(Some(crate::PATIENCE)).unwrap();
        let mut lines = BufReader::new(stream).lines();
        loop {
            let line = lines.next().expect("more of the stream").expect(what);
            if line.contains(what) {
                return;
            }
        }
    }
}
