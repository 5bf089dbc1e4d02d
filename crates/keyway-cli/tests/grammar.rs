//! One grammar for every command: `keyway VERB [SERVER]… [--config PLUGIN]`, and the old spellings.

#![expect(
    clippy::disallowed_methods,
    reason = "a test that misses what it looks for must stop"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use keyway_testkit::{Folder, Keyway, Outcome};
use serde_json::Value;

/// A server in a few lines; its only tool has the name that it was started with.
const SERVER: &str = r##"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
  *'"method":"tools/list"'*)
    answer "{\"tools\":[{\"name\":\"tool_of_$1\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
  *'"method":"tools/call"'*)
    answer '{"content":[{"type":"text","text":"called"}]}' ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;

/// A plugin at `plugin` with three servers, and one at `single` with one.
fn folder() -> Folder {
    let entry = |name: &str| {
        format!(r#""{name}": {{"command": "${{HOST_PLUGIN_ROOT}}/server.sh", "args": ["{name}"]}}"#)
    };
    let three = [entry("one"), entry("two"), entry("three")].join(", ");
    Folder::new()
        .file(
            "plugin/.mcp.json",
            format!(r#"{{"mcpServers": {{{three}}}}}"#),
        )
        .executable("plugin/server.sh", SERVER)
        .file(
            "single/.mcp.json",
            format!(r#"{{"mcpServers": {{{}}}}}"#, entry("only")),
        )
        .executable("single/server.sh", SERVER)
}

fn keyway(folder: &Folder, arguments: &[&str]) -> Outcome {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .env("HOME", folder.path())
        .args(arguments.iter().copied())
        .run()
}

/// Where a command takes one server, a path stands for a plugin with one.
#[test]
fn a_path_and_config_are_the_same_for_every_command() {
    for (command, more) in [
        (&["tools"][..], &["--trust"][..]),
        (&["resources"], &["--trust"]),
        (&["prompts"], &["--trust"]),
        (&["probe"], &["--trust"]),
        (&["doctor"], &["--trust"]),
        (&["status"], &[]),
        (&["check"], &[]),
        (&["readme"], &[]),
        (&["migrate", "env"], &[]),
        (&["trust", "grant"], &[]),
        (&["trust", "revoke"], &[]),
        (&["install", "cursor"], &["--dry-run"]),
        (&["run"], &["--trust"]),
    ] {
        let folder = folder();
        let call = |target: &[&str]| {
            let call = [command, target, more].concat();
            let outcome = keyway(&folder, &call);
            assert_eq!(outcome.code, 0, "{call:?}: {}", outcome.everything());
            outcome
        };
        let by_path = call(&["single"]);
        let by_dotted_path = call(&["./single"]);
        let by_config = call(&["--config", "single"]);
        let only = |outcome: &Outcome| outcome.stdout.replace("./single", "single");
        assert_eq!(only(&by_path), only(&by_config), "{command:?}");
        assert_eq!(only(&by_path), only(&by_dotted_path), "{command:?}");
    }
}

#[test]
fn a_server_is_an_argument_or_the_old_flag_for_every_command() {
    for (command, more) in [
        (&["tools"][..], &["--trust"][..]),
        (&["probe"], &["--trust"]),
        (&["doctor"], &["--trust"]),
        (&["status"], &[]),
        (&["migrate", "env"], &[]),
        (&["trust", "grant"], &[]),
        (&["trust", "revoke"], &[]),
        (&["install", "cursor"], &["--dry-run"]),
        (&["run"], &["--trust"]),
    ] {
        let folder = folder();
        let call = |target: &[&str]| {
            let call = [command, target, &["--config", "plugin"], more].concat();
            let outcome = keyway(&folder, &call);
            assert_eq!(outcome.code, 0, "{call:?}: {}", outcome.everything());
            assert!(!outcome.stdout.contains("three"), "{call:?}: {outcome:?}");
            outcome.stdout
        };
        let argument = call(&["two"]);
        assert_eq!(argument, call(&["--server", "two"]), "{command:?}");
        assert_eq!(argument, call(&["plugin:two"]), "{command:?}");
    }
}

#[test]
fn a_name_that_is_neither_a_server_nor_a_path_is_an_unknown_server_everywhere() {
    for command in [
        &["tools", "twoo"][..],
        &["call", "twoo", "x"],
        &["read", "twoo", "x"],
        &["login", "twoo"],
        &["logout", "twoo"],
        &["rotate", "twoo"],
        &["probe", "twoo"],
        &["doctor", "twoo"],
        &["status", "twoo", "--config", "plugin"],
        &["run", "twoo"],
        &["migrate", "env", "twoo"],
        &["migrate", "oauth", "twoo"],
        &["trust", "grant", "twoo"],
        &["trust", "revoke", "twoo"],
        &["install", "cursor", "twoo", "--dry-run"],
    ] {
        let folder = folder();
        let call = [command, &["--config", "plugin"]].concat();
        let call = if command.contains(&"--config") {
            command.to_vec()
        } else {
            call
        };
        let outcome = keyway(&folder, &call);
        assert_eq!(outcome.code, 2, "{call:?}: {}", outcome.everything());
        let said = "there is no server `twoo`";
        assert!(
            outcome.stderr.contains(said),
            "{call:?}: {}",
            outcome.stderr
        );
        let meant = "did you mean `two`?";
        assert!(
            outcome.stderr.contains(meant),
            "{call:?}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn a_folder_with_the_name_of_a_server_does_not_hide_the_server() {
    let folder = folder().file("plugin/two/notes.txt", "");
    let inside = Keyway::new(env!("CARGO_BIN_EXE_keyway"), &folder.at("plugin"))
        .env("KEYWAY_HOME", folder.at("home"));
    let outcome = inside.args(["tools", "two", "--trust"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(outcome.stdout.contains("tool_of_two"), "{outcome:?}");
}

#[test]
fn a_word_that_could_be_both_is_refused_with_both_ways_to_write_it() {
    let folder = folder().file(
        "plugin/two/.mcp.json",
        r#"{"mcpServers": {"inner": {"type": "http", "url": "http://127.0.0.1:9/"}}}"#,
    );
    let inside = |arguments: &[&str]| {
        Keyway::new(env!("CARGO_BIN_EXE_keyway"), &folder.at("plugin"))
            .env("KEYWAY_HOME", folder.at("home"))
            .args(arguments.iter().copied())
            .run()
    };
    let both = inside(&["status", "two"]);
    assert_eq!(both.code, 2, "{}", both.everything());
    for way in ["`--server two`", "`./two`"] {
        assert!(both.stderr.contains(way), "{}", both.stderr);
    }
    let server = inside(&["status", "--server", "two"]);
    assert!(server.stdout.contains("stdio"), "{}", server.everything());
    let path = inside(&["status", "./two"]);
    assert!(path.stdout.contains("inner"), "{}", path.everything());
}

#[test]
fn two_plugins_for_a_command_that_takes_one_are_refused() {
    let outcome = keyway(&folder(), &["doctor", "single", "--config", "plugin"]);
    assert_eq!(outcome.code, 2, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("one plugin at a time"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn tools_without_a_name_lists_every_server_and_keeps_failures_apart() {
    let folder = folder();
    let all = keyway(&folder, &["tools", "plugin", "--trust"]);
    assert_eq!(all.code, 0, "{}", all.everything());
    for name in ["one", "two", "three"] {
        assert!(
            all.stdout.contains(&format!("tool_of_{name}")),
            "{}",
            all.stdout
        );
    }
    let two = keyway(
        &folder,
        &["tools", "one", "two", "--config", "plugin", "--trust"],
    );
    assert!(!two.stdout.contains("tool_of_three"), "{}", two.stdout);
    // What is not approved fails on its own, without a question.
    let granted = keyway(&folder, &["trust", "grant", "one", "--config", "plugin"]);
    assert_eq!(granted.code, 0, "{}", granted.everything());
    let some = keyway(&folder, &["tools", "plugin", "--format", "json"]);
    assert_eq!(some.code, 4, "{}", some.everything());
    let object: Value = serde_json::from_str(&some.stdout).unwrap();
    assert_eq!(object["tools"][0]["name"], "tool_of_one");
    assert_eq!(object["servers"][0]["name"], "one");
    assert_eq!(object["servers"][0]["tools"][0]["name"], "tool_of_one");
    let failed: Vec<&str> = object["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["server"].as_str())
        .collect();
    assert_eq!(failed, ["three", "two"]);
    assert!(
        some.stderr.contains("keyway trust grant"),
        "{}",
        some.stderr
    );
}

#[test]
fn several_entries_are_approved_and_revoked_at_once_or_all() {
    let folder = folder();
    let approved = |folder: &Folder| {
        let listed = keyway(folder, &["trust", "list", "--format", "json"]);
        let object: Value = serde_json::from_str(&listed.stdout).unwrap();
        object["approvals"].as_array().unwrap().len()
    };
    let wrong = keyway(
        &folder,
        &["trust", "grant", "one", "nix", "--config", "plugin"],
    );
    assert_eq!((wrong.code, approved(&folder)), (2, 0), "{wrong:?}");
    keyway(
        &folder,
        &["trust", "grant", "one", "two", "--config", "plugin"],
    );
    assert_eq!(approved(&folder), 2);
    keyway(
        &folder,
        &["trust", "revoke", "one", "two", "--config", "plugin"],
    );
    assert_eq!(approved(&folder), 0);
    keyway(&folder, &["trust", "grant", "--all", "--config", "plugin"]);
    assert_eq!(approved(&folder), 3);
    let both = keyway(
        &folder,
        &["trust", "grant", "one", "--all", "--config", "plugin"],
    );
    assert_eq!(both.code, 2, "{}", both.everything());
}

#[test]
fn doctor_and_status_show_only_the_servers_that_were_named() {
    let folder = folder();
    for command in [&["doctor"][..], &["status"]] {
        let call = [command, &["one", "two", "--config", "plugin"]].concat();
        let outcome = keyway(&folder, &call);
        let all = outcome.everything();
        assert!(all.contains("one") && all.contains("two"), "{all}");
        assert!(!all.contains("three"), "{all}");
    }
}

#[test]
fn install_and_uninstall_take_several_servers() {
    let folder = folder();
    let install = [
        "install", "cursor", "one", "two", "--config", "plugin", "--yes",
    ];
    let installed = keyway(&folder, &install);
    assert_eq!(installed.code, 0, "{}", installed.everything());
    let file = folder.read(".cursor/mcp.json");
    assert!(
        file.contains("\"one\"") && file.contains("\"two\""),
        "{file}"
    );
    assert!(!file.contains("three"), "{file}");
    let removed = keyway(&folder, &["uninstall", "cursor", "one", "--yes"]);
    assert_eq!(removed.code, 0, "{}", removed.everything());
    let file = folder.read(".cursor/mcp.json");
    assert!(
        !file.contains("\"one\"") && file.contains("\"two\""),
        "{file}"
    );
}

#[test]
fn run_serves_the_servers_that_were_named_and_prefixes_several() {
    let folder = folder();
    let ask = |names: &[&str]| {
        let words = [&["run"][..], names, &["--config", "plugin", "--trust"]].concat();
        let mut run = Command::new(env!("CARGO_BIN_EXE_keyway"))
            .args(words)
            .current_dir(folder.path())
            .env("KEYWAY_HOME", folder.at("home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = run.stdin.take().unwrap();
        let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
        input.write_all(INITIALIZE.as_bytes()).unwrap();
        let greeting = lines.next().unwrap().unwrap();
        assert!(greeting.contains("serverInfo"), "{greeting}");
        // Several servers are connected after `initialize`; each list may have more of them.
        let mut listed = String::new();
        for _ in 0..names.len() {
            input.write_all(LIST.as_bytes()).unwrap();
            let mut answers = lines.by_ref().map(Result::unwrap);
            listed.push_str(&answers.find(|it| it.contains("\"tools\":")).unwrap());
        }
        drop(input);
        run.wait().unwrap();
        listed
    };
    let one = ask(&["one"]);
    assert!(one.contains("\"tool_of_one\""), "{one}");
    let several = ask(&["one", "two"]);
    assert!(!several.contains("three"), "{several}");
    assert!(
        several.contains("one__") || several.contains("two__"),
        "{several}"
    );
}

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);
const LIST: &str = concat!(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#, "\n");
