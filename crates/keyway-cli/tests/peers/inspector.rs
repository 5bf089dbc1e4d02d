//! The Inspector, the official client for the command line, on `keyway run`.
//!
//! Its one-shot client shows no progress and answers no question but the one for roots: progress,
//! sampling and elicitation are switched off in it. So progress is looked for on the wire between
//! the two, and a question is answered by `mcpdo`, the Inspector's client that keeps a connection.

use std::process::{Command, Stdio};

use keyway_testkit::Folder;
use serde_json::{Value, json};

use crate::tools::{NODE, RUST_PEER, Tools};

const INSPECTOR: &str =
    "npm/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const MCPDO: &str =
    "npm/node_modules/@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js";
const EVERYTHING: &str = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// A plugin with two servers, and a program that writes down what passes between it and a client.
struct Desk {
    tools: Tools,
    folder: Folder,
}

impl Desk {
    fn find() -> Option<Self> {
        let tools = Tools::find(&[NODE, RUST_PEER, INSPECTOR, MCPDO, EVERYTHING])?;
        let entries = json!({
            "rust": { "command": tools.at(RUST_PEER), "args": ["server", "stdio"] },
            "everything": { "command": tools.at(NODE), "args": [tools.at(EVERYTHING), "stdio"] },
        });
        let folder = Folder::with_entries(&entries.to_string());
        let here = folder.path().display().to_string();
        let keyway = env!("CARGO_BIN_EXE_keyway");
        let wire = format!(
            "#!/bin/sh\ntee '{here}/said' | '{keyway}' run '{here}' --server \"$1\" --trust | tee '{here}/heard'\n"
        );
        let roots = json!([{ "uri": "file:///srv/work", "name": "work" }]);
        let server = |name: &str| {
            let wire = format!("{here}/wire");
            json!({ "type": "stdio", "command": wire, "args": [name], "roots": roots })
        };
        let servers = json!({ "mcpServers": {
            "rust": server("rust"),
            "everything": server("everything"),
        }});
        let folder = folder
            .executable("wire", wire)
            .file("inspector.json", servers.to_string());
        Some(Self { tools, folder })
    }

    /// Runs a client of the Inspector; returns what it printed, and what it complained of.
    fn run(&self, client: &str, words: &[&str]) -> (Value, String) {
        let output = Command::new(self.tools.at(NODE))
            .arg(self.tools.at(client))
            .args(words)
            .stdin(Stdio::null())
            .env("HOME", self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env("MCP_INSPECTOR_SECRET_STORE", "file")
            .env("KEYWAY_HOME", self.folder.at("home"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let printed = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (printed, errors)
    }

    /// Asks once, in one era; returns the result.
    fn ask(&self, era: &str, server: &str, words: &[&str]) -> (Value, String) {
        let config = self.folder.at("inspector.json").display().to_string();
        let first = ["--cli", "--format", "json", "--quiet", "--protocol-era"];
        let second = [era, "--config", &config, "--server", server, "--method"];
        let (printed, errors) = self.run(INSPECTOR, &[&first[..], &second, words].concat());
        let result = printed.get("result").cloned();
        (result.unwrap_or_default(), errors)
    }

    /// What passed the wire in one direction, message by message.
    fn passed(&self, direction: &str) -> Vec<Value> {
        let text = self.folder.read(direction);
        let lines = text.lines().filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[test]
fn the_inspector_lists_calls_and_reads() {
    let Some(desk) = Desk::find() else {
        return;
    };
    for era in ["legacy", "modern"] {
        let (listed, errors) = desk.ask(era, "rust", &["tools/list"]);
        assert_eq!(listed["tools"][0]["name"], "echo", "{era}: {errors}");
        let call = ["tools/call", "--tool-name", "echo"];
        let call = [&call, &["--tool-arg", "message=hi"][..]].concat();
        let (called, errors) = desk.ask(era, "rust", &call);
        assert_eq!(called["content"][0]["text"], "Echo: hi", "{era}: {errors}");
        let read = ["resources/read", "--uri", "peer://greeting"];
        let (read, errors) = desk.ask(era, "rust", &read);
        let text = &read["contents"][0]["text"];
        assert_eq!(text, "hello from rust", "{era}: {errors}");
    }
}

#[test]
fn the_inspector_gets_the_progress_that_it_asks_for_before_the_result() {
    let Some(desk) = Desk::find() else {
        return;
    };
    for era in ["legacy", "modern"] {
        let call = ["tools/call", "--tool-name", "count", "--tool-arg"];
        let call = [
            &call,
            &["steps=3", "--tool-metadata", "progressToken=p"][..],
        ]
        .concat();
        let (counted, errors) = desk.ask(era, "rust", &call);
        assert_eq!(
            counted["content"][0]["text"], "counted to 3",
            "{era}: {errors}"
        );
        let heard = desk.passed("heard");
        let told: Vec<(&Value, f64)> = heard
            .iter()
            .filter(|message| message["method"] == "notifications/progress")
            .map(|message| &message["params"])
            .map(|params| {
                (
                    &params["progressToken"],
                    params["progress"].as_f64().unwrap(),
                )
            })
            .collect();
        let token = json!("p");
        assert_eq!(told, [(&token, 1.0), (&token, 2.0), (&token, 3.0)], "{era}");
        let last = heard.last().unwrap();
        assert!(last.get("result").is_some(), "{era}: {last}");
    }
}

#[test]
fn the_inspector_answers_a_server_that_asks_for_roots() {
    let Some(desk) = Desk::find() else {
        return;
    };
    // The server is of the old era; the new one puts the question into a result.
    for era in ["legacy", "modern"] {
        let call = ["tools/call", "--tool-name", "get-roots-list"];
        let (listed, errors) = desk.ask(era, "everything", &call);
        let text = listed["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("file:///srv/work"), "{era}: {text} {errors}");
        let heard = desk.folder.read("heard");
        assert!(heard.contains(r#""method":"roots/list""#), "{era}");
        let said = desk.folder.read("said");
        assert!(said.contains("file:///srv/work"), "{era}");
    }
}

#[test]
fn the_connection_client_of_the_inspector_answers_a_question() {
    let Some(desk) = Desk::find() else {
        return;
    };
    let config = desk.folder.at("inspector.json").display().to_string();
    let json = ["--format", "json"];
    let mcpdo = |words: &[&str]| desk.run(MCPDO, &[&json[..], words].concat());
    let _daemon = Daemon(&desk);
    let (connected, errors) = mcpdo(&["--config", &config, "connect", "rust"]);
    assert_eq!(connected["protocolEra"], "legacy", "{errors}");
    let (asked, errors) = mcpdo(&["--connection", "rust", "tools/call", "greet"]);
    let question = &asked["elicitationPending"];
    assert_eq!(question["message"], "Who is there?", "{errors}");
    let id = question["elicitationId"].as_str().unwrap();
    let respond = ["--connection", "rust", "elicitation/respond", id];
    let (greeted, errors) = mcpdo(&[&respond[..], &["name:=Ada"]].concat());
    assert_eq!(greeted["content"][0]["text"], "hello Ada", "{errors}");
}

/// What `mcpdo` leaves running is told to end, whatever became of the test.
struct Daemon<'a>(&'a Desk);

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        drop(self.0.run(MCPDO, &["daemon", "stop"]));
    }
}
