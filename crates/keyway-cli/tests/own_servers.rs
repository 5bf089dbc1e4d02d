//! `keyway add`, `adopt`, `clients`, `remove` and `purge`: a person's own servers, in clients' files.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use keyway_testkit::rig::Settings;
use keyway_testkit::{Canary, Desk, Outcome, Terminal};
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
        !status.stdout.contains("pending-trust"),
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
        line("claude-code", "s", "user").contains("the project entry counts"),
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
    let dry = run(&desk, &["purge", "--dry-run"]).stdout;
    assert!(
        dry.contains("removes") && dry.contains("keyway/data"),
        "{dry}"
    );
    assert!(desk.folder.at("home/keyway/data").exists());
    run(&desk, &["purge", "--yes"]);
    assert!(!desk.rig.seen("/revoke").is_empty(), "signed out");
    for (file, text) in &files {
        assert_eq!(desk.folder.read(file), *text, "{file}");
    }
    let left = desk.folder.files();
    let left = left.iter().filter(|file| file.starts_with("home/keyway/"));
    assert_eq!(left.count(), 0, "{:?}", desk.folder.files());
}
