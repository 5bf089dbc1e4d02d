//! Migrations on disk: the files around a configuration, and the plan written in a safe order.
//!
//! What is to be written is decided in `keyway_lint::migrate`. Here it is made sure that a value
//! is in an ignored file of its owner's, on the disk, before the literal goes.

mod error;
pub mod report;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_config::edit::TextChange;
use keyway_config::env_file;
use keyway_config::environment::Environment as _;
use keyway_config::plugin::Plugin;
use keyway_lint::migrate::env::{EnvChange, EnvPlan};
use keyway_lint::migrate::{EnvObstacle, PluginFiles, with_replacement};
use keyway_secret::Secret;

use keyway_files::error::{LoadError, WriteError};
use keyway_files::git::{self, Repository};
use keyway_files::load::Loaded;
use keyway_files::read;
use keyway_files::write;

pub use self::error::{MigrateError, MigrateFault};

/// Reads the files around the entries of a plugin.
///
/// # Errors
///
/// Returns a [`LoadError`] if one of them exists, but is not text of a reasonable size.
pub fn plugin_files(loaded: &Loaded) -> Result<PluginFiles, LoadError> {
    let root = &loaded.plugin.root;
    let repository = Repository::find(root);
    let env = root.join(ENV);
    let env_obstacle = env_obstacle(root);
    let shown = |name: &str| loaded.plugin.shown(name);
    // A dangling link reads as nothing, and nothing is written through it.
    let env = text(&env, &shown(ENV))?;
    let mut files = PluginFiles::default();
    files.env = env.map(Secret::new);
    files.env_obstacle = env_obstacle;
    files.env_is_ignored = is_ignored(root);
    files.example = text(&root.join(EXAMPLE), &shown(EXAMPLE))?;
    files.ignore = text(&root.join(IGNORE), &shown(IGNORE))?;
    files.tracked = tracked(loaded, repository.as_ref());
    Ok(files)
}

/// Says why nothing may be written to `.env` of a folder.
#[must_use]
pub fn env_obstacle(root: &Path) -> Option<EnvObstacle> {
    let env = root.join(ENV);
    let is_tracked = Repository::find(root)
        .is_some_and(|found| found.tracks(std::slice::from_ref(&env)).contains(&true));
    let is_link = env.symlink_metadata().is_ok_and(|found| found.is_symlink());
    if is_host_folder(root) {
        Some(EnvObstacle::HostFolder)
    } else if is_tracked {
        Some(EnvObstacle::Tracked)
    } else {
        is_link.then_some(EnvObstacle::Link)
    }
}

/// Says whether a folder is one in which a host keeps its own files, such as `.opencode`: hidden,
/// and not a project by itself.
fn is_host_folder(root: &Path) -> bool {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') && !root.join(".git").exists()
}

/// Writes a plan, in the order of its fields; returns the files as a person would write them.
///
/// # Errors
///
/// Returns a [`MigrateError`] at the first file that cannot be written. No configuration file
/// loses a literal before its value is kept.
pub fn apply(loaded: &Loaded, plan: &EnvPlan) -> Result<Vec<String>, MigrateError> {
    let mut written = Vec::new();
    match apply_to(loaded, plan, &mut written) {
        Ok(()) => Ok(written),
        Err(source) => Err(MigrateError::new(written, source)),
    }
}

/// Writes whole files one after the other, such as those of the other migration.
///
/// # Errors
///
/// As for [`apply`].
pub fn write_all(loaded: &Loaded, changes: &[TextChange]) -> Result<Vec<String>, MigrateError> {
    let mut written = Vec::new();
    for change in changes {
        if let Err(error) = write_text(loaded, change, &mut written) {
            return Err(MigrateError::new(written, error.into()));
        }
    }
    Ok(written)
}

fn apply_to(
    loaded: &Loaded,
    plan: &EnvPlan,
    written: &mut Vec<String>,
) -> Result<(), MigrateFault> {
    let root = &loaded.plugin.root;
    for change in &plan.documents {
        require_unchanged(loaded, change)?;
    }
    // A README that could not be read is not one to create.
    for change in plan.readme.iter().filter(|change| change.before.is_none()) {
        let path = place(loaded, &change.file);
        if path.exists() {
            return Err(WriteError::Exists { path }.into());
        }
    }
    if let Some(change) = &plan.ignore {
        write_text(loaded, change, written)?;
    }
    if let Some(change) = &plan.env {
        if !is_ignored(root) {
            let path = change.file.to_string();
            return Err(MigrateFault::NotIgnored { path });
        }
        write_env(&root.join(ENV), change)?;
        if change.before.is_none() || !change.added.is_empty() {
            written.push(change.file.to_string());
        }
        require_kept(&root.join(ENV), plan)?;
    }
    for change in plan.example.iter().chain(&plan.readme) {
        write_text(loaded, change, written)?;
    }
    for change in &plan.documents {
        write_text(loaded, change, written)?;
    }
    Ok(())
}

/// Looks at a configuration file again before anything is written.
fn require_unchanged(loaded: &Loaded, change: &TextChange) -> Result<(), MigrateFault> {
    let path = place(loaded, &change.file);
    let before = change.before.as_deref().unwrap_or_default();
    let now = read::bounded(&path, keyway_config::source::MAX_BYTES)?;
    if now == before.as_bytes() {
        return Ok(());
    }
    Err(WriteError::Changed { path }.into())
}

fn write_text(
    loaded: &Loaded,
    change: &TextChange,
    written: &mut Vec<String>,
) -> Result<(), WriteError> {
    let path = place(loaded, &change.file);
    let after = change.after.as_bytes();
    match &change.before {
        Some(before) => write::replace(&path, before.as_bytes(), after)?,
        None => write::create(&path, after, READABLE)?,
    }
    written.push(change.file.to_string());
    Ok(())
}

fn write_env(path: &Path, change: &EnvChange) -> Result<(), WriteError> {
    let after = change.after.expose().as_bytes();
    match &change.before {
        Some(before) => write::replace_private(path, before.expose().as_bytes(), after),
        None => write::create(path, after, OWNER_ONLY),
    }
}

/// Reads `.env` back: only what is there may go elsewhere.
fn require_kept(path: &Path, plan: &EnvPlan) -> Result<(), MigrateFault> {
    let bytes = read::bounded(path, MAX_BYTES)?;
    let variables = env_file::parse(&String::from_utf8_lossy(&bytes));
    let mut moves = plan.moves.iter().filter(|moved| moved.is_in_env_file);
    let is_kept = moves.all(|moved| {
        let found = variables.get(&moved.variable);
        found.is_some_and(|found| found.is_same_as(&moved.value))
    });
    if is_kept {
        return Ok(());
    }
    let path = read::shown(path);
    Err(MigrateFault::NotKept { path })
}

/// Replaces the value of a variable in an env file; everything else in the file stays as it is, and
/// only its owner can read it from then on.
///
/// # Errors
///
/// Returns why the file was left as it is; [`MigrateFault::NotKept`] if it does not assign to the
/// variable, or could not be read back.
pub fn replace_variable(
    path: &Path,
    variable: (&str, &Secret<String>),
) -> Result<(), MigrateFault> {
    let bytes = read::bounded(path, MAX_BYTES)?;
    let not_kept = || MigrateFault::NotKept {
        path: read::shown(path),
    };
    let before = String::from_utf8(bytes).map_err(|_| not_kept())?;
    let before = Secret::new(before);
    let after = with_replacement(&before, variable).ok_or_else(not_kept)?;
    let (before, after) = (before.expose().as_bytes(), after.expose().as_bytes());
    write::replace_private(path, before, after)?;
    Ok(())
}

/// Returns where a file is that a change names.
fn place(loaded: &Loaded, file: &str) -> PathBuf {
    if let Some(path) = loaded.path_of(file) {
        return path.to_path_buf();
    }
    let name = Path::new(file).file_name().unwrap_or_default();
    loaded.plugin.root.join(name)
}

/// Says whether version control leaves `.env` of a folder alone.
#[must_use]
pub fn is_ignored(root: &Path) -> bool {
    match Repository::find(root) {
        Some(repository) => repository.ignores(&root.join(ENV)),
        None => git::is_listed(root, ENV),
    }
}

fn tracked(loaded: &Loaded, repository: Option<&Repository>) -> BTreeSet<Arc<str>> {
    let Some(repository) = repository else {
        return BTreeSet::new();
    };
    let Plugin { documents, .. } = &loaded.plugin;
    let names = documents.iter().map(|found| found.source.shared_path());
    let (names, paths): (Vec<_>, Vec<_>) = names
        .filter_map(|name| {
            let path = fs::canonicalize(loaded.path_of(&name)?).ok()?;
            Some((name, path))
        })
        .unzip();
    let tracked = repository.tracks(&paths).into_iter();
    let named = names.into_iter().zip(tracked);
    named.filter(|(_, is)| *is).map(|(name, _)| name).collect()
}

/// Reads a small file that need not be there.
fn text(path: &Path, shown: &str) -> Result<Option<String>, LoadError> {
    let path_of_error = || shown.to_owned();
    match read::bounded(path, MAX_BYTES) {
        Ok(bytes) if bytes.len() <= MAX_BYTES => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(LoadError::NotText {
                path: path_of_error(),
            }),
        },
        Ok(_) => Err(LoadError::NotText {
            path: path_of_error(),
        }),
        Err(LoadError::Missing { .. }) => Ok(None),
        Err(LoadError::NotAFile { .. }) => Err(LoadError::NotAFile {
            path: path_of_error(),
        }),
        Err(error) => Err(error),
    }
}

const ENV: &str = ".env";
const EXAMPLE: &str = ".env.example";
const IGNORE: &str = ".gitignore";
const OWNER_ONLY: u32 = 0o600;
const READABLE: u32 = 0o644;
const MAX_BYTES: usize = 1024 * 1024;
