//! The official SDKs: their servers under our commands, their clients on `keyway run`.

use std::process::Command;

use keyway_testkit::Folder;

use crate::tools::{Listening, NODE, PYTHON, RUST_PEER, Tools, keyway, script};

/// Servers with the same tools, each on every transport that its SDK has.
struct Servers {
    folder: Folder,
    names: Vec<&'static str>,
    greeting: &'static str,
    _listening: Vec<Listening>,
}

impl Servers {
    fn python(tools: &Tools) -> Self {
        let words = |transport: &str| {
            let mut words = vec![tools.at(PYTHON), script("server.py"), transport.to_owned()];
            words.extend((transport != "stdio").then(|| "PORT".to_owned()));
            words
        };
        let (http, sse) = (
            Listening::start(&words("http")),
            Listening::start(&words("sse")),
        );
        let folder = Folder::with_entries(&format!(
            r#"{{"local": {{"command": "{}", "args": ["{}", "stdio"]}},
                "web": {{"type": "http", "url": "http://127.0.0.1:{}/mcp"}},
                "old": {{"type": "sse", "url": "http://127.0.0.1:{}/sse"}}}}"#,
            tools.at(PYTHON),
            script("server.py"),
            http.port,
            sse.port,
        ));
        Self {
            folder,
            names: vec!["local", "web", "old"],
            greeting: "hello from python",
            _listening: vec![http, sse],
        }
    }

    fn rust(tools: &Tools) -> Self {
        let words = ["server", "http", "PORT"].map(str::to_owned);
        let http = Listening::start(&[&[tools.at(RUST_PEER)], words.as_slice()].concat());
        let folder = Folder::with_entries(&format!(
            r#"{{"local": {{"command": "{}", "args": ["server", "stdio"]}},
                "web": {{"type": "http", "url": "http://127.0.0.1:{}/mcp"}}}}"#,
            tools.at(RUST_PEER),
            http.port,
        ));
        Self {
            folder,
            names: vec!["local", "web"],
            greeting: "hello from rust",
            _listening: vec![http],
        }
    }

    /// Lists, calls and reads with our own commands.
    fn answer_our_commands(&self) {
        for server in &self.names {
            let call = |words: &[&str]| {
                let words = words.iter().copied().chain(["--trust"]);
                keyway(&self.folder).args(words).run()
            };
            let listed = call(&["tools", server]);
            for tool in ["echo", "count", "greet"] {
                assert!(
                    listed.stdout.lines().any(|line| line.starts_with(tool)),
                    "{server}: {}",
                    listed.everything()
                );
            }
            let echo = call(&["call", server, "echo", "message=hello"]);
            assert_eq!(echo.stdout, "Echo: hello\n", "{}", echo.everything());
            let read = call(&["read", server, "peer://greeting"]);
            let greeting = format!("{}\n", self.greeting);
            assert_eq!(read.stdout, greeting, "{}", read.everything());
        }
    }

    /// Lets a client of each era do its work on `keyway run`; `client` are its words up to the era.
    fn serve(&self, client: &[String]) {
        for (era, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
            for server in &self.names {
                let [program, words @ ..] = client else {
                    panic!("no client");
                };
                let output = Command::new(program)
                    .args(words)
                    .args([era, env!("CARGO_BIN_EXE_keyway"), "run"])
                    .arg(self.folder.path())
                    .args(["--server", server, "--trust"])
                    .env("KEYWAY_HOME", self.folder.at("home"))
                    .output()
                    .unwrap();
                let errors = String::from_utf8_lossy(&output.stderr);
                let report: serde_json::Value =
                    serde_json::from_slice(&output.stdout).unwrap_or_default();
                let expected = serde_json::json!({
                    "version": version,
                    "tools": ["count", "echo", "greet"],
                    "echo": "Echo: hello",
                    "progress": 3,
                    "asked": 1,
                    "greet": "hello keyway",
                    "read": self.greeting,
                });
                assert_eq!(report, expected, "{program}, {era}, {server}: {errors}");
            }
        }
    }
}

#[test]
fn the_python_servers_answer_our_commands() {
    let Some(tools) = Tools::find(&[PYTHON]) else {
        return;
    };
    Servers::python(&tools).answer_our_commands();
}

#[test]
fn the_rust_servers_answer_our_commands() {
    let Some(tools) = Tools::find(&[RUST_PEER]) else {
        return;
    };
    Servers::rust(&tools).answer_our_commands();
}

#[test]
fn the_python_client_of_either_era_reaches_every_python_server() {
    let Some(tools) = Tools::find(&[PYTHON]) else {
        return;
    };
    let client = [tools.at(PYTHON), script("client.py")];
    Servers::python(&tools).serve(&client);
}

#[test]
fn the_rust_client_of_either_era_reaches_every_rust_server() {
    let Some(tools) = Tools::find(&[RUST_PEER]) else {
        return;
    };
    let client = [tools.at(RUST_PEER), "client".to_owned()];
    Servers::rust(&tools).serve(&client);
}

#[test]
fn the_typescript_client_of_either_era_reaches_servers_in_other_languages() {
    let Some(tools) = Tools::find(&[NODE, PYTHON, RUST_PEER]) else {
        return;
    };
    let client = [tools.at(NODE), script("client.mjs"), tools.modules()];
    Servers::rust(&tools).serve(&client);
    Servers::python(&tools).serve(&client);
}
