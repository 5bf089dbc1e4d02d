//! The installed files below a prefix, as the archive and the Debian package have them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::dist::project::PROGRAM;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Lays out the program, its man pages, completions, documents and licences below `prefix`.
pub(super) fn lay_out(
    workspace: &Workspace,
    binary: &Path,
    notices: &str,
    prefix: &Path,
) -> Result<(), XtaskError> {
    let root = &workspace.root;
    copy(binary, &prefix.join("bin").join(PROGRAM), EXECUTABLE)?;
    for page in files(&root.join("man"))? {
        let name = page.file_name().unwrap_or_default();
        copy(&page, &prefix.join("share/man/man1").join(name), PLAIN)?;
    }
    for (from, to) in COMPLETIONS {
        let from = root.join("completions").join(from);
        copy(&from, &prefix.join("share").join(to), PLAIN)?;
    }
    let documents = prefix.join("share/doc").join(PROGRAM);
    for name in DOCUMENTS {
        copy(&root.join(name), &documents.join(name), PLAIN)?;
    }
    let path = documents.join("THIRD-PARTY");
    write(&path, notices)
}

/// Copies a file with `mode`, and makes the folders above it.
pub(super) fn copy(from: &Path, to: &Path, mode: u32) -> Result<(), XtaskError> {
    make_parent(to)?;
    fs::copy(from, to).map_err(XtaskError::file(from))?;
    fs::set_permissions(to, Permissions::from_mode(mode)).map_err(XtaskError::file(to))
}

/// Writes a text that everyone may read, and makes the folders above it.
pub(super) fn write(to: &Path, text: &str) -> Result<(), XtaskError> {
    make_parent(to)?;
    fs::write(to, text).map_err(XtaskError::file(to))?;
    fs::set_permissions(to, Permissions::from_mode(PLAIN)).map_err(XtaskError::file(to))
}

/// Makes `folder` an empty one.
pub(super) fn empty(folder: &Path) -> Result<(), XtaskError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(XtaskError::file(folder))?;
    }
    fs::create_dir_all(folder).map_err(XtaskError::file(folder))
}

/// Returns the files in `folder`, sorted.
pub(super) fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>, XtaskError> {
    let entries = fs::read_dir(folder).map_err(XtaskError::file(folder))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

fn make_parent(path: &Path) -> Result<(), XtaskError> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(XtaskError::file(parent))
}

pub(super) const EXECUTABLE: u32 = 0o755;
pub(super) const PLAIN: u32 = 0o644;
pub(super) const DOCUMENTS: &[&str] =
    &["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Each completion, and where its shell looks for it below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("keyway.bash", "bash-completion/completions/keyway"),
    ("_keyway", "zsh/site-functions/_keyway"),
    ("keyway.fish", "fish/vendor_completions.d/keyway.fish"),
];
