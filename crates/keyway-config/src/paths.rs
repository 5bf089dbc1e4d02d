//! Paths without `.` and `..`.

use std::path::{Component, Path, PathBuf};

/// Resolves `.` and `..` without looking at the disk: the file need not exist, and a link is not
/// followed. `..` at the root, or at the beginning of a relative path, is left out.
#[must_use]
pub fn lexical(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_resolved_and_none_leads_above_the_beginning() {
        for (written, expected) in [
            ("/a/b", "/a/b"),
            ("/a/./b/", "/a/b"),
            ("/a/../b", "/b"),
            ("/a/b/../../c", "/c"),
            ("/..", "/"),
            ("/../../a", "/a"),
            ("a/../b", "b"),
            ("./a", "a"),
            ("../a", "a"),
            ("a/..", ""),
            ("", ""),
            ("/a/..b", "/a/..b"),
            ("/a/...", "/a/..."),
        ] {
            assert_eq!(
                lexical(Path::new(written)),
                Path::new(expected),
                "{written}"
            );
        }
    }
}
