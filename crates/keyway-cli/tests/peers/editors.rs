//! The schema in VS Code's own JSON service, wired up as the documentation says.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use keyway_config::diagnostic::Severity;
use keyway_config::fields::{ENTRY, FieldKind, HELPER, OAUTH};
use keyway_config::plugin::Plugin;
use keyway_lint::{Context, lint};
use keyway_testkit::Folder;
use serde_json::{Value, json};

use crate::tools::{NODE, Tools, keyway, script};

/// Below `KEYWAY_TOOLS`: VS Code's JSON service.
pub(crate) const SERVICE: &str = "npm/node_modules/vscode-json-languageservice/package.json";

/// The project that is open in the editor; only its addresses are used.
const PROJECT: &str = "file:///home/me/project/";

/// Asks the service about documents; see the script for the fields of both sides.
pub(crate) fn ask(tools: &Tools, request: &Value) -> Vec<Value> {
    let mut child = Command::new(tools.at(NODE))
        .args([script("json-service.mjs"), tools.modules()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(request.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An editor with the schema beside the project's files, and these mappings.
struct Editor {
    tools: Tools,
    schema: String,
    mappings: Value,
}

impl Editor {
    fn with(mappings: Value) -> Option<Self> {
        let tools = Tools::find(&[NODE, SERVICE])?;
        let outcome = keyway(&Folder::new()).args(["schema"]).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        let schema = outcome.stdout;
        Some(Self {
            tools,
            schema,
            mappings,
        })
    }

    /// Opens each text as `.mcp.json` of the project.
    fn open(&self, texts: &[String]) -> Vec<Value> {
        let documents = texts
            .iter()
            .map(|text| json!({ "uri": format!("{PROJECT}.mcp.json"), "text": text }));
        let request = json!({
            "folder": PROJECT,
            "schemas": self.mappings,
            "files": { format!("{PROJECT}mcp.schema.json"): self.schema },
            "documents": documents.collect::<Vec<_>>(),
        });
        ask(&self.tools, &request)
    }

    /// Opens an entry with these fields; returns what is marked, and what is offered.
    fn entry(&self, fields: &str) -> (Vec<String>, Vec<String>) {
        let text = format!(r#"{{"mcpServers": {{"s": {{{fields}}}}}}}"#);
        let answer = self.open(&[text]).remove(0);
        let list = |value: &Value, key: Option<&str>| -> Vec<String> {
            let items = value.as_array().unwrap().iter();
            let text = items.map(|it| key.map_or(it, |key| &it[key]).as_str().unwrap().to_owned());
            text.collect()
        };
        let mut offered = list(&answer["offered"], None);
        offered.sort();
        (list(&answer["faults"], Some("at")), offered)
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of JSON on the page about editors.
fn documented() -> Vec<Value> {
    let page = fs::read_to_string(repository().join("docs/editors.md")).unwrap();
    let blocks = page.split("```json\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    blocks
        .map(|block| serde_json::from_str(block).unwrap())
        .collect()
}

fn vs_code() -> Value {
    let blocks = documented();
    let settings = blocks.iter().find_map(|block| block.get("json.schemas"));
    settings.unwrap().clone()
}

#[test]
fn both_settings_on_the_page_and_a_relative_schema_mark_a_typing_error() {
    let blocks = documented();
    let zed = "/lsp/json-language-server/settings/json/schemas";
    let zed = blocks.iter().find_map(|block| block.pointer(zed)).unwrap();
    for mappings in [vs_code(), zed.clone()] {
        let Some(editor) = Editor::with(mappings) else {
            return;
        };
        let (marked, _) = editor.entry(r#""command": "x", "evn": {}"#);
        assert_eq!(marked, ["\"evn\""], "{}", editor.mappings);
    }
    let named = blocks.iter().find(|block| block.get("$schema").is_some());
    let mut named = named.unwrap().clone();
    named["mcpServers"] = json!({"s": {"command": "x", "evn": {}}});
    let editor = Editor::with(json!([])).unwrap();
    let answer = editor.open(&[named.to_string()]).remove(0);
    assert_eq!(answer["faults"][0]["at"], "\"evn\"", "{answer}");
}

#[test]
fn the_contracts_own_names_are_offered_and_no_others() {
    let Some(editor) = Editor::with(vs_code()) else {
        return;
    };
    let own = |fields: &[keyway_config::fields::FieldSpec], present: &[&str]| -> Vec<String> {
        let own = fields.iter().filter(|field| field.kind != FieldKind::Note);
        let own = own.map(|field| field.name.to_owned());
        let mut own: Vec<String> = own.filter(|it| !present.contains(&it.as_str())).collect();
        own.sort();
        own
    };
    assert_eq!(editor.entry("‸").1, own(ENTRY, &[]));
    let (_, offered) = editor.entry(r#""url": "https://h.example", "oauth": {‸}"#);
    assert_eq!(offered, own(OAUTH, &[]));
    let (_, offered) = editor.entry(r#""url": "https://h.example", "headersHelper": {‸}"#);
    assert_eq!(offered, own(HELPER, &[]));
    let (_, offered) = editor.entry(r#""type": ‸"#);
    assert_eq!(offered, [r#""http""#, r#""sse""#, r#""stdio""#, r#""ws""#]);
    let root = editor.open(&["{‸}".to_owned()]).remove(0);
    assert_eq!(root["offered"], json!(["$schema", "mcpServers"]));
}

#[test]
fn other_hosts_spellings_are_accepted_and_typing_errors_and_wrong_kinds_are_marked() {
    let Some(editor) = Editor::with(vs_code()) else {
        return;
    };
    for fields in [
        r#""serverUrl": "https://h.example""#,
        r#""type": "streamable-http", "url": "https://h.example", "headers": {"A": "1"}"#,
        r#""command": "x", "alwaysAllow": ["a"], "autoApprove": [], "_note": 1"#,
        r#""command": ["npx", "x"], "env": {"PORT": 8080}"#,
    ] {
        assert_eq!(editor.entry(fields).0, [""; 0], "{fields}");
    }
    for (fields, marked) in [
        (
            r#""url": "https://h.example", "haeders": {}"#,
            "\"haeders\"",
        ),
        (r#""url": "https://h.example", "headers": {"A": 1}"#, "1"),
        (
            r#""url": "https://h.example", "headers": {"A": null}"#,
            "null",
        ),
        (
            r#""url": "https://h.example", "oauth": {"clientID": "c"}"#,
            "\"clientID\"",
        ),
        (r#""type": "htpp", "url": "https://h.example""#, "\"htpp\""),
        (r#""command": "x", "timeout": "5000""#, "\"5000\""),
    ] {
        assert_eq!(editor.entry(fields).0, [marked], "{fields}");
    }
    // The wrapper itself, misspelt, is read as an entry.
    let wrong = editor.open(&[r#"{"mcpServer": {"s": {"command": "x"}}}"#.to_owned()]);
    assert_ne!(wrong[0]["faults"], json!([]));
}

#[test]
fn no_good_file_is_marked() {
    let Some(editor) = Editor::with(vs_code()) else {
        return;
    };
    let mut paths = Vec::new();
    let mut folders = vec![
        repository().join("examples"),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules"),
    ];
    while let Some(folder) = folders.pop() {
        for found in fs::read_dir(folder).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(".mcp.json") || path.ends_with("dot-mcp.json") {
                paths.push(path);
            }
        }
    }
    let mut good = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap_or_default();
        // An editor tries to load the id and says that it cannot, as the page tells.
        if text.contains("\"$schema\"") {
            continue;
        }
        let found = lint(&Context::new(&Plugin::from_text("/p", ".mcp.json", &text)));
        if found.iter().all(|it| it.severity == Severity::Info) {
            good.push((path, text));
        }
    }
    assert!(good.len() >= 40, "{}", good.len());
    let texts: Vec<String> = good.iter().map(|(_, text)| text.clone()).collect();
    for ((path, _), answer) in good.iter().zip(editor.open(&texts)) {
        assert_eq!(answer["faults"], json!([]), "{}", path.display());
    }
}
