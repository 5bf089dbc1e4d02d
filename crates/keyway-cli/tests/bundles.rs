//! Servers inside of MCP bundles: unpacked, approved, started, and asked about when they change.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at the real environment and stop where they cannot go on"
)]

use std::fs;
use std::path::PathBuf;

use keyway_testkit::bundle::{Member, archive};
use keyway_testkit::{Folder, Keyway, Outcome};
use serde_json::{Value, json};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

fn keyway(folder: &Folder, arguments: &[&str]) -> Keyway {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let call = Keyway::new(KEYWAY, folder.path()).args(arguments.iter().copied());
    call.env("KEYWAY_HOME", folder.at("keyway"))
        .env("PATH", path)
}

fn done(folder: &Folder, arguments: &[&str]) -> Outcome {
    let outcome = keyway(folder, arguments).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    outcome
}

/// A server whose only tool is named after its version, its argument and its variables.
const SERVER: &str = r##"#!/bin/sh
. "${0%/*}/version.sh"
[ -n "$UNSET" ] && version=$UNSET
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"%s-%s-%s","inputSchema":{"type":"object"}}]}}\n' "$id" "$version" "$1" "$PLATFORM" ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;

fn manifest() -> Value {
    json!({
        "manifest_version": "0.3", "name": "files", "version": "1.0.0",
        "description": "d", "author": {"name": "a"},
        "server": {
            "type": "binary", "entry_point": "server/run",
            "mcp_config": {
                "command": "${__dirname}${/}server/run",
                "args": ["${user_config.word}"],
                "env": {"PLATFORM": "any"},
                "platform_overrides": {"linux": {"env": {"PLATFORM": "linux"}}},
            },
        },
        "user_config": {
            "word": {"type": "string", "title": "w", "description": "w", "default": "hello"},
        },
    })
}

fn packed(version: &str) -> Vec<u8> {
    archive(&[
        Member::file("manifest.json", manifest().to_string()),
        Member::file("server/", "").mode(0o040_755),
        Member::file("server/run", SERVER).mode(0o100_755),
        Member::file("server/version.sh", format!("version={version}\n")),
    ])
}

/// Returns every file of that name that was unpacked.
fn unpacked(folder: &Folder, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let archives = fs::read_dir(folder.at("keyway/data/bundles"));
    for archive in archives.into_iter().flatten().flatten() {
        for version in fs::read_dir(archive.path()).into_iter().flatten() {
            found.push(version.unwrap().path().join(name));
        }
    }
    found.retain(|path| path.is_file());
    found
}

#[test]
fn a_bundle_starts_once_approved_and_a_new_version_shows_what_changed() {
    let folder = Folder::new().file("files.mcpb", packed("one"));
    let tools = ["tools", "--config", "files.mcpb"];
    let refused = keyway(&folder, &tools).run();
    assert!(
        refused.stderr.contains("is not approved"),
        "{}",
        refused.everything()
    );
    let grant = ["trust", "grant", "files", "--config", "files.mcpb"];
    // Every command asks the same question.
    let status = done(&folder, &["status", "--config", "files.mcpb"]);
    let asked = keyway(&folder, &grant).without_digests().run();
    let digest = asked
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("  digest    "));
    assert!(status.stdout.contains(digest.unwrap()), "{}", status.stdout);
    let granted = done(&folder, &grant);
    let shown = granted.everything();
    assert!(shown.contains("all 3 files of the plugin"), "{shown}");
    assert!(!shown.contains("keyway/data/bundles"), "{shown}");
    let listed = done(&folder, &tools);
    assert!(
        listed.stdout.contains("one-hello-linux"),
        "{}",
        listed.stdout
    );
    // By its path alone, and in every command.
    assert!(
        done(&folder, &["tools", "files.mcpb"])
            .stdout
            .contains("one-hello-linux")
    );
    let status = done(&folder, &["status", "files.mcpb"]);
    assert!(status.stdout.contains("files"), "{}", status.stdout);
    // Other files are another question, which names them; the old ones are still approved.
    folder.put("files.mcpb", packed("two"));
    let changed = keyway(&folder, &grant).without_digests().run();
    let shown = changed.everything();
    assert_eq!(changed.code, 2, "{shown}");
    assert!(shown.contains("~ server/version.sh (changed)"), "{shown}");
    assert!(!shown.contains("~ server/run"), "{shown}");
    let refused = keyway(&folder, &tools).run();
    assert!(
        refused.stderr.contains("is not approved"),
        "{}",
        refused.everything()
    );
    folder.put("files.mcpb", packed("one"));
    assert!(done(&folder, &tools).stdout.contains("one-hello-linux"));
    folder.put("files.mcpb", packed("two"));
    done(&folder, &grant);
    assert!(done(&folder, &tools).stdout.contains("two-hello-linux"));
}

#[test]
fn what_starts_is_what_the_archive_holds_whatever_became_of_its_files() {
    let folder = Folder::new().file("files.mcpb", packed("one"));
    done(
        &folder,
        &["trust", "grant", "files", "--config", "files.mcpb"],
    );
    let [script] = unpacked(&folder, "server/version.sh").try_into().unwrap();
    fs::write(&script, "version=bad\n").unwrap();
    let listed = done(&folder, &["tools", "--config", "files.mcpb"]);
    assert!(listed.stdout.contains("one-hello"), "{}", listed.stdout);
    assert_eq!(fs::read_to_string(script).unwrap(), "version=one\n");
}

#[test]
fn a_bundle_that_leads_elsewhere_is_named_with_its_member_and_not_unpacked() {
    let evil = [
        Member::file("manifest.json", manifest().to_string()),
        Member::file("../../evil", "x"),
    ];
    let folder = Folder::new().file("evil.mcpb", archive(&evil));
    for command in ["tools", "status", "doctor", "run"] {
        let refused = keyway(&folder, &[command, "--config", "evil.mcpb"]).run();
        let shown = refused.everything();
        assert_ne!(refused.code, 0, "{shown}");
        let expected = "`../../evil` in it leads out of the bundle";
        assert!(shown.contains(expected), "{command}: {shown}");
    }
    let refused = keyway(
        &folder,
        &["tools", "--config", "evil.mcpb", "--format", "json"],
    )
    .run();
    assert!(
        refused.stdout.contains("bad-bundle"),
        "{}",
        refused.everything()
    );
    let files = folder.files();
    let is_evil = |file: &&String| file.contains("evil") && *file != "evil.mcpb";
    assert_eq!(files.iter().find(is_evil), None);
    assert!(unpacked(&folder, "manifest.json").is_empty());
}

#[test]
fn a_bundle_of_a_plugin_starts_beside_its_other_servers() {
    let plugin =
        r#"{"name": "p", "mcpServers": ["./dist/files.mcpb", {"other": {"command": "x"}}]}"#;
    let folder = Folder::new()
        .file("p/.claude-plugin/plugin.json", plugin)
        .file("p/dist/files.mcpb", packed("one"));
    let status = keyway(&folder, &["status", "p", "--format", "json"]).run();
    let found: Value = serde_json::from_str(&status.stdout).unwrap();
    let names = found["servers"].as_array().unwrap().iter();
    let mut names: Vec<_> = names.map(|it| it["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["files", "other"], "{}", status.stdout);
    done(&folder, &["trust", "grant", "files", "--config", "p"]);
    let listed = done(&folder, &["tools", "files", "--config", "p"]);
    assert!(
        listed.stdout.contains("one-hello-linux"),
        "{}",
        listed.stdout
    );
}
