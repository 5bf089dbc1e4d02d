//! Where a repository says how it is checked.

use std::fs;
use std::path::{Path, PathBuf};

use keyway_config::source::MAX_BYTES;
use keyway_lint::check_settings::CheckSettings;

use crate::error::CheckError;

/// Finds the settings of a repository: `keyway.toml` in the folder of a path, or above it up to
/// the top of the repository.
pub(crate) fn settings_above(path: &Path) -> Result<Option<(PathBuf, CheckSettings)>, CheckError> {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(Path::new("."))
    };
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let Ok(folder) = fs::canonicalize(folder) else {
        return Ok(None);
    };
    let top = keyway_files::load::repository_of(&folder);
    let top = top.unwrap_or_else(|| folder.clone());
    for folder in folder.ancestors().take_while(|it| it.starts_with(&top)) {
        let file = folder.join(SETTINGS_FILE);
        if !file.is_file() {
            continue;
        }
        let bytes = keyway_files::read::bounded(&file, MAX_BYTES).map_err(keyway::Error::from)?;
        let text = String::from_utf8_lossy(&bytes);
        let settings = CheckSettings::parse(&text).map_err(|source| CheckError::Settings {
            file: Some(file),
            source,
        })?;
        return Ok(Some((folder.to_path_buf(), settings)));
    }
    Ok(None)
}

/// Returns the path of a file that the settings in `folder` name.
///
/// The author of the repository wrote them, so they may only name what is in it.
pub(crate) fn named_by_settings(folder: &Path, name: &str) -> Result<PathBuf, CheckError> {
    let path = folder.join(name);
    let real = fs::canonicalize(&path);
    if real.is_ok_and(|real| !real.starts_with(folder)) {
        let source = std::io::Error::other("outside the folder of `keyway.toml`, which names it");
        return Err(CheckError::Baseline { path, source });
    }
    Ok(path)
}

const SETTINGS_FILE: &str = "keyway.toml";
