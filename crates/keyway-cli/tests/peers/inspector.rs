//! The Inspector, the official client for the command line, on `keyway run`.

use std::process::Command;

use keyway_testkit::Folder;

use crate::tools::{NODE, RUST_PEER, Tools};

const INSPECTOR: &str =
    "npm/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

#[test]
fn the_inspector_lists_calls_and_reads() {
    let Some(tools) = Tools::find(&[NODE, RUST_PEER, INSPECTOR]) else {
        return;
    };
    let folder = Folder::with_entries(&format!(
        r#"{{"local": {{"command": "{}", "args": ["server", "stdio"]}}}}"#,
        tools.at(RUST_PEER),
    ));
    let ask = |era: &str, words: &[&str]| {
        let output = Command::new(tools.at(NODE))
            .arg(tools.at(INSPECTOR))
            .args([
                "--cli",
                "--format",
                "json",
                "--quiet",
                "--protocol-era",
                era,
            ])
            .args(words)
            .args(["--", env!("CARGO_BIN_EXE_keyway"), "run"])
            .arg(folder.path())
            .arg("--trust")
            .env("HOME", folder.path())
            .env("KEYWAY_HOME", folder.at("home"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (answer["result"].clone(), errors)
    };
    for era in ["legacy", "modern"] {
        let (listed, errors) = ask(era, &["--method", "tools/list"]);
        assert_eq!(listed["tools"][0]["name"], "echo", "{era}: {errors}");
        let call = ["--method", "tools/call", "--tool-name", "echo"];
        let (called, errors) = ask(era, &[&call, &["--tool-arg", "message=hi"][..]].concat());
        assert_eq!(called["content"][0]["text"], "Echo: hi", "{era}: {errors}");
        let read = ["--method", "resources/read", "--uri", "peer://greeting"];
        let (read, errors) = ask(era, &read);
        let text = &read["contents"][0]["text"];
        assert_eq!(text, "hello from rust", "{era}: {errors}");
    }
}
