//! Env files on disk; how their lines read is decided in `keyway_config::env_file`.

use std::path::Path;

use keyway_config::env_file::parse;
use keyway_config::environment::Variables;

use crate::error::LoadError;
use crate::read;

/// Reads the variables of a file, up to its first megabyte.
///
/// # Errors
///
/// Returns a [`LoadError`] if there is no such regular file, or it cannot be read.
pub fn load(path: &Path) -> Result<Variables, LoadError> {
    let bytes = read::bounded(path, MAX_BYTES)?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

const MAX_BYTES: usize = 1024 * 1024;
