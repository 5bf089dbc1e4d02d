//! Clients as people have them: what `keyway install` writes is what they read, and they connect.
//!
//! Neither needs an account for that. Each has a home of its own.

use std::process::Output;

use keyway_testkit::{Folder, Keyway};

use crate::tools::{self, CLAUDE, GEMINI, NODE, Tools, keyway};

const EVERYTHING: &str = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// A plugin with the reference server, approved and installed.
fn installed(tools: &Tools, client: &str) -> Folder {
    let (node, server) = (tools.at(NODE), tools.at(EVERYTHING));
    let entries =
        format!(r#"{{"everything": {{"command": "{node}", "args": ["{server}", "stdio"]}}}}"#);
    let folder = Folder::with_entries(&entries).file("person/work/.keep", "");
    for arguments in [
        vec!["install", client, "--all", "--yes"],
        vec!["trust", "grant", "everything"],
    ] {
        let call = keyway(&folder).env("HOME", folder.at("person"));
        let outcome = call.args(arguments).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }
    folder
}

/// Runs a client in the person's home, away from the plugin.
fn run(tools: &Tools, folder: &Folder, script: &str, arguments: &[&str]) -> Output {
    let home = folder.at("person");
    tools::client(tools, script, &home)
        .args(arguments)
        .current_dir(home.join("work"))
        .env("KEYWAY_HOME", folder.at("home"))
        .output()
        .unwrap()
}

fn printed(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}

fn line_of<'a>(printed: &'a str, server: &str) -> Option<&'a str> {
    printed
        .lines()
        .find(|line| line.contains(&format!("{server}:")))
}

#[test]
fn claude_code_connects_through_an_installed_entry_and_loses_it_again() {
    let Some(tools) = Tools::find(&[NODE, EVERYTHING, CLAUDE]) else {
        return;
    };
    let folder = installed(&tools, "claude-code");
    let listed = printed(&run(&tools, &folder, CLAUDE, &["mcp", "list"]));
    let line = line_of(&listed, "everything").unwrap_or_default();
    assert!(line.ends_with("✔ Connected"), "{listed}");
    let shown = printed(&run(&tools, &folder, CLAUDE, &["mcp", "get", "everything"]));
    let plugin = folder.path().canonicalize().unwrap();
    let args = format!(
        "Args: run --server everything --config {}",
        plugin.display()
    );
    let program = concat!("Command: ", env!("CARGO_BIN_EXE_keyway"));
    for line in [
        "Scope: User config",
        "Status: ✔ Connected",
        "Type: stdio",
        program,
        &args,
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    // The client has rewritten its file by now.
    let call = keyway(&folder).env("HOME", folder.at("person"));
    let outcome = call.args(["uninstall", "claude-code", "--yes"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let listed = printed(&run(&tools, &folder, CLAUDE, &["mcp", "list"]));
    assert_eq!(line_of(&listed, "everything"), None, "{listed}");
}

/// What `keyway install` warns of: a project's entry of the same name, once it is enabled, counts.
#[test]
fn claude_code_prefers_a_projects_entry_of_the_same_name() {
    let Some(tools) = Tools::find(&[NODE, EVERYTHING, CLAUDE]) else {
        return;
    };
    let folder = installed(&tools, "claude-code");
    let entry =
        r#"{"mcpServers": {"everything": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}}"#;
    let folder = folder.file("person/work/.mcp.json", entry);
    let text = folder.read("person/.claude.json");
    let mut settings: serde_json::Value = serde_json::from_str(&text).unwrap();
    let work = folder.at("person/work").canonicalize().unwrap();
    settings["projects"][work.to_str().unwrap()] = serde_json::json!({
        "hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["everything"]
    });
    let folder = folder.file("person/.claude.json", settings.to_string());
    let shown = printed(&run(&tools, &folder, CLAUDE, &["mcp", "get", "everything"]));
    assert!(shown.contains("Scope: Project config"), "{shown}");
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), &work);
    let call = call
        .env("HOME", folder.at("person"))
        .env("KEYWAY_HOME", folder.at("home"));
    let listed = call.args(["clients"]).run().stdout;
    assert!(
        listed.contains("the project entry takes precedence"),
        "{listed}"
    );
}

#[test]
fn gemini_cli_connects_through_an_installed_entry() {
    let Some(tools) = Tools::find(&[NODE, EVERYTHING, GEMINI]) else {
        return;
    };
    let folder = installed(&tools, "gemini-cli");
    let listed = printed(&run(&tools, &folder, GEMINI, &["mcp", "list"]));
    let line = line_of(&listed, "everything").unwrap_or_default();
    assert!(line.ends_with("- Connected"), "{listed}");
}
