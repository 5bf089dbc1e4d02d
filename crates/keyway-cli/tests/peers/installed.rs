//! Servers as plugins start them, kept from Keyway's folders, in a home where nothing is yet.
//!
//! `npx` and `uvx` fetch what they start, as they do for every user.

use keyway_testkit::Folder;

use crate::tools::{PYTHON, Tools, keyway, script};

const UVX: &str = "python/bin/uvx";

/// Lists the tools of a server in a fresh home; the first time and once more.
fn starts_twice(entry: &str, tool: &str) {
    let folder = Folder::with_entries(&format!(r#"{{"s": {entry}}}"#)).file("fresh/.profile", "");
    let fresh = folder.at("fresh");
    for _ in 0..2 {
        let call = keyway(&folder)
            .env("HOME", &fresh)
            .args(["tools", "s", "--trust"]);
        let outcome = call.run();
        assert!(
            outcome.stdout.lines().any(|line| line.starts_with(tool)),
            "{}",
            outcome.everything()
        );
    }
}

#[test]
fn npx_starts_the_reference_server() {
    let Some(_) = Tools::find(&[]) else {
        return;
    };
    let entry = r#"{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything@2026.8.31"]}"#;
    starts_twice(entry, "get-sum");
}

#[test]
fn uvx_starts_a_server() {
    let Some(tools) = Tools::find(&[UVX]) else {
        return;
    };
    let uvx = tools.at(UVX);
    let entry = format!(r#"{{"command": "{uvx}", "args": ["mcp-server-time@2026.10.19"]}}"#);
    starts_twice(&entry, "get_current_time");
}

#[test]
fn a_virtual_environment_starts_a_server() {
    let Some(tools) = Tools::find(&[PYTHON]) else {
        return;
    };
    let (python, script) = (tools.at(PYTHON), script("server.py"));
    let entry = format!(r#"{{"command": "{python}", "args": ["{script}", "stdio"]}}"#);
    starts_twice(&entry, "echo");
}
