//! What `export`, `import` and `migrate` write, read by the hosts themselves.

use std::process::{Command, Stdio};

use keyway_testkit::Folder;

use crate::tools::{NODE, Tools, keyway};

const CODEX: &str = "npm/node_modules/@openai/codex/bin/codex.js";
const GEMINI: &str = "npm/node_modules/@google/gemini-cli/bundle/gemini.js";
const CLAUDE: &str = "npm/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs";

/// Servers that are never reached: the hosts only list them.
const ENTRIES: &str = r#"{"mcpServers": {
  "docs": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${DOCS_TOKEN}", "X-API-Key": "${DOCS_KEY}"}},
  "local": {"command": "true", "args": ["a b", "\"c\"\n"], "env": {"LOCAL_TOKEN": "${LOCAL_TOKEN}", "MODE": "x"}}
}}"#;

/// Runs a host in a home of its own and returns all that it says.
fn host(tools: &Tools, folder: &Folder, program: &str, words: &[&str]) -> String {
    let output = Command::new(tools.at(NODE))
        .arg(tools.at(program))
        .args(words)
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder.at("home"))
        .env("CODEX_HOME", folder.at("home/.codex"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

fn exported(folder: &Folder, target: &str) -> String {
    let outcome = keyway(folder).args(["export", target]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    outcome.stdout
}

#[test]
fn codex_reads_what_export_and_migrate_write() {
    let Some(tools) = Tools::find(&[NODE, CODEX]) else {
        return;
    };
    let folder = Folder::with_entries(ENTRIES);
    let text = exported(&folder, "codex");
    let folder = folder.file("home/.codex/config.toml", text);
    let listed = host(&tools, &folder, CODEX, &["mcp", "list", "--json"]);
    // Warnings of Codex may stand behind the list.
    let mut values = serde_json::Deserializer::from_str(&listed).into_iter();
    let servers: serde_json::Value = values.next().unwrap().unwrap();
    let docs = &servers[0]["transport"];
    assert_eq!(docs["bearer_token_env_var"], "DOCS_TOKEN", "{listed}");
    assert_eq!(
        docs["env_http_headers"]["X-API-Key"], "DOCS_KEY",
        "{listed}"
    );
    let local = &servers[1]["transport"];
    assert_eq!(local["args"][1], "\"c\"\n", "{listed}");
    assert_eq!(local["env_vars"][0], "LOCAL_TOKEN", "{listed}");

    let literal = "[mcp_servers.db]\nurl = \"http://127.0.0.1:9/mcp\"\nhttp_headers = { Authorization = \"Bearer not-a-real-token-4711\" }\n";
    let folder = Folder::new().file("p/.codex/config.toml", literal);
    let call = [
        "migrate",
        "env",
        "--config",
        "p/.codex/config.toml",
        "--write",
        "--offline",
    ];
    let outcome = keyway(&folder).args(call).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let migrated = folder.read("p/.codex/config.toml");
    let folder = folder.file("home/.codex/config.toml", migrated);
    let listed = host(&tools, &folder, CODEX, &["mcp", "list", "--json"]);
    assert!(
        listed.contains(r#""auth_status": "bearer_token""#),
        "{listed}"
    );
}

#[test]
fn gemini_cli_reads_what_export_writes_into_its_settings() {
    let Some(tools) = Tools::find(&[NODE, GEMINI]) else {
        return;
    };
    let settings = "{\n  // mine\n  \"mcpServers\": {}\n}\n";
    let folder = Folder::with_entries(ENTRIES).file(".gemini/settings.json", settings);
    let call = [
        "export",
        "gemini-cli",
        "--into",
        ".gemini/settings.json",
        "--write",
    ];
    let outcome = keyway(&folder).args(call).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let folder = folder.file("home/.profile", "");
    let listed = host(&tools, &folder, GEMINI, &["mcp", "list"]);
    assert!(
        listed.contains("docs: http://127.0.0.1:9/mcp (http)"),
        "{listed}"
    );
    assert!(listed.contains("local: true a b"), "{listed}");
}

#[test]
fn claude_code_reads_what_import_and_fixes_write() {
    let Some(tools) = Tools::find(&[NODE, CLAUDE]) else {
        return;
    };
    let cursor = r#"{"mcpServers": {"docs": {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${env:DOCS_TOKEN}"}}}}"#;
    let folder = Folder::new()
        .file(".cursor/mcp.json", cursor)
        .file("home/.profile", "");
    let outcome = keyway(&folder).args(["import", "cursor", "--write"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let shown = host(&tools, &folder, CLAUDE, &["mcp", "get", "docs"]);
    assert!(shown.contains("Type: http"), "{shown}");
    assert!(
        shown.contains("Authorization: Bearer ${DOCS_TOKEN}"),
        "{shown}"
    );
    // Without `type` Claude Code skips the entry; the fix makes it count.
    let untyped = r#"{"mcpServers": {"docs": {"url": "http://127.0.0.1:9/mcp"}}}"#;
    let folder = folder.file(".mcp.json", untyped);
    let before = host(&tools, &folder, CLAUDE, &["mcp", "get", "docs"]);
    assert!(!before.contains("Type: http"), "{before}");
    let fixed = keyway(&folder).args(["check", ".mcp.json", "--fix"]).run();
    assert_eq!(fixed.code, 0, "{}", fixed.everything());
    let after = host(&tools, &folder, CLAUDE, &["mcp", "get", "docs"]);
    assert!(after.contains("Type: http"), "{after}");
}
