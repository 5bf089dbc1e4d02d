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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use keyway_config::environment::Environment as _;

    use super::*;

    #[test]
    fn the_variables_in_the_first_megabyte_of_a_file_are_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let (note, lines) = ("x".repeat(1_000_000), "\n".repeat(100_000));
        write!(file, "# {note}\nA=1\n{lines}B=2\n").unwrap();
        let variables = load(file.path()).unwrap();
        assert_eq!(variables.get("A").unwrap().expose(), "1");
        assert!(variables.get("B").is_none());
        assert!(load(Path::new("/none/at/all")).is_err());
    }
}
