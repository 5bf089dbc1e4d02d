//! An MCP server that says which tenant it was asked for, and counts who comes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) port: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    methods: Vec<String>,
    tenants: Vec<String>,
}

impl Upstream {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let upstream = Self { port, seen };
        let own = upstream.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                own.seen.lock().unwrap().connections += 1;
                let own = own.clone();
                std::thread::spawn(move || own.attend(stream));
            }
        });
        upstream
    }

    /// Returns an entry that sends `tenant`.
    pub(crate) fn entry(&self, name: &str, tenant: &str) -> String {
        let port = self.port;
        format!(
            r#""{name}": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp", "headers": {{"X-Tenant-Key": "{tenant}"}}}}"#
        )
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// Returns how many requests came, of all kinds.
    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().unwrap().methods.len()
    }

    /// Returns how many tools were called.
    pub(crate) fn calls(&self) -> usize {
        let seen = self.seen.lock().unwrap();
        let is_call = |method: &&String| *method == "tools/call";
        seen.methods.iter().filter(is_call).count()
    }

    pub(crate) fn tenants(&self) -> Vec<String> {
        let mut tenants = self.seen.lock().unwrap().tenants.clone();
        tenants.sort();
        tenants.dedup();
        tenants
    }

    fn attend(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).unwrap_or(0) == 0 {
                    return;
                }
            }
            let header = |name: &str| {
                let mut lines = head.lines().filter_map(|line| line.split_once(": "));
                let found = lines.find(|(own, _)| own.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_owned())
            };
            let length = header("content-length").map_or(0, |it| it.parse().unwrap());
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                return;
            }
            let message: Value = serde_json::from_slice(&body).unwrap_or_default();
            let tenant = header("x-tenant-key").unwrap_or_default();
            let answer = if head.starts_with("POST") {
                self.answer(&message, tenant)
            } else {
                None
            };
            let text = match answer {
                Some(answer) => {
                    let answer = answer.to_string();
                    format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
                        answer.len()
                    )
                }
                None if head.starts_with("POST") => {
                    "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned()
                }
                None => "HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n".to_owned(),
            };
            if writer.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, message: &Value, tenant: String) -> Option<Value> {
        let method = message["method"].as_str().unwrap_or_default();
        {
            let mut seen = self.seen.lock().unwrap();
            seen.methods.push(method.to_owned());
            seen.tenants.push(tenant.clone());
        }
        let id = message.get("id")?;
        let result = match method {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "tenants", "version": "1"},
            }),
            "tools/list" => json!({"tools": [
                {"name": "whoami", "inputSchema": {"type": "object"}},
                {"name": "slow", "inputSchema": {"type": "object"}},
            ]}),
            "tools/call" => {
                if message["params"]["name"] == "slow" {
                    std::thread::sleep(Duration::from_secs(30));
                }
                json!({"content": [{"type": "text", "text": tenant}]})
            }
            "ping" => json!({}),
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }
}
