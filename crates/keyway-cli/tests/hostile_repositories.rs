//! `keyway check` on repositories that are made to hurt it, laid out as the large public catalogues
//! of plugins are.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test whose fixture is broken must stop"
)]

use std::fmt::Write as _;
use std::os::unix::fs::symlink;

use keyway_testkit::{Folder, Keyway, Outcome};
use serde_json::Value;

fn check(folder: &Folder, arguments: &[&str]) -> Outcome {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .args(["check"])
        .args(arguments.iter().copied())
        .memory_kib(1024 * 1024)
        .run()
}

fn report(folder: &Folder, arguments: &[&str]) -> (i32, Value) {
    let outcome = check(folder, &[arguments, &["--format", "json"]].concat());
    let report = serde_json::from_str(&outcome.stdout);
    (
        outcome.code,
        report.unwrap_or_else(|_| panic!("{}", outcome.everything())),
    )
}

/// Returns the files in which a literal credential was found, in order.
fn secrets(report: &Value) -> Vec<String> {
    let found = report["diagnostics"].as_array().unwrap().iter();
    let found = found.filter(|it| it["code"] == "literal-secret");
    let mut files: Vec<String> = found
        .map(|it| it["source"]["file"].as_str().unwrap().to_owned())
        .collect();
    files.sort();
    files
}

fn suppressed_in(report: &Value) -> u64 {
    report["suppressed"].as_u64().unwrap_or_default()
}

const SECRET: &str = r#"{"mcpServers": {"s": {"type": "http", "url": "https://h.example/mcp", "headers": {"X-API-Key": "not-a-real-key-4711"}}}}"#;
const CLEAN: &str = r#"{"mcpServers": {"s": {"type": "http", "url": "https://h.example/mcp"}}}"#;

/// The layouts of five catalogues: a host's marketplace over folders of plugins, plugins that are
/// only named, one list for two hosts, extensions side by side, and the registry's own files.
fn catalogues() -> Vec<(&'static str, Folder, Vec<&'static str>)> {
    let plugin = |name: &str| format!(r#"{{"name": "{name}", "version": "1.0.0"}}"#);
    let claude = Folder::new()
        .file(
            ".claude-plugin/marketplace.json",
            r#"{"name": "official", "owner": {"name": "o"}, "plugins": [
                {"name": "a", "source": "./plugins/a"}, {"name": "b", "source": "./external_plugins/b"},
                {"name": "c", "source": {"source": "url", "url": "https://h.example/c.git", "sha": "0123456789012345678901234567890123456789"}},
                {"name": "d", "source": {"source": "git-subdir", "url": "https://h.example/d.git", "path": "d"}}]}"#,
        )
        .file("plugins/a/.claude-plugin/plugin.json", plugin("a"))
        .file("plugins/a/.mcp.json", CLEAN)
        .file("external_plugins/b/.claude-plugin/plugin.json", plugin("b"))
        .file("external_plugins/b/.mcp.json", SECRET);
    let inline = Folder::new().file(
        ".claude-plugin/marketplace.json",
        format!(
            r#"{{"name": "inline", "owner": {{"name": "o"}}, "metadata": {{"pluginRoot": "./p"}}, "plugins": [
                {{"name": "a", "source": {{"source": "github", "repo": "o/a"}}}},
                {{"name": "b", "source": {{"source": "npm", "package": "@o/b", "version": "1.0.0"}}}},
                {{"name": "c", "source": "./p/c", "strict": false, "mcpServers": {}}}]}}"#,
            r#"{"s": {"command": "x", "env": {"API_KEY": "not-a-real-key-4711"}}}"#
        ),
    )
    .file("p/c/README.md", "c");
    let cursor = Folder::new()
        .file(
            ".cursor-plugin/marketplace.json",
            r#"{"name": "c", "owner": {"name": "o"}, "plugins": [{"name": "a", "source": "third_party/a"}]}"#,
        )
        .file(
            "third_party/a/.cursor-plugin/plugin.json",
            r#"{"name": "a", "mcpServers": "./mcp.json"}"#,
        )
        .file("third_party/a/mcp.json", SECRET);
    let codex = Folder::new()
        .file(
            ".agents/plugins/marketplace.json",
            r#"{"name": "x", "plugins": [{"name": "a", "source": {"source": "local", "path": "./plugins/a"}}]}"#,
        )
        .file(
            "plugins/a/.codex-plugin/plugin.json",
            r#"{"name": "a", "mcpServers": "./.mcp.json"}"#,
        )
        .file("plugins/a/.mcp.json", SECRET);
    let gemini = Folder::new()
        .file(
            "extensions/a/gemini-extension.json",
            SECRET.replacen('{', r#"{"name": "a", "version": "1.0.0", "#, 1),
        )
        .file(
            "extensions/b/gemini-extension.json",
            CLEAN.replacen('{', r#"{"name": "b", "version": "1.0.0", "#, 1),
        );
    vec![
        ("claude", claude, vec!["external_plugins/b/.mcp.json"]),
        ("inline", inline, vec![".claude-plugin/marketplace.json"]),
        ("cursor", cursor, vec!["third_party/a/mcp.json"]),
        ("codex", codex, vec!["plugins/a/.mcp.json"]),
        ("gemini", gemini, vec!["extensions/a/gemini-extension.json"]),
    ]
}

#[test]
fn catalogues_are_checked_with_every_plugin_and_nothing_twice() {
    for (name, folder, expected) in catalogues() {
        let (code, report) = report(&folder, &["."]);
        assert_eq!(secrets(&report), expected, "{name}: {report}");
        assert_eq!(code, 1, "{name}");
        let found = report["diagnostics"].as_array().unwrap().iter();
        let errors: Vec<&Value> = found.filter(|it| it["severity"] == "error").collect();
        assert_eq!(errors.len(), expected.len(), "{name}: {errors:#?}");
    }
}

#[test]
fn links_neither_loop_nor_lead_out() {
    let outside = Folder::new().file(".mcp.json", SECRET);
    for (name, folder, expected) in catalogues() {
        symlink(".", folder.at("loop")).unwrap();
        symlink("../..", folder.path().join("up")).unwrap();
        symlink(outside.path(), folder.at("outside")).unwrap();
        symlink(outside.at(".mcp.json"), folder.at(".mcp.json")).unwrap();
        symlink("b", folder.at("a")).unwrap();
        symlink("a", folder.at("b")).unwrap();
        symlink("/dev/zero", folder.at("opencode.json")).unwrap();
        let (_, report) = report(&folder, &["."]);
        let found = secrets(&report);
        let found: Vec<&str> = found
            .iter()
            .map(String::as_str)
            .filter(|file| *file != ".mcp.json")
            .collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn large_deep_broken_and_many_files_hide_no_other() {
    for (name, folder, expected) in catalogues() {
        folder.put("big/.mcp.json", vec![b' '; 8 << 20]);
        folder.put(
            "big/any.json",
            format!(
                "{{\"mcpServers\": {{\"s\": {{\"command\": \"{}\"}}}}}}",
                "x".repeat(4 << 20)
            ),
        );
        folder.put(
            "text/.mcp.json",
            b"{\"mcpServers\": {\"s\": {\"command\": \"\xff\xfe\"}}}",
        );
        folder.put("deep/.mcp.json", "{\"a\":".repeat(50_000));
        folder.put("nul/.cursor/mcp.json", b"\0\0\0\0");
        folder.put("dir/.mcp.json/x", "a folder of that name");
        let (code, report) = report(&folder, &["."]);
        assert_eq!(code, 1, "{name}");
        assert_eq!(secrets(&report), expected, "{name}");
    }
}

#[test]
fn what_lies_too_deep_is_said_to_be_left_out() {
    let below = "d/".repeat(70);
    let folder = Folder::new()
        .file(".mcp.json", CLEAN)
        .file(&format!("{below}.mcp.json"), SECRET);
    let outcome = check(&folder, &["."]);
    assert!(
        outcome.stderr.contains("not all of it was searched"),
        "{}",
        outcome.stderr
    );
    let near = Folder::new().file(&format!("{}.mcp.json", "d/".repeat(40)), SECRET);
    let outcome = check(&near, &["."]);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(outcome.stderr.is_empty(), "{}", outcome.stderr);
}

#[test]
fn ten_thousand_entries_are_all_checked_and_shown_in_a_few_lines() {
    let mut text = String::from("{\"mcpServers\": {");
    for at in 0..10_000 {
        let comma = if at == 0 { "" } else { "," };
        let key = format!("not-a-real-key-{at:05}");
        write!(
            text,
            "{comma}\n\"s{at}\": {{\"command\": \"x\", \"env\": {{\"API_KEY\": \"{key}\"}}}}"
        )
        .unwrap();
    }
    text.push_str("}}");
    let folder = Folder::new().file(".cursor/mcp.json", &text);
    let (code, report) = report(&folder, &["."]);
    assert_eq!((code, secrets(&report).len()), (1, 10_000));
    let shown = check(&folder, &["."]);
    let lines = shown.stdout.lines().count();
    assert!(lines < 100, "{lines} lines");
    // One for each literal, and one for the entries that are too many to be read: those are not
    // migrated either.
    assert!(shown.stdout.contains("×9744 in this file"));
    assert!(shown.stdout.contains("10001 errors in 1 file"));
    // As many plugins, each in a folder of its own.
    let many = Folder::new();
    for at in 0..2_000 {
        let text = if at % 500 == 0 { SECRET } else { CLEAN };
        many.put(&format!("plugins/p{at}/.mcp.json"), text);
    }
    let (_, report) = self::report(&many, &["."]);
    assert_eq!(secrets(&report).len(), 4);
}

#[test]
fn settings_of_the_repository_cannot_hide_that_they_hide_something() {
    let folder = Folder::new()
        .file(".mcp.json", SECRET)
        .file("vendor/.mcp.json", SECRET)
        .repository(&[]);
    for (settings, said, suppressed) in [
        ("ignore = [\"literal-secret\"]", "2 findings ignored", 2),
        ("select = [\"invalid-json\"]", "2 findings ignored", 2),
        ("exclude = [\"*\"]", "paths excluded", 0),
        (
            "exclude = [\"/vendor/\"]\nignore = [\"literal-secret\"]",
            "1 finding ignored, 1 path excluded",
            1,
        ),
        (
            "[check.severity]\nliteral-secret = \"info\"",
            "2 findings made a note",
            0,
        ),
    ] {
        folder.put("keyway.toml", format!("[check]\n{settings}\n"));
        let outcome = check(&folder, &["."]);
        assert_eq!(outcome.code, 0, "{settings}: {}", outcome.everything());
        let stderr = &outcome.stderr;
        assert!(
            stderr.contains("by `keyway.toml`: ") && stderr.contains(said),
            "{settings}: {stderr}"
        );
        let (_, report) = report(&folder, &["."]);
        assert_eq!(suppressed_in(&report), suppressed, "{settings}");
    }
    // A pattern counts from the settings, wherever the check begins.
    folder.put(
        "keyway.toml",
        "[check]\nexclude = [\"/vendor/.mcp.json\"]\n",
    );
    assert_eq!(check(&folder, &["vendor"]).code, 0);
    // What the person's own flags leave out is not counted.
    folder.put("keyway.toml", "");
    let own = check(&folder, &[".", "--ignore", "literal-secret"]);
    assert_eq!(own.code, 0, "{}", own.everything());
    assert!(!own.stderr.contains("keyway.toml"), "{}", own.stderr);
}

#[test]
fn settings_name_no_file_outside_and_no_file_without_an_end() {
    let outside = Folder::new().file("known.json", r#"{"version": 2, "findings": {}}"#);
    let folder = Folder::new().file(".mcp.json", SECRET);
    let outside = outside.at("known.json").display().to_string();
    symlink("/dev/zero", folder.at("zero.json")).unwrap();
    for name in [
        outside.as_str(),
        "/dev/zero",
        "zero.json",
        "../../../../../../../dev/zero",
    ] {
        folder.put("keyway.toml", format!("[check]\nbaseline = \"{name}\"\n"));
        let outcome = check(&folder, &["."]);
        assert_eq!(outcome.code, 2, "{name}: {}", outcome.everything());
        let why = "outside the folder of `keyway.toml`";
        assert!(outcome.stderr.contains(why), "{name}: {}", outcome.stderr);
    }
    // A person may name any file, but no device.
    folder.put("keyway.toml", "");
    assert_eq!(check(&folder, &[".", "--baseline", &outside]).code, 1);
    let device = check(&folder, &[".", "--baseline", "/dev/zero"]);
    assert_eq!(device.code, 2, "{}", device.everything());
    assert!(device.stderr.contains("not a file"), "{}", device.stderr);
}

#[test]
fn a_note_without_a_reason_accepts_nothing_in_any_form() {
    for note in [
        r#""literal-secret""#,
        r#"["literal-secret"]"#,
        r#"{"literal-secret": ""}"#,
        r#"{"literal-secret": "  "}"#,
        r#"{"literal-secret": true}"#,
        r#"["literal-secret:"]"#,
        r#"{"*": "all"}"#,
        "true",
        "[[[]]]",
    ] {
        let text = SECRET.replacen('{', &format!("{{\"_keyway_ignore\": {note}, "), 1);
        let folder = Folder::new().file(".mcp.json", text);
        let (code, report) = report(&folder, &["."]);
        assert_eq!(code, 1, "{note}");
        assert_eq!(secrets(&report), [".mcp.json"], "{note}");
        assert_eq!(suppressed_in(&report), 0, "{note}");
        let mut found = report["diagnostics"].as_array().unwrap().iter();
        assert!(
            found.any(|it| it["code"] == "unused-suppression"),
            "{note}: {report}"
        );
    }
}
