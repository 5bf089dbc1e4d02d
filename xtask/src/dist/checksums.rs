//! SHA-256: of a binary, and `SHA256SUMS` over a folder of packages.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::dist::project::name_of;
use crate::error::XtaskError;

/// Returns the SHA-256 of a file, in hexadecimal.
pub(super) fn of(file: &Path) -> Result<String, XtaskError> {
    let data = fs::read(file).map_err(XtaskError::file(file))?;
    let digest = Sha256::digest(data);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes `SHA256SUMS` beside `files`, as `sha256sum --check` reads it.
pub(super) fn write(folder: &Path, files: &[PathBuf]) -> Result<PathBuf, XtaskError> {
    let mut lines = Vec::new();
    for file in files {
        lines.push(format!("{}  {}\n", of(file)?, name_of(file)));
    }
    lines.sort_by(|a, b| a.get(64..).cmp(&b.get(64..)));
    let path = folder.join("SHA256SUMS");
    fs::write(&path, lines.concat()).map_err(XtaskError::file(&path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_sorted_by_name_and_of_the_content() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["b", "a"].map(|name| folder.path().join(name));
        for file in &files {
            fs::write(file, "abc").unwrap();
        }
        let sums = fs::read_to_string(write(folder.path(), &files).unwrap()).unwrap();
        // The first test vector of FIPS 180-2.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sums, format!("{abc}  a\n{abc}  b\n"));
    }
}
