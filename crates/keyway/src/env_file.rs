//! Env files on disk; how their lines read is decided in `keyway_config::env_file`.

use std::path::Path;

use keyway_config::env_file::parse;
use keyway_config::environment::Variables;
#[cfg(feature = "authoring")]
use keyway_lint::migrate::with_replacement;
#[cfg(feature = "authoring")]
use keyway_secret::Secret;

use crate::error::LoadError;
#[cfg(feature = "authoring")]
use crate::error::MigrateFault;
use crate::read;
#[cfg(feature = "authoring")]
use crate::write;

/// Reads the variables of a file, up to its first megabyte.
///
/// # Errors
///
/// Returns a [`LoadError`] if there is no such regular file, or it cannot be read.
pub fn load(path: &Path) -> Result<Variables, LoadError> {
    let bytes = read::bounded(path, MAX_BYTES)?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

/// Puts another value in the place of a variable's; everything else in the file stays as it is, and
/// from then on it is its owner's alone.
///
/// # Errors
///
/// Returns why the file was left as it is; [`MigrateFault::NotKept`] if it does not assign to the
/// variable, or could not be read back.
#[cfg(feature = "authoring")]
pub fn replace(path: &Path, variable: (&str, &Secret<String>)) -> Result<(), MigrateFault> {
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

const MAX_BYTES: usize = 1024 * 1024;
