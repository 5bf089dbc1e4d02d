//! The configuration files of one root, in their order, and the files that manifests name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_config::dialect::{self, Dialect, is_bundle};
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
        let host = self.host_of(file);
        Ok(Document::parse_of(host, &full_name(file), source, kind))
    }

    /// Returns the host that a plugin's file is written for, if a manifest beside it says so.
    pub(super) fn host_of(&self, file: &Path) -> Option<&'static Dialect> {
        // Where the person stands in the root, a path below it does not begin with that.
        let root = &self.root.given;
        let here = (root == Path::new(".")).then_some(file);
        let below = file.strip_prefix(root).ok().or(here)?.to_str()?;
        dialect::of_plugin(below, |manifest| self.root.given.join(manifest).is_file())
    }

    /// Looks at the folders that a marketplace names; the plugins in them are read on their own.
    pub(super) fn look_up_plugins(&mut self, marketplace: &Document) {
        for plugin in &marketplace.listed {
            let Some(field) = &plugin.path else { continue };
            let found = plugin.folders().filter_map(|folder| {
                let folder = fs::canonicalize(self.root.canonical.join(folder)).ok()?;
                Some(folder.starts_with(&self.root.canonical))
            });
            let reference = match found.reduce(|one, other| one || other) {
                Some(true) => Reference::Read,
                Some(false) => Reference::OutsidePlugin,
                None => Reference::Missing,
            };
            let text = field.template.as_str().to_owned();
            self.references.insert(text, reference);
        }
    }

    /// Reads the files that a manifest names; what cannot be read is left to a rule.
    fn follow(&mut self, manifest: &Document) {
        // Codex reads such a path as one of servers in JSON, like any other.
        let takes_bundles = manifest
            .file
            .is_some_and(|file| file.path != ".codex-plugin/plugin.json");
        for field in &manifest.references {
            let reference = if takes_bundles && is_bundle(field.template.as_str()) {
                self.look_up_bundle(&field.template)
            } else {
                self.read_reference(&field.template)
            };
            let text = field.template.as_str().to_owned();
            self.references.insert(text, reference);
        }
    }

    /// Says whether a bundle is there; an address is left to the host, which fetches it.
    fn look_up_bundle(&self, template: &Template) -> Reference {
        let text = template.as_str();
        if text.starts_with("https://") {
            return Reference::Bundle;
        }
        if text.contains("://") {
            return Reference::OutsidePlugin;
        }
        match self.inside(template) {
            Ok(path) if path.is_file() => Reference::Bundle,
            Ok(_) => Reference::Unreadable,
            Err(reference) => reference,
        }
    }

    /// Returns the path of something in the plugin, links followed to see that it is.
    fn inside(&self, template: &Template) -> Result<PathBuf, Reference> {
        let path = self.root.resolve(template).ok_or(Reference::Missing)?;
        let canonical = fs::canonicalize(&path).map_err(|_| Reference::Missing)?;
        if canonical.starts_with(&self.root.canonical) {
            Ok(path)
        } else {
            Err(Reference::OutsidePlugin)
        }
    }

    fn read_reference(&mut self, template: &Template) -> Reference {
        if !template.as_str().ends_with(".json") {
            return Reference::NotJson;
        }
        let path = match self.inside(template) {
            Ok(path) => path,
            Err(reference) => return reference,
        };
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
