//! What a confined child was kept from, where that can be known: a grant can then be named.

use std::ffi::OsStr;
use std::fmt;
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

/// Returns the path that leads to what is hidden although it was granted, or is the plugin's.
pub(super) fn in_hidden(program: &Program, stage: LaunchStage) -> Option<PathBuf> {
    let isolation = &program.isolation;
    let hidden = isolation.hidden.iter().chain(&isolation.also_hidden);
    let hidden: Vec<PathBuf> = hidden.filter_map(|it| it.canonicalize().ok()).collect();
    let mut given = isolation.granted.iter().chain(isolation.readable());
    let is_hidden = |path: &&PathBuf| {
        let real = path.canonicalize();
        real.is_ok_and(|real| hidden.iter().any(|place| real.starts_with(place)))
    };
    let found = given.find(is_hidden);
    found.filter(|_| stage == LaunchStage::Grants).cloned()
}

/// Something that a confined child was kept from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Denied {
    /// It is there, and the child does not see it.
    Unseen(PathBuf),
    /// The child may read it.
    Unwritable {
        path: PathBuf,
        /// What would have to be granted.
        folder: PathBuf,
    },
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unseen(path) => write!(
                f,
                "`{}` exists but was not granted; to allow it, add it to `grants` in config.toml",
                path.display()
            ),
            Self::Unwritable { path, folder } => write!(
                f,
                "`{}` may be read but not written; to allow it, add `{}` to `grants` in config.toml",
                path.display(),
                folder.display()
            ),
        }
    }
}

/// Returns what a line of the child's says that it was kept from, as far as that can be known.
pub(crate) fn in_line(isolation: &Isolation, line: &str) -> Option<Denied> {
    if isolation.profile != IsolationProfile::Confine {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    let is_refused = REFUSALS.iter().any(|refusal| lower.contains(refusal));
    let words = line.split(|letter: char| letter.is_whitespace() || QUOTES.contains(letter));
    let mut words = words.map(|word| Path::new(word.trim_end_matches(['.', ','])));
    words.find_map(|path| {
        if path.is_absolute() && is_denied(isolation, path) {
            return Some(Denied::Unseen(path.to_owned()));
        }
        is_refused.then(|| unwritable(isolation, path)).flatten()
    })
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

fn is_denied(isolation: &Isolation, path: &Path) -> bool {
    let mut granted = isolation.writable().chain(isolation.readable());
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

/// What programs say when they may not write.
const REFUSALS: [&str; 6] = [
    "read-only file system",
    "erofs",
    "permission denied",
    "eacces",
    "operation not permitted",
    "eperm",
];

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
        assert_eq!(
            in_line(&isolation, &line),
            Some(Denied::Unseen(path.clone()))
        );
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

    #[test]
    fn a_file_of_the_plugin_that_could_not_be_written_is_named_with_the_grant() {
        let plugin = tempfile::TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::fs::create_dir(plugin.path().join("state")).unwrap();
        let path = plugin.path().join("lib.js");
        drop(std::fs::File::create(&path).unwrap());
        let mut isolation = Isolation {
            profile: IsolationProfile::Confine,
            read_only: vec![plugin.path().to_owned()],
            ..Isolation::default()
        };
        let absolute = path.display();
        for line in [
            format!("Error: EROFS: read-only file system, open '{absolute}'"),
            "OSError: [Errno 30] Read-only file system: 'lib.js'".to_owned(),
            format!("sh: 1: cannot create {absolute}: Permission denied"),
        ] {
            let denied = in_line(&isolation, &line).unwrap();
            let folder = plugin.path().display();
            let words = format!(
                "`{absolute}` may be read but not written; \
                 to allow it, add `{folder}` to `grants` in config.toml"
            );
            assert_eq!(denied.to_string(), words, "{line}");
        }
        let read = format!("reading {absolute}");
        assert_eq!(in_line(&isolation, &read), None);
        // What is granted inside may be written, and so may all of it once it is granted itself.
        isolation.granted = vec![plugin.path().join("state")];
        let state = plugin.path().join("state/db");
        let line = format!("{}: Permission denied", state.display());
        assert_eq!(in_line(&isolation, &line), None);
        isolation.granted = vec![plugin.path().to_owned()];
        let line = format!("{absolute}: Permission denied");
        assert_eq!(in_line(&isolation, &line), None);
    }

    fn program(command: &str, folder: &Path, path: &Path) -> Program {
        let declared = ["A", "PATH", "Z"].map(|name| {
            let value = match name {
                "PATH" => path.display().to_string(),
                _ => "/nowhere".to_owned(),
            };
            (name.to_owned(), keyway_secret::Secret::new(value))
        });
        let host = crate::HostEnv::default();
        let rules = crate::EnvRules {
            declared: &declared,
            ..crate::EnvRules::new(crate::ChildKind::Server, &host)
        };
        Program {
            command: keyway_secret::Secret::new(command.to_owned()),
            args: Vec::new(),
            env: crate::ChildEnv::build([], &rules),
            folder: folder.to_owned(),
            isolation: Isolation {
                profile: IsolationProfile::Confine,
                ..Isolation::default()
            },
        }
    }

    #[test]
    fn a_folder_or_program_that_was_not_granted_is_named_at_the_start() {
        use std::os::unix::fs::PermissionsExt as _;

        let home = tempfile::TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (bin, tool) = (home.path().join("bin"), home.path().join("bin/tool"));
        std::fs::create_dir(&bin).unwrap();
        drop(std::fs::File::create(&tool).unwrap());
        let denied = |command: &str, stage| at_start(&program(command, home.path(), &bin), stage);
        assert_eq!(
            denied("tool", LaunchStage::Program),
            None,
            "it cannot be run, granted or not"
        );
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(denied("tool", LaunchStage::Program), Some(tool.clone()));
        let absolute = tool.display().to_string();
        assert_eq!(denied(&absolute, LaunchStage::Program), Some(tool.clone()));
        assert_eq!(denied("none", LaunchStage::Program), None);
        assert_eq!(denied("sh", LaunchStage::Program), None, "not on its path");
        assert_eq!(
            denied("/bin/sh", LaunchStage::Program),
            None,
            "the system's"
        );
        assert_eq!(
            denied("tool", LaunchStage::Folder),
            Some(home.path().to_owned())
        );
        for stage in [LaunchStage::Spec, LaunchStage::Isolation] {
            assert_eq!(denied("tool", stage), None);
        }
        // Granted either way, or not confined: it is not to blame.
        for change in [
            (|it: &mut Isolation, path| it.granted = vec![path]) as fn(&mut Isolation, PathBuf),
            |it, path| it.read_only = vec![path],
            |it, path| it.also_hidden = vec![path],
            |it, _| it.profile = IsolationProfile::Hide,
        ] {
            let mut program = program("tool", home.path(), &bin);
            change(&mut program.isolation, home.path().to_owned());
            for stage in [LaunchStage::Folder, LaunchStage::Program] {
                assert_eq!(at_start(&program, stage), None);
            }
        }
    }

    #[test]
    fn what_was_not_granted_is_told_with_the_setting() {
        assert_eq!(
            Denied::Unseen("/x".into()).to_string(),
            "`/x` exists but was not granted; to allow it, add it to `grants` in config.toml"
        );
    }
}
