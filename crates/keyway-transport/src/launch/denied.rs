//! What a confined child was kept from, where that can be known: a grant can then be named.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use keyway_auth::{Complaint, Denied};

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

/// Returns the path that leads to what is hidden although it was granted, or is the plugin's.
pub(super) fn in_hidden(program: &Program, stage: LaunchStage) -> Option<PathBuf> {
    let isolation = &program.isolation;
    let hidden = isolation.hidden.iter().chain(&isolation.also_hidden);
    let hidden: Vec<PathBuf> = hidden.filter_map(|it| it.canonicalize().ok()).collect();
    let read_only = isolation.read_only.iter().chain(&isolation.root);
    let mut given = isolation.granted.iter().chain(read_only);
    let is_hidden = |path: &&PathBuf| {
        let real = path.canonicalize();
        real.is_ok_and(|real| hidden.iter().any(|place| real.starts_with(place)))
    };
    let found = given.find(is_hidden);
    found.filter(|_| stage == LaunchStage::Grants).cloned()
}

/// Returns the grant that made a start fail because it leads elsewhere; by now it may be back.
pub(super) fn replaced(isolation: &Isolation, stage: LaunchStage) -> Option<PathBuf> {
    let mut known = isolation.known_grants.iter();
    let first = known.clone().next();
    let found = known.find(|grant| !grant.is_there()).or(first);
    found
        .filter(|_| stage == LaunchStage::Approved)
        .map(|grant| grant.path.clone())
}

/// Returns what a line of a confined child's says that it was kept from, as far as that can be known.
pub(super) fn in_line(isolation: &Isolation, line: &str) -> Option<Denied> {
    let Complaint {
        is_refused,
        is_missed,
        writes,
        lacks_network,
        ..
    } = Complaint::of(line);
    let words = line.split(|letter: char| letter.is_whitespace() || QUOTES.contains(letter));
    let words = words.map(|word| word.trim_end_matches(['.', ',', '!', '?']));
    let mut found = words.map(|word| {
        let path = located(isolation, word);
        let unseen = path.as_deref().and_then(|path| {
            // What a child wanted to make is not there yet, and the folder around it is.
            let mut above = path.ancestors().take(if writes { usize::MAX } else { 1 });
            let path = above.find(|path| path.exists())?;
            let is_own = OWN.iter().any(|own| path.starts_with(own));
            (is_denied(isolation, path) && (is_missed || !is_own)).then(|| path.to_owned())
        });
        match unseen {
            Some(path) => Some(Denied::Unseen { path, writes }),
            None if is_refused => unwritable(isolation, Path::new(word)),
            None => None,
        }
    });
    let path = found.find_map(|found| found);
    path.or_else(|| (isolation.offline && lacks_network).then_some(Denied::Network))
}

/// Returns the path that a word stands for: an absolute one, or one in the person's home.
fn located(isolation: &Isolation, word: &str) -> Option<PathBuf> {
    if word.starts_with('/') {
        return Some(PathBuf::from(word));
    }
    let mut prefixes = ["~/", "$HOME/", "${HOME}/"].into_iter();
    let below = prefixes.find_map(|prefix| word.strip_prefix(prefix));
    // Such as `.aws/config`, which is not the plugin's.
    let is_dotted = |word: &&str| {
        let name = word.strip_prefix('.').unwrap_or_default();
        name.starts_with(char::is_alphanumeric)
    };
    let below = below.or(Some(word).filter(is_dotted))?;
    Some(isolation.home.as_ref()?.join(below))
}

/// Finds the folder that a child may only read and that a path lies in; one that is not absolute is
/// taken to be in each that has such a file.
fn unwritable(isolation: &Isolation, path: &Path) -> Option<Denied> {
    let depth = |place: &&PathBuf| place.components().count();
    let path = if path.is_absolute() {
        path.to_owned()
    } else {
        let mut inside = isolation.readable().map(|place| place.join(path));
        inside.find(|inside| path.file_name().is_some() && inside.exists())?
    };
    let is_around = |place: &&PathBuf| path.starts_with(place);
    let folder = isolation.readable().filter(is_around).max_by_key(depth)?;
    let folder = folder.clone();
    let open = isolation.writable().filter(is_around).max_by_key(depth);
    let is_open = open.is_some_and(|open| depth(&open) >= depth(&&folder));
    (!is_open).then_some(Denied::Unwritable { path, folder })
}

/// Says whether a path is there and a confined child does not see it.
pub(super) fn is_denied(isolation: &Isolation, path: &Path) -> bool {
    let mut granted = isolation.writable().chain(isolation.readable());
    let is_granted = granted.any(|place| path.starts_with(place));
    // What is ours is not to be granted, so it is not named either.
    let mut hidden = isolation.hidden.iter().chain(&isolation.also_hidden);
    let is_ours = hidden.any(|place| path.starts_with(place));
    // A child has a home of its own, and the folders that lead there.
    let home = isolation.home.as_ref();
    let is_home = home.is_some_and(|home| home.starts_with(path));
    isolation.profile == IsolationProfile::Confine
        && path.parent().is_some()
        && !is_home
        && !is_granted
        && !is_ours
        && !OWN.iter().any(|own| path == Path::new(own))
        && !is_of_system(path)
        && path.exists()
}

/// Finds the program where the person would.
fn locate(program: &Program) -> Option<PathBuf> {
    let command = program.command.expose();
    if command.contains('/') {
        return Some(PathBuf::from(command));
    }
    find_program(path_of(program), command)
}

/// Finds a program by its name, in a `PATH`.
pub(super) fn find_program(path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(path.unwrap_or(OsStr::new(exec::DEFAULT_PATH)));
    let mut found = folders.map(|folder| folder.join(name));
    found.find(|path| exec::is_executable(path).is_ok())
}

/// Returns the `PATH` of a program.
pub(super) fn path_of(program: &Program) -> Option<&OsStr> {
    let mut variables = program.env.expose();
    variables.find_map(|(name, value)| (name == "PATH").then(|| OsStr::from_bytes(value)))
}

/// Says whether a path is one of the system, that a confined child sees or that cannot be granted.
fn is_of_system(path: &Path) -> bool {
    // Files of people, in memory.
    if path.starts_with("/dev/shm") {
        return false;
    }
    let kernel = ["/dev", "/proc", "/sys"].into_iter();
    kernel.chain(system()).any(|place| path.starts_with(place))
}

#[cfg(target_os = "linux")]
fn system() -> impl Iterator<Item = &'static str> {
    super::isolation::SYSTEM.iter().copied()
}

#[cfg(not(target_os = "linux"))]
fn system() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// Folders that a confined child has of its own, and that are empty at first.
const OWN: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// What paths are written between.
const QUOTES: &str = "'\"`()[]<>:;=";

#[cfg(test)]
mod tests;
