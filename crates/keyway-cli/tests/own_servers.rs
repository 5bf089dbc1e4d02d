//! `keyway add`, `adopt`, `clients`, `remove` and `purge`: a person's own servers, in clients' files.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use keyway_testkit::rig::Settings;
use keyway_testkit::{Canary, Desk, Outcome, Terminal, free_port};
use serde_json::Value;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");
const TOKEN: &str = "kT8vQ2mX9wLz4Rb7Yc3N";

/// A desk whose project declares nothing.
fn desk() -> Desk {
    let desk = Desk::new(KEYWAY, Settings::default());
    std::fs::remove_file(desk.folder.at(".mcp.json")).unwrap();
    desk
}

fn run(desk: &Desk, words: &[&str]) -> Outcome {
    let outcome = desk.keyway(words).run();
    assert_eq!(outcome.code, 0, "{words:?}: {}", outcome.everything());
    outcome
}

#[test]
fn server_is_added_signed_in_and_in_clients_at_once_and_goes_again() {
    let desk = desk();
    desk.folder.put("home/.cursor/mcp.json", "{}");
    let url = desk.rig.mcp();
    let _person = desk.person();
    run(
        &desk,
        &[
            "add", "docs", &url, "--client", "cursor", "--client", "codex",
        ],
    );
    let call = run(&desk, &["call", "own:docs", "echo", "message=x"]);
    assert_eq!(call.stdout, "Echo: x\n");
    // Its address and its name lead to the same sign-in, from anywhere without a plugin.
    assert_eq!(
        run(&desk, &["call", &url, "echo", "message=y"]).stdout,
        "Echo: y\n"
    );
    assert_eq!(
        run(&desk, &["call", "docs", "echo", "message=z"]).stdout,
        "Echo: z\n"
    );
    let status = run(&desk, &["status", "own:docs"]).stdout;
    assert!(status.contains("docs"), "{status}");
    assert_eq!(run(&desk, &["status"]).stdout, status);
    let elsewhere = desk.keyway(&["status", "own:nosuch"]).run();
    assert_eq!(elsewhere.code, 2, "{}", elsewhere.everything());
    assert_eq!(desk.windows().len(), 1);
    for file in ["home/.cursor/mcp.json", "home/.codex/config.toml"] {
        let text = desk.folder.read(file);
        assert!(text.contains("\"--server\", \"docs\""), "{text}");
    }
    let taken = desk.keyway(&["add", "docs", &url]).run();
    assert_eq!(taken.code, 1, "{}", taken.everything());
    run(&desk, &["remove", "docs", "--yes"]);
    assert_eq!(desk.folder.read("home/.cursor/mcp.json"), "{}");
    assert!(!desk.folder.at("home/.codex/config.toml").exists());
    let gone = desk
        .keyway(&["call", "own:docs", "echo", "message=x"])
        .run();
    assert_ne!(gone.code, 0, "{}", gone.everything());
    assert_eq!(desk.keyway(&["remove", "docs", "--yes"]).run().code, 2);
}

#[test]
fn plugin_is_refused_where_a_server_is_added_and_an_address_that_does_not_answer_is_told() {
    let desk = desk();
    let url = format!("http://127.0.0.1:{}/mcp", free_port());
    let refused = desk.keyway(&["add", "far", &url, "--config", "p"]).run();
    assert_eq!(refused.code, 2, "{}", refused.everything());
    assert!(refused.stderr.contains("`--config`"), "{}", refused.stderr);
    let far = desk.keyway(&["add", "far", &url]).run();
    assert_eq!(far.code, 5, "{}", far.everything());
    let told = "the server is added but did not answer; check its URL";
    assert!(far.stderr.contains(told), "{}", far.stderr);
    let remove = "remove it: keyway remove far";
    assert!(far.stderr.contains(remove), "{}", far.stderr);
}

#[test]
fn program_is_added_by_its_command_and_its_words_are_approved() {
    let desk = desk();
    run(&desk, &["add", "--", "sh", "-c", "exit 0"]);
    let entries: Value =
        serde_json::from_str(&desk.folder.read("home/keyway/data/own/.mcp.json")).unwrap();
    assert_eq!(
        entries["mcpServers"]["sh"]["args"][1], "exit 0",
        "{entries}"
    );
    let status = run(&desk, &["status", "--config", "home/keyway/data/own"]);
    assert!(
        !status.stdout.contains("needs approval"),
        "{}",
        status.stdout
    );
    for words in [
        &["add"][..],
        &["add", "name"],
        &["add", "a", "b"],
        &["add", "https://h.example/mcp", "--", "sh"],
    ] {
        assert_eq!(desk.keyway(words).run().code, 2, "{words:?}");
    }
}

#[test]
fn key_of_a_header_goes_to_the_vault_and_to_the_server() {
    let desk = desk();
    let url = desk.rig.mcp();
    let words = ["add", "search", &url, "--header", "X-API-Key", "--no-login"];
    let outcome = desk.keyway(&words).stdin(format!("{TOKEN}\n")).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let entries = desk.folder.read("home/keyway/data/own/.mcp.json");
    assert!(entries.contains("\"${SEARCH_X_API_KEY}\""), "{entries}");
    assert_eq!(desk.leaks(&outcome.everything(), &[TOKEN]).len(), 0);
    drop(desk.keyway(&["tools", "own:search"]).run());
    let seen = desk.rig.seen("/mcp");
    assert_eq!(seen[0].request.header("x-api-key"), Some(TOKEN));
}

/// Files of clients with a remote server each, and one with a literal secret.
fn with_clients(desk: &Desk) -> Vec<(&'static str, String)> {
    let url = desk.rig.mcp();
    let files = vec![
        (
            "home/.cursor/mcp.json",
            format!(
                "{{\n  // mine\n  \"mcpServers\": {{\n    \"docs\": {{ \"url\": \"{url}\" }},\n    \"keyed\": {{ \"url\": \"{url}?k=1\", \"headers\": {{ \"X-API-Key\": \"{TOKEN}\" }} }}\n  }}\n}}\n"
            ),
        ),
        (
            "home/.codex/config.toml",
            format!("model = \"m\"\n\n[mcp_servers.docs]\nurl = \"{url}\"\nenabled = true\n"),
        ),
        (
            "home/.config/goose/config.yaml",
            format!(
                "GOOSE_MODEL: m\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n  docs:\n    type: streamable_http\n    uri: {url}\n    enabled: true\n# end\n"
            ),
        ),
        (
            "home/.config/opencode/opencode.json",
            format!(
                "{{\"mcp\": {{\"docs\": {{\"type\": \"remote\", \"url\": \"{url}\", \"enabled\": true}}}}}}"
            ),
        ),
    ];
    for (file, text) in &files {
        desk.folder.put(file, text);
    }
    files
}

#[test]
fn everything_is_adopted_once_secrets_go_to_the_vault_and_every_byte_comes_back() {
    let desk = desk();
    let files = with_clients(&desk);
    let dry = run(&desk, &["adopt", "--dry-run"]);
    assert!(dry.stdout.contains("+") && !dry.everything().contains(TOKEN));
    for (file, text) in &files {
        assert_eq!(desk.folder.read(file), *text, "{file}");
    }
    let adopted = run(&desk, &["adopt", "--yes"]);
    let everything = adopted.everything();
    assert_eq!(
        Canary::literal(TOKEN).leak(&everything),
        None,
        "{everything}"
    );
    assert!(everything.contains("keyway login own:docs"), "{everything}");
    let own: Value =
        serde_json::from_str(&desk.folder.read("home/keyway/data/own/.mcp.json")).unwrap();
    let names: Vec<&String> = own["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["docs", "keyed"], "one address is one server: {own}");
    for (file, _) in &files {
        let text = desk.folder.read(file);
        assert!(!text.contains(TOKEN) && text.contains("--server"), "{text}");
        assert!(!text.contains(&desk.rig.mcp()), "{text}");
    }
    let env = run(&desk, &["env", "list"]).stdout;
    assert!(env.contains("KEYED_X_API_KEY"), "{env}");
    let clients = run(&desk, &["clients", "--format", "json"]).stdout;
    let clients: Value = serde_json::from_str(&clients).unwrap();
    let entries = clients["clients"].as_array().unwrap().iter();
    let entries: Vec<&Value> = entries
        .flat_map(|it| it["entries"].as_array().unwrap())
        .collect();
    assert_eq!(entries.len(), 5, "{clients}");
    assert!(
        entries
            .iter()
            .all(|it| it["is"] == "keyway" && it["holds_secret"] == false)
    );
    assert!(
        run(&desk, &["adopt", "--yes"])
            .stderr
            .contains("nothing to adopt")
    );
    run(&desk, &["adopt", "--undo", "--yes"]);
    for (file, text) in &files {
        assert_eq!(desk.folder.read(file), *text, "{file}");
    }
}

/// A server in a few lines that notes the variable it was started with.
const SERVER: &str = r##"printf '%s\n' "$SEARCH_TOKEN" >> "$HEARD"
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

#[test]
fn program_of_a_client_that_fills_in_nothing_gets_its_value_from_the_vault() {
    for (client, file, key) in [
        (
            "claude-desktop",
            "home/.config/Claude/claude_desktop_config.json",
            "mcpServers",
        ),
        ("zed", "home/.config/zed/settings.json", "context_servers"),
        ("lm-studio", "home/.lmstudio/mcp.json", "mcpServers"),
    ] {
        let desk = desk();
        desk.folder.put("server.sh", SERVER);
        let at = |name: &str| desk.folder.at(name).display().to_string();
        let (server, heard) = (at("server.sh"), at("heard.txt"));
        let text = format!(
            "{{\n  \"{key}\": {{\n    \"search\": {{ \"command\": \"sh\", \"args\": [\"{server}\"], \"env\": {{ \"SEARCH_TOKEN\": \"{TOKEN}\", \"HEARD\": \"{heard}\" }} }},\n    \"plain\": {{ \"command\": \"true\", \"args\": [] }}\n  }}\n}}\n"
        );
        desk.folder.put(file, &text);
        // In the file itself nothing can take the place of the literal; it is said what can be done.
        let refused = desk.keyway(&["migrate", "env", "--config", file]).run();
        assert_eq!(refused.code, 1, "{client}: {}", refused.everything());
        let reason = "fills in no variable there";
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("`keyway adopt --programs`"),
            "{client}: {}",
            refused.stderr
        );
        // A program is left to its client unless that is asked for.
        run(&desk, &["adopt", client, "--yes"]);
        assert_eq!(desk.folder.read(file), text, "{client}");
        let adopted = run(&desk, &["adopt", client, "--programs", "--yes"]);
        assert!(!adopted.everything().contains(TOKEN), "{client}");
        let after = desk.folder.read(file);
        assert!(!after.contains(TOKEN), "{client}: {after}");
        let entries: Value = serde_json::from_str(&after).unwrap();
        assert_eq!(entries[key]["plain"]["command"], "true", "{after}");
        assert_eq!(entries[key]["search"].get("env"), None, "{after}");
        let own = desk.folder.read("home/keyway/data/own/.mcp.json");
        assert!(
            !own.contains(TOKEN) && own.contains("${SEARCH_TOKEN}"),
            "{own}"
        );
        let tools = run(&desk, &["tools", "own:search"]);
        assert!(tools.stdout.contains("found"), "{client}");
        assert_eq!(desk.folder.read("heard.txt"), format!("{TOKEN}\n"));
        run(&desk, &["adopt", "--undo", "--yes"]);
        assert_eq!(desk.folder.read(file), text, "{client}");
    }
}

#[test]
fn list_says_what_holds_a_secret_what_is_broken_and_what_does_not_count() {
    let desk = desk();
    with_clients(&desk);
    desk.folder.put(
        "home/.claude.json",
        r#"{"mcpServers": {"gone": {"type": "stdio", "command": "/nowhere/keyway", "args": ["run"]}, "s": {"type": "http", "url": "https://u.example/mcp"}}}"#,
    );
    desk.folder.put(
        ".mcp.json",
        r#"{"mcpServers": {"s": {"type": "http", "url": "https://p.example/mcp"}}}"#,
    );
    let listed = run(&desk, &["clients"]).stdout;
    let line = |client: &str, name: &str, scope: &str| {
        let mut lines = listed.lines();
        let found = lines.find(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.first() == Some(&client)
                && words.get(1) == Some(&scope)
                && words.get(2) == Some(&name)
        });
        found
            .unwrap_or_else(|| panic!("{client} {name}: {listed}"))
            .to_owned()
    };
    assert!(
        line("cursor", "keyed", "user").contains("holds a secret"),
        "{listed}"
    );
    assert!(
        !line("cursor", "docs", "user").contains("secret"),
        "{listed}"
    );
    assert!(
        line("claude-code", "gone", "user").contains("broken"),
        "{listed}"
    );
    assert!(
        line("claude-code", "s", "user").contains("the project entry takes precedence"),
        "{listed}"
    );
    assert!(
        !line("claude-code", "s", "project").contains("counts"),
        "{listed}"
    );
    assert!(!listed.contains(TOKEN));
}

#[test]
fn adopt_asks_once_how_clients_reach_the_servers_and_says_what_each_means() {
    let desk = desk();
    let url = desk.rig.mcp();
    let before =
        format!("{{\"mcpServers\": {{\"docs\": {{\"type\": \"http\", \"url\": \"{url}\"}}}}}}");
    desk.folder.put("home/.claude.json", &before);
    let mut terminal = Terminal::start(&desk.without_browser(&[]), "\"$KEYWAY\" adopt");
    terminal.wait_for("no token of a server leaves Keyway");
    terminal.answer("Choose 1, 2 or 3:", "3\r");
    terminal.answer("Hand out", "y\r");
    terminal.answer("Write this?", "y\r");
    let shown = terminal.end();
    let text = desk.folder.read("home/.claude.json");
    let entry: Value = serde_json::from_str(&text).unwrap();
    let entry = &entry["mcpServers"]["docs"];
    assert_eq!(entry["url"], url.as_str(), "{shown}\n{text}");
    let helper = entry["headersHelper"].as_str().unwrap();
    assert!(helper.ends_with("headers own:docs --direct"), "{helper}");
    let status = run(&desk, &["status", "--config", "home/keyway/data/own"]).stdout;
    assert!(status.contains("handed to clients"), "{status}");
    run(&desk, &["adopt", "--undo", "--yes"]);
    assert_eq!(desk.folder.read("home/.claude.json"), before);
    let piped = desk.keyway(&["adopt", "--via", "direct", "--yes"]).run();
    assert_eq!(piped.code, 2, "{}", piped.everything());
}

#[test]
fn purge_shows_everything_then_leaves_nothing() {
    let desk = desk();
    let files = with_clients(&desk);
    let _person = desk.person();
    run(&desk, &["adopt", "--yes"]);
    run(&desk, &["login", "own:docs"]);
    // A sign-in of a plugin that is gone by then.
    let entry = format!(
        r#"{{"s": {{"type": "http", "url": "{}"}}}}"#,
        desk.rig.mcp()
    );
    desk.folder.put("gone/.mcp.json", entry);
    run(&desk, &["login", "s", "--config", "gone"]);
    std::fs::remove_dir_all(desk.folder.at("gone")).unwrap();
    assert!(desk.rig.live_refresh_tokens() >= 2);
    let dry = run(&desk, &["purge", "--dry-run"]).stdout;
    assert!(
        dry.contains("removes") && dry.contains("keyway/data"),
        "{dry}"
    );
    assert!(desk.folder.at("home/keyway/data").exists());
    run(&desk, &["purge", "--yes"]);
    assert_eq!(desk.rig.live_refresh_tokens(), 0, "signed out everywhere");
    for (file, text) in &files {
        assert_eq!(desk.folder.read(file), *text, "{file}");
    }
    let left = desk.folder.files();
    let left = left.iter().filter(|file| file.starts_with("home/keyway/"));
    assert_eq!(left.count(), 0, "{:?}", desk.folder.files());
}

#[test]
fn projects_files_of_other_clients_are_adopted_on_request_with_what_holds_everywhere() {
    let desk = desk();
    let url = desk.rig.mcp();
    let plain = [
        (".cursor/mcp.json", "mcpServers", r#""type": "http", "url""#),
        (".vscode/mcp.json", "servers", r#""type": "http", "url""#),
        (".gemini/settings.json", "mcpServers", r#""httpUrl""#),
        ("opencode.json", "mcp", r#""type": "remote", "url""#),
    ];
    let mut before = Vec::new();
    for (file, key, field) in plain {
        let text = format!("{{\n  \"{key}\": {{ \"docs\": {{ {field}: \"{url}\" }} }}\n}}\n");
        desk.folder.put(file, &text);
        before.push((file, text));
    }
    let kept = run(&desk, &["adopt", "--yes"]);
    assert!(
        kept.stderr.contains("`--project` takes it over"),
        "{}",
        kept.stderr
    );
    for (file, text) in &before {
        assert_eq!(desk.folder.read(file), *text, "{file}");
    }
    run(&desk, &["adopt", "--project", "--yes"]);
    for (file, _) in &before {
        let text = desk.folder.read(file);
        assert!(
            text.contains(&url) && text.contains("\"run\""),
            "{file}: {text}"
        );
        // Nothing that is only true on this machine.
        let home = desk.folder.path().to_string_lossy().into_owned();
        assert!(
            !text.contains(&home) && text.contains("\"keyway\""),
            "{file}: {text}"
        );
    }
    run(&desk, &["adopt", "--undo", "--yes"]);
    for (file, text) in &before {
        assert_eq!(desk.folder.read(file), *text, "{file}");
    }
}

/// Claude Code keeps its history beside the entries.
#[test]
fn large_file_of_a_client_is_read_and_restored_and_a_huge_one_is_refused() {
    let desk = desk();
    let url = desk.rig.mcp();
    let history = "x".repeat(3 * 1024 * 1024);
    let text = format!(
        r#"{{"history": "{history}", "mcpServers": {{"docs": {{"type": "http", "url": "{url}"}}}}}}"#
    );
    desk.folder.put("home/.claude.json", &text);
    run(&desk, &["adopt", "claude-code", "--yes"]);
    assert!(desk.folder.read("home/.claude.json").contains("--server"));
    run(&desk, &["adopt", "--undo", "--yes"]);
    assert!(desk.folder.read("home/.claude.json") == text, "it differs");
    desk.folder
        .put("home/.claude.json", "x".repeat(33 * 1024 * 1024));
    let refused = desk.keyway(&["adopt", "claude-code", "--yes"]).run();
    assert!(
        !refused.stdout.contains("wrote"),
        "{}",
        refused.everything()
    );
}

/// Installs version `version` of a Claude Code plugin whose server is at `url`.
fn install_plugin(desk: &Desk, version: &str, url: &str) {
    let folder = format!("home/.claude/plugins/cache/m/wiki/{version}");
    let entry = format!(r#"{{"mcpServers": {{"docs": {{"type": "http", "url": "{url}"}}}}}}"#);
    desk.folder.put(&format!("{folder}/.mcp.json"), entry);
    let path = desk.folder.at(&folder);
    let listed = serde_json::json!({
        "version": 2,
        "plugins": { "wiki@m": [{ "scope": "user", "installPath": path }] },
    });
    let list = "home/.claude/plugins/installed_plugins.json";
    desk.folder.put(list, listed.to_string());
    let enabled = r#"{"enabledPlugins": {"wiki@m": true}}"#;
    desk.folder.put("home/.claude/settings.json", enabled);
}

#[test]
fn override_of_a_plugins_server_follows_its_updates_and_goes_with_the_plugin() {
    let desk = desk();
    let overridden = || {
        let file = desk.folder.at("home/.claude.json");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.contains("plugin:wiki:docs")
    };
    let own = || desk.folder.read("home/keyway/data/own/.mcp.json");
    let adopt = || run(&desk, &["adopt", "claude-code", "--yes"]);
    install_plugin(&desk, "1.0.0", "https://one.example/mcp");
    adopt();
    assert!(overridden());
    // An update that leaves the address alone leaves the override alone.
    install_plugin(&desk, "1.0.1", "https://one.example/mcp");
    assert!(adopt().stderr.contains("nothing to adopt"));
    assert!(overridden());
    // One that moves the server is followed.
    install_plugin(&desk, "2.0.0", "https://two.example/mcp");
    let doctor = desk.keyway(&["clients"]).run().stdout;
    assert!(doctor.contains("stale"), "{doctor}");
    adopt();
    assert!(overridden());
    assert!(own().contains("https://two.example/mcp"), "{}", own());
    assert!(!own().contains("https://one.example/mcp"), "{}", own());
    // A plugin that is switched off takes the override with it, and so does one that is gone.
    let off = r#"{"enabledPlugins": {"wiki@m": false}}"#;
    desk.folder.put("home/.claude/settings.json", off);
    adopt();
    assert!(!overridden());
    install_plugin(&desk, "2.0.0", "https://two.example/mcp");
    adopt();
    assert!(overridden());
    let none = r#"{"version": 2, "plugins": {}}"#;
    desk.folder
        .put("home/.claude/plugins/installed_plugins.json", none);
    adopt();
    assert!(!overridden());
}

#[test]
fn doctor_names_what_is_wrong_in_files_of_clients() {
    let desk = desk();
    with_clients(&desk);
    desk.folder.put(
        "home/.claude.json",
        r#"{"mcpServers": {"gone": {"type": "stdio", "command": "/nowhere/keyway", "args": ["run"]}}}"#,
    );
    desk.folder.put(
        ".mcp.json",
        r#"{"off": {"command": "x", "disabled": true}}"#,
    );
    let told = desk.keyway(&["doctor"]).run();
    for part in [
        "note: Claude Code, `gone`: broken: there is no /nowhere/keyway",
        "`keyed`: holds a secret",
    ] {
        assert!(told.stderr.contains(part), "{part}: {}", told.everything());
    }
    assert!(!told.everything().contains(TOKEN));
}
