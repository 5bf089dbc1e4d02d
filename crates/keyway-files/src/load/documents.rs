//! The configuration files of one root, in their order, and the files that manifests name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "bundles")]
use keyway_config::bundle;
use keyway_config::dialect::{self, Dialect, is_bundle};
use keyway_config::document::{Document, DocumentKind};
use keyway_config::plugin::Reference;
use keyway_config::source::{MAX_BYTES, Source};
use keyway_config::template::Template;

use super::Root;
use super::root::full_name;
#[cfg(feature = "bundles")]
use crate::bundles::Bundles;
use crate::config_files::CONFIG_FILES;
use crate::error::LoadError;
use crate::read::{self, shown};
#[cfg(feature = "bundles")]
use crate::regular_file;

/// Reads the files of one root, each once.
pub(super) struct Reader<'a> {
    root: &'a Root,
    #[cfg(feature = "bundles")]
    bundles: Option<&'a Bundles>,
    pub(super) documents: Vec<Document>,
    pub(super) paths: BTreeMap<Arc<str>, PathBuf>,
    pub(super) references: BTreeMap<String, Reference>,
    seen: BTreeSet<PathBuf>,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(root: &'a Root) -> Self {
        Self {
            root,
            #[cfg(feature = "bundles")]
            bundles: None,
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
            self.follow(&document)?;
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

    /// Reads the files that a manifest names; what cannot be read is left to a rule. A bundle that
    /// cannot be unpacked is an error: without it the server would be missing, and nothing would say
    /// why.
    fn follow(&mut self, manifest: &Document) -> Result<(), LoadError> {
        // Codex reads such a path as one of servers in JSON, like any other.
        let takes_bundles = manifest
            .file
            .is_some_and(|file| file.path != ".codex-plugin/plugin.json");
        for field in &manifest.references {
            let reference = if takes_bundles && is_bundle(field.template.as_str()) {
                self.look_up_bundle(&field.template)?
            } else {
                self.read_reference(&field.template)
            };
            let text = field.template.as_str().to_owned();
            self.references.insert(text, reference);
        }
        Ok(())
    }

    /// Reads a bundle that is there, if it can be unpacked here; an address is left to the host, which
    /// fetches it.
    fn look_up_bundle(&mut self, template: &Template) -> Result<Reference, LoadError> {
        let text = template.as_str();
        if text.starts_with("https://") {
            return Ok(Reference::Bundle);
        }
        if text.contains("://") {
            return Ok(Reference::OutsidePlugin);
        }
        match self.inside(template) {
            Ok(path) if path.is_file() => self.read_bundle(&path),
            Ok(_) => Ok(Reference::Unreadable),
            Err(reference) => Ok(reference),
        }
    }

    #[cfg(feature = "bundles")]
    fn read_bundle(&mut self, path: &Path) -> Result<Reference, LoadError> {
        let file = self.given(path);
        if self.bundles.is_none() {
            return Ok(Reference::Bundle);
        }
        if self.is_first(&file) {
            let document = self.document_of(&file)?;
            self.documents.push(document);
        }
        Ok(Reference::Read)
    }

    #[cfg(not(feature = "bundles"))]
    fn read_bundle(&mut self, _: &Path) -> Result<Reference, LoadError> {
        Ok(Reference::Bundle)
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
        let file = self.given(&path);
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

    /// Returns a path of the plugin as the person would write it.
    fn given(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root.canonical) {
            Ok(below) => self.root.given.join(below),
            Err(_) => path.to_owned(),
        }
    }

    fn is_first(&mut self, file: &Path) -> bool {
        fs::canonicalize(file).map_or(true, |canonical| self.seen.insert(canonical))
    }
}

#[cfg(feature = "bundles")]
impl<'a> Reader<'a> {
    /// Unpacks bundles there.
    pub(super) const fn unpacking_to(mut self, bundles: Option<&'a Bundles>) -> Self {
        self.bundles = bundles;
        self
    }

    /// Reads a bundle that a person named; the plugin has its name.
    pub(super) fn read_only_bundle(&mut self, archive: &Path) -> Result<(), LoadError> {
        let mut document = self.document_of(archive)?;
        document.take_name();
        self.documents.push(document);
        Ok(())
    }

    /// Reads the manifest of a bundle, which is named below it. Of one that is unpacked the tree is
    /// read, which is what starts.
    fn document_of(&mut self, archive: &Path) -> Result<Document, LoadError> {
        let name = format!("{}/{MANIFEST}", shown(archive));
        let source = if let Some(bundles) = self.bundles {
            let folder = bundles.unpack(archive)?;
            let bytes = read::bounded(&folder.join(MANIFEST), MAX_BYTES)?;
            Source::new(&name, &bytes).in_folder(&folder)
        } else {
            let unreadable = |source| LoadError::Unreadable {
                path: shown(archive),
                source,
            };
            let file = regular_file::open(archive).map_err(unreadable)?;
            let bytes = bundle::manifest(file).map_err(|source| LoadError::BadBundle {
                path: shown(archive),
                source: Box::new(source),
            })?;
            Source::new(&name, &bytes)
        };
        self.paths.insert(source.shared_path(), archive.to_owned());
        let dialect = Dialect::by_id("mcpb");
        let (path, kind) = (full_name(archive), DocumentKind::Entries);
        let path = format!("{path}/{MANIFEST}");
        Ok(Document::parse_of(dialect, &path, source, kind))
    }
}

/// The file of a bundle that says what to start.
#[cfg(feature = "bundles")]
const MANIFEST: &str = "manifest.json";
