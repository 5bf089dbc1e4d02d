//! Which folder is a plugin's root, and what a path on the command line means.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use keyway_config::dialect::folders_above;
use keyway_config::template::{Part, Template};

use crate::config_files::CONFIG_FILES;
use crate::error::LoadError;
use crate::read::shown;

/// A folder under two names.
#[derive(Debug, Clone)]
pub(super) struct Root {
    /// As the person wrote it, for messages.
    pub(super) given: PathBuf,
    /// Absolute, links followed.
    pub(super) canonical: PathBuf,
}

impl Root {
    pub(super) fn of(given: &Path) -> Result<Self, LoadError> {
        let given = if given.as_os_str().is_empty() {
            Path::new(".")
        } else {
            given
        };
        match fs::canonicalize(given) {
            Ok(canonical) => Ok(Self {
                given: given.to_path_buf(),
                canonical,
            }),
            Err(source) => Err(unreadable(given, source)),
        }
    }

    pub(super) fn has_configuration(&self) -> bool {
        CONFIG_FILES
            .iter()
            .any(|(name, _)| self.given.join(name).symlink_metadata().is_ok())
    }

    /// Fills in the host variables of a path and makes it absolute; `None` if others remain.
    pub(super) fn resolve(&self, template: &Template) -> Option<PathBuf> {
        let mut text = String::new();
        for part in template.parts() {
            match part {
                Part::Literal { text: literal, .. } => text.push_str(literal),
                Part::Variable(variable) if is_plugin_root(&variable.name) => {
                    text.push_str(self.canonical.to_str()?);
                }
                _ => return None,
            }
        }
        Some(self.canonical.join(text))
    }
}

/// What a path on the command line means.
pub(super) struct Target {
    pub(super) root: Root,
    /// The one file to read, or all of the root.
    pub(super) file: Option<PathBuf>,
}

impl Target {
    pub(super) fn of(path: &Path) -> Result<Self, LoadError> {
        let metadata = fs::metadata(path).map_err(|source| unreadable(path, source))?;
        if metadata.is_dir() {
            let root = Root::of(path)?;
            return Ok(Self { root, file: None });
        }
        let mut folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        for _ in 0..folders_above(&full_name(path)) {
            let is_named = folder.file_name().is_some();
            folder = match folder.parent().filter(|_| is_named) {
                Some(above) => above.to_path_buf(),
                None => folder.join(".."),
            };
        }
        let root = Root::of(&folder)?;
        Ok(Self {
            root,
            file: Some(path.to_path_buf()),
        })
    }
}

/// Returns the whole path of a file, which says whose it is even where the person stands in the
/// host's own folder.
pub(super) fn full_name(path: &Path) -> String {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    let full = folder.map(|folder| folder.join(path.file_name().unwrap_or_default()));
    full.map_or_else(|_| shown(path), |full| shown(&full))
}

fn is_plugin_root(name: &str) -> bool {
    let (host, aliases) = ("HOST_PLUGIN_ROOT", ["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"]);
    name == host || aliases.contains(&name)
}

fn unreadable(path: &Path, source: io::Error) -> LoadError {
    let path = shown(path);
    match source.kind() {
        io::ErrorKind::NotFound => LoadError::Missing { path },
        _ => LoadError::Unreadable { path, source },
    }
}
