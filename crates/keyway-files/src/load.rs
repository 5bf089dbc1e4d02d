//! Paths to plugins: finding the files of a plugin root, reading them, and taking the snapshot.
//!
//! Parsing never fails; what fails here is named by [`LoadError`]. Faults inside files are found
//! by the rules of `keyway-config` afterwards.

mod documents;
mod env_files;
mod loaded;
mod programs;
mod prose;
mod root;
#[cfg(feature = "authoring")]
pub mod tree;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "bundles")]
use keyway_config::dialect::is_bundle;
use keyway_config::dialect::{Holds, host_file};
use keyway_config::document::{Document, DocumentKind};
use keyway_config::plugin::{Plugin, Snapshot};
use keyway_config::source::{MAX_BYTES, Source};

use self::documents::Reader;
pub use self::loaded::Loaded;
use self::prose::Prose;
use self::root::{Root, Target, full_name};
#[cfg(feature = "bundles")]
use crate::bundles::Bundles;
use crate::error::LoadError;
use crate::git::Repository;
use crate::read;

/// Reads plugins from disk. Knows of the outside world only what it is told.
#[derive(Debug, Clone, Default)]
pub struct Loader {
    home: Option<PathBuf>,
    #[cfg(feature = "bundles")]
    bundles: Option<Bundles>,
}

impl Loader {
    /// Says where the person's home is, for helpers that begin with `~/`.
    #[must_use]
    pub fn home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// Says where bundles are unpacked. Without that their manifests are read in memory, and nothing
    /// can be started of them.
    #[cfg(feature = "bundles")]
    #[must_use]
    pub fn bundles(mut self, bundles: Option<Bundles>) -> Self {
        self.bundles = bundles;
        self
    }

    /// Reads a plugin root, or one file of it.
    ///
    /// Of a root given as a folder all files with entries are read, of a file only that file; its
    /// root is then its folder, or the one above `.claude-plugin`.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::NoConfiguration`] for a folder without any file of entries.
    pub fn load(&self, path: &Path) -> Result<Loaded, LoadError> {
        let target = Target::of(path)?;
        let around = Around::of(&target.root);
        self.load_target(&target, &around, Extent::Whole)
    }

    /// Reads several paths.
    ///
    /// Of files in one folder only the first comes with that folder's prose and `.env` files, so
    /// that what is wrong with those is found once.
    pub fn load_all(&self, paths: &[PathBuf]) -> Vec<Result<Loaded, LoadError>> {
        let mut known: BTreeMap<PathBuf, Around> = BTreeMap::new();
        let load_one = |path: &PathBuf| {
            let target = Target::of(path)?;
            let (around, extent) = match known.entry(target.root.canonical.clone()) {
                Slot::Occupied(slot) => (&*slot.into_mut(), Extent::EntriesOnly),
                Slot::Vacant(slot) => (&*slot.insert(Around::of(&target.root)), Extent::Whole),
            };
            self.load_target(&target, around, extent)
        };
        paths.iter().map(load_one).collect()
    }

    /// Reads the nearest plugin root: `start`, or a folder above it in the same repository.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::NothingFound`] if there is none.
    pub fn discover(&self, start: &Path) -> Result<Loaded, LoadError> {
        self.load(&self.nearest_root(start)?)
    }

    /// Returns the nearest plugin root: `start`, or a folder above it in the same repository.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::NothingFound`] if there is none.
    pub fn nearest_root(&self, start: &Path) -> Result<PathBuf, LoadError> {
        let mut root = Root::of(start)?;
        let repository = Repository::find(&root.canonical);
        loop {
            if root.has_configuration() {
                return Ok(root.given);
            }
            let Some(repository) = &repository else {
                return Err(LoadError::NothingFound);
            };
            if root.canonical == repository.top || !root.canonical.starts_with(&repository.top) {
                return Err(LoadError::NothingFound);
            }
            root = Root::of(&root.given.join(".."))?;
        }
    }

    /// Reads entries from a stream such as standard input; there is no plugin around them.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::Unreadable`] if the stream fails.
    pub fn read(&self, name: &str, from: impl io::Read) -> Result<Loaded, LoadError> {
        let bytes = read::stream(from, MAX_BYTES).map_err(|source| LoadError::Unreadable {
            path: name.to_owned(),
            source,
        })?;
        let source = Source::new(name, &bytes);
        let document = Document::parse(source, DocumentKind::Entries);
        Ok(Loaded::of_document(document))
    }

    /// Reads the whole root of a path, and says which of its documents the path names: all of
    /// them, or the one file.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::NoConfiguration`] for a folder without any file of entries.
    pub fn load_around(&self, path: &Path) -> Result<(Loaded, Vec<Arc<str>>), LoadError> {
        let Target { root, file } = Target::of(path)?;
        let mut reader = self.reader(&root);
        match (reader.read_all(), &file) {
            (Err(LoadError::NoConfiguration { .. }), Some(_)) | (Ok(()), _) => {}
            (Err(error), _) => return Err(error),
        }
        let mut selected: Vec<Arc<str>> = reader.paths.keys().cloned().collect();
        if let Some(file) = &file {
            let wanted = fs::canonicalize(file).ok();
            selected.retain(|name| {
                let path = reader.paths.get(name);
                path.and_then(|path| fs::canonicalize(path).ok()) == wanted
            });
            if selected.is_empty() {
                let document = reader.read(file, kind_of(file))?;
                selected.push(document.source.shared_path());
                reader.documents.push(document);
            }
        }
        let around = Around::of(&root);
        Ok((self.finish(&root, reader, &around, Extent::Whole), selected))
    }

    fn load_target(
        &self,
        target: &Target,
        around: &Around,
        extent: Extent,
    ) -> Result<Loaded, LoadError> {
        let root = &target.root;
        let mut reader = self.reader(root);
        match &target.file {
            #[cfg(feature = "bundles")]
            Some(file) if is_bundle(&full_name(file)) => {
                reader.read_only_bundle(file)?;
                return Ok(self.finish(root, reader, &Around::default(), Extent::EntriesOnly));
            }
            Some(file) => {
                let document = reader.read(file, kind_of(file))?;
                reader.look_up_plugins(&document);
                reader.documents.push(document);
            }
            None => reader.read_all()?,
        }
        Ok(self.finish(root, reader, around, extent))
    }

    fn reader<'a>(&'a self, root: &'a Root) -> Reader<'a> {
        #[cfg(feature = "bundles")]
        return Reader::new(root).unpacking_to(self.bundles.as_ref());
        #[cfg(not(feature = "bundles"))]
        Reader::new(root)
    }

    /// Adds to the documents what they speak of.
    fn finish(&self, root: &Root, reader: Reader<'_>, around: &Around, extent: Extent) -> Loaded {
        let mut plugin = Plugin::new(&root.canonical, reader.documents);
        let mut paths = reader.paths;
        let prose = around.prose.within(extent);
        paths.extend(prose.paths);
        let (programs, scripts) = programs::find(root, &plugin, self.home.as_deref());
        paths.extend(scripts);
        let mut snapshot = Snapshot::default();
        snapshot.readme = prose.readme;
        snapshot.prose = prose.sources;
        snapshot.env_files = env_files::find(root, &plugin, around.repository.as_ref(), extent);
        snapshot.programs = programs;
        snapshot.references = reader.references;
        plugin.snapshot = snapshot;
        Loaded { plugin, paths }
    }
}

/// What the files of one root have in common.
#[derive(Default)]
struct Around {
    repository: Option<Repository>,
    prose: Prose,
}

impl Around {
    fn of(root: &Root) -> Self {
        let repository = Repository::find(&root.canonical);
        let prose = prose::collect(root, repository.as_ref());
        Self { repository, prose }
    }
}

/// Returns the top of the repository that a folder is part of.
#[must_use]
pub fn repository_of(folder: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(folder).ok()?;
    Some(Repository::find(&folder)?.top)
}

/// How much of a root belongs to what is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Everything.
    Whole,
    /// What the entries speak of; the rest was loaded with another file of the same root.
    EntriesOnly,
}

fn kind_of(file: &Path) -> DocumentKind {
    match host_file(&full_name(file)).map(|(_, file)| file.holds) {
        Some(Holds::Manifest) => DocumentKind::Manifest,
        Some(Holds::Marketplace) => DocumentKind::Marketplace,
        _ => DocumentKind::Entries,
    }
}

#[cfg(test)]
#[cfg(feature = "authoring")]
mod tests;
