//! What is checked: files as they are named, and every host's file below a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use keyway_files::error::LoadError;
use keyway_files::load::tree::{Exclusions, in_parallel};
use keyway_files::load::{Loaded, Loader};

use crate::bundles;

/// Something to check.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input {
    /// A file, or a folder that is searched.
    Path(PathBuf),
    /// A text that was read already, for example from standard input.
    Text(Box<Result<Loaded, LoadError>>),
}

/// What was found at the inputs of a check.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Targets {
    /// What could be read, in the order of the inputs.
    pub plugins: Vec<Loaded>,
    /// What could not.
    pub failures: Vec<LoadError>,
    /// Whether a folder has more than is looked at.
    pub is_cut: bool,
    /// The paths among the inputs.
    pub(crate) paths: Vec<PathBuf>,
    /// How many files and folders the repository's settings exclude.
    pub(crate) excluded: usize,
}

/// The paths that the settings in a folder exclude.
#[derive(Debug)]
pub(crate) struct Excluded {
    folder: PathBuf,
    patterns: Exclusions,
}

impl Excluded {
    /// Reads the patterns; `None` without any, or if one of them is not a pattern.
    pub(crate) fn new(folder: PathBuf, patterns: &[String]) -> Option<Self> {
        if patterns.is_empty() {
            return None;
        }
        let patterns = Exclusions::new(&folder, patterns)?;
        Some(Self { folder, patterns })
    }

    /// Says whether a path below `walked` is excluded, wherever below the settings that is.
    fn has(&self, walked: &Path, below: &Path) -> bool {
        let path = walked.join(below);
        path.starts_with(&self.folder) && self.patterns.has(&path)
    }
}

/// Reads everything; each input fails on its own.
pub(crate) fn read(loader: &Loader, inputs: Vec<Input>, exclusions: Option<&Excluded>) -> Targets {
    let mut targets = Targets::default();
    if inputs.is_empty() {
        targets.paths.push(PathBuf::from("."));
        targets.folder(loader, Path::new("."), exclusions);
        // From a folder inside of a plugin the plugin is meant, as with every command.
        if targets.plugins.is_empty() && targets.failures.is_empty() {
            let above = loader.discover(Path::new("."));
            targets.plugins.extend(above.ok());
        }
        return targets;
    }
    let paths = inputs.iter().filter_map(|input| match input {
        Input::Path(path) => Some(path.clone()),
        Input::Text(_) => None,
    });
    targets.paths.extend(paths);
    let files = targets.paths.iter();
    let files = files.filter(|path| !path.is_dir() && !bundles::is_one(path));
    let files: Vec<PathBuf> = files.cloned().collect();
    let mut files = loader.load_all(&files).into_iter();
    for input in inputs {
        match input {
            Input::Text(loaded) => targets.add(*loaded),
            Input::Path(path) if path.is_dir() => targets.folder(loader, &path, exclusions),
            Input::Path(path) if bundles::is_one(&path) => {
                targets.add(bundles::read(loader, &path));
            }
            Input::Path(_) => {
                if let Some(file) = files.next() {
                    targets.add(file);
                }
            }
        }
    }
    targets
}

impl Targets {
    fn add(&mut self, loaded: Result<Loaded, LoadError>) {
        match loaded {
            Ok(loaded) => self.plugins.push(loaded),
            Err(error) => self.failures.push(error),
        }
    }

    fn folder(&mut self, loader: &Loader, folder: &Path, exclusions: Option<&Excluded>) {
        let walked = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        // `Relaxed`: the threads of the walk are joined before the number is read.
        let excluded = AtomicUsize::new(0);
        let is_excluded = |below: &Path| {
            let is_excluded = exclusions.is_some_and(|it| it.has(&walked, below));
            excluded.fetch_add(usize::from(is_excluded), Ordering::Relaxed);
            is_excluded
        };
        let tree = loader.load_tree(folder, &is_excluded);
        self.excluded += excluded.into_inner();
        match tree {
            Ok(tree) => {
                let bundles = bundles::all(tree.bundles, &tree.plugins);
                self.plugins.extend(tree.plugins);
                self.failures.extend(tree.failures);
                self.is_cut |= tree.is_cut;
                for read in in_parallel(&bundles, |path| bundles::read(loader, path)) {
                    self.add(read);
                }
            }
            Err(error) => self.failures.push(error),
        }
    }
}
