//! MCP bundles: zips whose manifest is checked. They are unpacked in memory, and nothing but the
//! manifest is.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use keyway_config::bundle;
use keyway_config::dialect::is_bundle;
use keyway_config::plugin::Reference;
use keyway_files::error::LoadError;
use keyway_files::load::{Loaded, Loader};

/// Says whether a path is a bundle's.
pub(crate) fn is_one(path: &Path) -> bool {
    path.to_str().is_some_and(is_bundle) && path.is_file()
}

/// Returns the bundles of a tree, and those that its plugins name although they were not found: what
/// version control ignores may be what a plugin runs.
pub(crate) fn all(mut found: Vec<PathBuf>, plugins: &[Loaded]) -> Vec<PathBuf> {
    found.retain(|path| !is_pointer(path));
    for loaded in plugins {
        let references = loaded.plugin.snapshot.references.iter();
        let bundles = references.filter(|(_, state)| **state == Reference::Bundle);
        // One with an address is the host's to fetch.
        for (text, _) in bundles.filter(|(text, _)| !text.contains("://")) {
            let below = text.trim_start_matches("${CLAUDE_PLUGIN_ROOT}");
            let below = below.trim_start_matches('/').trim_start_matches("./");
            let path = PathBuf::from(loaded.plugin.shown(below));
            let is_known = |known: &PathBuf| {
                let [one, other] = [known, &path].map(|path| fs::canonicalize(path).ok());
                one == other
            };
            if !found.iter().any(is_known) {
                found.push(path);
            }
        }
    }
    found
}

/// Says whether a file only stands for a bundle that Git LFS has not fetched.
fn is_pointer(path: &Path) -> bool {
    let mut start = [0; LFS_POINTER.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *LFS_POINTER
}

const LFS_POINTER: &[u8; 20] = b"version https://git-";

/// Reads the manifest of a bundle, which is named below it.
pub(crate) fn read(loader: &Loader, path: &Path) -> Result<Loaded, LoadError> {
    let name = path.strip_prefix(".").unwrap_or(path).display().to_string();
    let unreadable = |source| LoadError::Unreadable {
        path: name.clone(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let manifest = bundle::manifest(file).map_err(|error| unreadable(io::Error::other(error)))?;
    loader.read(&format!("{name}/manifest.json"), manifest.as_slice())
}
