//! Hints that name what to write are followed, and the result is checked by the rules of the
//! file's own host: no hint may break the file it is about, and no safe fix may change what is sent.

use keyway_config::declared::{DeclaredServer, Endpoint};
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::dialect::{DIALECTS, Dialect, HostFieldRole, Layout};
use keyway_config::edit::{Applicability, Edit, apply};
use keyway_config::environment::{Variables, is_host_variable};
use keyway_config::headers::is_transport_owned;
use keyway_config::plugin::Plugin;
use keyway_lint::migrate::{PluginFiles, Selection, env};
use keyway_lint::{Context, lint};

/// A file of a host with one entry that has these members.
fn file(dialect: &Dialect, members: &str) -> Option<(String, String)> {
    if !dialect.is_writable() || !dialect.syntax.is_json() || dialect.layout == Layout::List {
        return None;
    }
    let path = dialect
        .project_file()
        .or_else(|| Some(dialect.files.first()?.path))?;
    let mut text = format!("{{\"s\": {{{members}}}}}");
    for key in dialect.written_under().iter().rev() {
        text = format!("{{\"{key}\": {text}}}");
    }
    // Where its host reads it: elsewhere a file of Claude Desktop is a sample.
    let folder = if dialect.id == "claude-desktop" {
        "Claude/"
    } else {
        ""
    };
    Some((format!("{folder}{}", path.replace('*', "a")), text))
}

fn found(path: &str, text: &str) -> Vec<Diagnostic> {
    lint(&Context::new(&Plugin::from_text("/p", path, text)))
}

/// What stands between the first backticks of a hint.
fn quoted(hint: &str) -> Option<&str> {
    hint.split('`').nth(1)
}

fn members(dialect: &Dialect, env: &str) -> String {
    let word = dialect.types.iter().find(|(_, it)| it.as_str() == "stdio");
    let kind = match (dialect.key(HostFieldRole::Type), word) {
        (Some(key), Some((word, _))) => format!("\"{key}\": \"{word}\", "),
        _ => String::new(),
    };
    let command = dialect.key(HostFieldRole::Command).unwrap_or("command");
    let program = if dialect.key(HostFieldRole::Args).is_some() {
        "\"x\""
    } else {
        "[\"x\"]"
    };
    let key = dialect.key(HostFieldRole::Env).unwrap_or("env");
    let required = dialect.required.iter().map(|(key, _)| match *key {
        "args" => ", \"args\": []",
        "tools" => ", \"tools\": [\"*\"]",
        _ => "",
    });
    let required: String = required.collect();
    format!("{kind}\"{command}\": {program}, \"{key}\": {{\"API_TOKEN\": \"{env}\"}}{required}")
}

#[test]
fn a_hint_about_a_credential_is_followed_in_every_host() {
    let mut followed = 0;
    for dialect in DIALECTS {
        for (rule, value) in [
            ("literal-secret", "not-a-real-token-4711"),
            ("placeholder-credential", "YOUR_API_TOKEN"),
        ] {
            let Some((path, text)) = file(dialect, &members(dialect, value)) else {
                continue;
            };
            let all = found(&path, &text);
            let finding = all.iter().find(|it| it.code.as_str() == rule);
            let finding = finding.unwrap_or_else(|| panic!("{}: {rule} {all:?}", dialect.id));
            let hint = finding.hint.as_deref().unwrap();
            let reference = quoted(hint).filter(|it| it.contains("API_TOKEN"));
            let Some(reference) = reference else {
                let fills_in = dialect.variables.write("X").is_some();
                assert!(!fills_in, "{}: {hint}", dialect.id);
                continue;
            };
            let after = text.replace(value, reference);
            let left: Vec<_> = found(&path, &after)
                .into_iter()
                .filter(|it| it.severity != Severity::Info)
                .collect();
            assert!(
                left.is_empty(),
                "{}: `{hint}` leads to {left:?}",
                dialect.id
            );
            followed += 1;
        }
    }
    assert!(followed >= 18, "{followed}");
}

/// Files that are not one map of entries in JSON: what is written down, and what the hint leads to.
/// The word is the part of the hint that was followed.
const OTHERS: &[(&str, &str, &str, &str)] = &[
    (
        ".codex/config.toml",
        "[mcp_servers.s]\ncommand = \"x\"\n[mcp_servers.s.env]\nAPI_TOKEN = \"VALUE\"\n",
        "env_vars",
        "[mcp_servers.s]\ncommand = \"x\"\nenv_vars = [\"API_TOKEN\"]\n",
    ),
    (
        ".codex/config.toml",
        "[mcp_servers.s]\nurl = \"https://h.example/mcp\"\nhttp_headers = { X-API-Key = \"VALUE\" }\n",
        "env_http_headers",
        "[mcp_servers.s]\nurl = \"https://h.example/mcp\"\nenv_http_headers = { X-API-Key = \"API_TOKEN\" }\n",
    ),
    (
        "goose/config.yaml",
        "extensions:\n  s:\n    type: stdio\n    name: s\n    enabled: true\n    cmd: x\n    args: []\n    envs:\n      API_TOKEN: VALUE\n",
        "env_keys",
        "extensions:\n  s:\n    type: stdio\n    name: s\n    enabled: true\n    cmd: x\n    args: []\n    env_keys: [API_TOKEN]\n",
    ),
    (
        ".continue/mcpServers/a.yaml",
        "name: a\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: s\n    command: x\n    env:\n      API_TOKEN: VALUE\n",
        "secrets.API_TOKEN",
        "name: a\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: s\n    command: x\n    env:\n      API_TOKEN: ${{ secrets.API_TOKEN }}\n",
    ),
    (
        "manifest.json",
        r#"{"manifest_version": "0.3", "name": "s", "version": "1.0.0", "description": "d", "author": {"name": "a"}, "server": {"type": "binary", "entry_point": "s", "mcp_config": {"command": "x", "env": {"API_TOKEN": "VALUE"}}}}"#,
        "user_config",
        r#"{"manifest_version": "0.3", "name": "s", "version": "1.0.0", "description": "d", "author": {"name": "a"}, "server": {"type": "binary", "entry_point": "s", "mcp_config": {"command": "x", "env": {"API_TOKEN": "${user_config.api_token}"}}}, "user_config": {"api_token": {"type": "string", "title": "t", "description": "d", "sensitive": true, "required": true}}}"#,
    ),
    (
        "server.json",
        r#"{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": "io.example/s", "description": "d", "version": "1.0.0", "packages": [{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}, "environmentVariables": [{"name": "API_TOKEN", "value": "VALUE"}]}]}"#,
        "isSecret",
        r#"{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": "io.example/s", "description": "d", "version": "1.0.0", "packages": [{"registryType": "npm", "identifier": "x", "version": "1.0.0", "transport": {"type": "stdio"}, "environmentVariables": [{"name": "API_TOKEN", "isSecret": true}]}]}"#,
    ),
    (
        "gemini-extension.json",
        r#"{"name": "s", "version": "1.0.0", "mcpServers": {"s": {"command": "x", "env": {"API_TOKEN": "VALUE"}}}}"#,
        "API_TOKEN",
        r#"{"name": "s", "version": "1.0.0", "mcpServers": {"s": {"command": "x", "env": {"API_TOKEN": "${API_TOKEN}"}}}}"#,
    ),
];

#[test]
fn a_hint_about_a_credential_is_followed_in_files_of_other_layouts() {
    for (path, text, word, after) in OTHERS {
        let text = text.replace("VALUE", "not-a-real-token-4711");
        let all = found(path, &text);
        let finding = all.iter().find(|it| it.code.as_str() == "literal-secret");
        let finding = finding.unwrap_or_else(|| panic!("{path}: {all:?}"));
        let hint = finding.hint.as_deref().unwrap();
        assert!(hint.contains(word), "{path}: {hint}");
        let left = found(path, after);
        let left: Vec<_> = left
            .iter()
            .filter(|it| it.severity != Severity::Info)
            .collect();
        assert!(left.is_empty(), "{path}: `{hint}` leads to {left:?}");
    }
}

/// The address, and where a credential may stand beside it.
fn remote(dialect: &Dialect, headers: &str, query: &str) -> Option<String> {
    let mut fields = dialect.fields.iter();
    let url = fields.find(|it| matches!(it.role, HostFieldRole::Url(_)))?;
    let word = dialect.types.iter().find(|(_, it)| it.as_str() == "http");
    let kind = match (dialect.key(HostFieldRole::Type), word) {
        (Some(key), Some((word, _))) => format!("\"{key}\": \"{word}\", "),
        _ => String::new(),
    };
    let key = url.key;
    Some(format!(
        "{kind}\"{key}\": \"https://h.example/mcp{query}\", \"headers\": {{{headers}}}"
    ))
}

#[test]
fn migrate_env_is_named_exactly_where_it_moves_the_value() {
    let value = "not-a-real-token-4711";
    let mut files: Vec<(String, String)> = Vec::new();
    for dialect in DIALECTS {
        let header = format!("\"Authorization\": \"Bearer {value}\"");
        let all = [
            Some(members(dialect, value)),
            remote(dialect, &header, ""),
            remote(dialect, &format!("\"X-API-Key\": \"{value}\""), ""),
            remote(dialect, "", &format!("?api_key={value}")),
            Some(format!(
                "\"command\": \"x\", \"args\": [\"--api-key\", \"{value}\"]"
            )),
        ];
        for members in all.into_iter().flatten() {
            files.extend(file(dialect, &members));
            let (_, named) = (dialect.id, dialect.files);
            // A person's own files, and those that only their content gives away.
            files.extend(named.iter().filter_map(|named| {
                let (_, text) = file(dialect, &members)?;
                Some((named.path.replace('*', "a"), text))
            }));
            let unknown = format!("{{\"mcpServers\": {{\"s\": {{{members}}}}}}}");
            files.push((".next-years-host/mcp.json".to_owned(), unknown.clone()));
            files.push(("servers.json".to_owned(), unknown));
        }
    }
    let others = OTHERS.iter().map(|(path, text, ..)| {
        let text = text.replace("VALUE", value);
        ((*path).to_owned(), text)
    });
    files.extend(others);
    let (mut named, mut silent) = (0, 0);
    for (path, text) in files {
        let plugin = Plugin::from_text("/p", &path, &text);
        let paths: Vec<_> = plugin
            .documents
            .iter()
            .map(|it| it.source.shared_path())
            .collect();
        let scope = Selection::new(&plugin, &paths, None);
        let plan = env::plan(&scope, &Variables::default(), &PluginFiles::default());
        let findings = lint(&Context::new(&plugin));
        for finding in findings
            .iter()
            .filter(|it| it.code.as_str() == "literal-secret")
        {
            let hint = finding.hint.as_deref().unwrap_or_default();
            let pointer = &finding.location.as_ref().unwrap().pointer;
            let moves = plan.moves.iter().any(|it| it.pointer == *pointer);
            let is_named = hint.contains("keyway migrate env");
            assert_eq!(
                is_named, moves,
                "{path}: {hint}\n{text}\n{:?}",
                plan.diagnostics
            );
            if is_named { named += 1 } else { silent += 1 }
        }
    }
    assert!(named > 60 && silent > 60, "{named} {silent}");
}

#[test]
fn a_file_whose_host_is_not_known_gets_no_syntax_of_another_host() {
    let text = r#"{"mcpServers": {"s": {"command": "x", "env": {"API_TOKEN": "VALUE"}}}}"#;
    for value in ["not-a-real-token-4711", "YOUR_API_TOKEN", ""] {
        let all = found(".next-years-host/mcp.json", &text.replace("VALUE", value));
        for finding in &all {
            let hint = finding.hint.as_deref().unwrap_or_default();
            assert!(!hint.contains("${"), "{value}: {hint}");
        }
        assert!(!all.is_empty(), "{value}");
    }
}

#[test]
fn a_reference_of_another_host_is_rewritten_as_its_hint_says() {
    for dialect in DIALECTS {
        for foreign in [
            "${API_TOKEN}",
            "${env:API_TOKEN}",
            "{env:API_TOKEN}",
            "$API_TOKEN",
        ] {
            let Some((path, text)) = file(dialect, &members(dialect, foreign)) else {
                continue;
            };
            let all = found(&path, &text);
            let finding = all
                .iter()
                .find(|it| it.code.as_str() == "foreign-variable-syntax");
            let Some(hint) = finding.and_then(|it| it.hint.as_deref()) else {
                continue;
            };
            let Some(reference) = quoted(hint).filter(|it| it.contains("API_TOKEN")) else {
                continue;
            };
            let after = text.replace(foreign, reference);
            let again = found(&path, &after);
            let stays = again
                .iter()
                .any(|it| it.code.as_str() == "foreign-variable-syntax");
            assert!(
                !stays,
                "{}: {foreign}: `{hint}` leads to {again:?}",
                dialect.id
            );
        }
    }
}

/// What a server gets, apart from how the file says it.
fn sent(server: &DeclaredServer) -> Vec<String> {
    let mut sent: Vec<String> = Vec::new();
    match &server.endpoint {
        Endpoint::Remote(remote) => {
            sent.push(format!("url {}", remote.url.template));
            let headers = remote
                .headers
                .iter()
                .filter(|it| !is_transport_owned(&it.name));
            sent.extend(headers.map(|it| format!("header {} {}", it.name, it.value.template)));
        }
        Endpoint::Local(local) => {
            sent.push(format!("run {}", local.command.template));
            sent.extend(local.args.iter().map(|it| format!("arg {}", it.template)));
            // The host sets its own variables, whatever the entry says of them.
            let env = server.env.iter().filter(|it| !is_host_variable(&it.name));
            sent.extend(env.map(|it| format!("env {} {}", it.name, it.value.template)));
        }
    }
    sent
}

#[test]
fn a_safe_fix_never_changes_what_is_sent() {
    let texts = [
        r#"{"mcpServers": {"s": {"type": "http", "url": "https://h.example/mcp", "headers": {"Authorization": "${API_TOKEN}", "Content-Length": "3"}}}}"#,
        r#"{"mcpServers": {"s": {"type": "streamable-http", "url": "https://h.example/mcp", "headers": {"Authorization": " Bearer ${API_TOKEN} "}}}}"#,
        r#"{"mcpServers": {"s": {"url": "https://h.example/mcp", "headers": {"X-Auth": "$API_TOKEN", "X-N": 3}}}}"#,
        r#"{"mcpServers": {"s": {"url": "http://h.example/mcp", "command": "x"}}}"#,
        r#"{"mcpServers": {"s": {"command": ["x", "y"], "env": {"A": 1, "B": " b "}, "timeout": 30}}}"#,
        "{\"mcpServers\": {\"s\": {\"command\": \"x\", \"args\": [\"a\",], /* n */ \"headers\": {}}}}",
        r#"{"mcpServers": {"s": {"command": "x", "env": {"CLAUDE_PLUGIN_ROOT": "${CLAUDE_PLUGIN_ROOT}"}}}}"#,
        r#"{"mcpServers": {"s": {"type": "https", "serverUrl": "https://h.example/mcp"}}}"#,
    ];
    for text in texts {
        let before = Plugin::from_text("/p", ".mcp.json", text);
        let all = lint(&Context::new(&before).pedantic(true));
        let safe = all.iter().filter_map(|it| it.fix.as_ref());
        let safe = safe.filter(|fix| fix.applicability == Applicability::Safe);
        let edits: Vec<&Edit> = safe.flat_map(|fix| &fix.edits).collect();
        let after = Plugin::from_text("/p", ".mcp.json", &apply(text, &edits));
        let of = |plugin: &Plugin| -> Vec<Vec<String>> {
            plugin.servers().map(|(_, server)| sent(server)).collect()
        };
        let (was, is) = (of(&before), of(&after));
        if !was.is_empty() {
            assert_eq!(was, is, "{text}");
        }
    }
}
