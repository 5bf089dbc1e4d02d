//! The files with variables: `.env` in the root, and what entries name by `envFile`.

use std::fs;
use std::path::{Path, PathBuf};

use keyway_config::environment::Scope;
use keyway_config::paths::lexical;
use keyway_config::plugin::{EnvFile, Plugin};
use keyway_config::template::{Foreign, Template};

use super::{Extent, Root};
use crate::git::Repository;

/// Lists the files and what version control says about them; their content is not read.
pub(super) fn find(
    root: &Root,
    plugin: &Plugin,
    repository: Option<&Repository>,
    extent: Extent,
) -> Vec<EnvFile> {
    let mut files: Vec<PathBuf> = match extent {
        Extent::Whole => in_root(root),
        Extent::EntriesOnly => Vec::new(),
    };
    files.extend(named(root, plugin));
    files.sort_unstable();
    files.dedup();
    let tracked = repository.map(|repository| repository.tracks(&files));
    let mut tracked = tracked.unwrap_or_default().into_iter();
    let describe = |path: PathBuf| {
        let mut file = EnvFile::new(below(root, &path));
        file.exists = path.exists();
        file.ignored = is_ignored(repository, &path);
        file.tracked = tracked.next().unwrap_or_default();
        file
    };
    files.into_iter().map(describe).collect()
}

/// Says whether version control ignores a file; `None` outside of a repository.
#[cfg(feature = "authoring")]
fn is_ignored(repository: Option<&Repository>, path: &Path) -> Option<bool> {
    let repository = repository.filter(|repository| path.starts_with(&repository.top));
    repository.map(|repository| repository.ignores(path))
}

/// Only the rules for authors ask.
#[cfg(not(feature = "authoring"))]
const fn is_ignored(_: Option<&Repository>, _: &Path) -> Option<bool> {
    None
}

/// Returns the files that entries name, whether or not they exist.
pub(super) fn named(root: &Root, plugin: &Plugin) -> Vec<PathBuf> {
    let named = plugin
        .servers()
        .filter_map(|(_, server)| server.env_file.as_ref());
    named
        .filter_map(|field| root.resolve(&field.template))
        .map(|path| lexical(&path))
        .collect()
}

/// Returns the file that an entry names, with the variables of its name filled in.
pub(super) fn filled(root: &Root, written: &Template, scope: &Scope<'_>) -> Option<PathBuf> {
    // What is not set is told when the entry is resolved.
    let path = written.expand(scope, Foreign::Refuse).ok()?;
    Some(lexical(&root.canonical.join(path.expose())))
}

fn in_root(root: &Root) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(&root.canonical) else {
        return Vec::new();
    };
    let names = entries
        .take(MAX_ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| holds_variables(name))
        .map(|name| root.canonical.join(name))
        .filter(|path| path.is_file())
        .collect()
}

fn holds_variables(name: &str) -> bool {
    let is_env = name == ".env" || name.starts_with(".env.");
    is_env && !TEMPLATES.iter().any(|template| name.ends_with(template))
}

fn below(root: &Root, path: &Path) -> String {
    let below = path.strip_prefix(&root.canonical).unwrap_or(path);
    below.to_string_lossy().into_owned()
}

/// Endings of files that show which variables there are, without values.
const TEMPLATES: &[&str] = &[".example", ".sample", ".template", ".dist"];
const MAX_ENTRIES: usize = 10_000;
