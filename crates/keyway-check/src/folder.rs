//! What a folder holds: its plugin, or else the files of every host below it.

use std::path::Path;

use keyway_files::error::LoadError;
use keyway_files::load::{Loaded, Loader};

/// Reads the plugin at a path; a folder without one is searched as a check does, and files that
/// belong to one folder are read together. Without a path the nearest plugin counts, and then the
/// current folder.
///
/// A file that no host knows by its name is left out.
///
/// # Errors
///
/// Returns [`LoadError::NoConfiguration`] or [`LoadError::NothingFound`] if there is no file, and an
/// error if one cannot be read.
pub fn plugins_below(loader: &Loader, path: Option<&Path>) -> Result<Vec<Loaded>, LoadError> {
    let here = Path::new(".");
    let found = match path {
        Some(path) => loader.load_around(path),
        None => loader
            .nearest_root(here)
            .and_then(|root| loader.load_around(&root)),
    };
    let nothing = match found {
        Ok((loaded, _)) => return Ok(vec![loaded]),
        Err(error @ (LoadError::NoConfiguration { .. } | LoadError::NothingFound)) => error,
        Err(error) => return Err(error),
    };
    let mut tree = loader.load_tree(path.unwrap_or(here), &|_| false)?;
    if let Some(error) = tree.failures.pop() {
        return Err(error);
    }
    let roots = by_root(tree.plugins);
    if roots.is_empty() {
        return Err(nothing);
    }
    Ok(roots)
}

/// Puts the files together that hosts keep in the same folder.
fn by_root(plugins: Vec<Loaded>) -> Vec<Loaded> {
    let mut roots: Vec<Loaded> = Vec::new();
    for loaded in plugins {
        let documents = &loaded.plugin.documents;
        if documents.iter().all(|document| document.file.is_none()) {
            continue;
        }
        let mut known = roots.iter_mut();
        match known.find(|it| it.plugin.root == loaded.plugin.root) {
            Some(root) => root.plugin.documents.extend(loaded.plugin.documents),
            None => roots.push(loaded),
        }
    }
    roots
}
