//! The files inside the plugin that an entry runs, and whether they are still the same.
//!
//! What is hashed is what the command line names, wherever in it. Between the last look and the
//! moment at which a program reads its file there is a gap that hashing cannot close (threat D11):
//! a file that is swapped and swapped back inside it is not noticed.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};
use keyway_config::declared::{DeclaredServer, Endpoint, HelperCommand};

use super::{EntryContext, shown};
use crate::read;

/// The files that an entry runs, as they were when this was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    root: PathBuf,
    /// Where words of the command line may begin.
    bases: Vec<PathBuf>,
    words: Vec<String>,
    seen: Seen,
}

/// A digest of a file's content; `None` stands for one that cannot be read.
type Content = [u8; 32];

/// What was found when the files were looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Whole(Vec<(PathBuf, Option<Content>)>),
    /// There is more than is read before anybody has approved it.
    TooLarge(Vec<(PathBuf, Option<Content>)>),
}

impl Files {
    /// Looks at the files that an entry names.
    pub(super) fn of(server: &DeclaredServer, around: EntryContext<'_>) -> Self {
        let root = around.root;
        let mut bases = vec![root.to_path_buf()];
        if let Endpoint::Local(local) = &server.endpoint
            && let Some(cwd) = &local.cwd
        {
            bases.push(root.join(shown(&cwd.template, around.host)));
        }
        let words = words(server, around);
        let seen = look(root, &bases, &words);
        Self {
            root: root.to_path_buf(),
            bases,
            words,
            seen,
        }
    }

    /// Says whether everything is as it was.
    ///
    /// # Errors
    ///
    /// Returns the name of a file that changed, appeared or went away.
    pub fn verify(&self) -> Result<(), String> {
        let now = look(&self.root, &self.bases, &self.words);
        if now == self.seen {
            return Ok(());
        }
        let (now, before) = (now.files(), self.seen.files());
        let changed = now.iter().find(|file| !before.contains(file));
        let gone = || before.iter().find(|file| !now.contains(file));
        let (path, _) = changed.or_else(gone).ok_or_else(String::new)?;
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        Err(path.to_string_lossy().into_owned())
    }

    /// Returns the files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.seen.files().iter().map(|(path, _)| path.as_path())
    }

    /// Says whether they are too large to be read, so that nobody can approve what they are.
    #[must_use]
    pub const fn are_too_large(&self) -> bool {
        matches!(self.seen, Seen::TooLarge(_))
    }

    pub(crate) fn seen(&self) -> &[(PathBuf, Option<Content>)] {
        self.seen.files()
    }
}

impl Seen {
    fn files(&self) -> &[(PathBuf, Option<Content>)] {
        match self {
            Self::Whole(files) | Self::TooLarge(files) => files,
        }
    }
}

/// The words of the command line, and the values of flags that are written in one word.
fn words(server: &DeclaredServer, around: EntryContext<'_>) -> Vec<String> {
    let mut words: Vec<String> = match &server.endpoint {
        Endpoint::Local(local) => std::iter::once(&local.command)
            .chain(&local.args)
            .map(|field| shown(&field.template, around.host))
            .collect(),
        Endpoint::Remote(remote) => match remote.helper.as_ref().map(|helper| &helper.command) {
            Some(HelperCommand::Program(field) | HelperCommand::Shell(field)) => {
                let line = shown(&field.template, around.host);
                let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
                std::iter::once(line).chain(words).collect()
            }
            Some(HelperCommand::Words(words)) => words
                .iter()
                .map(|field| shown(&field.template, around.host))
                .collect(),
            None => Vec::new(),
        },
    };
    let values: Vec<String> = words
        .iter()
        .filter_map(|word| word.split_once('='))
        .map(|(_, value)| value.to_owned())
        .collect();
    words.extend(values);
    words
}

fn look(root: &Path, bases: &[PathBuf], words: &[String]) -> Seen {
    let named = |base: &PathBuf| {
        let base = base.clone();
        let inside = move |word: &String| inside(root, &base.join(word));
        words.iter().filter_map(inside).collect::<Vec<_>>()
    };
    let mut files: Vec<PathBuf> = bases.iter().flat_map(named).collect();
    files.sort_unstable();
    files.dedup();
    let length = |file: &PathBuf| fs::metadata(file).map_or(0, |it| it.len());
    let lengths = files.iter().map(length);
    let all = lengths.fold(0, u64::saturating_add);
    if all > MAX_BYTES {
        return Seen::TooLarge(files.into_iter().map(|file| (file, None)).collect());
    }
    let read = files.into_iter().map(|file| {
        let content = content(&file);
        (file, content)
    });
    Seen::Whole(read.collect())
}

/// Returns the regular file inside `root` that a path leads to, if there is one.
fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    let root = fs::canonicalize(root).ok()?;
    (path.starts_with(root) && path.is_file()).then_some(path)
}

fn content(path: &Path) -> Option<Content> {
    // It may have grown meanwhile.
    let mut file = read::open(path).ok()?.take(MAX_BYTES + 1);
    let mut hasher = Blake2b::<U32>::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finalize().into()),
            read => hasher.update(buffer.get(..read)?),
        }
    }
}

const BUFFER: usize = 64 * 1024;
/// What the files of one entry may hold together.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
