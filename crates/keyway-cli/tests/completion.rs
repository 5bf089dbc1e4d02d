//! Completion in real shells: commands, flags, servers of the plugin here, and tools listed before.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start shells, and stop where they cannot"
)]

use std::process::Command;

use keyway_testkit::{Folder, Keyway};

/// Notes that it was started, and has one tool.
const SERVER: &str = r##"#!/bin/sh
echo started >> "$PLUGIN_ROOT/started.txt"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
  *'"method":"tools/list"'*)
    answer '{"tools":[{"name":"search","inputSchema":{"type":"object"}},{"name":"send","inputSchema":{"type":"object"}}]}' ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;

fn folder() -> Folder {
    let entries = r#"{"mcpServers": {
        "docs": {"command": "${HOST_PLUGIN_ROOT}/server.sh"},
        "drive": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
        "off": {"type": "http", "url": "http://127.0.0.1:9/mcp", "disabled": true}
    }}"#;
    let folder = Folder::with_entries(entries).executable("server.sh", SERVER);
    // What tools there are is known once they were listed.
    let call = |arguments: &[&str]| {
        let outcome = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
            .env("KEYWAY_HOME", folder.at("home"))
            .args(arguments.iter().copied())
            .run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    };
    call(&["trust", "grant", "docs"]);
    call(&["tools", "docs"]);
    std::fs::remove_file(folder.at("started.txt")).unwrap();
    folder
}

fn shell(folder: &Folder, shell: &str, script: &str) -> Option<String> {
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_keyway")).parent()?;
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let output = Command::new(shell)
        .args(["-c", script])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder.at("home"))
        .env("KEYWAY_HOME", folder.at("home"))
        .output();
    let Ok(output) = output else {
        // There is no such shell here.
        return None;
    };
    let (out, err) = (&output.stdout, &output.stderr);
    let shown = String::from_utf8_lossy(out).into_owned();
    assert!(!shown.is_empty(), "{}", String::from_utf8_lossy(err));
    Some(shown)
}

/// The words after `keyway`, with what each shell has to offer for the last one.
const LINES: &[(&str, &[&str], &[&str])] = &[
    ("lo", &["login", "logout"], &["tools"]),
    ("trust ", &["grant", "list", "reset", "revoke"], &["login"]),
    ("login d", &["docs", "drive"], &["off"]),
    ("doctor docs d", &["drive"], &["docs"]),
    ("call docs se", &["search", "send"], &["docs"]),
    ("tools docs --for", &["--format"], &["--trust"]),
    ("tools docs --format ", &["human", "json"], &["docs"]),
    ("install cur", &["cursor"], &["codex"]),
    ("logout --bro", &[], &["--browser"]),
    ("explain auth-re", &["auth-rejected"], &["forbidden"]),
];

#[test]
fn bash_completes_servers_and_tools_and_nothing_is_started() {
    let folder = folder();
    for (line, wanted, unwanted) in LINES {
        let script = format!(
            r#"source <(keyway completions bash)
            line="keyway {line}"
            read -ra COMP_WORDS <<< "$line"
            [[ $line == *' ' ]] && COMP_WORDS+=("")
            COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
            _keyway 2>&1
            echo "<${{COMPREPLY[*]}}>""#
        );
        let Some(shown) = shell(&folder, "bash", &script) else {
            return;
        };
        check(line, &shown, wanted, unwanted);
    }
    assert!(!folder.at("started.txt").exists());
}

#[test]
fn fish_completes_servers_and_tools_and_nothing_is_started() {
    let folder = folder();
    for (line, wanted, unwanted) in LINES {
        let script = format!(
            "keyway completions fish | source; echo \"<\"; complete -C 'keyway {line}'; echo \">\""
        );
        let Some(shown) = shell(&folder, "fish", &script) else {
            return;
        };
        check(line, &shown, wanted, unwanted);
    }
    assert!(!folder.at("started.txt").exists());
}

/// zsh has no way to ask for completions but a terminal; its own functions are replaced here.
#[test]
fn zsh_completes_servers_and_tools_and_nothing_is_started() {
    let folder = folder();
    for (line, wanted, unwanted) in LINES {
        let script = format!(
            r#"compdef() {{ : }}
            _describe() {{ print -rl -- "${{(@P)2}}" }}
            _files() {{ print files }}
            source <(keyway completions zsh)
            line="keyway {line}"
            words=(${{=line}})
            [[ $line == *' ' ]] && words+=("")
            CURRENT=$#words
            print "<"; _keyway; print ">""#
        );
        let Some(shown) = shell(&folder, "zsh", &script) else {
            return;
        };
        check(line, &shown, wanted, unwanted);
    }
    assert!(!folder.at("started.txt").exists());
}

fn check(line: &str, shown: &str, wanted: &[&str], unwanted: &[&str]) {
    let words: Vec<&str> = shown
        .split(|c: char| c.is_whitespace() || "<>:".contains(c))
        .collect();
    for word in wanted {
        assert!(words.contains(word), "{line}: {word}: {shown}");
    }
    for word in unwanted {
        assert!(!words.contains(word), "{line}: {word}: {shown}");
    }
}
