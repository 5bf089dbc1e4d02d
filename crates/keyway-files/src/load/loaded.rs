//! A plugin as it was read, and what can be asked of its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_config::declared::DeclaredServer;
use keyway_config::document::Document;
use keyway_config::environment::{Environment as _, Scope, Variables};
use keyway_config::plugin::Plugin;
use keyway_config::source::Source;

use super::env_files;
use super::root::{Root, full_name};
use crate::config_files::CONFIG_FILES;
use crate::env_file;

/// A plugin together with where its files are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loaded {
    /// The plugin.
    pub plugin: Plugin,
    pub(super) paths: BTreeMap<Arc<str>, PathBuf>,
}

impl Loaded {
    /// A plugin of one document that no file holds.
    #[must_use]
    pub fn of_document(document: Document) -> Self {
        let plugin = Plugin::new("", vec![document]);
        Self {
            plugin,
            paths: BTreeMap::new(),
        }
    }

    /// Returns a path by which the same is read again; none for a stream.
    ///
    /// That is the folder, unless what was read is one file that is not found by its usual name
    /// there.
    #[must_use]
    pub fn config(&self) -> Option<PathBuf> {
        let root = &self.plugin.root;
        if root.as_os_str().is_empty() {
            return None;
        }
        if let [only] = self.plugin.documents.as_slice()
            && let Some(path) = self.path_of(only.source.path())
            && let Ok(path) = std::fs::canonicalize(path)
        {
            let mut usual = CONFIG_FILES.iter().map(|(name, _)| root.join(name));
            if !usual.any(|usual| std::fs::canonicalize(usual).is_ok_and(|usual| usual == path)) {
                return Some(path);
            }
        }
        Some(root.clone())
    }

    /// Returns the file behind the name that diagnostics and edits use; none for a stream.
    #[must_use]
    pub fn path_of(&self, file: &str) -> Option<&Path> {
        self.paths.get(file).map(PathBuf::as_path)
    }

    /// Returns the text behind the name that diagnostics and edits use.
    #[must_use]
    pub fn source(&self, file: &str) -> Option<&Source> {
        let snapshot = &self.plugin.snapshot;
        let documents = self.plugin.documents.iter().map(|found| &found.source);
        let scripts = snapshot.programs.values().filter_map(|p| p.script.as_ref());
        documents
            .chain(&snapshot.prose)
            .chain(&snapshot.readme)
            .chain(scripts)
            .find(|source| source.path() == file)
    }

    /// Reads the variables of the files that entries name by `envFile`, by what is written there:
    /// an entry gets those of its own file, and of no other entry's.
    ///
    /// The names are filled in from `scope`, which therefore cannot have these variables yet.
    #[must_use]
    pub fn named_variables(&self, scope: &Scope<'_>) -> BTreeMap<String, Variables> {
        let root = self.root();
        let servers = self.plugin.servers();
        let named = servers.filter_map(|(_, server)| server.env_file.as_ref());
        let read = named.filter_map(|field| {
            let file = env_files::filled(&root, &field.template, scope)?;
            let variables = env_file::load(&file).ok()?;
            Some((field.template.as_str().to_owned(), variables))
        });
        read.collect()
    }

    /// Returns the file that an entry names by `envFile`, if that sets a variable.
    #[must_use]
    pub fn file_of_variable(
        &self,
        server: &DeclaredServer,
        name: &str,
        scope: &Scope<'_>,
    ) -> Option<PathBuf> {
        let written = &server.env_file.as_ref()?.template;
        let file = env_files::filled(&self.root(), written, scope)?;
        let variables = env_file::load(&file).ok()?;
        variables.get(name).is_some().then_some(file)
    }

    /// Returns every file that a change of the plugin's servers would show in: those that are
    /// there, and those that could be.
    #[must_use]
    pub fn watched(&self) -> Vec<PathBuf> {
        let root = &self.plugin.root;
        let possible = CONFIG_FILES.iter().map(|(name, _)| root.join(name));
        let documents = self.plugin.documents.iter();
        let read = documents.filter_map(|document| self.paths.get(document.source.path()));
        let mut files: Vec<PathBuf> = possible.chain(read.cloned()).collect();
        files.extend(env_files::named(&self.root(), &self.plugin));
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Puts another text in place of a file's, as if it had been read; nothing is written.
    pub fn set_text(&mut self, file: &str, text: &str) {
        let source = Source::new(file, text.as_bytes());
        let path = self.path_of(file).map(full_name);
        let path = path.unwrap_or_else(|| file.to_owned());
        for document in &mut self.plugin.documents {
            if document.source.path() == file {
                *document = document.read_again(&path, source.clone());
            }
        }
        let snapshot = &mut self.plugin.snapshot;
        let scripts = snapshot
            .programs
            .values_mut()
            .filter_map(|p| p.script.as_mut());
        for other in snapshot
            .prose
            .iter_mut()
            .chain(&mut snapshot.readme)
            .chain(scripts)
        {
            if other.path() == file {
                *other = source.clone();
            }
        }
    }

    fn root(&self) -> Root {
        Root {
            given: self.plugin.root.clone(),
            canonical: self.plugin.root.clone(),
        }
    }
}
