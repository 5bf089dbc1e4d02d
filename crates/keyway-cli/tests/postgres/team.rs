//! A plugin with one server, a person, and gateways whose sign-ins are in one database.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Gateway, PostgresServer};
use serde_json::json;

/// The desk of a person, whose `config.toml` names a database.
pub(crate) struct Team {
    pub(crate) desk: Desk,
    pub(crate) server: PostgresServer,
    pub(crate) database: String,
    pub(crate) token: String,
}

impl Team {
    /// Signs a person in, into the database.
    pub(crate) fn signed_in(settings: Settings) -> Self {
        let team = Self::new(settings);
        team.desk.sign_in();
        team
    }

    pub(crate) fn new(settings: Settings) -> Self {
        let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), settings);
        let server = PostgresServer::start();
        let database = server.create_database();
        // First, so that its folders are made private.
        let token = Gateway::token(desk.keyway(&[]), &["--name", "client"]);
        let key = desk.folder.at("home/wrapping.key");
        private(&key, &"5a".repeat(32));
        let address = server.address("keyway", &database);
        let config = format!(
            "[vault]\naddress = \"{address}\"\nkey_file = \"{}\"\n",
            key.display()
        );
        desk.folder.put("home/keyway/config/config.toml", config);
        Self {
            desk,
            server,
            database,
            token,
        }
    }

    pub(crate) fn gateway(&self) -> Gateway {
        Gateway::start(self.desk.keyway(&[]), &["--trust", "--quiet"])
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.database, sql)
    }

    /// Calls the tool as a client of 2026-07-28, and returns the whole answer.
    pub(crate) fn call(&self, gateway: &Gateway) -> String {
        Self::call_with(gateway, &self.token)
    }

    /// The same with another gateway token.
    pub(crate) fn call_with(gateway: &Gateway, token: &str) -> String {
        let (headers, message) = message(token);
        gateway.post("/mcp/s", Some(&headers), &message)
    }

    /// Begins a call whose answer is not waited for.
    pub(crate) fn begin_call(&self, gateway: &Gateway) -> TcpStream {
        let (headers, message) = message(&self.token);
        let headers = format!("authorization: Bearer {headers}\r\n{MCP}");
        gateway.send("POST", "/mcp/s", &headers, &message)
    }
}

fn message(token: &str) -> (String, String) {
    let message = json!({
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {
            "name": "echo",
            "arguments": { "message": "hello" },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let headers = format!(
        "{token}\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo"
    );
    (headers, message.to_string())
}

/// Writes a file that only its owner can read.
pub(crate) fn private(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

pub(crate) fn get(gateway: &Gateway, path: &str) -> String {
    gateway.request("GET", path, "", "")
}

/// A session of a client before 2026-07-28.
pub(crate) struct Conversation<'a> {
    gateway: &'a Gateway,
    headers: String,
}

impl<'a> Conversation<'a> {
    pub(crate) fn begin(team: &Team, gateway: &'a Gateway) -> Self {
        let welcome = gateway.post("/mcp/s", Some(&team.token), HELLO);
        let session = welcome.split("mcp-session-id: ").nth(1);
        let session = session.and_then(|rest| rest.split("\r\n").next());
        let session = session.unwrap_or_else(|| panic!("no session: {welcome}"));
        Self {
            gateway,
            headers: format!("{}\r\nmcp-session-id: {session}", team.token),
        }
    }

    /// Goes on at another gateway.
    pub(crate) fn at<'b>(&self, gateway: &'b Gateway) -> Conversation<'b> {
        Conversation {
            gateway,
            headers: self.headers.clone(),
        }
    }

    /// Opens the stream of the session.
    pub(crate) fn listen(&self) -> TcpStream {
        let headers = format!(
            "authorization: Bearer {}\r\naccept: text/event-stream\r\nconnection: close\r\n",
            self.headers
        );
        self.gateway.send("GET", "/mcp/s", &headers, "")
    }

    pub(crate) fn call(&self) -> String {
        let message = json!({
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": { "name": "echo", "arguments": { "message": "hello" } },
        });
        let headers = Some(self.headers.as_str());
        self.gateway.post("/mcp/s", headers, &message.to_string())
    }
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
const MCP: &str =
    "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
