//! A client of the gateway, which keeps its session while a person does something.

use keyway_testkit::Gateway;
use serde_json::{Value, json};

/// A client with an initialized session.
pub(crate) struct Client<'a> {
    gateway: &'a Gateway,
    path: &'a str,
    token: String,
    session: String,
}

impl<'a> Client<'a> {
    /// Sends `initialize` to an address of the gateway with a gateway token, and lists the tools.
    pub(crate) fn greet(gateway: &'a Gateway, path: &'a str, token: &str) -> Self {
        let mut client = Self {
            gateway,
            path,
            token: token.to_owned(),
            session: String::new(),
        };
        client.begin();
        let listed = client.ask("tools/list", &json!({}));
        assert!(listed.contains("inputSchema"), "{listed}");
        client
    }

    /// Calls a tool with a message; returns the whole answer. Where the session has ended, it begins
    /// another, as the protocol has it.
    pub(crate) fn call(&mut self, tool: &str) -> String {
        let params = json!({"name": tool, "arguments": {"message": "hello"}});
        let answer = self.ask("tools/call", &params);
        if !answer.starts_with("HTTP/1.1 404 ") {
            return answer;
        }
        self.begin();
        self.ask("tools/call", &params)
    }

    /// The same for a client that begins no other session.
    pub(crate) fn call_here(&self, tool: &str) -> String {
        let params = json!({"name": tool, "arguments": {"message": "hello"}});
        let answer = self.ask("tools/call", &params);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer
    }

    fn begin(&mut self) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}});
        self.session.clear();
        let welcome = self.ask("initialize", &params);
        let session = welcome.split("mcp-session-id: ").nth(1);
        let session = session.and_then(|rest| rest.split("\r\n").next());
        self.session = format!("\r\nmcp-session-id: {}", session.expect(&welcome));
    }

    fn ask(&self, method: &str, params: &Value) -> String {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let message = message.to_string();
        let shown = format!("{}{}", self.token, self.session);
        self.gateway.post(self.path, Some(&shown), &message)
    }
}
