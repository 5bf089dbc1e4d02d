//! What is checked: files as they are named, and every host's file below a folder.

use std::io;
use std::path::{Path, PathBuf};

use keyway::error::LoadError;
use keyway::load::tree::Exclusions;
use keyway::load::{Loaded, Loader};

use crate::arguments::selection::{STDIN, is_stdin};
use crate::environment::ProcessEnvironment;

/// What was found at the paths of a call.
#[derive(Debug, Default)]
pub(super) struct Targets {
    pub(super) plugins: Vec<Loaded>,
    pub(super) failures: Vec<LoadError>,
    /// Whether a folder has more than is looked at.
    pub(super) is_cut: bool,
}

/// Reads everything; each path fails on its own.
pub(super) fn read(paths: &[&Path], exclusions: Option<&Exclusions>) -> Targets {
    let loader = Loader::default().home(ProcessEnvironment::home());
    let mut targets = Targets::default();
    if paths.is_empty() {
        targets.folder(&loader, Path::new("."), exclusions);
        // From a folder inside of a plugin the plugin is meant, as with every command.
        if targets.plugins.is_empty() && targets.failures.is_empty() {
            let above = loader.discover(Path::new("."));
            targets.plugins.extend(above.ok());
        }
        return targets;
    }
    let files: Vec<PathBuf> = paths
        .iter()
        .filter(|path| !is_stdin(path) && !path.is_dir())
        .map(|path| path.to_path_buf())
        .collect();
    let mut files = loader.load_all(&files).into_iter();
    for path in paths {
        if is_stdin(path) {
            targets.add(loader.read(STDIN, io::stdin()));
        } else if path.is_dir() {
            targets.folder(&loader, path, exclusions);
        } else if let Some(file) = files.next() {
            targets.add(file);
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

    fn folder(&mut self, loader: &Loader, folder: &Path, exclusions: Option<&Exclusions>) {
        let is_excluded = |path: &Path| exclusions.is_some_and(|it| it.has(path));
        match loader.load_tree(folder, &is_excluded) {
            Ok(tree) => {
                self.plugins.extend(tree.plugins);
                self.failures.extend(tree.failures);
                self.is_cut |= tree.is_cut;
            }
            Err(error) => self.failures.push(error),
        }
    }
}
