//! Entries of other hosts' files are used as their own host would use them.

use keyway_testkit::{Folder, Keyway, Terminal};

/// A server in a few lines that notes the variables and arguments it was started with.
const SERVER: &str = r##"#!/bin/sh
printf '%s|%s|%s\n' "$KEY" "$MODE" "$*" >> "$PLUGIN_ROOT/heard.txt"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"found","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;

fn keyway(folder: &Folder) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).env("KEYWAY_HOME", folder.at("home"))
}

#[test]
fn servers_of_every_syntax_are_started_with_their_variables() {
    for (path, text) in [
        (
            ".codex/config.toml",
            "[mcp_servers.s]\ncommand = \"ROOT/server.sh\"\nargs = [\"a\"]\nenv_vars = [\"KEY\"]\n[mcp_servers.s.env]\nMODE = \"m\"\n",
        ),
        (
            "goose/config.yaml",
            "extensions:\n  s:\n    type: stdio\n    enabled: true\n    cmd: ROOT/server.sh\n    args: [a]\n    envs: {MODE: m}\n    env_keys: [KEY]\n",
        ),
        (
            ".vscode/mcp.json",
            "{ // a note\n\"servers\": {\"s\": {\"command\": \"${workspaceFolder}/server.sh\", \"args\": [\"a\"], \"env\": {\"KEY\": \"${env:KEY}\", \"MODE\": \"m\"},}} }",
        ),
        (
            "opencode.json",
            r#"{"mcp": {"s": {"type": "local", "command": ["ROOT/server.sh", "a"], "environment": {"KEY": "{env:KEY}", "MODE": "m"}}}}"#,
        ),
        (
            "gemini-extension.json",
            r#"{"name": "e", "mcpServers": {"s": {"command": "${extensionPath}${/}server.sh", "args": ["a"], "env": {"KEY": "$KEY", "MODE": "${MODE:-m}"}}}}"#,
        ),
        (
            "manifest.json",
            r#"{"manifest_version": "0.3", "name": "s", "server": {"type": "binary", "entry_point": "s", "mcp_config": {"command": "${__dirname}/server.sh", "args": ["elsewhere"], "env": {"KEY": "${user_config.key}", "MODE": "${user_config.mode}"},
                    "platform_overrides": {"linux": {"args": ["a"]}, "darwin": {"args": ["a"]}, "win32": {"command": "server.exe"}}}},
                "user_config": {"key": {"type": "string", "sensitive": true, "required": true}, "mode": {"type": "string", "default": "m"}}}"#,
        ),
    ] {
        let folder = Folder::new().executable("server.sh", SERVER);
        let root = folder.path().to_string_lossy().into_owned();
        let folder = folder.file(path, text.replace("ROOT", &root));
        let outcome = keyway(&folder)
            .env("KEY", "value-of-key")
            .env("USER_CONFIG_KEY", "value-of-key")
            .args(["tools", "s", "--config", path, "--trust"])
            .run();
        assert_eq!(outcome.code, 0, "{path}: {}", outcome.everything());
        assert!(
            outcome.stdout.contains("found"),
            "{path}: {}",
            outcome.stdout
        );
        // The root of a file in an application's folder is that folder; the server says where it is.
        let heard = ["heard.txt", "goose/heard.txt"];
        let heard = heard.iter().find(|it| folder.at(it).is_file());
        let heard = folder.read(heard.unwrap_or(&"heard.txt"));
        assert_eq!(heard.lines().next(), Some("value-of-key|m|a"), "{path}");
    }
}

#[test]
fn what_a_host_would_pass_on_unreplaced_is_refused() {
    let folder = Folder::new().executable("server.sh", SERVER).file(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"s": {"command": "${workspaceFolder}/server.sh", "env": {"KEY": "${KEY}"}}}}"#,
    );
    let outcome = keyway(&folder)
        .env("KEY", "value-of-key")
        .args(["tools", "s", "--config", ".cursor/mcp.json", "--trust"])
        .run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(!folder.at("heard.txt").exists(), "it was started");
}

#[test]
fn an_input_is_asked_for_once_and_kept_for_that_plugin_alone() {
    let text = r#"{"inputs": [{"type": "promptString", "id": "key", "description": "Search key", "password": true}],
        "servers": {"s": {"command": "${workspaceFolder}/server.sh", "env": {"KEY": "${input:key}"}}}}"#;
    let folder = Folder::new();
    let mut folder = folder;
    for project in ["one", "two"] {
        folder = folder
            .executable(&format!("{project}/server.sh"), SERVER)
            .file(&format!("{project}/.vscode/mcp.json"), text);
    }
    let call = keyway(&folder);
    let tools = |project: &str| {
        format!(
            "\"$KEYWAY\" tools s --config {project}/.vscode/mcp.json --trust; echo ended with $?; cat"
        )
    };
    let mut terminal = Terminal::start(&call, &tools("one"));
    terminal.answer("Search key (key): ", "typed-once\r");
    terminal.wait_for("ended with 0");
    drop(terminal);
    let terminal = Terminal::start(&call, &tools("one"));
    terminal.wait_for("ended with 0");
    drop(terminal);
    let heard = folder.read("one/heard.txt");
    assert!(
        heard.lines().all(|line| line.starts_with("typed-once|")),
        "{heard}"
    );
    // Another project that asks under the same name does not get it.
    let other = keyway(&folder)
        .args(["tools", "s", "--config", "two/.vscode/mcp.json", "--trust"])
        .run();
    assert_ne!(other.code, 0);
    assert!(other.stderr.contains("INPUT_KEY"), "{}", other.stderr);
    assert!(!folder.at("two/heard.txt").exists(), "it was started");
    // Nor by the name under which it is kept, which any plugin can compute.
    let listed = keyway(&folder).args(["env", "list"]).run().stdout;
    let kept = listed
        .split_whitespace()
        .find(|it| it.starts_with("INPUT_KEY__"));
    let text = text.replace("${input:key}", &format!("${{env:{}}}", kept.unwrap()));
    let folder = folder.file("two/.vscode/mcp.json", text);
    let other = keyway(&folder)
        .args(["tools", "s", "--config", "two/.vscode/mcp.json", "--trust"])
        .run();
    assert_ne!(other.code, 0, "{}", other.everything());
    assert!(!folder.at("two/heard.txt").exists(), "it was started");
}

/// One value that a person is asked for, in each form that hosts have beside inputs: the file, its text,
/// the server.
const ASKED: &[(&str, &str, &str)] = &[
    (
        ".claude-plugin/plugin.json",
        r#"{"name": "p", "userConfig": {"key": {"type": "string", "title": "Search key", "sensitive": true, "required": true}},
            "mcpServers": {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/server.sh", "env": {"KEY": "${user_config.key}"}}}}"#,
        "s",
    ),
    (
        "manifest.json",
        r#"{"manifest_version": "0.3", "name": "s", "version": "1.0.0", "description": "d", "author": {"name": "a"},
            "server": {"type": "binary", "entry_point": "server.sh", "mcp_config": {"command": "${__dirname}/server.sh", "env": {"KEY": "${user_config.key}"}}},
            "user_config": {"key": {"type": "string", "title": "Search key", "description": "Search key", "sensitive": true, "required": true}}}"#,
        "s",
    ),
    (
        "gemini-extension.json",
        r#"{"name": "e", "version": "1.0.0", "settings": [{"name": "key", "description": "Search key", "envVar": "SEARCH_KEY", "sensitive": true}],
            "mcpServers": {"s": {"command": "${extensionPath}/server.sh", "env": {"KEY": "${SEARCH_KEY}"}}}}"#,
        "s",
    ),
    (
        ".cursor-plugin/plugin.json",
        r#"{"name": "p", "variables": {"type": "object", "properties": {"key": {"type": "string", "description": "Search key"}}, "required": ["key"]},
            "mcpServers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "${key}"}}}}"#,
        "s",
    ),
];

#[test]
fn what_a_manifest_asks_for_is_asked_once_and_kept() {
    for (path, text, server) in ASKED {
        let folder = Folder::new().executable("server.sh", SERVER);
        let root = folder.path().to_string_lossy().into_owned();
        let folder = folder.file(path, text.replace("@ROOT@", &root));
        let call = keyway(&folder);
        let line =
            format!("\"$KEYWAY\" tools {server} --config {path} --trust; echo ended with $?; cat");
        let mut terminal = Terminal::start(&call, &line);
        terminal.answer("Search key (key): ", "typed-once\r");
        terminal.wait_for("ended with 0");
        drop(terminal);
        // Nothing is typed, and nothing is set: it comes out of the vault.
        let again = keyway(&folder)
            .args(["tools", server, "--config", path, "--trust"])
            .run();
        assert_eq!(again.code, 0, "{path}: {}", again.everything());
        let heard = folder.read("heard.txt");
        let lines: Vec<&str> = heard.lines().collect();
        assert_eq!(lines.len(), 2, "{path}: {heard}");
        let is_typed = |line: &&str| line.starts_with("typed-once|");
        assert!(lines.iter().all(is_typed), "{path}: {heard}");
    }
}

#[test]
fn a_change_anywhere_in_a_file_of_toml_asks_again() {
    let entry = "[mcp_servers.s]\ncommand = \"ROOT/server.sh\"\nenv_vars = [\"KEY\"]\n[other]\na = 1\n[mcp_servers.s.env]\nMODE = \"m\"\n";
    let folder = Folder::new().executable("server.sh", SERVER);
    let root = folder.path().to_string_lossy().into_owned();
    let entry = entry.replace("ROOT", &root);
    let folder = folder.file(".codex/config.toml", &entry);
    let run = |folder: &Folder, words: &[&str]| {
        keyway(folder)
            .env("KEY", "v")
            .args(words.iter().copied())
            .args(["--config", ".codex/config.toml"])
            .run()
    };
    let granted = run(&folder, &["trust", "grant", "s"]);
    assert_eq!(granted.code, 0, "{}", granted.everything());
    assert_eq!(run(&folder, &["tools", "s"]).code, 0);
    // What the program wrote into the plugin would ask again.
    std::fs::remove_file(folder.at("heard.txt")).unwrap();
    // Also elsewhere than in the entry: it is a file of the plugin, which its program can read.
    let folder = folder.file(".codex/config.toml", entry.replace("a = 1", "a = 2"));
    let refused = run(&folder, &["tools", "s"]);
    assert_eq!(refused.code, 4, "{}", refused.everything());
    let line = "    ~ .codex/config.toml (changed)\n";
    assert!(refused.stderr.contains(line), "{}", refused.stderr);
    let folder = folder.file(".codex/config.toml", entry.replace("\"m\"", "\"x\""));
    let refused = run(&folder, &["tools", "s"]);
    assert!(
        refused.stderr.contains("    + env       MODE=x\n"),
        "{}",
        refused.stderr
    );
}

/// A server whose one tool is named after the variable it was started with. It writes no file: one
/// in the plugin's folder would ask for approval again.
const NAMED: &str = r##"#!/bin/sh
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"found_%s","inputSchema":{"type":"object"}}]}}\n' "$id" "$KEY" ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;

/// One program in a file of each host, with a variable as that host refers to it: the id of the
/// dialect, the file, its text.
const EVERY_HOST: &[(&str, &str, &str)] = &[
    (
        "agent-plugins",
        "mcp.json",
        r#"{"$schema": "https://agentplugins.example/schemas/1.0.0/mcp.schema.json", "mcpServers": {"s": {"type": "stdio", "command": "./server.sh", "env": {"KEY": "value"}}}}"#,
    ),
    (
        "amazon-q",
        ".amazonq/mcp.json",
        r#"{"mcpServers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "${env:KEY}"}}}}"#,
    ),
    (
        "claude-code",
        ".mcp.json",
        r#"{"mcpServers": {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/server.sh", "env": {"KEY": "${KEY}"}}}}"#,
    ),
    (
        "claude-desktop",
        "claude_desktop_config.json",
        r#"{"mcpServers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "value"}}}}"#,
    ),
    (
        "cline",
        "cline_mcp_settings.json",
        r#"{"mcpServers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "${env:KEY}"}, "disabled": false}}}"#,
    ),
    (
        "codex",
        ".codex/config.toml",
        "[mcp_servers.s]\ncommand = \"@ROOT@/server.sh\"\nenv_vars = [\"KEY\"]\n",
    ),
    (
        "continue",
        ".continue/mcpServers/s.yaml",
        "name: s\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: s\n    command: @ROOT@/server.sh\n    env:\n      KEY: ${{ secrets.KEY }}\n",
    ),
    (
        "copilot-cli",
        ".github/mcp.json",
        r#"{"mcpServers": {"s": {"type": "local", "command": "@ROOT@/server.sh", "args": [], "tools": ["*"], "env": {"KEY": "${KEY}"}}}}"#,
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        r#"{"mcpServers": {"s": {"command": "${workspaceFolder}/server.sh", "env": {"KEY": "${env:KEY}"}}}}"#,
    ),
    (
        "gemini-cli",
        ".gemini/settings.json",
        r#"{"mcpServers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "$KEY"}}}}"#,
    ),
    (
        "goose",
        "goose/config.yaml",
        "extensions:\n  s:\n    type: stdio\n    name: s\n    enabled: true\n    cmd: @ROOT@/server.sh\n    args: []\n    env_keys: [KEY]\n",
    ),
    (
        "kiro",
        ".kiro/settings/mcp.json",
        r#"{"mcpServers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "${KEY}"}}}}"#,
    ),
    (
        "lm-studio",
        ".lmstudio/mcp.json",
        r#"{"mcpServers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "value"}}}}"#,
    ),
    (
        "mcpb",
        "manifest.json",
        r#"{"manifest_version": "0.3", "name": "s", "version": "1.0.0", "description": "d", "author": {"name": "a"}, "server": {"type": "binary", "entry_point": "s", "mcp_config": {"command": "${__dirname}/server.sh", "env": {"KEY": "${user_config.key}"}}}, "user_config": {"key": {"type": "string", "title": "k", "description": "d", "sensitive": true, "required": true}}}"#,
    ),
    (
        "opencode",
        ".opencode/opencode.json",
        r#"{"mcp": {"s": {"type": "local", "command": ["@ROOT@/server.sh"], "environment": {"KEY": "{env:KEY}"}}}}"#,
    ),
    (
        "registry",
        "server.json",
        r#"{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": "io.example/s", "description": "d", "version": "1.0.0", "packages": [{"registryType": "npm", "identifier": "x", "version": "1.0.0", "runtimeHint": "@ROOT@/server.sh", "transport": {"type": "stdio"}, "environmentVariables": [{"name": "KEY", "isRequired": true, "isSecret": true}]}]}"#,
    ),
    (
        "roo",
        ".roo/mcp.json",
        r#"{"mcpServers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "${env:KEY}"}}}}"#,
    ),
    (
        "vs-code",
        ".vscode/settings.json",
        "{ // a note\n\"mcp\": {\"inputs\": [{\"type\": \"promptString\", \"id\": \"key\", \"password\": true}], \"servers\": {\"s\": {\"command\": \"${workspaceFolder}/server.sh\", \"env\": {\"KEY\": \"${input:key}\"},}}} }",
    ),
    (
        "windsurf",
        "mcp_config.json",
        r#"{"mcpServers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "${env:KEY}"}}}}"#,
    ),
    (
        "zed",
        ".zed/settings.json",
        r#"{"context_servers": {"s": {"command": "@ROOT@/server.sh", "env": {"KEY": "value"}}}}"#,
    ),
];

#[test]
fn one_server_of_every_host_is_loaded_approved_and_lists_its_tools() {
    let known: Vec<&str> = EVERY_HOST.iter().map(|(id, ..)| *id).collect();
    let hosts: Vec<&str> = keyway_config::dialect::DIALECTS
        .iter()
        .map(|it| it.id)
        .collect();
    assert_eq!(known, hosts, "each host has a row");
    for (id, path, text) in EVERY_HOST {
        // Nothing but the program and the file: what Keyway keeps lies outside of the plugin.
        let home = Folder::new();
        let folder = Folder::new().executable("server.sh", NAMED);
        let root = folder.path().to_string_lossy().into_owned();
        let folder = folder.file(path, text.replace("@ROOT@", &root));
        let run = |words: &[&str]| {
            Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
                .env("KEYWAY_HOME", home.path())
                .env("KEY", "value")
                .env("INPUT_KEY", "value")
                .env("USER_CONFIG_KEY", "value")
                .args(words.iter().copied())
                .args(["--config", path])
                .run()
        };
        let listed = run(&["status", "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&listed.stdout)
            .unwrap_or_else(|_| panic!("{id}: {}", listed.everything()));
        let name = report["servers"][0]["name"].as_str().unwrap_or_default();
        assert!(!name.is_empty(), "{id}: {}", listed.everything());
        let refused = run(&["tools", name]);
        assert_eq!(refused.code, 4, "{id}: {}", refused.everything());
        let granted = run(&["trust", "grant", name]);
        assert_eq!(granted.code, 0, "{id}: {}", granted.everything());
        let tools = run(&["tools", name]);
        assert_eq!(tools.code, 0, "{id}: {}", tools.everything());
        assert!(
            tools.stdout.contains("found_value"),
            "{id}: {}",
            tools.everything()
        );
    }
}
