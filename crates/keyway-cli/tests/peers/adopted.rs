//! `keyway adopt` with clients as people have them: every server is connected under its own name,
//! nothing is there twice, and undoing it restores every byte.

use std::process::Output;

use keyway_testkit::Desk;
use keyway_testkit::rig::Settings;

use crate::tools::{self, CLAUDE, CODEX, GEMINI, NODE, Tools};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// Runs a client in the project.
fn client(tools: &Tools, desk: &Desk, script: &str, arguments: &[&str]) -> String {
    let home = desk.folder.at("home");
    let output: Output = tools::client(tools, script, &home)
        .args(arguments)
        .current_dir(desk.folder.path())
        .env("KEYWAY_HOME", home.join("keyway"))
        .output()
        .unwrap();
    let (out, err) = (&output.stdout, &output.stderr);
    let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    format!("{out}{err}")
}

/// Runs Keyway in the project, where a browser can be opened.
fn run(desk: &Desk, words: &[&str]) -> String {
    let outcome = desk.keyway(words).run();
    assert_eq!(outcome.code, 0, "{words:?}: {}", outcome.everything());
    outcome.everything()
}

/// Signs in to servers of the person's own plugin.
fn sign_in(desk: &Desk, servers: &[&str]) {
    let _person = desk.person();
    for server in servers {
        run(desk, &["login", &format!("own:{server}")]);
    }
}

/// Returns the lines that begin with one of the names, and how they end.
fn states<'a>(listed: &'a str, names: &[&str]) -> Vec<(&'a str, bool)> {
    let mut found = Vec::new();
    for line in listed.lines() {
        let named = names
            .iter()
            .find(|name| line.starts_with(&format!("{name}:")));
        if named.is_some() {
            found.push((line, line.ends_with("✔ Connected")));
        }
    }
    found
}

#[test]
fn claude_code_has_user_project_and_plugin_servers_connected_by_their_own_names() {
    let Some(tools) = Tools::find(&[NODE, CLAUDE]) else {
        return;
    };
    let desk = Desk::new(KEYWAY, Settings::default());
    let url = desk.rig.mcp();
    let plugin =
        format!(r#"{{"mcpServers": {{"wiki": {{"type": "http", "url": "{url}?of=plugin"}}}}}}"#);
    desk.folder.put("home/market/acme/.mcp.json", plugin);
    desk.folder.put(
        "home/market/acme/.claude-plugin/plugin.json",
        r#"{"name": "acme", "version": "1.0.0", "description": "d"}"#,
    );
    desk.folder.put(
        "home/market/.claude-plugin/marketplace.json",
        r#"{"name": "mk", "owner": {"name": "o"}, "plugins": [{"name": "acme", "source": "./acme", "description": "d"}]}"#,
    );
    let project = format!(r#"{{"mcpServers": {{"s": {{"type": "http", "url": "{url}"}}}}}}"#);
    desk.folder.put(".mcp.json", project);
    let market = desk.folder.at("home/market");
    let market = market.to_str().unwrap();
    let said = client(
        &tools,
        &desk,
        CLAUDE,
        &["plugin", "marketplace", "add", market],
    );
    let said = said + &client(&tools, &desk, CLAUDE, &["plugin", "install", "acme@mk"]);
    let added = ["mcp", "add", "--transport", "http", "-s", "user", "mine"];
    let mine = format!("{url}?of=user");
    let said = said + &client(&tools, &desk, CLAUDE, &[&added[..], &[&mine]].concat());
    let names = ["s", "mine", "plugin:acme:wiki"];
    let before = client(&tools, &desk, CLAUDE, &["mcp", "list"]);
    let found = states(&before, &names);
    assert_eq!(found.len(), 3, "{said}\n{before}");
    assert!(found.iter().all(|(_, connected)| !connected), "{before}");

    let file = desk.folder.read("home/.claude.json");
    run(&desk, &["adopt", "claude-code", "--yes"]);
    assert_ne!(desk.folder.read("home/.claude.json"), file);
    run(&desk, &["adopt", "--undo", "--yes"]);
    assert_eq!(
        desk.folder.read("home/.claude.json"),
        file,
        "every byte is back"
    );

    run(&desk, &["adopt", "claude-code", "--yes"]);
    sign_in(&desk, &["s", "mine", "acme-wiki"]);
    let after = client(&tools, &desk, CLAUDE, &["mcp", "list"]);
    let found = states(&after, &names);
    assert_eq!(found.len(), 3, "nothing is there twice: {after}");
    assert!(found.iter().all(|(_, connected)| *connected), "{after}");
    let listed = run(&desk, &["clients", "claude-code"]);
    assert_eq!(listed.matches("keyway ").count(), 3, "{listed}");
    let again = run(&desk, &["adopt", "claude-code", "--yes"]);
    assert!(again.contains("nothing to adopt"), "{again}");

    // The client has rewritten its file by now; its own entries are back all the same.
    run(&desk, &["adopt", "--undo", "--yes"]);
    let undone = client(&tools, &desk, CLAUDE, &["mcp", "list"]);
    let found = states(&undone, &names);
    assert_eq!(found.len(), 3, "{undone}");
    assert!(
        found.iter().all(|(line, _)| line.contains(&url)),
        "{undone}"
    );
}

#[test]
fn gemini_cli_has_its_servers_connected_by_their_own_names() {
    let Some(tools) = Tools::find(&[NODE, GEMINI]) else {
        return;
    };
    let desk = Desk::new(KEYWAY, Settings::default());
    let url = desk.rig.mcp();
    let file = format!(
        "{{\n  // mine\n  \"mcpServers\": {{\n    \"docs\": {{ \"httpUrl\": \"{url}\", \"timeout\": 9000 }}\n  }}\n}}\n"
    );
    desk.folder.put("home/.gemini/settings.json", &file);
    run(&desk, &["adopt", "gemini-cli", "--yes"]);
    sign_in(&desk, &["docs"]);
    let listed = client(&tools, &desk, GEMINI, &["mcp", "list"]);
    let lines: Vec<&str> = listed
        .lines()
        .filter(|line| line.contains("docs:"))
        .collect();
    assert!(
        matches!(lines.as_slice(), [one] if one.ends_with("- Connected")),
        "{listed}"
    );
    assert!(
        desk.folder
            .read("home/.gemini/settings.json")
            .contains("9000")
    );
    run(&desk, &["adopt", "--undo", "--yes"]);
    assert_eq!(desk.folder.read("home/.gemini/settings.json"), file);
}

#[test]
fn codex_lists_what_was_adopted_and_gets_its_file_back() {
    let Some(tools) = Tools::find(&[NODE, CODEX]) else {
        return;
    };
    let desk = Desk::new(KEYWAY, Settings::default());
    let url = desk.rig.mcp();
    let file = format!(
        "model = \"m\" # mine\n\n[mcp_servers.docs]\nurl = \"{url}\"\nstartup_timeout_sec = 20\n\n[other]\na = 1\n"
    );
    desk.folder.put("home/.codex/config.toml", &file);
    for (via, expected) in [("run", "run --server docs"), ("gateway", "/mcp/own/docs")] {
        run(&desk, &["adopt", "codex", "--via", via, "--yes"]);
        let listed = client(&tools, &desk, CODEX, &["mcp", "list"]);
        let lines = listed.lines().filter(|line| line.starts_with("docs "));
        let lines: Vec<&str> = lines.collect();
        assert!(
            matches!(lines.as_slice(), [one] if one.contains(expected)),
            "{listed}"
        );
        run(&desk, &["adopt", "--undo", "--yes"]);
        assert_eq!(desk.folder.read("home/.codex/config.toml"), file);
    }
}
