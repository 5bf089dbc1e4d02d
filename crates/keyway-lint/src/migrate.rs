//! Migrations as data: what would change in which file, and what is left to the person.
//!
//! Nothing is read and nothing is written here; the files around the entries come in as
//! [`PluginFiles`]. A caller that writes the result keeps to the order of [`env::EnvPlan`], so that
//! the only copy of a token is never destroyed.

pub mod env;
pub(crate) mod judge;
mod lines;
pub(crate) mod names;
pub mod oauth;

use std::collections::BTreeSet;
use std::sync::Arc;

use keyway_code::Code;
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::document::Document;
use keyway_config::environment::nearest;
use keyway_config::json::Node;
use keyway_config::plugin::Plugin;
use keyway_secret::Secret;

pub use self::lines::{with_assignment, with_replacement};
pub use self::names::VariableNaming;

/// What a person asked to migrate.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Selection<'a> {
    /// The whole plugin.
    pub plugin: &'a Plugin,
    /// The documents to change, by their path.
    pub files: &'a [Arc<str>],
    /// The only entry to change.
    pub server: Option<&'a str>,
}

impl<'a> Selection<'a> {
    /// Selects documents of a plugin, and in them one entry or all.
    #[must_use]
    pub const fn new(plugin: &'a Plugin, files: &'a [Arc<str>], server: Option<&'a str>) -> Self {
        Self {
            plugin,
            files,
            server,
        }
    }

    /// Returns the documents to change.
    pub fn documents(&self) -> impl Iterator<Item = &'a Document> {
        let files = self.files;
        let documents = self.plugin.documents.iter();
        documents.filter(move |document| files.iter().any(|file| **file == *document.source.path()))
    }

    /// Says whether there is an entry of the name that was asked for.
    #[must_use]
    pub fn has_server(&self) -> bool {
        self.server
            .is_none_or(|wanted| self.names().any(|name| name == wanted))
    }

    /// Returns the name of an entry that the person may have meant.
    #[must_use]
    pub fn near_server(&self) -> Option<String> {
        let near = nearest(self.server?, self.names());
        near.first().map(|&name| name.to_owned())
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        let entries = self.documents().flat_map(|document| &document.entries);
        entries.map(|entry| entry.name.as_str())
    }
}

/// The files of the plugin root besides the entries, as they were when they were read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PluginFiles {
    /// The text of `.env`.
    pub env: Option<Secret<String>>,
    /// Why nothing may be written to `.env`.
    pub env_obstacle: Option<EnvObstacle>,
    /// Whether the ignore file lists `.env` already.
    pub env_is_ignored: bool,
    /// The text of `.env.example`.
    pub example: Option<String>,
    /// The text of `.gitignore`.
    pub ignore: Option<String>,
    /// The documents that are in version control.
    pub tracked: BTreeSet<Arc<str>>,
}

/// Why nothing may be written to `.env`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvObstacle {
    /// It is committed, or about to be.
    Tracked,
    /// It is a link, and what it leads to may not be ignored.
    Link,
    /// The folder is a person's home, where no `.env` belongs.
    Home,
    /// The folder is a host's own, where only its files belong.
    HostFolder,
}

/// Says whether a file may be changed: its text means the same to every reader that takes it.
fn is_changeable(document: &Document) -> bool {
    let root = document.tree.root.as_ref().and_then(Node::as_object);
    let mut faults = document.tree.faults.iter();
    document.source.defect().is_none()
        && faults.all(|fault| fault.kind.is_cosmetic())
        && root.is_some_and(|root| root.repeated().is_empty())
}

/// Makes a note about no place in particular.
fn note(code: Code, severity: Severity, message: String, hint: &str) -> Diagnostic {
    Diagnostic::new(code, severity, message).with_hint(hint)
}
