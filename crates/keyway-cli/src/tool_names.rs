//! The names of a server's tools as they were last listed, so that a shell can complete them.
//!
//! Names only, in a private folder of Keyway; whatever fails here costs a completion and no more.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use keyway_config::names::stable_id;

use crate::environment::ProcessEnvironment;

/// Keeps the names of the tools of a server.
pub(crate) fn remember<'a>(plugin: &Path, server: &str, names: impl Iterator<Item = &'a str>) {
    let is_plain = |name: &&str| !name.contains(char::is_control) && name.len() <= LONGEST;
    let text: String = names
        .filter(is_plain)
        .take(MOST)
        .map(|name| format!("{name}\n"))
        .collect();
    let Some(file) = file(plugin, server) else {
        return;
    };
    if fs::read_to_string(&file).is_ok_and(|before| before == text) {
        return;
    }
    let _unkept = write(&file, &text);
}

/// Returns the names that were kept.
pub(crate) fn recall(plugin: &Path, server: &str) -> Vec<String> {
    let text = file(plugin, server).and_then(|file| fs::read_to_string(file).ok());
    let text = text.unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let Some(folder) = file.parent() else {
        return Ok(());
    };
    // Keyway's own folder is made by the vault, with its rights; here it only has to be there.
    if folder.parent().is_none_or(|data| !data.is_dir()) {
        return Ok(());
    }
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    options.open(file)?.write_all(text.as_bytes())
}

fn file(plugin: &Path, server: &str) -> Option<PathBuf> {
    let folder = ProcessEnvironment::data_folder()?.join("tools");
    let root = fs::canonicalize(plugin).unwrap_or_else(|_| plugin.to_owned());
    Some(folder.join(stable_id(&[&root.to_string_lossy(), server])))
}

const MOST: usize = 500;
const LONGEST: usize = 200;
