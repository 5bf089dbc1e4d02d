//! What was found, in words and as JSON.

use std::path::Path;

use keyway_secret::printable;
use serde_json::{Value, json};

use super::{Breakage, EntryKind, EntryScope, Machine, SurveyedClient, SurveyedEntry};
use crate::install::{InstallError, Receipts, Recognised};

impl Machine<'_> {
    /// Marks the entries that stand in for a server of a plugin which is no longer what it was; the
    /// record of entries is below Keyway's folder for data.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if the record cannot be read.
    pub fn mark_stale(
        &self,
        data: &Path,
        found: &mut [SurveyedClient],
    ) -> Result<(), InstallError> {
        let records = Receipts::open(data)?;
        for receipt in self.stale(&records.all) {
            let clients = found
                .iter_mut()
                .filter(|it| it.client.name == receipt.client);
            let entries = clients.flat_map(|it| &mut it.entries);
            let ours = entries.filter(|it| {
                it.name == receipt.name && it.scope == EntryScope::User && it.broken.is_none()
            });
            for entry in ours {
                let plugin = receipt.stands_for.as_ref().map(|it| it.plugin.clone());
                entry.broken = plugin.map(|plugin| Breakage::Stale { plugin });
            }
        }
        Ok(())
    }
}

impl SurveyedEntry {
    /// Says what it is, in a word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match &self.kind {
            EntryKind::Keyway => "keyway",
            EntryKind::Other(Recognised::Remote(_) | Recognised::Unsupported { .. }) => "remote",
            EntryKind::Other(_) => "program",
            EntryKind::Invalid => "invalid",
        }
    }

    /// Says what a person should know of it.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.holds_secret {
            notes.push("holds a secret".to_owned());
        }
        notes.extend(self.broken.as_ref().map(|broken| match broken {
            Breakage::NoProgram(path) => {
                format!("broken: there is no {}", printable(&path.to_string_lossy()))
            }
            Breakage::NoPlugin(path) => {
                let path = printable(&path.to_string_lossy());
                format!("broken: there is no plugin {path}")
            }
            Breakage::Stale { plugin } => {
                let plugin = printable(plugin);
                format!("stale: {plugin} changed; `keyway adopt` removes the entry")
            }
        }));
        if let Some(scope) = &self.shadowed_by {
            notes.push(format!("the {} entry takes precedence", scope.as_str()));
        }
        if let EntryScope::Local { project } = &self.scope {
            notes.push(format!("in {}", printable(project)));
        }
        notes
    }
}

impl SurveyedClient {
    /// Returns it as `keyway clients --format json` prints it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let entries = self.entries.iter().map(|it| {
            json!({
                "name": it.name,
                "scope": it.scope.as_str(),
                "file": it.file.to_string_lossy(),
                "is": it.word(),
                "holds_secret": it.holds_secret,
                "shadowed_by": it.shadowed_by.as_ref().map(EntryScope::as_str),
                "is_broken": it.broken.is_some(),
            })
        });
        let problems = self.problems.iter().map(ToString::to_string);
        json!({
            "client": self.client.name,
            "file": self.user_file.to_string_lossy(),
            "entries": entries.collect::<Vec<Value>>(),
            "problems": problems.collect::<Vec<String>>(),
        })
    }
}
