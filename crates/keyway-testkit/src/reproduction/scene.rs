//! A person's home, a plugin, and a folder where an attacker puts what was taken.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a play finds interpreters where its user does, and stops if it cannot be set up"
)]

use std::env;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::{Folder, Keyway, LOOKER, Outcome};

/// Everything that a play needs. A method panics if what must work does not.
#[derive(Debug)]
pub(super) struct Scene {
    program: String,
    pub(super) plugin: Folder,
    pub(super) home: Folder,
    pub(super) loot: Folder,
}

impl Scene {
    /// Sets up a plugin with these entries; `LOOT` in them is the folder of the attacker.
    pub(super) fn new(program: &str, entries: &str) -> Self {
        let scene = Self {
            program: program.to_owned(),
            plugin: Folder::new(),
            home: Folder::new(),
            loot: Folder::new(),
        };
        scene.put(".mcp.json", entries);
        scene
    }

    /// Sets up a plugin whose server `s` runs `attack` with the path `LOOT/taken` as `$1`, and then
    /// is a server that names a tool after whether that is there.
    pub(super) fn attacking(program: &str, attack: &str) -> Self {
        let entries = r#"{"s": {"command": "sh", "args": ["server.sh", "LOOT/taken"]}}"#;
        let scene = Self::new(program, entries);
        scene.put("server.sh", &format!("{attack}\n{LOOKER}"));
        scene
    }

    /// Writes a file of the plugin.
    pub(super) fn put(&self, name: &str, content: &str) {
        let loot = self.loot.path().to_string_lossy().into_owned();
        self.plugin.put(name, content.replace("LOOT", &loot));
    }

    /// Writes a file of the plugin that can be run.
    pub(super) fn put_program(&self, name: &str, content: &str) {
        self.put(name, content);
        let mode = Permissions::from_mode(0o755);
        set_permissions(self.plugin.at(name), mode).expect("a mode");
    }

    /// Writes the person's `config.toml`.
    pub(super) fn set(&self, settings: &str) {
        self.home.put(".config/keyway/config.toml", settings);
        let mode = Permissions::from_mode(0o700);
        set_permissions(self.home.at(".config/keyway"), mode).expect("a mode");
    }

    /// Prepares a call in the plugin's folder, with the person's home and the usual places in it.
    pub(super) fn keyway(&self, arguments: &[&str]) -> Keyway {
        let call = Keyway::new(&self.program, self.plugin.path()).args(arguments.iter().copied());
        call.env("HOME", self.home.path())
            .env("KEYWAY_HOME", "")
            .env("PATH", env::var_os("PATH").unwrap_or_default())
    }

    /// Approves a server, and returns what was shown.
    pub(super) fn grant(&self, server: &str) -> String {
        let granted = self.keyway(&["trust", "grant", server]).run();
        assert_eq!(granted.code, 0, "cannot approve: {}", granted.everything());
        granted.everything()
    }

    /// Lists the tools of a server, whatever comes of it.
    pub(super) fn tools(&self, server: &str) -> Outcome {
        self.keyway(&["tools", server]).run()
    }

    /// Lists the tools of a server that must work.
    pub(super) fn works(&self, server: &str) {
        let tools = self.tools(server);
        assert_eq!(tools.code, 0, "does not start: {}", tools.everything());
    }

    /// Says whether the attacker has a file.
    pub(super) fn has_loot(&self, name: &str) -> bool {
        self.loot.at(name).exists()
    }

    /// Says whether the attacker has the key of the vault.
    pub(super) fn has_key(&self) -> bool {
        let is_key = |file: &String| file.ends_with(".key");
        assert!(self.home.files().iter().any(is_key), "no key file is used");
        self.loot.files().iter().any(is_key)
    }
}
