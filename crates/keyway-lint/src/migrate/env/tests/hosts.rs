//! Every host gets the value in its own way, or the literal stays and the reason is said.

use keyway_config::diagnostic::Severity;
use keyway_config::plugin::Plugin;

use super::super::*;
use super::{TOKEN, plain};
use crate::migrate::{EnvObstacle, PluginFiles};
use crate::rules::{Context, lint};

/// Migrates one file, checks the result by the rules of its own host, and returns it.
fn migrated(path: &str, text: &str) -> (EnvPlan, String) {
    let text = text.replace("TOKEN4711", TOKEN);
    let plan = plain(&Plugin::from_text("/p", path, &text));
    assert_eq!(plan.documents.len(), 1, "{path}: {:?}", plan.diagnostics);
    let after = plan.documents[0].after.clone();
    assert!(!after.contains("4711"), "{after}");
    let again = Plugin::from_text("/p", path, &after);
    let found = lint(&Context::new(&again));
    let errors: Vec<_> = found
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{path}: {errors:?}\n{after}");
    (plan, after)
}

#[test]
fn each_host_gets_the_value_in_its_own_way() {
    let header = r#"{"WRAPPER": {"docs": {"type": "http", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer TOKEN4711"}}}}"#;
    for (path, wrapper, part) in [
        (".mcp.json", "mcpServers", "Bearer ${DOCS_TOKEN}"),
        (".cursor/mcp.json", "mcpServers", "Bearer ${env:DOCS_TOKEN}"),
        (".vscode/mcp.json", "servers", "Bearer ${input:docs_token}"),
        (
            ".gemini/settings.json",
            "mcpServers",
            "Bearer ${DOCS_TOKEN}",
        ),
        (
            ".kiro/settings/mcp.json",
            "mcpServers",
            "Bearer ${DOCS_TOKEN}",
        ),
    ] {
        let (plan, after) = migrated(path, &header.replace("WRAPPER", wrapper));
        assert!(after.contains(part), "{path}: {after}");
        assert_eq!(plan.env.unwrap().added, ["DOCS_TOKEN"], "{path}");
        assert_eq!(plan.readme.is_some(), path == ".mcp.json", "{path}");
    }
    let (_, after) = migrated(
        "opencode.json",
        r#"{"mcp": {"docs": {"type": "remote", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer TOKEN4711"}}}}"#,
    );
    assert!(after.contains("Bearer {env:DOCS_TOKEN}"), "{after}");
    let (_, after) = migrated(
        ".continue/mcpServers/a.yaml",
        "name: a\nversion: 0.0.1\nmcpServers:\n  - name: docs # mine\n    command: x\n    env:\n      DOCS_TOKEN: TOKEN4711\n",
    );
    assert!(
        after.contains("DOCS_TOKEN: \"${{ secrets.DOCS_TOKEN }}\"") && after.contains("# mine"),
        "{after}"
    );
}

#[test]
fn vs_code_declares_what_it_asks_for_and_keeps_what_it_asked_before() {
    let text = "{\n  // kept\n  \"inputs\": [{\"type\": \"promptString\", \"id\": \"old\", \"description\": \"x\"}],\n  \"servers\": {\n    \"docs\": {\"type\": \"http\", \"url\": \"https://h.example/${input:old}\", \"headers\": {\"X-API-Key\": \"TOKEN4711\"}},\n  },\n}\n";
    let (plan, after) = migrated(".vscode/mcp.json", text);
    assert!(
        after.contains("// kept") && after.contains("\"id\": \"old\""),
        "{after}"
    );
    let again = Plugin::from_text("/p", ".vscode/mcp.json", &after);
    let prompts: Vec<_> = again.prompts().filter(|it| it.is_secret).collect();
    assert_eq!(prompts.len(), 1, "{after}");
    assert_eq!(
        plan.moves[0].asked_as.as_deref(),
        Some(prompts[0].variable.as_str())
    );
}

#[test]
fn an_input_is_declared_beside_the_servers_of_settings() {
    for (path, before, inside) in [
        (
            ".vscode/settings.json",
            r#"{"editor.tabSize": 2, "mcp": {"#,
            "/mcp",
        ),
        (
            ".devcontainer/devcontainer.json",
            r#"{"image": "x", "customizations": {"vscode": {"mcp": {"#,
            "/customizations/vscode/mcp",
        ),
    ] {
        let closing = "}".repeat(before.matches('{').count());
        let servers = r#""servers": {"docs": {"type": "http", "url": "https://h.example/mcp", "headers": {"X-API-Key": "TOKEN4711"}}}"#;
        let (_, after) = migrated(path, &format!("{before}{servers}{closing}"));
        let again = Plugin::from_text("/p", path, &after);
        let prompts: Vec<_> = again.prompts().map(|it| it.pointer.as_str()).collect();
        assert_eq!(prompts, [format!("{inside}/inputs/0")], "{after}");
    }
}

#[test]
fn codex_names_variables_in_its_own_fields() {
    let text = "# mine\n[mcp_servers.a]\ncommand = \"x\"\nenv = { API_TOKEN = \"TOKEN4711\", MODE = \"m\" }\n\n[mcp_servers.b]\nurl = \"https://h.example/mcp\"\nhttp_headers = { Authorization = \"Bearer nor-is-this-one-0815\" }\n";
    let (plan, after) = migrated(".codex/config.toml", text);
    assert!(
        after.contains("# mine") && after.contains("env_vars = [\"API_TOKEN\"]"),
        "{after}"
    );
    assert!(
        after.contains("bearer_token_env_var = \"B_TOKEN\""),
        "{after}"
    );
    assert!(!after.contains("0815"), "{after}");
    assert_eq!(plan.variables(), ["API_TOKEN", "B_TOKEN"]);
    // With a scheme in front, or inside of an address, the variable holds the whole value.
    let text = "[mcp_servers.a]\ncommand = \"x\"\nenv = { DATABASE_URL = \"postgres://me:TOKEN4711@h.example/db\" }\n\n[mcp_servers.b]\nurl = \"https://h.example/mcp\"\nhttp_headers = { X-Auth = \"Token nor-is-this-one-0815\" }\n";
    let (plan, after) = migrated(".codex/config.toml", text);
    assert!(after.contains("env_vars = [\"DATABASE_URL\"]"), "{after}");
    assert!(
        after.contains("[mcp_servers.b.env_http_headers]\nX-Auth = "),
        "{after}"
    );
    let kept = plan.env.unwrap().after.expose().clone();
    assert!(
        kept.contains(&format!("postgres://me:{TOKEN}@h.example/db")),
        "{kept}"
    );
    assert!(kept.contains("Token nor-is-this-one-0815"), "{kept}");
    let args = "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"--api-key\", \"TOKEN4711\"]\n";
    let plan = plain(&Plugin::from_text(
        "/p",
        ".codex/config.toml",
        &args.replace("TOKEN4711", TOKEN),
    ));
    assert!(plan.is_empty());
    assert!(
        plan.diagnostics[0]
            .message
            .ends_with("Codex fills in no variable there"),
        "{:?}",
        plan.diagnostics
    );
}

#[test]
fn a_plugin_asks_by_its_manifest_if_that_is_wanted() {
    let entries = format!(
        r#"{{"mcpServers": {{"docs": {{"type": "http", "url": "https://h.example/mcp", "headers": {{"Authorization": "Bearer {TOKEN}"}}}}}}}}"#
    );
    let plugin = crate::rules::fixture::with_manifest(&entries, "{\n  \"name\": \"p\"\n}\n");
    let files: Vec<Arc<str>> = plugin
        .documents
        .iter()
        .map(|it| it.source.shared_path())
        .collect();
    let scope = Selection {
        plugin: &plugin,
        files: &files,
        server: None,
    };
    let plan = plan_asked(
        &scope,
        &keyway_config::environment::Variables::default(),
        &PluginFiles::default(),
    );
    let manifest = &plan.documents[0];
    assert_eq!(
        &*manifest.file, "plugin.json",
        "what declares it is written first"
    );
    assert!(
        manifest
            .after
            .contains("\"userConfig\": {\n    \"docs_token\": {"),
        "{}",
        manifest.after
    );
    assert!(
        manifest.after.contains("\"sensitive\": true"),
        "{}",
        manifest.after
    );
    assert!(
        plan.documents[1]
            .after
            .contains("Bearer ${user_config.docs_token}")
    );
    assert_eq!(
        plan.moves[0].asked_as.as_deref(),
        Some("USER_CONFIG_DOCS_TOKEN")
    );
}

#[test]
fn a_host_that_fills_in_nothing_keeps_its_literal_and_the_reason_is_said() {
    let env = r#"{"WRAPPER": {"s": {"command": "x", "env": {"API_TOKEN": "TOKEN4711"}}}}"#;
    for (path, wrapper, why) in [
        (
            "claude_desktop_config.json",
            "mcpServers",
            "Claude Desktop fills in no variable there",
        ),
        (
            ".zed/settings.json",
            "context_servers",
            "Zed fills in no variable there",
        ),
        (
            ".lmstudio/mcp.json",
            "mcpServers",
            "LM Studio fills in no variable there",
        ),
        // It could be written, but not beside a file that is the person's own.
        (
            "windsurf/mcp_config.json",
            "mcpServers",
            "no `.env` belongs beside it",
        ),
    ] {
        let text = env.replace("WRAPPER", wrapper).replace("TOKEN4711", TOKEN);
        let plan = plain(&Plugin::from_text("/p", path, &text));
        assert!(plan.is_empty() && plan.env.is_none(), "{path}");
        let found = &plan.diagnostics[0];
        assert!(found.message.ends_with(why), "{path}: {}", found.message);
        assert!(found.hint.is_some());
    }
    let goose = "extensions:\n  s:\n    type: stdio\n    name: s\n    enabled: true\n    cmd: x\n    envs:\n      API_TOKEN: not-a-real-token-4711\n";
    let plan = plain(&Plugin::from_text("/p", "goose/config.yaml", goose));
    assert!(
        plan.diagnostics[0].message.ends_with("in `env_keys`"),
        "{:?}",
        plan.diagnostics
    );
    let around = PluginFiles {
        env_obstacle: Some(EnvObstacle::Home),
        ..PluginFiles::default()
    };
    let text = env
        .replace("WRAPPER", "mcpServers")
        .replace("TOKEN4711", TOKEN);
    let plan = super::planned(
        &Plugin::from_text("/p", ".cursor/mcp.json", &text),
        &Default::default(),
        &around,
    );
    assert!(plan.is_empty() && plan.env.is_none());
}

#[test]
fn nothing_is_put_into_the_folder_of_a_host() {
    let around = PluginFiles {
        env_obstacle: Some(EnvObstacle::HostFolder),
        ..PluginFiles::default()
    };
    let text = r#"{"mcp": {"s": {"type": "local", "command": ["x"], "environment": {"API_TOKEN": "not-a-real-token-4711"}}}}"#;
    let plugin = Plugin::from_text("/p", "opencode.json", text);
    let plan = super::planned(&plugin, &Default::default(), &around);
    assert!(plan.is_empty() && plan.env.is_none(), "{:?}", plan.moves);
    let why = "the folder is its host's own, and no `.env` belongs into it";
    assert!(plan.diagnostics[0].message.ends_with(why));
    // A value that the shell has needs no file.
    let shell = keyway_config::environment::Variables::from_pairs([("S_API_TOKEN", TOKEN)]);
    let plan = super::planned(&plugin, &shell, &around);
    assert_eq!(plan.moves.len(), 1, "{:?}", plan.diagnostics);
    assert!(plan.env.is_none() && plan.example.is_none() && plan.ignore.is_none());
}

#[test]
fn an_extension_names_the_variable_in_its_settings() {
    let text = r#"{
  "name": "docs",
  "version": "1.0.0",
  "settings": [{"name": "Mode", "description": "m", "envVar": "MODE"}],
  "mcpServers": {"docs": {"command": "x", "env": {"DOCS_TOKEN": "TOKEN4711"}}}
}
"#;
    let (_, after) = migrated("gemini-extension.json", text);
    let again = Plugin::from_text("/p", "gemini-extension.json", &after);
    let prompts: Vec<_> = again
        .prompts()
        .map(|it| (it.variable.as_str(), it.is_secret))
        .collect();
    assert_eq!(prompts, [("MODE", false), ("DOCS_TOKEN", true)], "{after}");
    let without = text.replace(
        r#"  "settings": [{"name": "Mode", "description": "m", "envVar": "MODE"}],
"#,
        "",
    );
    let (_, after) = migrated("gemini-extension.json", &without);
    assert!(after.contains(r#""envVar": "DOCS_TOKEN""#), "{after}");
    let (_, after) = migrated(".gemini/settings.json", &without);
    assert!(!after.contains("envVar"), "{after}");
}

#[test]
fn a_bundle_asks_for_the_value_in_its_own_manifest() {
    let text = r#"{"manifest_version": "0.3", "name": "docs", "version": "1.0.0", "description": "d", "author": {"name": "a"}, "server": {"type": "node", "entry_point": "s.js",
        "mcp_config": {"command": "node", "args": ["--api-key=TOKEN4711"], "env": {"DOCS_TOKEN": "TOKEN4711"}}}}"#;
    let (plan, after) = migrated("manifest.json", text);
    for part in [
        r#""DOCS_TOKEN": "${user_config.docs_api_key}""#,
        r#""args": ["--api-key=${user_config.docs_api_key}"]"#,
        r#""user_config": {"#,
        r#""docs_api_key": {"#,
        r#""required": true"#,
    ] {
        assert!(after.contains(part), "{part}: {after}");
    }
    let again = Plugin::from_text("/p", "manifest.json", &after);
    let prompts: Vec<_> = again.prompts().map(|it| it.is_secret).collect();
    assert_eq!(prompts, [true], "{after}");
    assert_eq!(
        plan.moves[0].asked_as.as_deref(),
        Some("USER_CONFIG_DOCS_API_KEY")
    );
}

#[test]
fn the_same_value_goes_from_comments_as_well_and_another_is_named() {
    let text = "{ \"servers\": {\n  // \"old\": {\"command\": \"x\", \"env\": {\"DOCS_TOKEN\": \"TOKEN4711\"}},\n  \"docs\": {\"command\": \"x\", \"env\": {\"DOCS_TOKEN\": \"TOKEN4711\"}}\n}}\n";
    let (plan, after) = migrated(".vscode/mcp.json", text);
    assert_eq!(after.matches("${input:docs_token}").count(), 2, "{after}");
    assert!(after.contains("// \"old\": {"), "{after}");
    assert_eq!(plan.moves.len(), 1);
    // The only copy of a value is not destroyed.
    let other = text.replacen("TOKEN4711", "nor-is-this-one-0815", 1);
    let plugin = Plugin::from_text("/p", ".vscode/mcp.json", &other.replace("TOKEN4711", TOKEN));
    let plan = plain(&plugin);
    assert!(plan.documents[0].after.contains("0815"));
    let refused = &plan.diagnostics[0];
    assert!(
        refused.message.starts_with("a comment keeps its literal"),
        "{refused:?}"
    );
    assert!(
        refused.hint.as_deref().unwrap().starts_with("delete it"),
        "{refused:?}"
    );
}

#[test]
fn a_copy_of_a_persons_file_in_a_repository_is_not_their_own() {
    let text = r#"{"mcpServers": {"docs": {"serverUrl": "https://h.example/mcp", "headers": {"Authorization": "Bearer TOKEN4711"}}}}"#;
    let (plan, after) = migrated("mcp_config.json", text);
    assert!(after.contains("Bearer ${env:DOCS_TOKEN}"), "{after}");
    assert_eq!(plan.env.unwrap().added, ["DOCS_TOKEN"]);
}

#[test]
fn comments_that_the_host_allows_are_no_fault_of_the_file() {
    let text = r#"{ // mine
        "servers": {"docs": {"command": "x", "env": {"DOCS_TOKEN": "TOKEN4711"}},}}"#;
    let (plan, _) = migrated(".vscode/mcp.json", text);
    let codes: Vec<_> = plan.diagnostics.iter().map(|it| it.code).collect();
    assert_eq!(codes, [Code::RotateToken]);
}

#[test]
fn what_cannot_be_written_is_refused_with_a_reason_and_nothing_else_is_planned() {
    let entries =
        r#"{"mcpServers": {"docs": {"command": "x", "env": {"DOCS_TOKEN": "TOKEN4711"}}}}"#;
    for (path, text, reason) in [
        (
            ".junie/mcp/mcp.json",
            entries,
            "which program reads the file",
        ),
        (
            ".next-years-host/servers.json",
            entries,
            "which program reads the file",
        ),
    ] {
        let text = text.replace("TOKEN4711", TOKEN);
        let plan = plain(&Plugin::from_text("/p", path, &text));
        assert!(
            plan.is_empty() && plan.env.is_none() && plan.readme.is_none(),
            "{path}"
        );
        assert!(
            plan.diagnostics[0].message.contains(reason),
            "{:?}",
            plan.diagnostics
        );
    }
    // In YAML no one is asked: the variable is taken from the environment.
    let yaml = "servers:\n  docs:\n    command: x\n    env:\n      DOCS_TOKEN: TOKEN4711\n";
    let (_, after) = migrated("servers.yaml", yaml);
    assert!(after.contains("${env:DOCS_TOKEN}"), "{after}");
}
