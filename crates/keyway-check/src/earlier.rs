//! The same files as they were at another commit, so that only what a change introduced is reported.
//!
//! Git writes the commit's files into a temporary folder by an index of its own; the repository, its
//! index and its work tree are not touched.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use keyway_config::diagnostic::Diagnostic;
use tempfile::TempDir;

use crate::error::CheckError;

/// The files of a commit.
pub(crate) struct Earlier {
    /// Removed when this is dropped.
    _folder: TempDir,
    /// Where the folder of the call is in it.
    here: PathBuf,
    /// The root of the repository.
    top: PathBuf,
    /// Where its files are.
    tree: PathBuf,
}

impl Earlier {
    /// Writes the files of the commit that `reference` names.
    pub(crate) fn at(reference: &str) -> Result<Self, CheckError> {
        let failed = |source| CheckError::Since {
            reference: reference.to_owned(),
            source,
        };
        let folder = tempfile::Builder::new()
            .prefix("keyway-since-")
            .tempdir()
            .map_err(failed)?;
        let index = folder.path().join("index");
        let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"], None).map_err(failed)?);
        let below = git(&["rev-parse", "--show-prefix"], None).map_err(failed)?;
        let commit = format!("{reference}^{{commit}}");
        let verify = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ];
        let commit = git(&verify, None).map_err(failed)?;
        git(&["read-tree", &commit], Some((&top, &index))).map_err(failed)?;
        let tree = folder.path().join("tree");
        let prefix = format!("--prefix={}/", tree.display());
        let checkout = ["checkout-index", "--all", "--force", "--quiet", &prefix];
        git(&checkout, Some((&top, &index))).map_err(failed)?;
        Ok(Self {
            here: tree.join(below),
            tree,
            top,
            _folder: folder,
        })
    }

    /// Returns where the paths of a call were, those that were there.
    pub(crate) fn paths(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let earlier = paths.iter().map(|path| match path.strip_prefix(&self.top) {
            Ok(below) => self.tree.join(below),
            Err(_) if path == Path::new(".") => self.here.clone(),
            Err(_) => self.here.join(path),
        });
        earlier.filter(|path| path.exists()).collect()
    }

    /// Names the files of findings as they are named today.
    pub(crate) fn rename(&self, findings: &mut [Diagnostic]) {
        let here = format!("{}/", self.here.display()).replace("//", "/");
        let tree = format!("{}/", self.tree.display());
        for location in findings.iter_mut().filter_map(|it| it.location.as_mut()) {
            let below = location.file.strip_prefix(&here).map(Arc::from);
            let above = || {
                let below = location.file.strip_prefix(&tree)?;
                Some(Arc::from(self.top.join(below).display().to_string()))
            };
            if let Some(name) = below.or_else(above) {
                location.file = name;
            }
        }
    }
}

/// Runs git and returns what it prints, without the line break.
#[expect(
    clippy::disallowed_methods,
    reason = "a program that the person has, over their own repository; nothing of a plugin runs"
)]
fn git(words: &[&str], at: Option<(&Path, &Path)>) -> io::Result<String> {
    let mut command = Command::new("git");
    if let Some((top, index)) = at {
        command.arg("-C").arg(top).env("GIT_INDEX_FILE", index);
    }
    let output = command.args(words).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!(
            "`git {}` failed",
            words.first().copied().unwrap_or_default()
        )));
    }
    let text = String::from_utf8(output.stdout).map_err(io::Error::other)?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
