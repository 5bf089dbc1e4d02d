//! What a confined child was kept from, where that can be known: a grant can then be named.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::isolation::{Isolation, IsolationProfile};
use super::stage::LaunchStage;
use super::{Program, exec};

/// Returns the path that kept a program from starting, if it is there and was not granted.
pub(super) fn at_start(program: &Program, stage: LaunchStage) -> Option<PathBuf> {
    let path = match stage {
        LaunchStage::Folder => Some(program.folder.clone()),
        LaunchStage::Program => locate(program),
        _ => None,
    };
    path.filter(|path| is_denied(&program.isolation, path))
}

/// Returns a path that a line of the child's names, and that is there and was not granted.
pub(crate) fn in_line(isolation: &Isolation, line: &str) -> Option<PathBuf> {
    if isolation.profile != IsolationProfile::Confine {
        return None;
    }
    let words = line.split(|letter: char| letter.is_whitespace() || QUOTES.contains(letter));
    let paths = words.map(|word| Path::new(word.trim_end_matches(['.', ','])));
    let mut denied = paths.filter(|path| path.is_absolute() && is_denied(isolation, path));
    denied.next().map(Path::to_owned)
}

fn is_denied(isolation: &Isolation, path: &Path) -> bool {
    let mut granted = isolation.granted.iter().chain(&isolation.read_only);
    let is_granted = granted.any(|place| path.starts_with(place));
    // What is ours is not to be granted, so it is not named either.
    let mut hidden = isolation.hidden.iter().chain(&isolation.also_hidden);
    let is_ours = hidden.any(|place| path.starts_with(place));
    isolation.profile == IsolationProfile::Confine
        && path.parent().is_some()
        && !is_granted
        && !is_ours
        && !own_places().any(|place| path.starts_with(place))
        && path.exists()
}

/// Finds the program where the person would.
fn locate(program: &Program) -> Option<PathBuf> {
    let command = program.command.expose();
    if command.contains('/') {
        return Some(PathBuf::from(command));
    }
    let mut variables = program.env.expose();
    let path =
        variables.find_map(|(name, value)| (name == "PATH").then(|| OsStr::from_bytes(value)));
    let folders = std::env::split_paths(path.unwrap_or(OsStr::new(exec::DEFAULT_PATH)));
    let mut found = folders.map(|folder| folder.join(command));
    found.find(|path| exec::is_executable(path).is_ok())
}

/// Places that a confined child has of its own, or of the system.
fn own_places() -> impl Iterator<Item = &'static Path> {
    let own = ["/dev", "/proc", "/sys", "/tmp"].into_iter();
    own.chain(system()).map(Path::new)
}

#[cfg(target_os = "linux")]
fn system() -> impl Iterator<Item = &'static str> {
    super::isolation::SYSTEM.iter().copied()
}

#[cfg(not(target_os = "linux"))]
fn system() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// What paths are written between.
const QUOTES: &str = "'\"`()[]<>:;=";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_exists_and_was_not_granted_is_named() {
        // Not below the temporary folder, of which a confined child has one of its own.
        let home = tempfile::TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = home.path().join("notes");
        std::fs::create_dir(&path).unwrap();
        let line = format!(
            "Error: ENOENT: no such file or directory, stat '{}'",
            path.display()
        );
        let mut isolation = Isolation {
            profile: IsolationProfile::Confine,
            ..Isolation::default()
        };
        assert_eq!(in_line(&isolation, &line), Some(path.clone()));
        assert_eq!(
            in_line(&isolation, "/nowhere/at/all: /usr/bin, /etc/passwd /"),
            None
        );
        isolation.read_only = vec![home.path().to_owned()];
        assert_eq!(in_line(&isolation, &line), None);
        isolation.read_only.clear();
        isolation.hidden = vec![path];
        assert_eq!(
            in_line(&isolation, &line),
            None,
            "ours is not to be granted"
        );
        isolation.profile = IsolationProfile::Hide;
        isolation.hidden.clear();
        assert_eq!(in_line(&isolation, &line), None);
    }
}
