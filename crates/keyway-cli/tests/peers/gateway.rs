//! Third-party clients, over HTTP through `keyway serve`.
//!
//! None needs an account for that. Each has a home of its own, and sends a gateway token.

use std::process::{Command, Output, Stdio};

use keyway_testkit::{Folder, Gateway as Process};

use crate::tools::{self, CLAUDE, CODEX, GEMINI, NODE, PYTHON, RUST_PEER, Tools, keyway, script};

const INSPECTOR: &str =
    "npm/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

/// `keyway serve` before the official Rust SDK's server, and a gateway token for it.
struct Gateway {
    folder: Folder,
    process: Process,
    capability: String,
}

impl Gateway {
    fn start(tools: &Tools) -> Self {
        let entries = format!(
            r#"{{"local": {{"command": "{}", "args": ["server", "stdio"]}}}}"#,
            tools.at(RUST_PEER)
        );
        let folder = Folder::new()
            .file("p/.mcp.json", entries)
            .file("person/work/.keep", "");
        let capability = Process::token(keyway(&folder), &["--name", "client"]);
        let call = keyway(&folder).env("HOME", folder.at("person"));
        let process = Process::start(call, &["p", "--trust", "--quiet"]);
        Self {
            folder,
            process,
            capability,
        }
    }

    /// Returns the address of the server; `rest` follows.
    fn url(&self, rest: &str) -> String {
        self.process.url(&format!("/mcp/p/local{rest}"))
    }

    fn header(&self) -> String {
        format!("Authorization: Bearer {}", self.capability)
    }

    /// Lets a client of an SDK do its work; `client` are its words up to the era.
    fn serves(&self, client: &[String], era: &str, transport: &str, version: &str) {
        let [program, words @ ..] = client else {
            panic!("no client");
        };
        let rest = if transport == "sse" { "/sse" } else { "" };
        let output = Command::new(program)
            .args(words)
            .args([era, transport, &self.url(rest)])
            .env("CAPABILITY", &self.capability)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let expected = serde_json::json!({
            "version": version,
            "tools": ["count", "echo", "greet"],
            "echo": "Echo: hello",
            "progress": 3,
            "asked": 1,
            "greet": "hello keyway",
            "read": "hello from rust",
        });
        assert_eq!(report, expected, "{program}, {era}, {transport}: {errors}");
    }

    /// Runs a client of an agent in the person's home, and returns what it prints.
    fn run(&self, tools: &Tools, script: &str, words: &[&str]) -> String {
        let home = self.folder.at("person");
        let output = tools::client(tools, script, &home)
            .args(words)
            .current_dir(home.join("work"))
            .env("CODEX_HOME", home.join("work"))
            .env("KEYWAY_HOME", self.folder.at("home"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        printed(&output)
    }
}

fn printed(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    format!("{out}{}", String::from_utf8_lossy(&output.stderr))
}

fn line_of<'a>(printed: &'a str, server: &str) -> &'a str {
    let mut lines = printed.lines();
    let name = format!("{server}:");
    lines.find(|line| line.contains(&name)).unwrap_or_default()
}

/// The eras of the SDKs' clients, the transports they have there, and what they settle on.
const WAYS: [(&str, &str, &str); 4] = [
    ("legacy", "http", "2025-11-25"),
    ("auto", "http", "2026-07-28"),
    ("legacy", "sse", "2025-11-25"),
    ("auto", "sse", "2025-11-25"),
];

#[test]
fn the_typescript_client_works_over_http_and_sse() {
    let Some(tools) = Tools::find(&[NODE, RUST_PEER]) else {
        return;
    };
    let gateway = Gateway::start(&tools);
    let client = [tools.at(NODE), script("client.mjs"), tools.modules()];
    for (era, transport, version) in WAYS {
        gateway.serves(&client, era, transport, version);
    }
}

#[test]
fn the_python_client_works_over_http_and_sse() {
    let Some(tools) = Tools::find(&[PYTHON, RUST_PEER]) else {
        return;
    };
    let gateway = Gateway::start(&tools);
    let client = [tools.at(PYTHON), script("client.py")];
    for (era, transport, version) in WAYS {
        gateway.serves(&client, era, transport, version);
    }
}

#[test]
fn the_inspector_works_over_http_and_sse() {
    let Some(tools) = Tools::find(&[NODE, RUST_PEER, INSPECTOR]) else {
        return;
    };
    let gateway = Gateway::start(&tools);
    for (era, transport, rest) in [
        ("legacy", "http", ""),
        ("modern", "http", ""),
        ("legacy", "sse", "/sse"),
    ] {
        let (url, header) = (gateway.url(rest), gateway.header());
        let words = [
            ["--cli", "--format"],
            ["json", "--quiet"],
            ["--protocol-era", era],
            ["--transport", transport],
            ["--server-url", &url],
            ["--header", &header],
            ["--method", "tools/call"],
            ["--tool-name", "echo"],
            ["--tool-arg", "message=hi"],
        ];
        let said = gateway.run(&tools, INSPECTOR, words.as_flattened());
        assert!(said.contains("Echo: hi"), "{era} {transport}: {said}");
    }
}

#[test]
fn claude_code_connects_over_http_and_sse() {
    let Some(tools) = Tools::find(&[NODE, RUST_PEER, CLAUDE]) else {
        return;
    };
    let gateway = Gateway::start(&tools);
    let header = gateway.header();
    for (transport, rest) in [("http", ""), ("sse", "/sse")] {
        let url = gateway.url(rest);
        let words = [
            ["mcp", "add"],
            ["--transport", transport],
            [transport, &url],
            ["--header", &header],
        ];
        let added = gateway.run(&tools, CLAUDE, words.as_flattened());
        assert!(added.contains("Added"), "{added}");
    }
    let listed = gateway.run(&tools, CLAUDE, &["mcp", "list"]);
    for transport in ["http", "sse"] {
        let line = line_of(&listed, transport);
        assert!(line.ends_with("✔ Connected"), "{listed}");
    }
}

#[test]
fn gemini_cli_connects_over_http() {
    let Some(tools) = Tools::find(&[NODE, RUST_PEER, GEMINI]) else {
        return;
    };
    let gateway = Gateway::start(&tools);
    let (url, header) = (gateway.url(""), gateway.header());
    let words = [
        ["mcp", "add"],
        ["--transport", "http"],
        ["--header", &header],
        ["local", &url],
    ];
    gateway.run(&tools, GEMINI, words.as_flattened());
    let listed = gateway.run(&tools, GEMINI, &["mcp", "list"]);
    let line = line_of(&listed, "local");
    assert!(line.ends_with("- Connected"), "{listed}");
}

/// Codex connects only in a conversation, which needs an account.
#[test]
fn codex_takes_the_address_and_reads_the_token_from_a_variable() {
    let Some(tools) = Tools::find(&[NODE, RUST_PEER, CODEX]) else {
        return;
    };
    let gateway = Gateway::start(&tools);
    let url = gateway.url("");
    let words = ["mcp", "add", "local", "--url", &url];
    let variable = ["--bearer-token-env-var", "KEYWAY_CAPABILITY"];
    let added = gateway.run(&tools, CODEX, &[&words[..], &variable].concat());
    assert!(added.contains("Added"), "{added}");
    let listed = gateway.run(&tools, CODEX, &["mcp", "list", "--json"]);
    assert!(listed.contains(&url), "{listed}");
    assert!(
        listed.contains(r#""auth_status": "bearer_token""#),
        "{listed}"
    );
    assert!(!listed.contains(&gateway.capability));
}
