//! A plugin folder as the linter sees it: its documents, and a snapshot of the files they speak of.
//!
//! This is data. The caller reads the files; an editor may fill in only the documents.

#![expect(
    clippy::exhaustive_enums,
    reason = "rules, approvals and transports decide about every variant; a new one must not compile unnoticed"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::declared::{DeclaredServer, Field};
use crate::dialect::folders_above;
use crate::document::{Document, DocumentKind, Entry};
use crate::environment::{HOST_VARIABLES, HostVariables};
use crate::paths::lexical;
use crate::prompt::Prompt;
use crate::source::Source;
use crate::template::{Part, Template};

/// A plugin folder, read once.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Plugin {
    /// The folder.
    pub root: PathBuf,
    /// The files with entries, the manifests last, so that a later entry wins.
    pub documents: Vec<Document>,
    /// The other files that rules look at.
    pub snapshot: Snapshot,
}

/// The files that entries speak of, as they were when the plugin was read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// The plugin's README.
    pub readme: Option<Source>,
    /// README, documentation and scripts: what a reader of the repository sees.
    pub prose: Vec<Source>,
    /// `.env` files in the root and files named by `envFile`.
    pub env_files: Vec<EnvFile>,
    /// Programs that helpers name, by the text in the entry.
    pub programs: BTreeMap<String, Program>,
    /// Files that a manifest's `mcpServers` names, by the text in the manifest.
    pub references: BTreeMap<String, Reference>,
}

/// What became of a file that a manifest names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// It is among the documents.
    Read,
    /// There is no such file.
    Missing,
    /// It is not a `.json` file.
    NotJson,
    /// It is an MCP bundle of the plugin, or the address of one: its host unpacks and starts it; here
    /// its manifest is checked, if it is a file.
    Bundle,
    /// It lies outside of the plugin root, links followed, and was not opened.
    OutsidePlugin,
    /// It is there, but cannot be read.
    Unreadable,
}

/// A file with variables.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EnvFile {
    /// Its path below the plugin root.
    pub path: String,
    /// Whether it is there.
    pub exists: bool,
    /// Whether version control ignores it; `None` outside of version control.
    pub ignored: Option<bool>,
    /// Whether it is committed already.
    pub tracked: bool,
}

/// A program that a helper names.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Program {
    /// Whether it can be run.
    pub state: ProgramState,
    /// Whether it lies inside the plugin root, links followed.
    pub inside_root: bool,
    /// Its text, if it is a script.
    pub script: Option<Source>,
}

/// Whether a program can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramState {
    /// There is no such file.
    Missing,
    /// It is there, but may not be executed.
    NotExecutable,
    /// It can be run.
    Executable,
}

impl EnvFile {
    /// Describes a file that is there, outside of version control.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            exists: true,
            ignored: None,
            tracked: false,
        }
    }
}

impl Program {
    /// Describes a program by what was found at its path.
    #[must_use]
    pub const fn new(state: ProgramState, inside_root: bool, script: Option<Source>) -> Self {
        Self {
            state,
            inside_root,
            script,
        }
    }
}

impl Plugin {
    /// Makes a plugin of documents; nothing is known of the files that they speak of.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, documents: Vec<Document>) -> Self {
        Self {
            root: root.into(),
            documents,
            snapshot: Snapshot::default(),
        }
    }

    /// Reads one file of entries as a plugin of its own, as an editor does with an open buffer.
    ///
    /// `path` is what diagnostics show; nothing is read from the disk.
    #[must_use]
    pub fn from_text(root: impl Into<PathBuf>, path: &str, text: &str) -> Self {
        let source = Source::new(path, text.as_bytes());
        Self::new(root, vec![Document::parse(source, DocumentKind::Entries)])
    }

    /// Returns the name in the manifest, or else the name of the folder.
    #[must_use]
    pub fn name(&self) -> String {
        let declared = self
            .documents
            .iter()
            .find_map(|document| document.plugin_name.as_ref());
        declared.map_or_else(
            || {
                self.root
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned()
            },
            |field| field.template.as_str().to_owned(),
        )
    }

    /// Says whether the folder carries a manifest.
    #[must_use]
    pub fn has_manifest(&self) -> bool {
        self.documents
            .iter()
            .any(|document| document.kind == DocumentKind::Manifest)
    }

    /// Returns all entries with the document they stand in.
    pub fn entries(&self) -> impl Iterator<Item = (&Document, &Entry)> {
        let documents = self.documents.iter();
        documents.flat_map(|document| document.entries.iter().map(move |entry| (document, entry)))
    }

    /// Returns the entries that follow the grammar.
    pub fn servers(&self) -> impl Iterator<Item = (&Document, &DeclaredServer)> {
        let documents = self.documents.iter();
        documents.flat_map(|document| document.servers().map(move |server| (document, server)))
    }

    /// Returns the first `envFile` that names the file at `path` below the plugin root.
    #[must_use]
    pub fn env_file_field(&self, path: &str) -> Option<(&Document, &DeclaredServer, &Field)> {
        let place = |path: &str| lexical(&self.root.join(path));
        self.servers().find_map(|(document, server)| {
            let field = server.env_file.as_ref()?;
            let named = below_root(&field.template)?;
            (place(&named) == place(path)).then_some((document, server, field))
        })
    }

    /// Returns a path below the plugin root as a person would write it who wrote the root's.
    #[must_use]
    pub fn shown(&self, below: &str) -> String {
        let document = self.documents.first().map(|found| found.source.path());
        let folder = document.and_then(|path| Path::new(path).parent());
        let above = document.map_or(0, folders_above);
        let root = (0..above).try_fold(folder.unwrap_or(Path::new("")), |at, _| at.parent());
        let path = root.unwrap_or(Path::new("")).join(below);
        path.to_string_lossy().into_owned()
    }

    /// Returns the name of a file of the plugin from its root: it is the same however the root was
    /// written on the command line.
    #[must_use]
    pub fn name_below<'a>(&self, path: &'a str) -> &'a str {
        let root = self.shown("");
        let below = path.strip_prefix(root.as_str()).unwrap_or(path);
        below.trim_start_matches('/')
    }

    /// Returns the values of the host variables for this plugin, for display and containment.
    #[must_use]
    pub fn host_variables(&self) -> HostVariables {
        let prompts = self.prompts();
        let defaults = prompts.filter_map(|it| Some((it.variable.clone(), it.default.clone()?)));
        HostVariables {
            plugin_root: self.root.clone(),
            defaults: defaults.collect(),
            ..HostVariables::default()
        }
    }

    /// Returns what its files say to ask a person for.
    pub fn prompts(&self) -> impl Iterator<Item = &Prompt> {
        self.documents.iter().flat_map(|document| &document.prompts)
    }
}

/// The path that a template names below the plugin root, if that can be said without variables.
#[must_use]
pub fn below_root(template: &Template) -> Option<String> {
    match template.parts() {
        [Part::Literal { text, .. }] => Some(text.clone()),
        [Part::Variable(root), Part::Literal { text, .. }] => {
            let is_root = HOST_VARIABLES.first().is_some_and(|(name, aliases)| {
                *name == root.name || aliases.contains(&root.name.as_str())
            });
            is_root.then(|| text.trim_start_matches('/').to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_root_are_shown_beside_its_documents() {
        for (document, shown) in [
            (".mcp.json", ".env"),
            ("plugins/a/.mcp.json", "plugins/a/.env"),
            ("plugins/a/.claude-plugin/plugin.json", "plugins/a/.env"),
            ("a/.kiro/settings/mcp.json", "a/.env"),
            (".vscode/mcp.json", ".env"),
        ] {
            let source = Source::new(document, b"{}");
            let plugin = Plugin {
                documents: vec![Document::parse(source, DocumentKind::Entries)],
                ..Plugin::default()
            };
            assert_eq!(plugin.shown(".env"), shown);
        }
    }
}
