//! `keyway install` and `uninstall` on the files of every client, in homes of their own.

use std::fs;

use keyway_testkit::{Canary, Folder, Keyway, Outcome};

/// A plugin with one server that needs nothing, one with a variable, and a process.
const ENTRIES: &str = r#"{
  "mcpServers": {
    "docs": { "type": "http", "url": "https://docs.example/mcp" },
    "db": { "type": "http", "url": "https://db.example/mcp", "headers": { "Authorization": "Bearer ${DB_TOKEN}" } }
  }
}
"#;

fn folder() -> Folder {
    Folder::new().file("plugin/.mcp.json", ENTRIES)
}

fn keyway(folder: &Folder, arguments: &[&str]) -> Outcome {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), &folder.at("plugin"))
        .args(arguments.iter().copied())
        .env("HOME", folder.at("home"))
        .env("XDG_CONFIG_HOME", folder.at("config"))
        .env("CODEX_HOME", folder.at("codex"))
        .env("KEYWAY_HOME", folder.at("keyway"))
        .run()
}

/// Each client: its file, a text with foreign entries, and the same with an entry of ours.
fn clients() -> [(&'static str, &'static str, &'static str, &'static str); 6] {
    [
        (
            "claude-code",
            "home/.claude.json",
            "{\r\n  \"numStartups\": 3,\r\n  \"mcpServers\": {\r\n    \"a\": { \"type\": \"http\", \"url\": \"https://a.example\" }\r\n  }\r\n}\r\n",
            "{\r\n  \"numStartups\": 3,\r\n  \"mcpServers\": {\r\n    \"a\": { \"type\": \"http\", \"url\": \"https://a.example\" },\r\n    \"docs\": {\r\n      \"type\": \"stdio\",\r\n      \"command\": \"KEYWAY\",\r\n      \"args\": [\"run\", \"--server\", \"docs\", \"--config\", \"PLUGIN\"]\r\n    }\r\n  }\r\n}\r\n",
        ),
        (
            "claude-desktop",
            "config/Claude/claude_desktop_config.json",
            "\u{feff}{\n\t\"mcpServers\": {}\n}",
            "\u{feff}{\n\t\"mcpServers\": {\n\t\t\"docs\": {\n\t\t\t\"command\": \"KEYWAY\",\n\t\t\t\"args\": [\"run\", \"--server\", \"docs\", \"--config\", \"PLUGIN\"]\n\t\t}\n\t}\n}",
        ),
        (
            "codex",
            "codex/config.toml",
            "model = \"m\" # mine\n\n[mcp_servers.a]\ncommand = \"a\"\n",
            "model = \"m\" # mine\n\n[mcp_servers.a]\ncommand = \"a\"\n\n[mcp_servers.docs]\ncommand = \"KEYWAY\"\nargs = [\"run\", \"--server\", \"docs\", \"--config\", \"PLUGIN\"]\n",
        ),
        (
            "cursor",
            "home/.cursor/mcp.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}",
            "{\"mcpServers\": {\"a\": {\"command\": \"a\"}, \"docs\": {\"type\": \"stdio\", \"command\": \"KEYWAY\", \"args\": [\"run\", \"--server\", \"docs\", \"--config\", \"PLUGIN\"]}}}",
        ),
        (
            "gemini-cli",
            "home/.gemini/settings.json",
            "{\n   // mine\n   \"theme\": \"x\" // why\n}\n",
            "{\n   // mine\n   \"theme\": \"x\", // why\n   \"mcpServers\": {\n      \"docs\": {\n         \"command\": \"KEYWAY\",\n         \"args\": [\"run\", \"--server\", \"docs\", \"--config\", \"PLUGIN\"]\n      }\n   }\n}\n",
        ),
        (
            "vs-code",
            "config/Code/User/mcp.json",
            "/* mine */\n{\n    \"servers\": {\n        \"a\": { \"type\": \"stdio\", \"command\": \"a\" }, // a\n    },\n}\n",
            "/* mine */\n{\n    \"servers\": {\n        \"a\": { \"type\": \"stdio\", \"command\": \"a\" }, // a\n        \"docs\": {\n            \"type\": \"stdio\",\n            \"command\": \"KEYWAY\",\n            \"args\": [\"run\", \"--server\", \"docs\", \"--config\", \"PLUGIN\"]\n        },\n    },\n}\n",
        ),
    ]
}

fn filled_in(text: &str, folder: &Folder) -> String {
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_keyway")).unwrap_or_default();
    let plugin = fs::canonicalize(folder.at("plugin")).unwrap_or_default();
    text.replace("KEYWAY", &program.to_string_lossy())
        .replace("PLUGIN", &plugin.to_string_lossy())
}

#[test]
fn every_client_gets_exactly_one_entry_and_gives_it_back() {
    for (client, file, before, expected) in clients() {
        let folder = folder().file(file, before);
        let outcome = keyway(&folder, &["install", client, "--server", "docs", "--yes"]);
        assert_eq!(outcome.code, 0, "{client}: {}", outcome.everything());
        assert_eq!(folder.read(file), filled_in(expected, &folder), "{client}");
        let backups = folder.files();
        let backup = backups
            .iter()
            .find(|file| file.contains("clients/backups/"));
        let backup = backup.unwrap();
        assert_eq!(folder.read(backup), before, "{client}");
        assert_eq!(folder.mode_of(backup), 0o600, "{client}");
        let again = keyway(&folder, &["install", client, "--server", "docs", "--yes"]);
        assert_eq!(again.code, 0, "{client}: {}", again.everything());
        let told = again.stderr.strip_prefix("nothing to do\n").unwrap();
        assert!(told.is_empty() || told.starts_with("warning: "), "{told}");
        let outcome = keyway(&folder, &["uninstall", client, "--yes"]);
        assert_eq!(outcome.code, 0, "{client}: {}", outcome.everything());
        assert_eq!(folder.read(file), before, "{client}");
    }
}

#[test]
fn a_file_that_was_not_there_is_made_private_and_goes_again() {
    for (client, file, ..) in clients() {
        let folder = folder();
        let outcome = keyway(&folder, &["install", client, "--all", "--yes"]);
        assert_eq!(outcome.code, 0, "{client}: {}", outcome.everything());
        assert_eq!(folder.mode_of(file), 0o600, "{client}");
        let text = folder.read(file);
        assert!(
            text.contains("docs") && text.contains("db"),
            "{client}: {text}"
        );
        assert!(
            outcome
                .stderr
                .contains("approve it once: keyway trust grant db"),
            "{}",
            outcome.stderr
        );
        let outcome = keyway(&folder, &["uninstall", client, "-y"]);
        assert_eq!(outcome.code, 0, "{client}: {}", outcome.everything());
        assert!(!folder.at(file).exists(), "{client}");
    }
}

#[test]
fn a_project_has_a_file_of_its_own_where_the_client_knows_one() {
    for (client, file) in [
        ("cursor", "plugin/.cursor/mcp.json"),
        ("vs-code", "plugin/.vscode/mcp.json"),
        ("codex", "plugin/.codex/config.toml"),
        ("gemini-cli", "plugin/.gemini/settings.json"),
    ] {
        let folder = folder();
        let arguments = ["install", client, "--project", "--server", "docs", "-y"];
        let outcome = keyway(&folder, &arguments);
        assert_eq!(outcome.code, 0, "{client}: {}", outcome.everything());
        let text = folder.read(file);
        // Colleagues have the file too: nothing in it is only true on this machine.
        let here = folder.path().to_string_lossy();
        assert!(
            text.contains("\"keyway\"") && !text.contains(&*here),
            "{client}: {text}"
        );
        let variable = text.contains("${workspaceFolder}");
        assert_eq!(variable, matches!(client, "cursor" | "vs-code"), "{text}");
    }
    let outside = [
        "install",
        "cursor",
        "--project",
        "--server",
        "s",
        "--config",
        "../elsewhere",
        "-y",
    ];
    let elsewhere = folder().file("elsewhere/.mcp.json", ENTRIES);
    let outcome = keyway(&elsewhere, &outside);
    assert_eq!(outcome.code, 2, "{}", outcome.everything());
    let outcome = keyway(
        &folder(),
        &["install", "claude-desktop", "--project", "--all", "-y"],
    );
    assert_eq!(outcome.code, 2, "{}", outcome.everything());
}

#[test]
fn nothing_is_written_without_consent() {
    let folder = folder();
    let before = folder.files();
    let shown = keyway(
        &folder,
        &["install", "cursor", "--server", "docs", "--dry-run"],
    );
    assert_eq!(shown.code, 0);
    assert!(
        shown.stdout.contains("+    \"docs\": {"),
        "{}",
        shown.stdout
    );
    // The harness has `[PATH]` for the folder; what is ours is not masked.
    let args = r#"["run", "--server", "docs", "--config", "[PATH]"]"#;
    assert!(shown.stdout.contains(args), "{}", shown.stdout);
    // Standard input is a pipe: there is no person to ask.
    let unasked = keyway(&folder, &["install", "cursor", "--server", "docs"]);
    assert_eq!(unasked.code, 2, "{}", unasked.everything());
    assert!(unasked.stderr.contains("`--yes`"), "{}", unasked.stderr);
    let which = keyway(&folder, &["install", "cursor", "--yes"]);
    assert_eq!(which.code, 2, "{}", which.everything());
    assert_eq!(folder.files(), before);
}

#[test]
fn a_broken_file_is_refused_with_its_place_and_left_alone() {
    for (client, file, text, place) in [
        (
            "claude-code",
            "home/.claude.json",
            "{\n  \"a\": ,\n}",
            "2:8",
        ),
        (
            "vs-code",
            "config/Code/User/mcp.json",
            "{ \"servers\": { }",
            "1:1",
        ),
        ("codex", "codex/config.toml", "a = 1\nb = [1\n", "2:"),
    ] {
        let folder = folder().file(file, text);
        let outcome = keyway(&folder, &["install", client, "--server", "docs", "--yes"]);
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        assert!(outcome.stderr.contains(place), "{}", outcome.stderr);
        assert_eq!(folder.read(file), text);
    }
}

#[test]
fn a_foreign_entry_of_the_name_stays_unless_it_is_to_be_replaced() {
    let before = "{\"mcpServers\": {\"docs\": {\"command\": \"mine\"}}}";
    let folder = folder().file("home/.cursor/mcp.json", before);
    let install = ["install", "cursor", "--server", "docs", "--yes"];
    let outcome = keyway(&folder, &install);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert_eq!(folder.read("home/.cursor/mcp.json"), before);
    let mut replace = install.to_vec();
    replace.push("--replace");
    assert_eq!(keyway(&folder, &replace).code, 0);
    assert!(!folder.read("home/.cursor/mcp.json").contains("mine"));
    assert_eq!(keyway(&folder, &["uninstall", "cursor", "--yes"]).code, 0);
    assert_eq!(folder.read("home/.cursor/mcp.json"), before);
}

#[test]
fn an_entry_that_is_installed_differently_is_renewed_and_still_undone() {
    let before = "{\"mcpServers\": {}}";
    let folder = folder().file("home/.cursor/mcp.json", before);
    let install = ["install", "cursor", "--server", "docs", "--yes"];
    assert_eq!(keyway(&folder, &install).code, 0);
    let mut other = install.to_vec();
    other.extend(["--profile", "work"]);
    let outcome = keyway(&folder, &other);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        folder
            .read("home/.cursor/mcp.json")
            .contains("\"--profile\", \"work\"")
    );
    assert_eq!(keyway(&folder, &["uninstall", "cursor", "--yes"]).code, 0);
    assert_eq!(folder.read("home/.cursor/mcp.json"), before);
}

const TOKEN: &str = "kT8vQ2mX9wLz4Rb7Yc3N";

fn bridged(file: &str, text: &str) -> Folder {
    folder().file(file, text.replace("SECRET", TOKEN))
}

/// Returns the files below the person's folders that hold the token; Keyway's own are listed too.
fn holders(folder: &Folder) -> Vec<String> {
    let canary = Canary::hidden(TOKEN);
    let mut files = folder.files();
    files.retain(|file| folder.at(file).is_file() && canary.leak(&folder.read(file)).is_some());
    files
}

#[test]
fn a_bridge_is_replaced_and_its_token_goes_to_the_vault() {
    let json = r#"{
  "mcpServers": {
    "search": {
      "command": "npx",
      "args": ["-y", "mcp-remote@latest", "https://search.example/mcp?api_key=SECRET", "--header", "Authorization: Bearer SECRET", "--header", "X-Tenant:${TENANT}"],
      "env": { "TENANT": "acme SECRET" }
    },
    "other": { "command": "npx", "args": ["-y", "server"] }
  }
}
"#;
    let toml = "[mcp_servers.search]\ncommand = \"npx\"\nargs = [\"mcp-remote\", \"https://search.example/mcp\", \"--header\", \"Authorization: Bearer SECRET\"]\n\n[mcp_servers.search.env]\nT = \"SECRET\"\n\n[mcp_servers.other]\ncommand = \"x\"\n";
    for (client, file, text) in [
        (
            "claude-desktop",
            "config/Claude/claude_desktop_config.json",
            json,
        ),
        ("codex", "codex/config.toml", toml),
    ] {
        let folder = bridged(file, text);
        let before = folder.read(file);
        let dry = keyway(&folder, &["install", client, "--mcp-remote", "--dry-run"]);
        assert_eq!(dry.code, 0, "{}", dry.everything());
        assert_eq!(
            Canary::literal(TOKEN).leak(&dry.everything()),
            None,
            "{}",
            dry.everything()
        );
        let outcome = keyway(&folder, &["install", client, "--mcp-remote", "--yes"]);
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        assert_eq!(Canary::literal(TOKEN).leak(&outcome.everything()), None);
        let after = folder.read(file);
        assert!(after.contains("\"--server\", \"search\""), "{after}");
        assert!(
            !after.contains("mcp-remote") && after.contains("other"),
            "{after}"
        );
        let holders = holders(&folder);
        let is_private = |file: &String| folder.mode_of(file) == 0o600;
        assert!(holders.iter().all(is_private), "{holders:?}");
        // Undoing it needs the client's file as it was; nothing else has the token in the open.
        let is_expected = |file: &String| file.contains("/clients/");
        assert!(holders.iter().all(is_expected), "{holders:?}");
        let kept = keyway(&folder, &["env", "list"]);
        assert!(kept.stdout.contains("SEARCH_TOKEN"), "{}", kept.stdout);
        let entries = folder.read("keyway/data/own/.mcp.json");
        assert!(entries.contains("Bearer ${SEARCH_TOKEN}"), "{entries}");
        assert!(entries.contains("https://search.example/mcp"), "{entries}");
        assert_eq!(keyway(&folder, &["uninstall", client, "--yes"]).code, 0);
        assert_eq!(folder.read(file), before);
    }
}

#[test]
fn only_what_waits_for_approval_is_named_and_in_words_for_a_shell() {
    let folder = folder().file("sp ace/.mcp.json", ENTRIES);
    let all = |client: &str| {
        let outcome = keyway(
            &folder,
            &["install", client, "--all", "--config", "../sp ace", "--yes"],
        );
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        outcome.stderr
    };
    let said = all("cursor");
    let line = said
        .lines()
        .find(|line| line.starts_with("approve it once"));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    let start = "approve it once: keyway trust grant db --config '";
    assert!(
        line.starts_with(start) && line.ends_with("sp ace'"),
        "{line}"
    );
    assert_eq!(said.matches("approve it once").count(), 1, "{said}");
    let granted = keyway(&folder, &["trust", "grant", "db", "--config", "../sp ace"]);
    assert_eq!(granted.code, 0, "{}", granted.everything());
    let said = all("gemini-cli");
    assert!(!said.contains("approve it once"), "{said}");
    // Another profile has approvals of its own.
    let other = keyway(
        &folder,
        &[
            "install",
            "codex",
            "--server",
            "db",
            "--config",
            "../sp ace",
            "--profile",
            "work",
            "--yes",
        ],
    );
    assert!(
        other.stderr.contains("sp ace' --profile work\n"),
        "{}",
        other.stderr
    );
}

#[test]
fn an_adopted_server_is_to_be_approved_only_if_it_is_sent_a_variable() {
    let text = "{\"mcpServers\": {\"plain\": {\"command\": \"npx\", \"args\": [\"mcp-remote\", \"https://s.example/mcp\"]}, \"keyed\": {\"command\": \"npx\", \"args\": [\"mcp-remote\", \"https://t.example/mcp?key=SECRET\"]}}}";
    let folder = bridged("home/.cursor/mcp.json", text);
    let outcome = keyway(&folder, &["install", "cursor", "--mcp-remote", "--yes"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let asked = outcome.stderr.matches("keyway trust grant").count();
    assert_eq!(asked, 1, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("keyway trust grant keyed "),
        "{}",
        outcome.stderr
    );
    let adopted = folder.at("keyway/data/own");
    let adopted = adopted.to_string_lossy();
    let granted = keyway(&folder, &["trust", "grant", "keyed", "--config", &adopted]);
    assert!(
        granted
            .stderr
            .contains("sends     ${KEYED_KEY} in the address to https://t.example"),
        "{}",
        granted.stderr
    );
    let status = keyway(&folder, &["status", "--config", &adopted]);
    assert!(status.stdout.contains("KEYED_KEY set"), "{}", status.stdout);
    assert!(
        !status.everything().contains("missing"),
        "{}",
        status.stdout
    );
    assert!(!status.everything().contains("SECRET"), "{}", status.stdout);
}

/// A shell's variable goes before the vault, so that no other service may have it.
#[test]
fn what_an_address_holds_goes_to_a_variable_of_the_servers_name() {
    let file = "home/.cursor/mcp.json";
    // In two parts, so that no scanner takes it for a real one.
    let shaped = ["ghp_", "kT8vQ2mX9wLz4Rb7Yc3NpD6sF1hJ5gA0eUiO"].concat();
    for (address, expected, value) in [
        (
            "mcp?api_key=hunter2password",
            "mcp?api_key=${MY_S_API_KEY}",
            "MY_S_API_KEY=hunter2password",
        ),
        (
            "mcp?a=1&access_token=ONESECRET111&b=2",
            "mcp?a=1&access_token=${MY_S_ACCESS_TOKEN}&b=2",
            "MY_S_ACCESS_TOKEN=ONESECRET111",
        ),
        (
            "mcp?token=abcdefgh#x",
            "mcp?token=${MY_S_TOKEN}#x",
            "MY_S_TOKEN=abcdefgh",
        ),
        (
            "mcp?apiKey=YOUR%5FKEY",
            "mcp?apiKey=${MY_S_APIKEY}",
            "MY_S_APIKEY=YOUR_KEY",
        ),
        ("mcp?key=k", "mcp?key=${MY_S_KEY}", "MY_S_KEY=k"),
        (
            "v1/SHAPED/mcp",
            "v1/${MY_S_GITHUB_TOKEN}/mcp",
            "MY_S_GITHUB_TOKEN=SHAPED",
        ),
    ] {
        let [address, value] = [address, value].map(|text| text.replace("SHAPED", &shaped));
        let text = format!(
            r#"{{"mcpServers": {{"my-s": {{"command": "npx", "args": ["mcp-remote", "https://s.example/{address}"]}}}}}}"#
        );
        let folder = folder().file(file, &text);
        let outcome = keyway(&folder, &["install", "cursor", "--mcp-remote", "--yes"]);
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        let (name, value) = value.split_once('=').unwrap();
        let kept = keyway(&folder, &["env", "list"]).stdout;
        let line = kept
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        let bytes = value.len().to_string();
        assert!(line.is_some_and(|line| line.ends_with(&bytes)), "{kept}");
        let entries = folder.read("keyway/data/own/.mcp.json");
        let expected = format!("\"https://s.example/{expected}\"");
        assert!(entries.contains(&expected), "{entries}");
    }
}

#[test]
fn a_bridge_is_pointed_out_and_stays_without_the_flag() {
    let text = "{\"mcpServers\": {\"s\": {\"command\": \"npx\", \"args\": [\"mcp-remote\", \"https://s.example/mcp\"]}, \"t\": {\"command\": \"npx\", \"args\": [\"mcp-remote\", \"https://t.example/mcp\", \"--ignore-tool\", \"x\"]}}}";
    let folder = bridged("home/.cursor/mcp.json", text);
    let outcome = keyway(&folder, &["install", "cursor", "--server", "docs", "--yes"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome
            .stderr
            .contains("`s` runs `mcp-remote`; `keyway install cursor --mcp-remote`")
    );
    assert!(
        outcome
            .stderr
            .contains("`--ignore-tool`, which Keyway does not have")
    );
    assert!(
        folder
            .read("home/.cursor/mcp.json")
            .contains("https://s.example/mcp")
    );
}

#[test]
fn a_bridge_can_go_to_a_plugin_of_the_persons_own() {
    let text = "{\"mcpServers\": {\"docs\": {\"command\": \"npx\", \"args\": [\"mcp-remote\", \"https://s.example/mcp\", \"--header\", \"X-Api-Key: SECRET\"]}}}";
    let folder = bridged("home/.cursor/mcp.json", text);
    let arguments = [
        "install",
        "cursor",
        "--mcp-remote",
        "--config",
        ".",
        "--yes",
    ];
    let outcome = keyway(&folder, &arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let entries = folder.read("plugin/.mcp.json");
    // The name is taken by another server, which stays.
    assert!(entries.contains("\"docs-2\": {"), "{entries}");
    assert!(
        entries.contains("\"X-Api-Key\": \"${DOCS_X_API_KEY}\""),
        "{entries}"
    );
    let kept = keyway(&folder, &["env", "list"]).stdout;
    assert!(kept.contains("DOCS_X_API_KEY"), "{kept}");
    assert!(!folder.at("plugin/.env").exists());
    let client = folder.read("home/.cursor/mcp.json");
    assert!(client.contains("\"docs-2\", \"--config\""), "{client}");
    assert_eq!(Canary::hidden(TOKEN).leak(&client), None);
}

#[test]
fn an_entry_that_would_start_itself_is_refused() {
    let bridge = "{\"mcpServers\": {\"s\": {\"command\": \"npx\", \"args\": [\"mcp-remote\", \"https://s.example/mcp\"]}}}";
    for (text, more) in [
        (ENTRIES, &["--all", "--replace"][..]),
        (bridge, &["--mcp-remote", "--config", "."][..]),
    ] {
        let folder = Folder::new().file("plugin/.mcp.json", text);
        let mut arguments = vec!["install", "claude-code", "--project", "--yes"];
        arguments.extend(more);
        let outcome = keyway(&folder, &arguments);
        assert_eq!(outcome.code, 2, "{}", outcome.everything());
        assert_eq!(folder.read("plugin/.mcp.json"), text);
    }
}

/// Claude Code prefers the entry of the project's `.mcp.json`, which is the plugin itself here.
#[test]
fn entry_that_the_client_does_not_use_here_is_named_with_what_to_do() {
    let folder = folder();
    let install = ["install", "claude-code", "--server", "docs", "--yes"];
    let told = keyway(&folder, &install);
    assert_eq!(told.code, 0, "{}", told.everything());
    let warning = "warning: in this project Claude Code prefers the project entry `docs` of `";
    assert!(told.stderr.contains(warning), "{}", told.stderr);
    assert!(
        told.stderr.contains("`--as docs-keyway`"),
        "{}",
        told.stderr
    );
    // It is still so when there is nothing to write.
    let again = keyway(&folder, &install);
    assert_eq!(again.code, 0, "{}", again.everything());
    let whole = format!("nothing to do\n{warning}");
    assert!(again.stderr.starts_with(&whole), "{}", again.stderr);
    let named = keyway(&folder, &[&install[..], &["--as", "docs-keyway"]].concat());
    assert_eq!(named.code, 0, "{}", named.everything());
    assert!(!named.stderr.contains("warning"), "{}", named.stderr);
    // Cursor has no entry of this project.
    let other = keyway(&folder, &["install", "cursor", "--server", "docs", "--yes"]);
    assert_eq!(other.code, 0, "{}", other.everything());
    assert!(!other.stderr.contains("warning"), "{}", other.stderr);
}

#[test]
fn where_there_are_several_servers_it_says_how_to_name_one_or_all() {
    let folder = folder();
    let outcome = keyway(&folder, &["install", "cursor"]);
    assert_eq!(outcome.code, 2, "{}", outcome.everything());
    let hint = "hint: name one of docs, db, or `--all`";
    assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);
    let all = keyway(&folder, &["install", "cursor", "--all", "--yes"]);
    assert_eq!(all.code, 0, "{}", all.everything());
}

#[test]
fn another_plugins_server_of_the_same_name_is_refused_or_gets_a_name() {
    let folder = folder().file("other/.mcp.json", ENTRIES);
    let install = ["install", "cursor", "--server", "docs", "--yes"];
    assert_eq!(keyway(&folder, &install).code, 0);
    let before = folder.read("home/.cursor/mcp.json");
    let other = [&install[..], &["--config", "../other"]].concat();
    let refused = keyway(&folder, &other);
    assert_eq!(refused.code, 1, "{}", refused.everything());
    assert!(refused.stderr.contains("--as NAME"), "{}", refused.stderr);
    assert_eq!(folder.read("home/.cursor/mcp.json"), before);
    let named = keyway(&folder, &[&other[..], &["--as", "docs2"]].concat());
    assert_eq!(named.code, 0, "{}", named.everything());
    let text = folder.read("home/.cursor/mcp.json");
    assert!(
        text.contains("\"docs\"") && text.contains("\"docs2\""),
        "{text}"
    );
    let together = keyway(
        &folder,
        &["install", "cursor", "--together", "all-of-it", "--yes"],
    );
    assert_eq!(together.code, 0, "{}", together.everything());
    let text = folder.read("home/.cursor/mcp.json");
    assert!(text.contains("[\"run\", \"--config\""), "{text}");
    let all = keyway(&folder, &["uninstall", "--all", "--yes"]);
    assert_eq!(all.code, 0, "{}", all.everything());
    assert!(!folder.at("home/.cursor/mcp.json").exists());
}
