//! What version control says about a file, read from its own files: `git` is never run.

#[cfg(feature = "authoring")]
mod ignored;
mod index;

use std::fs;
use std::path::{Path, PathBuf};

#[cfg(feature = "authoring")]
pub use self::ignored::is_listed;
use crate::read;

/// The repository that a folder is part of.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The folder that holds `.git`.
    pub(crate) top: PathBuf,
    git_dir: PathBuf,
}

impl Repository {
    /// Finds the repository of a folder, which must be absolute.
    #[must_use]
    pub fn find(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(|top| {
            let git_dir = git_dir(top)?;
            let top = top.to_path_buf();
            Some(Self { top, git_dir })
        })
    }

    /// Says for each path whether it is committed or about to be.
    #[must_use]
    pub fn tracks(&self, paths: &[PathBuf]) -> Vec<bool> {
        let mut tracked = vec![false; paths.len()];
        let index = self.git_dir.join("index");
        if paths.is_empty() {
            return tracked;
        }
        let Some(bytes) = read::optional(&index, MAX_INDEX_BYTES) else {
            return tracked;
        };
        let wanted = paths.iter().map(|path| {
            let below = path.strip_prefix(&self.top).unwrap_or(path);
            below.as_os_str().as_encoded_bytes()
        });
        let wanted: Vec<&[u8]> = wanted.collect();
        index::for_each_name(&bytes, self.hash(), |name| {
            for (tracked, wanted) in tracked.iter_mut().zip(&wanted) {
                *tracked |= name == *wanted;
            }
        });
        tracked
    }

    /// Returns the folder that linked work trees share.
    fn common_dir(&self) -> PathBuf {
        let common = read::optional(&self.git_dir.join("commondir"), MAX_POINTER_BYTES);
        let common = common.and_then(|bytes| String::from_utf8(bytes).ok());
        common.map_or_else(
            || self.git_dir.clone(),
            |path| self.git_dir.join(path.trim_end()),
        )
    }

    fn hash(&self) -> index::Hash {
        let config = read::optional(&self.common_dir().join("config"), MAX_IGNORE_BYTES);
        let config = String::from_utf8_lossy(&config.unwrap_or_default()).to_ascii_lowercase();
        let is_sha256 = config.lines().any(|line| {
            let value = line.trim().strip_prefix("objectformat");
            value.is_some_and(|value| value.trim_start_matches([' ', '=']) == "sha256")
        });
        if is_sha256 {
            index::Hash::Sha256
        } else {
            index::Hash::Sha1
        }
    }
}

/// Returns the folder with the index: `.git` itself, or what a linked work tree's file names.
fn git_dir(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if fs::metadata(&git).ok()?.is_dir() {
        return Some(git);
    }
    let pointer = String::from_utf8(read::optional(&git, MAX_POINTER_BYTES)?).ok()?;
    let path = pointer.strip_prefix("gitdir:")?.trim();
    Some(top.join(path))
}

const MAX_INDEX_BYTES: usize = 64 * 1024 * 1024;
const MAX_IGNORE_BYTES: usize = 256 * 1024;
const MAX_POINTER_BYTES: usize = 4096;

#[cfg(test)]
#[cfg(feature = "authoring")]
mod tests;
