//! The configuration files of one root, in their order, and the files that manifests name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_config::document::{Document, DocumentKind};
use keyway_config::plugin::Reference;
use keyway_config::source::{MAX_BYTES, Source};
use keyway_config::template::Template;

use super::Root;
use super::root::full_name;
use crate::config_files::CONFIG_FILES;
use crate::error::LoadError;
use crate::read::{self, shown};

/// Reads the files of one root, each once.
pub(super) struct Reader<'a> {
    root: &'a Root,
    pub(super) documents: Vec<Document>,
    pub(super) paths: BTreeMap<Arc<str>, PathBuf>,
    pub(super) references: BTreeMap<String, Reference>,
    seen: BTreeSet<PathBuf>,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(root: &'a Root) -> Self {
        Self {
            root,
            documents: Vec::new(),
            paths: BTreeMap::new(),
            references: BTreeMap::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Reads every file of the root that holds entries, and those that manifests name.
    pub(super) fn read_all(&mut self) -> Result<(), LoadError> {
        for &(name, kind) in CONFIG_FILES {
            let file = self.root.given.join(name);
            if file.symlink_metadata().is_err() || !self.is_first(&file) {
                continue;
            }
            let document = self.read(&file, kind)?;
            self.follow(&document);
            self.documents.push(document);
        }
        if self.documents.is_empty() {
            let path = shown(&self.root.given);
            return Err(LoadError::NoConfiguration { path });
        }
        Ok(())
    }

    /// Reads one file.
    pub(super) fn read(&mut self, file: &Path, kind: DocumentKind) -> Result<Document, LoadError> {
        let bytes = read::bounded(file, MAX_BYTES)?;
        let source = Source::new(&shown(file), &bytes);
        self.paths.insert(source.shared_path(), file.to_path_buf());
        Ok(Document::parse_at(&full_name(file), source, kind))
    }

    /// Looks at the folders that a marketplace names; the plugins in them are read on their own.
    pub(super) fn look_up_plugins(&mut self, marketplace: &Document) {
        for field in marketplace.listed.iter().filter_map(|it| it.path.as_ref()) {
            let text = field.template.as_str();
            let folder = self.root.canonical.join(text);
            let reference = match fs::canonicalize(folder) {
                Ok(folder) if folder.starts_with(&self.root.canonical) => Reference::Read,
                Ok(_) => Reference::OutsidePlugin,
                Err(_) => Reference::Missing,
            };
            self.references.insert(text.to_owned(), reference);
        }
    }

    /// Reads the files that a manifest names; what cannot be read is left to a rule.
    fn follow(&mut self, manifest: &Document) {
        for field in &manifest.references {
            let reference = self.read_reference(&field.template);
            let text = field.template.as_str().to_owned();
            self.references.insert(text, reference);
        }
    }

    fn read_reference(&mut self, template: &Template) -> Reference {
        if !template.as_str().ends_with(".json") {
            return Reference::NotJson;
        }
        let Some(path) = self.root.resolve(template) else {
            return Reference::Missing;
        };
        let Ok(canonical) = fs::canonicalize(&path) else {
            return Reference::Missing;
        };
        if !canonical.starts_with(&self.root.canonical) {
            return Reference::OutsidePlugin;
        }
        let below = path
            .strip_prefix(&self.root.canonical)
            .map(|below| self.root.given.join(below));
        let file = below.unwrap_or(path);
        if !self.is_first(&file) {
            return Reference::Read;
        }
        match self.read(&file, DocumentKind::Entries) {
            Ok(document) => {
                self.documents.push(document);
                Reference::Read
            }
            Err(_) => Reference::Unreadable,
        }
    }

    fn is_first(&mut self, file: &Path) -> bool {
        fs::canonicalize(file).map_or(true, |canonical| self.seen.insert(canonical))
    }
}
