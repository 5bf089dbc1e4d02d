//! What `export`, `import` and `migrate` write, read by the hosts themselves.

use std::process::{Command, Stdio};

use keyway_testkit::Folder;
use serde_json::json;

use crate::editors::{SERVICE, ask};
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
    host_with(tools, folder, (program, words), &[])
}

/// The same, with variables of the person's shell.
fn host_with(
    tools: &Tools,
    folder: &Folder,
    (program, words): (&str, &[&str]),
    variables: &[(&str, &str)],
) -> String {
    let output = Command::new(tools.at(NODE))
        .arg(tools.at(program))
        .args(words)
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder.at("home"))
        .env("CODEX_HOME", folder.at("home/.codex"))
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

/// Runs a command that has to succeed.
fn done(folder: &Folder, line: &str) {
    let outcome = keyway(folder).args(line.split(' ')).run();
    assert_eq!(outcome.code, 0, "{line}: {}", outcome.everything());
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
fn codex_reads_what_fixes_write() {
    let Some(tools) = Tools::find(&[NODE, CODEX]) else {
        return;
    };
    let text = "# mine\n[mcp_servers.docs]\nurl = \"http://127.0.0.1:9/mcp\"\nheaders = { X-Region = \"eu\" }\n\n[mcp_servers.two]\nurl = \"http://127.0.0.1:9/mcp\"\n\n[mcp_servers.two.http_headers]\nContent-Type = \"application/json\"\nX-Region = \"eu\"\n";
    let folder = Folder::new().file("home/.codex/config.toml", text);
    let listed = |folder: &Folder| {
        let listed = host(&tools, folder, CODEX, &["mcp", "list", "--json"]);
        let mut values = serde_json::Deserializer::from_str(&listed).into_iter();
        let servers: serde_json::Value = values.next().unwrap().unwrap();
        [0, 1].map(|at| servers[at]["transport"]["http_headers"].clone())
    };
    assert_eq!(listed(&folder)[0], json!(null), "Codex ignores `headers`");
    done(
        &folder,
        "check home/.codex/config.toml --fix --unsafe-fixes",
    );
    let fixed = folder.read("home/.codex/config.toml");
    assert!(fixed.starts_with("# mine\n"), "{fixed}");
    let expected = json!({"X-Region": "eu"});
    assert_eq!(listed(&folder), [expected.clone(), expected], "{fixed}");
}

#[test]
fn gemini_cli_reads_what_migrate_and_fixes_write() {
    let Some(tools) = Tools::find(&[NODE, GEMINI]) else {
        return;
    };
    let literal = "{\n  // mine\n  \"mcpServers\": {\n    \"docs\": {\"httpUrl\": \"http://127.0.0.1:9/mcp\", \"headers\": {\"Authorization\": \"Bearer not-a-real-token-4711\"}},\n    \"local\": {\"command\": \"true\", \"args\": [\"--api-key\", \"not-a-real-key-0815\"]}\n  }\n}\n";
    let folder = Folder::new()
        .file("home/.profile", "")
        .file(".gemini/settings.json", literal);
    let list = |folder: &Folder| {
        let variables = [("LOCAL_API_KEY", "from-the-shell")];
        host_with(&tools, folder, (GEMINI, &["mcp", "list"]), &variables)
    };
    done(
        &folder,
        "migrate env --config .gemini/settings.json --write --offline",
    );
    let migrated = folder.read(".gemini/settings.json");
    assert!(migrated.contains("// mine") && migrated.contains("Bearer ${DOCS_TOKEN}"));
    let listed = list(&folder);
    assert!(
        listed.contains("docs: http://127.0.0.1:9/mcp (http)"),
        "{listed}"
    );
    assert!(
        listed.contains("local: true --api-key from-the-shell"),
        "{listed}"
    );

    // The names, references and commas of other hosts, mended.
    let foreign = "{\n  // mine\n  \"mcpServers\": {\n    \"docs\": {\"serverUrl\": \"http://127.0.0.1:9/mcp\"},\n    \"local\": {\"command\": \"true\", \"args\": [\"--api-key\", \"${env:LOCAL_API_KEY}\"],},\n  }\n}\n";
    folder.put(".gemini/settings.json", foreign);
    let before = list(&folder);
    assert!(!before.contains("from-the-shell"), "{before}");
    done(&folder, "check .gemini/settings.json --fix --unsafe-fixes");
    let listed = list(&folder);
    assert!(
        listed.contains("docs: http://127.0.0.1:9/mcp (http)"),
        "{listed}"
    );
    assert!(
        listed.contains("local: true --api-key from-the-shell"),
        "{listed}"
    );
}

#[test]
fn claude_code_reads_what_migrate_and_export_write() {
    let Some(tools) = Tools::find(&[NODE, CLAUDE]) else {
        return;
    };
    let literal = r#"{"mcpServers": {"docs": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer not-a-real-token-4711"}}}}"#;
    let folder = Folder::with_entries(literal).file("home/.profile", "");
    done(&folder, "migrate env --write --offline");
    let shown = host(&tools, &folder, CLAUDE, &["mcp", "get", "docs"]);
    assert!(shown.contains("Type: http"), "{shown}");
    assert!(
        shown.contains("Authorization: Bearer ${DOCS_TOKEN}"),
        "{shown}"
    );
    assert!(!shown.contains("4711"), "{shown}");

    let cursor = r#"{"mcpServers": {"local": {"command": "true", "args": ["a b"], "env": {"LOCAL_TOKEN": "${env:LOCAL_TOKEN}"}}, "far": {"url": "http://127.0.0.1:9/mcp"}}}"#;
    let folder = folder.file(".cursor/mcp.json", cursor);
    done(
        &folder,
        "export claude-code .cursor/mcp.json --into .mcp.json --write",
    );
    let shown = host(&tools, &folder, CLAUDE, &["mcp", "get", "local"]);
    assert!(
        shown.contains("Type: stdio") && shown.contains("Command: true"),
        "{shown}"
    );
    assert!(shown.contains("LOCAL_TOKEN=${LOCAL_TOKEN}"), "{shown}");
    let shown = host(&tools, &folder, CLAUDE, &["mcp", "get", "far"]);
    assert!(shown.contains("Type: http"), "{shown}");
    // What was there is still read.
    let shown = host(&tools, &folder, CLAUDE, &["mcp", "get", "docs"]);
    assert!(shown.contains("Type: http"), "{shown}");
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

/// Reads a file as VS Code does: JSON with comments, by its own service; no fault is left.
fn read_by_vs_code(tools: &Tools, text: &str) -> serde_json::Value {
    let uri = "file:///p/.vscode/mcp.json";
    let request = json!({ "folder": "file:///p/", "documents": [{ "uri": uri, "text": text }] });
    let mut answer = ask(tools, &request).remove(0);
    assert_eq!(answer["faults"], json!([]), "{text}");
    assert_eq!(answer["errors"], 0, "{text}");
    answer["value"].take()
}

#[test]
fn vs_codes_json_service_reads_what_export_migrate_and_fixes_write() {
    let Some(tools) = Tools::find(&[NODE, SERVICE]) else {
        return;
    };
    // Into a new file, and into one with comments and trailing commas.
    let folder = Folder::with_entries(ENTRIES);
    let printed = exported(&folder, "vs-code");
    let kept = "{\n  // mine\n  \"servers\": {\n    \"old\": {\"command\": \"true\",},\n  },\n}\n";
    let folder = folder.file(".vscode/mcp.json", kept);
    let call = ["export", "vs-code", "--into", ".vscode/mcp.json", "--write"];
    let outcome = keyway(&folder).args(call).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let merged = folder.read(".vscode/mcp.json");
    assert!(merged.contains("// mine"), "{merged}");
    for text in [&printed, &merged] {
        let value = read_by_vs_code(&tools, text);
        let inputs = value["inputs"].as_array().unwrap().iter();
        let ids: Vec<&str> = inputs.map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["docs_key", "docs_token", "local_token"], "{text}");
        let docs = &value["servers"]["docs"];
        assert_eq!(docs["type"], "http");
        let header = &docs["headers"]["Authorization"];
        assert_eq!(header, "Bearer ${input:docs_token}");
        let local = &value["servers"]["local"];
        assert_eq!(local["args"], json!(["a b", "\"c\"\n"]));
        assert_eq!(local["env"]["LOCAL_TOKEN"], "${input:local_token}");
    }
    assert_eq!(
        read_by_vs_code(&tools, &merged)["servers"]["old"]["command"],
        "true"
    );

    let literal = "{ // mine\n  \"servers\": {\n    \"db\": {\"type\": \"http\", \"url\": \"http://127.0.0.1:9/mcp\", \"headers\": {\"Authorization\": \"Bearer not-a-real-token-4711\"}, },\n  },\n}\n";
    let folder = Folder::new().file(".vscode/mcp.json", literal);
    let migrate = "migrate env --config .vscode/mcp.json --write --offline";
    let outcome = keyway(&folder).args(migrate.split(' ')).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let migrated = folder.read(".vscode/mcp.json");
    let value = read_by_vs_code(&tools, &migrated);
    assert_eq!(value["inputs"][0]["password"], true, "{migrated}");
    let id = value["inputs"][0]["id"].as_str().unwrap();
    let header = &value["servers"]["db"]["headers"]["Authorization"];
    assert_eq!(header, &format!("Bearer ${{input:{id}}}"), "{migrated}");

    // A wrapper and a reference of another host, mended.
    let foreign = "{\n  // mine\n  \"servers\": {\n    \"db\": {\"type\": \"http\", \"url\": \"http://127.0.0.1:9/mcp\", \"headers\": {\"Authorization\": \"Bearer ${DB_TOKEN}\"}, },\n  },\n}\n";
    let folder = folder.file(".vscode/mcp.json", foreign);
    let fix = "check .vscode/mcp.json --fix --unsafe-fixes";
    let outcome = keyway(&folder).args(fix.split(' ')).run();
    let fixed = folder.read(".vscode/mcp.json");
    assert_ne!(fixed, foreign, "{}", outcome.everything());
    let value = read_by_vs_code(&tools, &fixed);
    let header = &value["servers"]["db"]["headers"]["Authorization"];
    assert_eq!(header, "Bearer ${env:DB_TOKEN}", "{fixed}");
}
