//! Reading files from untrusted sources: regular ones only, and never more than a bound.

use std::io::{self, Read as _};
use std::path::Path;

use crate::error::LoadError;
use crate::regular_file;

/// Reads at most `limit` bytes and one more, which tells the caller that there are too many.
///
/// # Errors
///
/// Returns a [`LoadError`] if there is no such regular file, or it cannot be read.
pub fn bounded(path: &Path, limit: usize) -> Result<Vec<u8>, LoadError> {
    let file = regular_file::open(path).map_err(|error| named(path, error))?;
    stream(file, limit).map_err(|error| named(path, error))
}

/// The same for something that is open already.
///
/// # Errors
///
/// Returns what the system says if reading fails.
pub fn stream(from: impl io::Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file that is optional, or of no interest when it is too large.
#[must_use]
pub fn optional(path: &Path, limit: usize) -> Option<Vec<u8>> {
    bounded(path, limit)
        .ok()
        .filter(|bytes| bytes.len() <= limit)
}

/// Returns a path as a person would write it.
#[must_use]
pub fn shown(path: &Path) -> String {
    let short = path.strip_prefix(".").unwrap_or(path);
    let short = if short.as_os_str().is_empty() {
        path
    } else {
        short
    };
    short.to_string_lossy().into_owned()
}

fn named(path: &Path, source: io::Error) -> LoadError {
    let path = shown(path);
    match source.kind() {
        io::ErrorKind::NotFound => LoadError::Missing { path },
        io::ErrorKind::InvalidInput => LoadError::NotAFile { path },
        _ => LoadError::Unreadable { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_beyond_the_bound_is_read_and_no_more() {
        assert_eq!(stream(&b"abcdef"[..], 3).unwrap(), b"abcd");
        assert_eq!(stream(&b"abc"[..], 3).unwrap(), b"abc");
    }

    #[test]
    fn devices_and_folders_are_not_read() {
        for path in ["/dev/zero", "/dev/null", "/"] {
            let error = bounded(Path::new(path), 10).unwrap_err();
            assert!(matches!(error, LoadError::NotAFile { .. }), "{path}");
        }
    }

    #[test]
    fn a_leading_dot_is_not_shown() {
        assert_eq!(shown(Path::new("./a/.mcp.json")), "a/.mcp.json");
        assert_eq!(shown(Path::new(".")), ".");
        assert_eq!(shown(Path::new("../a")), "../a");
    }
}
