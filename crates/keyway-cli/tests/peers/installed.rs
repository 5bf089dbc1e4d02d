//! Servers as plugins start them, kept from Keyway's folders, in a home where nothing is yet.
//!
//! `npx` and `uvx` fetch what they start, as they do for every user.

use keyway_testkit::{Folder, Keyway};
use serde_json::json;

use crate::tools::{PYTHON, Tools, keyway, script};

const UVX: &str = "python/bin/uvx";
/// How often each is started after one approval.
const STARTS: usize = 10;

/// A plugin with one server `s`, in a home where nothing is yet.
struct Plugin {
    folder: Folder,
}

impl Plugin {
    /// A server that is a program; `SHARED` among its words is a folder to work on.
    fn new(command: &str, words: &str) -> Self {
        let folder = Folder::new()
            .file("fresh/.profile", "")
            .file("shared/notes.txt", "mine");
        let shared = folder.at("shared").display().to_string();
        let words = words.replace("SHARED", &shared);
        let entry = format!(r#"{{"s": {{"command": "{command}", "args": [{words}]}}}}"#);
        folder.put(".mcp.json", entry);
        Self { folder }
    }

    fn keyway(&self, words: &[&str]) -> Keyway {
        let call = keyway(&self.folder).env("HOME", self.folder.at("fresh"));
        call.args(words.iter().copied())
    }

    #[track_caller]
    fn approve(&self) {
        let outcome = self.keyway(&["trust", "grant", "s"]).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }

    /// Lists its tools; a server that would have to be approved again lists none.
    #[track_caller]
    fn lists(&self, tool: &str) {
        let outcome = self.keyway(&["tools", "s"]).run();
        assert!(
            outcome.stdout.lines().any(|line| line.starts_with(tool)),
            "{}",
            outcome.everything()
        );
    }

    /// Confines its programs, with folders of its own home or of this machine granted.
    #[track_caller]
    fn confine(&self, grants: &[&str], read_only: &[&str]) {
        for folder in grants.iter().filter(|folder| !folder.starts_with('/')) {
            std::fs::create_dir_all(self.folder.at(folder)).unwrap();
        }
        let listed = |folders: &[&str]| {
            let folders = folders.iter().map(|folder| self.folder.at(folder));
            let folders: Vec<_> = folders.map(|it| it.display().to_string()).collect();
            json!(folders).to_string()
        };
        let settings = format!(
            "[sandbox]\nprofile = \"confine\"\ngrants = {}\nread_only_grants = {}\n",
            listed(grants),
            listed(read_only),
        );
        self.folder.put("home/config/config.toml", settings);
        self.approve();
        let status = self.keyway(&["status", "--format", "json"]).run();
        assert!(
            status.stdout.contains("confined to"),
            "{}",
            status.everything()
        );
    }
}

/// Threat E5: package runners write caches and locks of their own, and ask once.
#[test]
fn e05_npx_starts_real_servers_ten_times_after_one_approval_and_confined() {
    let Some(_) = Tools::find(&[]) else {
        return;
    };
    for (package, arguments, tool, starts) in [
        ("server-everything", "", "get-sum", STARTS),
        ("server-filesystem", r#", "SHARED""#, "read_text_file", 2),
    ] {
        let words = format!(r#""-y", "@modelcontextprotocol/{package}@2026.8.31"{arguments}"#);
        let plugin = Plugin::new("npx", &words);
        plugin.approve();
        for _ in 0..starts {
            plugin.lists(tool);
        }
        plugin.confine(&["fresh/.npm", "shared"], &[]);
        plugin.lists(tool);
    }
}

#[test]
fn e05_uvx_starts_real_servers_ten_times_after_one_approval_and_confined() {
    let Some(tools) = Tools::find(&[UVX]) else {
        return;
    };
    let (uvx, python) = (tools.at(UVX), tools.at("python"));
    for (words, tool, starts) in [
        (
            r#""mcp-server-git@2026.10.19", "--repository", "SHARED""#,
            "git_status",
            STARTS,
        ),
        (r#""mcp-server-fetch@2026.10.24""#, "fetch", 2),
    ] {
        let plugin = Plugin::new(&uvx, words);
        let made = std::process::Command::new("git")
            .args(["init", "--quiet"])
            .arg(plugin.folder.at("shared"))
            .status();
        assert!(made.unwrap().success());
        plugin.approve();
        for _ in 0..starts {
            plugin.lists(tool);
        }
        // Its cache, the Pythons that it keeps, what the server works on, and uv itself.
        let grants = ["fresh/.cache/uv", "fresh/.local/share/uv", "shared"];
        plugin.confine(&grants, &[&python]);
        plugin.lists(tool);
    }
}

#[test]
fn a_virtual_environment_starts_a_server() {
    let Some(tools) = Tools::find(&[PYTHON]) else {
        return;
    };
    let (python, script) = (tools.at(PYTHON), script("server.py"));
    let plugin = Plugin::new(&python, &format!(r#""{script}", "stdio""#));
    plugin.approve();
    plugin.lists("echo");
    plugin.lists("echo");
}
