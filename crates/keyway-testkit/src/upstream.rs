//! A server of one function: it keeps what it is sent, and the function says what is answered.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::http::{self, Answer, Request};

/// A server on loopback that lives as long as the process.
#[derive(Debug, Clone)]
pub struct Upstream {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicUsize>,
}

impl Upstream {
    /// Starts a server on a free port.
    #[must_use]
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "a test without its server must stop"
    )]
    pub fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let journal = Arc::clone(&seen);
        let connections = http::serve(listener, move |request| {
            lock(&journal).push(request.clone());
            answer(&request)
        });
        Self {
            port,
            seen,
            connections,
        }
    }

    /// Returns the port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns an address of it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns every request so far, those under way included.
    #[must_use]
    pub fn seen(&self) -> Vec<Request> {
        lock(&self.seen).clone()
    }

    /// Returns how many connections were made to it.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Answers as an MCP server before 2026 does: answers `initialize`, takes notifications, and leaves
/// the other methods with their parameters to `respond`, which returns the result of those it
/// knows.
pub fn mcp(request: &Request, respond: impl FnOnce(&str, &Value) -> Option<Value>) -> Answer {
    if request.method != "POST" {
        return Answer::empty(405);
    }
    let Ok(message) = serde_json::from_str::<Value>(&request.body) else {
        return Answer::empty(400);
    };
    let Some(id) = message.get("id") else {
        return Answer::empty(202);
    };
    let params = message.get("params").unwrap_or(&Value::Null);
    let result = match message.get("method").and_then(Value::as_str) {
        Some("initialize") => Some(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "upstream", "version": "1" },
        })),
        Some("ping") => Some(json!({})),
        Some(method) => respond(method, params),
        None => None,
    };
    let answer = match result {
        Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        None => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    };
    Answer::json(200, &answer)
}

fn lock(seen: &Mutex<Vec<Request>>) -> MutexGuard<'_, Vec<Request>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
