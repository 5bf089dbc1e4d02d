//! README, documentation and scripts of a plugin: what a reader of its repository sees.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_config::source::Source;

use super::{Extent, Root};
use crate::git::Repository;
use crate::read::{self, shown};

/// What was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Prose {
    pub(super) readme: Option<Source>,
    pub(super) sources: Vec<Source>,
    pub(super) paths: Vec<(Arc<str>, PathBuf)>,
}

impl Prose {
    /// Returns what belongs to what is loaded: everything, or the README alone.
    pub(super) fn within(&self, extent: Extent) -> Self {
        let readme = self.readme.clone();
        if extent == Extent::Whole {
            return self.clone();
        }
        let is_readme = |path: &str| readme.as_ref().is_some_and(|found| found.path() == path);
        let paths = self.paths.iter().filter(|(name, _)| is_readme(name));
        let paths = paths.cloned().collect();
        Self {
            readme,
            sources: Vec::new(),
            paths,
        }
    }
}

/// Reads the prose of a root, within bounds.
pub(super) fn collect(root: &Root, repository: Option<&Repository>) -> Prose {
    let mut collector = Collector {
        boundary: repository.map_or(&root.canonical, |found| &found.top),
        prose: Prose::default(),
        bytes_left: MAX_TOTAL_BYTES,
    };
    let names = list(&root.given);
    let readme = names
        .iter()
        .filter(|name| is_readme(name))
        .min_by_key(|name| !has_extension(name, &["md"]));
    if let Some(name) = readme {
        collector.prose.readme = collector.read(&root.given.join(name));
    }
    collector
        .prose
        .sources
        .extend(collector.prose.readme.clone());
    for name in &names {
        if Some(name) != readme && (is_readme(name) || is_prose(name) || is_script(name)) {
            collector.add(&root.given.join(name));
        }
    }
    collector.add_documentation(&root.given.join("docs"));
    for folder in SCRIPT_FOLDERS {
        let folder = root.given.join(folder);
        for name in list(&folder).iter().filter(|name| is_script(name)) {
            collector.add(&folder.join(name));
        }
    }
    collector.prose
}

struct Collector<'a> {
    /// No link may lead out of this folder.
    boundary: &'a Path,
    prose: Prose,
    bytes_left: usize,
}

impl Collector<'_> {
    /// Adds every Markdown file below a folder; linked folders are not entered.
    fn add_documentation(&mut self, folder: &Path) {
        let mut open = vec![(folder.to_path_buf(), 0)];
        while let Some((folder, depth)) = open.pop() {
            for name in list(&folder) {
                let path = folder.join(&name);
                let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
                if is_prose(&name) {
                    self.add(&path);
                } else if is_folder && depth < MAX_DEPTH && !SKIPPED_FOLDERS.contains(&&*name) {
                    open.push((path, depth + 1));
                }
            }
        }
    }

    fn add(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_test(&name) {
            return;
        }
        if self.prose.sources.len() < MAX_FILES {
            let source = self.read(path);
            self.prose.sources.extend(source);
        }
    }

    fn read(&mut self, path: &Path) -> Option<Source> {
        let inside = fs::canonicalize(path).is_ok_and(|found| found.starts_with(self.boundary));
        let limit = MAX_FILE_BYTES.min(self.bytes_left);
        if !inside {
            return None;
        }
        let bytes = read::optional(path, limit).filter(|bytes| !bytes.contains(&0))?;
        self.bytes_left -= bytes.len();
        let source = Source::new(&shown(path), &bytes);
        let known = (source.shared_path(), path.to_path_buf());
        self.prose.paths.push(known);
        Some(source)
    }
}

/// Returns the names in a folder in a stable order, hidden ones left out.
fn list(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.take(MAX_ENTRIES).filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        (!name.starts_with('.')).then_some(name)
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

fn is_readme(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let rest = name.strip_prefix("readme");
    rest.is_some_and(|rest| rest.is_empty() || README_EXTENSIONS.contains(&rest))
}

fn is_prose(name: &str) -> bool {
    has_extension(name, &["md"])
}

/// Says whether a name is that of a test, whose tokens are made up.
fn is_test(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let marks = [".test.", ".spec.", "_test."];
    name.starts_with("test_") || marks.iter().any(|mark| name.contains(mark))
}

/// Says whether a name is that of a script.
pub(super) fn is_script(name: &str) -> bool {
    has_extension(name, &["sh", "py", "js", "mjs", "ts"])
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|found| {
        extensions
            .iter()
            .any(|wanted| found.eq_ignore_ascii_case(wanted))
    })
}

/// The largest file that is searched.
pub(super) const MAX_FILE_BYTES: usize = 512 * 1024;

const MAX_TOTAL_BYTES: usize = 8 * 1024 * 1024;
const MAX_FILES: usize = 200;
const MAX_ENTRIES: usize = 10_000;
const MAX_DEPTH: usize = 8;
const README_EXTENSIONS: &[&str] = &[".md", ".markdown", ".mdx", ".txt", ".rst"];
const SCRIPT_FOLDERS: &[&str] = &["scripts", "bin", "hooks"];
const SKIPPED_FOLDERS: &[&str] = &[
    "node_modules",
    "target",
    "test",
    "tests",
    "testdata",
    "fixtures",
    "__tests__",
    "__fixtures__",
];
