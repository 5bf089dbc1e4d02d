//! How records of findings name their files, so that they say the same wherever the program is
//! started and however the paths of the call are written.

use std::fs;
use std::path::{Path, PathBuf};

use keyway_config::diagnostic::Diagnostic;

/// How a record names the files of its findings.
#[derive(Debug, Clone, Default)]
pub struct FileNames {
    /// The folder below which they are named; without one they are named as the call has them.
    top: Option<PathBuf>,
}

impl FileNames {
    /// Names files from the top of the repository that holds `record`, or from its folder.
    #[must_use]
    pub fn beside(record: &Path) -> Self {
        let folder = record.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
        let top = |folder: PathBuf| keyway_files::load::repository_of(&folder).unwrap_or(folder);
        Self {
            top: folder.ok().map(top),
        }
    }

    /// Names the file of a finding. What is not a file below the folder, such as standard input,
    /// keeps its name.
    pub(crate) fn of(&self, found: &Diagnostic) -> String {
        let file = found.location.as_ref().map_or("", |it| &it.file);
        let name = || below(self.top.as_ref()?, &canonical(Path::new(file))?);
        name().unwrap_or_else(|| file.to_owned())
    }

    /// Returns the part of a record that a check of `paths` speaks of.
    pub(crate) fn extent(&self, paths: &[PathBuf]) -> Extent {
        let Some(top) = &self.top else {
            return Extent { paths: None };
        };
        let paths = paths.iter().filter_map(|path| canonical(path));
        let below = paths.filter_map(|path| match path.strip_prefix(top) {
            Ok(below) => Some(below.to_path_buf()),
            // A folder around the record holds all of it.
            Err(_) => top.starts_with(&path).then(PathBuf::new),
        });
        Extent {
            paths: Some(below.collect()),
        }
    }
}

/// The part of a record that a check speaks of: what it did not look at is not gone.
#[derive(Debug)]
pub(crate) struct Extent {
    /// Files and folders below the top; `None` is everything.
    paths: Option<Vec<PathBuf>>,
}

impl Extent {
    /// Says whether a file, by its name in the record, is part of it.
    pub(crate) fn has(&self, name: &str) -> bool {
        let Some(paths) = &self.paths else {
            return true;
        };
        paths.iter().any(|path| Path::new(name).starts_with(path))
    }
}

/// Names a file from the top of its repository; `None` if it is in none.
pub(crate) fn from_repository(file: &str) -> Option<String> {
    let file = canonical(Path::new(file))?;
    let top = keyway_files::load::repository_of(file.ancestors().find(|it| it.is_dir())?)?;
    below(&top, &file)
}

/// Names a file from the root of the file system; what is not a file keeps its name.
pub(crate) fn from_root(file: &str) -> String {
    let path = canonical(Path::new(file));
    path.map_or_else(|| file.to_owned(), |path| path.display().to_string())
}

/// Makes a path absolute, without links; `None` if nothing is there. What lies in an archive is named
/// below the archive.
fn canonical(path: &Path) -> Option<PathBuf> {
    if let Ok(path) = fs::canonicalize(path) {
        return Some(path);
    }
    let archive = path.ancestors().skip(1).find(|it| it.is_file())?;
    let inside = path.strip_prefix(archive).ok()?;
    Some(fs::canonicalize(archive).ok()?.join(inside))
}

fn below(top: &Path, file: &Path) -> Option<String> {
    let below = file.strip_prefix(top).ok()?;
    let parts = below
        .components()
        .map(|it| it.as_os_str().to_string_lossy());
    Some(parts.collect::<Vec<_>>().join("/"))
}
