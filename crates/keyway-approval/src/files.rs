//! The files that an approval is over, and whether they are still the same.
//!
//! What the command line names inside the plugin is always part of it, and so are all files of the
//! plugin, unless what runs is a package that is known by its name. Between the last look and the moment at which a program reads
//! its file there is a gap that hashing cannot close (threat D11): a file that is swapped and
//! swapped back inside it is not noticed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use keyway_secret::Secret;

use crate::hash::{Hash, Hasher, to_hex};
use crate::link::{self, Resolver};
use crate::manifest::{FileChange, Manifest};
use crate::places::Places;
use crate::store::ApprovalStore;
use crate::tree::{self, KnownTree, Tree};
use crate::walk::{self, TreePlace};

/// The files of an entry, as they were when this was made.
#[derive(Debug, Clone)]
pub struct Files {
    lookup: Lookup,
    named: Vec<NamedFile>,
    tree: Coverage,
    seen_at: SystemTime,
}

/// Where to look for files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lookup {
    pub(crate) place: TreePlace,
    pub(crate) data: PathBuf,
    /// Where words of the command line may begin.
    pub(crate) bases: Vec<PathBuf>,
    /// A value of the person's may be among them.
    pub(crate) words: Vec<Secret<String>>,
    /// Files that count wherever they are.
    pub(crate) programs: Vec<PathBuf>,
    /// The one of them that the command line leads to, where the plugin decides about it.
    pub(crate) program: Option<PathBuf>,
}

/// A file that the command line names, or that decides what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedFile {
    path: PathBuf,
    /// Where a link leads.
    target: Option<PathBuf>,
    /// `None` for one that cannot be read, or is the system's own.
    content: Option<Hash>,
    /// It was not read: there is more than an approval covers.
    is_too_large: bool,
}

/// What is covered beyond the named files.
#[derive(Debug, Clone)]
enum Coverage {
    /// Nothing: what runs is a package, away from the plugin's folder.
    Named,
    /// All files below the plugin's folder.
    Tree(Tree),
    /// Nothing: there is more than an approval covers.
    TooLarge,
    /// Nothing: the plugin's folder is the person's home, or above it.
    Home,
}

/// What a tree is compared with.
#[derive(Clone, Copy)]
pub(crate) struct Cache<'a> {
    pub(crate) store: Option<&'a dyn ApprovalStore>,
    pub(crate) source: &'a Path,
    pub(crate) server: &'a str,
    pub(crate) now: SystemTime,
}

impl Files {
    /// Looks at the files; `home` is the person's.
    pub(crate) fn of(
        lookup: Lookup,
        counts_tree: bool,
        home: Option<&Path>,
        cache: Cache<'_>,
    ) -> Self {
        let is_home = home.is_some_and(|home| home.starts_with(&lookup.place.root));
        let tree = match (counts_tree, is_home) {
            (false, _) => Coverage::Named,
            (true, true) => Coverage::Home,
            (true, false) => match cache.count(&lookup.place) {
                Ok(tree) => Coverage::Tree(tree),
                Err(walk::TooLarge) => Coverage::TooLarge,
            },
        };
        Self {
            named: lookup.look(),
            lookup,
            tree,
            seen_at: cache.now,
        }
    }

    /// Says whether what runs is as it was, right before it starts.
    ///
    /// # Errors
    ///
    /// Returns the name of a file that changed, appeared or went away.
    pub fn verify(&self) -> Result<(), String> {
        self.verify_named()?;
        let Coverage::Tree(before) = &self.tree else {
            return Ok(());
        };
        match self.lookup.place.is_still(before, self.seen_at) {
            true => Ok(()),
            false => Err(self.changed_file(before)),
        }
    }

    /// The same right after the start, for the files that the command line names: what a program
    /// writes into its own folder is its own affair until the next start.
    ///
    /// # Errors
    ///
    /// As [`Self::verify`].
    pub fn verify_named(&self) -> Result<(), String> {
        let (now, before) = (self.lookup.look(), &self.named);
        if now == *before {
            return Ok(());
        }
        let changed = now.iter().find(|file| !before.contains(file));
        let gone = || before.iter().find(|file| !now.contains(file));
        let path = changed.or_else(gone).map(|file| file.path.as_path());
        Err(self.below(path.unwrap_or(&self.lookup.place.root)))
    }

    /// Returns the file that the command line leads to, where the plugin decides which one that is. It is
    /// what the approval shows, and so what has to be started, whatever a name would lead to by then.
    #[must_use]
    pub fn program(&self) -> Option<&Path> {
        self.lookup.program.as_deref()
    }

    /// Returns the files that the command line names.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.named.iter().map(|file| file.path.as_path())
    }

    /// Says which files are covered, in words; `None` if there are none.
    #[must_use]
    pub fn coverage(&self) -> Option<String> {
        let named = self.named.len();
        let beyond = "files of the plugin beyond those named on the command line are not covered";
        match &self.tree {
            Coverage::Named if named == 0 => None,
            Coverage::Named if named == 1 => Some("the file that it names".to_owned()),
            Coverage::Named => Some(format!("the {named} files that it names")),
            Coverage::Tree(tree) => {
                let files = match tree.count {
                    0 => "all files of the plugin, of which there are none yet".to_owned(),
                    1 => "the one file of the plugin".to_owned(),
                    count => format!("all {count} files of the plugin"),
                };
                let left_out = if tree.leaves_out_git {
                    "; `.git` is left out"
                } else {
                    ""
                };
                Some(files + left_out)
            }
            Coverage::TooLarge => Some(format!("more than 100,000, or more than 1 GiB: {beyond}")),
            Coverage::Home => Some(format!("the plugin is your home folder: {beyond}")),
        }
    }

    /// Says whether there are files that may run and are not covered.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.caution().is_some()
    }

    /// Says what is not covered, if anything is not that should be.
    pub(crate) fn caution(&self) -> Option<String> {
        if let Some(large) = self.named.iter().find(|file| file.is_too_large) {
            let name = self.below(&large.path);
            return Some(format!(
                "not covered: `{name}`, which it names and which is too large; it and files beside it can \
                 change without a question"
            ));
        }
        match &self.tree {
            Coverage::TooLarge | Coverage::Home => {
                Some("files can change without a question".to_owned())
            }
            Coverage::Tree(tree) => {
                let (first, others) = tree.uncovered.split_first()?;
                let more = match others.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                Some(format!(
                    "not covered: `{first}`{more}, which leads elsewhere, is a pipe or cannot be listed; what \
                     is there can change without a question"
                ))
            }
            Coverage::Named => None,
        }
    }

    /// Returns what later looks at the tree compare with, as long as that is safe.
    pub(crate) fn known_tree(&self) -> Option<KnownTree> {
        match &self.tree {
            Coverage::Tree(tree) if tree.is_settled => Some(KnownTree {
                stamp: tree.stamp,
                content: tree.content,
            }),
            _ => None,
        }
    }

    /// Returns the files of the tree one by one; `None` if they are those of the last approval, or
    /// no tree counts.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        match &self.tree {
            Coverage::Tree(tree) => tree.manifest.as_deref(),
            _ => None,
        }
    }

    /// Returns the files that differ from those of an approval, by name.
    pub(crate) fn changes_since(&self, before: &Manifest) -> Vec<(String, FileChange)> {
        self.manifest()
            .map(|now| now.changes_since(before))
            .unwrap_or_default()
    }

    /// Returns what counts beside the files of the tree, each file with a hash of what it is.
    pub(crate) fn beside_tree(&self) -> BTreeMap<String, String> {
        let is_in_tree = |file: &NamedFile| {
            matches!(self.tree, Coverage::Tree(_)) && file.path.starts_with(&self.lookup.place.root)
        };
        let named = self.named.iter().filter(|file| !is_in_tree(file));
        let named = named.map(|file| {
            let mut hasher = Hasher::default();
            file.hash(&self.lookup, &mut hasher);
            (self.below(&file.path), to_hex(&hasher.finish()))
        });
        named.collect()
    }

    /// Returns what differs once one of these files does.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = Hasher::default();
        self.hash(&mut hasher);
        hasher.finish()
    }

    pub(crate) fn hash(&self, hasher: &mut Hasher) {
        let Self {
            lookup,
            named,
            tree,
            seen_at: _,
        } = self;
        for file in named {
            file.hash(lookup, hasher);
        }
        match tree {
            Coverage::Named => hasher.field(b"named", b""),
            Coverage::Tree(tree) => hasher.field(b"tree", &tree.content),
            Coverage::TooLarge => hasher.field(b"large", b""),
            Coverage::Home => hasher.field(b"home", b""),
        }
    }

    fn below(&self, path: &Path) -> String {
        self.lookup.below(path)
    }

    /// Finds the name of one file that is not as in `before`.
    fn changed_file(&self, before: &Tree) -> String {
        let root = || ".".to_owned();
        let count = |known: Option<&Manifest>| {
            let known = known.cloned();
            self.lookup.place.count(None, || known, self.seen_at)
        };
        let Some(old) = &before.manifest else {
            return root();
        };
        let now = count(Some(old)).ok().and_then(|tree| tree.manifest);
        let changes = now.map(|now| now.changes_since(old)).unwrap_or_default();
        changes
            .into_iter()
            .next()
            .map_or_else(root, |(path, _)| path)
    }
}

impl Lookup {
    fn look(&self) -> Vec<NamedFile> {
        let words = self.bases.iter().flat_map(|base| {
            let words = self.words.iter();
            words.map(move |word| link::normal(&base.join(word.expose()), &self.place.root))
        });
        let inside = |path: &PathBuf| self.is_inside(path) && path.is_file();
        let programs = self.programs.iter().filter(|path| path.is_file()).cloned();
        let mut paths: Vec<PathBuf> = words.filter(inside).chain(programs).collect();
        paths.sort_unstable();
        paths.dedup();
        let mut room = walk::MAX_BYTES;
        paths
            .into_iter()
            .map(|path| NamedFile::look(is_systems(&path), path, &mut room))
            .collect()
    }

    fn is_inside(&self, path: &Path) -> bool {
        let inside = |path: &Path| {
            let is_data = !self.data.as_os_str().is_empty() && path.starts_with(&self.data);
            path.starts_with(&self.place.root) || is_data
        };
        inside(path) || fs::canonicalize(path).is_ok_and(|path| inside(&path))
    }

    /// Returns a path seen from the plugin or its data folder.
    fn below(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.place.root);
        let below = below.or_else(|_| path.strip_prefix(&self.data));
        below.unwrap_or(path).to_string_lossy().into_owned()
    }
}

impl NamedFile {
    fn hash(&self, lookup: &Lookup, hasher: &mut Hasher) {
        let Self {
            path,
            target,
            content,
            // For a person alone.
            is_too_large: _,
        } = self;
        hasher.field(b"path", lookup.below(path).as_bytes());
        if let Some(target) = target {
            hasher.field(b"target", lookup.below(target).as_bytes());
        }
        match content {
            Some(content) => hasher.field(b"file", content),
            None => hasher.field(b"none", b""),
        }
    }

    fn look(is_systems: bool, path: PathBuf, room: &mut u64) -> Self {
        let target = fs::canonicalize(&path)
            .ok()
            .filter(|target| *target != path);
        let metadata = fs::metadata(&path).ok();
        // A program of the system that the plugin links to may be upgraded.
        let is_fixed = target.is_some() && is_systems;
        let size = metadata.as_ref().map_or(0, fs::Metadata::len);
        let fits = size <= *room;
        if fits {
            *room = room.saturating_sub(size);
        }
        let is_read = fits && !is_fixed;
        let content = if is_read { tree::content(&path) } else { None };
        Self {
            path,
            target,
            content,
            is_too_large: !fits && !is_fixed,
        }
    }
}

impl Cache<'_> {
    fn count(&self, place: &TreePlace) -> Result<Tree, walk::TooLarge> {
        let approval = || self.store?.find(self.source, self.server).ok()?;
        let known = approval().and_then(|approval| approval.known_tree());
        let files = || self.store?.find_files(self.source, self.server).ok()?;
        place.count(known, files, self.now)
    }
}

/// Says whether a path leads to what only the superuser can change. Links on the way count with
/// their end.
fn is_systems(path: &Path) -> bool {
    let resolver = Resolver {
        counts: &|_| false,
        stays: link::is_systems,
    };
    fs::canonicalize(path).is_ok_and(|path| resolver.is_fixed(&path))
}

/// Returns the files by which package runners and interpreters are configured in a folder.
pub(crate) fn configuration(folder: &Path, places: Places<'_>) -> Vec<PathBuf> {
    if !places.lead_into(folder) {
        return Vec::new();
    }
    CONFIGURATION.iter().map(|name| folder.join(name)).collect()
}

const CONFIGURATION: &[&str] = &[
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "pnpm-workspace.yaml",
    "bunfig.toml",
    "package.json",
    "deno.json",
    "uv.toml",
    "pip.conf",
    "pyproject.toml",
    ".python-version",
    "sitecustomize.py",
    "usercustomize.py",
];

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "files of a fresh temporary folder"
)]
mod tests {
    use super::*;

    /// A link to a program of the system stays the same through its upgrades.
    #[test]
    fn a_named_file_counts_by_its_content_unless_a_link_leads_to_the_systems_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (file, link) = (root.join("file"), root.join("link"));
        fs::write(&file, "12").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for (path, is_systems, room, is_read, is_too_large, left) in [
            (&file, false, 2, true, false, 0),
            (&file, false, 1, false, true, 1),
            (&file, true, 2, true, false, 0),
            (&link, false, 3, true, false, 1),
            (&link, false, 1, false, true, 1),
            (&link, true, 2, false, false, 0),
            (&link, true, 1, false, false, 1),
        ] {
            let mut rest = room;
            let found = NamedFile::look(is_systems, path.clone(), &mut rest);
            let case = format!("{} {is_systems} {room}", path.display());
            assert_eq!(found.content.is_some(), is_read, "{case}");
            assert_eq!(found.is_too_large, is_too_large, "{case}");
            assert_eq!(found.target.is_some(), path == &link, "{case}");
            assert_eq!(rest, left, "{case}");
        }
    }
}
