//! How many crates a build needs, by `cargo tree`.

use std::collections::BTreeSet;

use super::limits::{Features, Tree};
use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Counts the crates that a build for Linux needs, those of build scripts included.
///
/// Features are those of this crate alone, as another project would build it.
pub(super) fn size(workspace: &Workspace, tree: &Tree) -> Result<usize, XtaskError> {
    let mut cargo = child::cargo(workspace, &["tree", "--locked", "--edges=normal,build"]);
    cargo.args(["--prefix=none", "--format={p}", "--package", tree.name]);
    cargo.arg("--target=x86_64-unknown-linux-gnu");
    if tree.features == Features::None {
        cargo.arg("--no-default-features");
    }
    Ok(count(&child::capture(&mut cargo)?))
}

/// Counts different crates; `(*)` marks one that stands above already.
fn count(listed: &str) -> usize {
    let crates: BTreeSet<_> = listed
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty())
        .collect();
    crates.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once_and_two_versions_count_twice() {
        let listed = "a v1.0.0 (/a)\nb v1.0.0\nc v1.0.0\nb v1.0.0 (*)\nb v2.0.0\n\n";
        assert_eq!(count(listed), 4);
    }
}
