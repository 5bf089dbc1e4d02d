//! A whole repository: every host's file in a tree, found by name or by content, and read.
//!
//! The tree is walked as ripgrep does: ignore files count and links are not followed. Hidden folders
//! are entered, since hosts keep their files there, those that other tools fill are not. What one
//! root holds for one host is one plugin.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};
use keyway_config::dialect::{Holds, has_marks, host_file, is_bundle};
use keyway_config::document::{Document, DocumentKind, Wrapper};
use keyway_config::source::MAX_BYTES;

use super::root::{Root, Target, full_name};
use super::{Around, Extent, Loaded, Loader, Prose, Reader};
use crate::config_files::CONFIG_FILES;
use crate::error::LoadError;
use crate::read;

/// What a tree holds.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Tree {
    /// The plugins and host files, by path.
    pub plugins: Vec<Loaded>,
    /// MCP bundles, which are not unpacked.
    pub bundles: Vec<PathBuf>,
    /// What could not be read.
    pub failures: Vec<LoadError>,
    /// Whether there was more than is looked at.
    pub is_cut: bool,
}

impl Loader {
    /// Reads every file of every host below a folder, the folder itself included.
    ///
    /// `is_excluded` is asked for each path below the folder, folders first.
    ///
    /// # Errors
    ///
    /// Returns [`LoadError::Missing`] if there is no such folder.
    pub fn load_tree(
        &self,
        folder: &Path,
        is_excluded: &(dyn Fn(&Path) -> bool + Sync),
    ) -> Result<Tree, LoadError> {
        let root = Root::of(folder)?;
        let (mut files, is_cut) = find(&root.given, is_excluded);
        files.sort();
        let bundles = files.extract_if(.., |file| file.kind == CandidateKind::Bundle);
        let bundles = bundles.map(|file| file.path).collect();
        let groups = Groups::of(&files);
        let loaded = in_parallel(&groups.roots, |group| self.load_group(group));
        let mut tree = Tree {
            bundles,
            is_cut,
            ..Tree::default()
        };
        let mut read = BTreeSet::new();
        for (plugins, failures) in loaded {
            tree.failures.extend(failures);
            for loaded in plugins {
                read.extend(
                    loaded
                        .paths
                        .values()
                        .filter_map(|it| fs::canonicalize(it).ok()),
                );
                tree.plugins.push(loaded);
            }
        }
        // A manifest may have named a file that also looks like one of its own.
        let rest: Vec<&PathBuf> = groups.by_content.iter().collect();
        let rest: Vec<&PathBuf> = rest
            .into_iter()
            .filter(|file| fs::canonicalize(file).is_ok_and(|it| !read.contains(&it)))
            .collect();
        for loaded in in_parallel(&rest, |file| self.load_unnamed(file)) {
            match loaded {
                Ok(loaded) => tree.plugins.extend(loaded),
                Err(error) => tree.failures.push(error),
            }
        }
        tree.plugins.sort_by_cached_key(first_path);
        Ok(tree)
    }

    /// Reads what one folder holds: the files of a plugin together, those of hosts one by one.
    fn load_group(&self, group: &Group) -> (Vec<Loaded>, Vec<LoadError>) {
        let (mut plugins, mut failures) = (Vec::new(), Vec::new());
        let Ok(root) = Root::of(&group.root) else {
            return (plugins, failures);
        };
        let around = Around::of(&root);
        let mut extent = Extent::Whole;
        if group.is_plugin {
            let mut reader = Reader::new(&root);
            match reader.read_all() {
                Ok(()) => {
                    plugins.push(self.finish(&root, reader, &around, extent));
                    extent = Extent::EntriesOnly;
                }
                Err(LoadError::NoConfiguration { .. }) => {}
                Err(error) => failures.push(error),
            }
        }
        for file in &group.files {
            let target = Target {
                root: root.clone(),
                file: Some(file.clone()),
            };
            match self.load_target(&target, &around, extent) {
                Ok(loaded) if is_worth_a_look(&loaded) => {
                    plugins.push(loaded);
                    extent = Extent::EntriesOnly;
                }
                Ok(_) => {}
                Err(error) => failures.push(error),
            }
        }
        (plugins, failures)
    }

    /// Reads a file that only its content gives away; `None` if it turns out to be something else.
    fn load_unnamed(&self, file: &Path) -> Result<Option<Loaded>, LoadError> {
        let target = Target::of(file)?;
        let around = Around {
            repository: None,
            prose: Prose::default(),
        };
        let loaded = self.load_target(&target, &around, Extent::EntriesOnly)?;
        // Under no host's key anything with an address looks like an entry: the author of a package,
        // the owner of a catalogue.
        let mut documents = loaded.plugin.documents.iter();
        let is_something_else = documents.any(|document| {
            let mut entries = document.entries.iter();
            let is_whole = document
                .ignored
                .iter()
                .all(|it| it.key.starts_with(['_', '$']))
                && entries.all(|entry| entry.server.is_ok());
            document.wrapper == Wrapper::Bare && !is_whole
        });
        let mut entries = loaded.plugin.entries();
        let has_server = entries.any(|(_, entry)| entry.server.is_ok());
        drop(entries);
        Ok((has_server && !is_something_else).then_some(loaded))
    }
}

/// Says whether a file has anything to do with MCP: settings of a host often have not.
fn is_worth_a_look(loaded: &Loaded) -> bool {
    loaded.plugin.documents.iter().any(|document: &Document| {
        let is_settings = document.file.is_none_or(|file| {
            matches!(file.holds, Holds::Settings) || SHARED_NAMES.contains(&file.path)
        });
        let is_listed = document.kind == DocumentKind::Marketplace;
        let is_empty = document.entries.is_empty() && !is_listed;
        let is_absent = matches!(document.wrapper, Wrapper::Absent | Wrapper::NotAnObject);
        !(is_settings && is_empty && (is_absent || document.wrapper == Wrapper::Bare))
    })
}

fn first_path(loaded: &Loaded) -> PathBuf {
    let documents = loaded.plugin.documents.iter();
    let mut paths = documents.filter_map(|document| loaded.path_of(document.source.path()));
    paths.next().map(Path::to_path_buf).unwrap_or_default()
}

/// The files of a tree by the folder that they belong to.
struct Groups {
    roots: Vec<Group>,
    by_content: Vec<PathBuf>,
}

struct Group {
    root: PathBuf,
    /// Whether there are files of a plugin.
    is_plugin: bool,
    /// The other hosts' files.
    files: Vec<PathBuf>,
}

impl Groups {
    fn of(files: &[Candidate]) -> Self {
        let mut roots: BTreeMap<PathBuf, Group> = BTreeMap::new();
        let mut by_content = Vec::new();
        for Candidate { path, kind } in files {
            if *kind == CandidateKind::Unnamed {
                by_content.push(path.clone());
                continue;
            }
            let Ok(target) = Target::of(path) else {
                continue;
            };
            let root = target.root.given;
            let is_of_plugin = CONFIG_FILES
                .iter()
                .any(|(name, _)| root.join(name) == *path);
            let group = roots.entry(root.clone()).or_insert_with(|| Group {
                root,
                is_plugin: false,
                files: Vec::new(),
            });
            if is_of_plugin {
                group.is_plugin = true;
            } else {
                group.files.push(path.clone());
            }
        }
        let roots = roots.into_values().collect();
        Self { roots, by_content }
    }
}

/// A file that may hold entries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    path: PathBuf,
    kind: CandidateKind,
}

/// What says that a file may hold entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CandidateKind {
    /// Its name.
    Named,
    /// Its content alone.
    Unnamed,
    /// It is an MCP bundle.
    Bundle,
}

/// Walks the tree; says whether it was cut off.
fn find(folder: &Path, is_excluded: &(dyn Fn(&Path) -> bool + Sync)) -> (Vec<Candidate>, bool) {
    // Held by one thread of the walk to add one path. `Relaxed` for the count: it is a limit, and
    // the threads are joined before the result is read.
    let found = Mutex::new(Vec::new());
    let seen = AtomicUsize::new(0);
    let is_too_deep = AtomicBool::new(false);
    let walk = WalkBuilder::new(folder)
        .hidden(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| entry.depth() == 0 || !is_skipped(entry))
        .build_parallel();
    walk.run(|| {
        Box::new(|entry| {
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            if seen.fetch_add(1, Ordering::Relaxed) >= MAX_ENTRIES {
                return WalkState::Quit;
            }
            let path = entry.path();
            let below = path.strip_prefix(folder).unwrap_or(path);
            if entry.depth() > 0 && is_excluded(below) {
                return WalkState::Skip;
            }
            if entry.depth() >= MAX_DEPTH && entry.file_type().is_some_and(|kind| kind.is_dir()) {
                is_too_deep.store(true, Ordering::Relaxed);
            }
            if entry.file_type().is_some_and(|kind| kind.is_file())
                && let Some(candidate) = candidate(path)
            {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                if found.len() >= MAX_FILES {
                    return WalkState::Quit;
                }
                found.push(candidate);
            }
            WalkState::Continue
        })
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_cut =
        seen.into_inner() >= MAX_ENTRIES || found.len() >= MAX_FILES || is_too_deep.into_inner();
    (found, is_cut)
}

/// Says whether a folder is not entered.
fn is_skipped(entry: &DirEntry) -> bool {
    if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return false;
    }
    // A host that came out yesterday keeps its file in a hidden folder too, and its file is found
    // by content: so the folders are named in which no person writes.
    let name = entry.file_name().to_string_lossy();
    FILLED_BY_TOOLS.contains(&&*name) || name.ends_with("_cache") || name.ends_with("-cache")
}

fn candidate(path: &Path) -> Option<Candidate> {
    let named = host_file(&full_name(path));
    let candidate = |kind| Candidate {
        path: path.to_path_buf(),
        kind,
    };
    if named.is_some_and(|(_, file)| !SHARED_NAMES.contains(&file.path)) {
        return Some(candidate(CandidateKind::Named));
    }
    let ending = path.extension()?.to_str()?;
    if is_bundle(path.file_name()?.to_str()?) {
        return Some(candidate(CandidateKind::Bundle));
    }
    if !ENDINGS.contains(&ending) {
        return None;
    }
    let bytes = read::optional(path, MAX_BYTES)?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let is_registry = || text.contains("\"registryType\"") || text.contains("\"remotes\"");
    let is_marked = has_marks(text) || named.is_some() && is_registry();
    let kind = match named {
        Some(_) => CandidateKind::Named,
        None => CandidateKind::Unnamed,
    };
    is_marked.then(|| candidate(kind))
}

/// Paths that are not looked at, written as in an ignore file.
#[derive(Debug, Clone)]
pub struct Exclusions(ignore::gitignore::Gitignore);

impl Exclusions {
    /// Reads patterns that are relative to `folder`; `None` if one of them is not a pattern.
    #[must_use]
    pub fn new(folder: &Path, patterns: &[String]) -> Option<Self> {
        let mut builder = ignore::gitignore::GitignoreBuilder::new(folder);
        for pattern in patterns {
            builder.add_line(None, pattern).ok()?;
        }
        builder.build().ok().map(Self)
    }

    /// Says whether a path below that folder, or a folder around it, is excluded.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        let is_folder = path.is_dir();
        let matched = self.0.matched_path_or_any_parents(path, is_folder);
        matched.is_ignore()
    }
}

/// Applies `work` to all items on as many threads as there are processors, and keeps their order.
pub fn in_parallel<I: Sync, O: Send>(items: &[I], work: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(MAX_THREADS).min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    // `Relaxed`: each thread only needs a number that no other has; the scope joins all of them
    // before the results are read.
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, O)>> = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    // The lock is not held while working: only the result is put away under it.
                    let output = work(item);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((at, output));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, output)| output).collect()
}

/// Names under which other programs keep other things; the content decides.
const SHARED_NAMES: &[&str] = &[
    "mcp.json",
    "plugin.json",
    "manifest.json",
    "server.json",
    "mcp_config.json",
    "mcp_settings.json",
];

/// Folders of version control, package managers and build tools.
#[rustfmt::skip]
const FILLED_BY_TOOLS: &[&str] = &[
    "node_modules", ".git", ".hg", ".svn", ".jj", ".bzr", ".cache", ".local", ".npm", ".nvm",
    ".yarn", ".pnpm-store", ".bun", ".deno", ".cargo", ".rustup", ".gradle", ".m2", ".ivy2",
    ".nuget", ".gem", ".bundle", ".venv", ".tox", ".nox", ".eggs", ".conda", ".pyenv", ".terraform",
    ".next", ".nuxt", ".output", ".svelte-kit", ".astro", ".angular", ".expo", ".docusaurus",
    ".parcel-cache", ".turbo", ".nx", ".vercel", ".netlify", ".wrangler", ".serverless",
    ".aws-sam", ".dart_tool", ".nyc_output", ".ipynb_checkpoints", ".Trash", ".vscode-test",
    ".vscode-server", ".direnv", ".devenv", ".build", ".stack-work", ".idea",
];

const ENDINGS: &[&str] = &["json", "jsonc", "toml", "yaml", "yml"];

/// How deep, how many folders and files, and how many of them with entries (threat D18).
const MAX_DEPTH: usize = 64;
const MAX_ENTRIES: usize = 1_000_000;
const MAX_FILES: usize = 20_000;
const MAX_THREADS: usize = 16;
