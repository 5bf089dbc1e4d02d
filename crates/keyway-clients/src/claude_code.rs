//! What Claude Code keeps beside its entries: installed plugins, trust in folders, and its memory of
//! servers that wanted a sign-in.
//!
//! Watched with 2.1.326. The lists of plugins are read and never written; a plugin's cache is not
//! edited, because an update replaces it.

use std::path::{Path, PathBuf};

use keyway_config::edit::{Edit, apply};
use keyway_config::json::{self, Node};
use keyway_config::source::{MAX_BYTES, Source};
use serde_json::Value;

use crate::clients::Homes;
use crate::install::{InstallError, MAX_CLIENT_FILE};
use keyway_files::error::LoadError;
use keyway_files::{read, write};

/// The folder of Claude Code's own files.
#[derive(Debug, Clone)]
pub struct ClaudeCode {
    folder: PathBuf,
}

/// A plugin that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledPlugin {
    /// `PLUGIN@MARKETPLACE`.
    pub id: String,
    /// Where its files are.
    pub path: PathBuf,
    /// Whether the client uses it.
    pub is_enabled: bool,
}

impl InstalledPlugin {
    /// Returns the name without the marketplace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.id.split_once('@').map_or(&self.id, |(name, _)| name)
    }
}

impl ClaudeCode {
    /// Finds the folder.
    #[must_use]
    pub fn find(homes: &Homes<'_>) -> Self {
        let named = homes.named("CLAUDE_CONFIG_DIR");
        Self {
            folder: named.unwrap_or_else(|| homes.home.join(".claude")),
        }
    }

    /// Returns the plugins that are installed for this person.
    #[must_use]
    pub fn plugins(&self) -> Vec<InstalledPlugin> {
        let listed = self.json("plugins/installed_plugins.json");
        let settings = self.json("settings.json");
        let enabled = settings.get("enabledPlugins");
        let is_enabled = |id: &str| {
            let switch = enabled.and_then(|it| it.get(id)).and_then(Value::as_bool);
            switch == Some(true)
        };
        let plugins = listed.get("plugins").and_then(Value::as_object);
        let plugins = plugins.into_iter().flatten().filter_map(|(id, it)| {
            // One installation, or a list with one for each scope.
            let installed = it.as_array().and_then(|all| all.first()).unwrap_or(it);
            let path = PathBuf::from(installed.get("installPath")?.as_str()?);
            Some(InstalledPlugin {
                is_enabled: is_enabled(id),
                id: id.clone(),
                path,
            })
        });
        plugins.collect()
    }

    /// Takes servers out of the memory by which sessions leave them alone for a quarter of an hour
    /// after they wanted a sign-in. It is keyed by name alone, so that it would keep ours away too.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if the file is there and cannot be written.
    pub fn forget_needs_auth(&self, names: &[String]) -> Result<(), InstallError> {
        let path = self.folder.join(NEEDS_AUTH);
        let before = match read::bounded(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(LoadError::Missing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let source = Source::new(NEEDS_AUTH, &before);
        let tree = json::read(source.text());
        let Some(object) = tree.root.as_ref().and_then(Node::as_object) else {
            return Ok(());
        };
        let places = object.members.iter().enumerate();
        let places = places.filter(|(_, member)| names.contains(&member.key));
        let edits: Vec<Edit> = places
            .filter_map(|(at, _)| Edit::remove_member(&source, object, at))
            .collect();
        // Two neighbours cannot be cut out at once; the client forgets the rest by itself.
        let Some(first) = edits.first() else {
            return Ok(());
        };
        let after = if edits.len() == object.members.len() {
            "{}".to_owned()
        } else {
            apply(source.text(), &[first])
        };
        write::replace(&path, &before, after.as_bytes())?;
        if edits.len() > 1 && after != "{}" {
            return self.forget_needs_auth(names);
        }
        Ok(())
    }

    fn json(&self, below: &str) -> Value {
        let bytes = read::bounded(&self.folder.join(below), MAX_BYTES);
        let value = bytes.ok().and_then(|it| serde_json::from_slice(&it).ok());
        value.unwrap_or(Value::Null)
    }
}

/// Says whether the client runs a project's helpers: the person trusted the folder.
#[must_use]
pub fn is_trusted(user_file: &Path, project: &str) -> bool {
    let bytes = read::bounded(user_file, MAX_CLIENT_FILE).ok();
    let value: Option<Value> = bytes.and_then(|it| serde_json::from_slice(&it).ok());
    let trusted = value.as_ref().and_then(|it| {
        let project = it.get("projects")?.get(project)?;
        project.get("hasTrustDialogAccepted")?.as_bool()
    });
    trusted == Some(true)
}

const NEEDS_AUTH: &str = "mcp-needs-auth-cache.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn claude(files: &[(&str, &str)]) -> (tempfile::TempDir, ClaudeCode) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            write::create(&path, text.as_bytes(), 0o600).unwrap();
        }
        let claude = ClaudeCode {
            folder: folder.path().to_owned(),
        };
        (folder, claude)
    }

    #[test]
    fn plugins_are_listed_with_their_folder_and_switch() {
        let (_folder, claude) = claude(&[
            (
                "plugins/installed_plugins.json",
                r#"{"version": 2, "plugins": {"a@m": [{"scope": "user", "installPath": "/c/a/1"}], "b@m": {"installPath": "/c/b/1"}, "c@m": {}}}"#,
            ),
            (
                "settings.json",
                r#"{"enabledPlugins": {"a@m": true, "b@m": false}}"#,
            ),
        ]);
        let found: Vec<(String, bool)> = claude
            .plugins()
            .into_iter()
            .map(|it| (it.name().to_owned(), it.is_enabled))
            .collect();
        assert_eq!(found, [("a".to_owned(), true), ("b".to_owned(), false)]);
    }

    #[test]
    fn memory_of_other_servers_stays() {
        let text =
            r#"{"docs":{"timestamp":1},"plugin:a:s":{"timestamp":2},"other":{"timestamp":3}}"#;
        let (folder, claude) = claude(&[(NEEDS_AUTH, text)]);
        let ours = ["docs".to_owned(), "plugin:a:s".to_owned()];
        claude.forget_needs_auth(&ours).unwrap();
        let left = std::fs::read_to_string(folder.path().join(NEEDS_AUTH)).unwrap();
        let left: Value = serde_json::from_str(&left).unwrap();
        assert_eq!(left, serde_json::json!({"other": {"timestamp": 3}}));
        claude.forget_needs_auth(&["other".to_owned()]).unwrap();
        let left = std::fs::read_to_string(folder.path().join(NEEDS_AUTH)).unwrap();
        assert_eq!(left, "{}");
    }
}
