//! The oldest compiler: what the manifests promise is what the dependencies allow.
//!
//! `clippy::incompatible_msrv` compares our own code with the same number.

use std::collections::BTreeSet;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::{Package, Workspace};

/// Returns the dependencies of published crates that ask for a newer compiler than these promise.
pub(super) fn faults(workspace: &Workspace) -> Result<Vec<String>, XtaskError> {
    let ours: Vec<_> = workspace
        .crates()
        .into_iter()
        .filter(|package| package.is_published())
        .collect();
    let mut tree = child::cargo(workspace, &["tree", "--locked", "--prefix=none"]);
    tree.args(["--edges=normal,build", "--format={p}", "--target=all"]);
    for package in &ours {
        tree.args(["--package", &package.name]);
    }
    let listed = child::capture(&mut tree)?;
    let needed: BTreeSet<_> = listed
        .lines()
        .filter_map(|line| line.split_once(" v"))
        .map(|(name, rest)| (name, rest.split(' ').next().unwrap_or_default()))
        .collect();
    let all = workspace.packages().iter();
    let dependencies: Vec<_> = all
        .filter(|package| needed.contains(&(package.name.as_str(), package.version.as_str())))
        .collect();
    Ok(too_new(&ours, &dependencies))
}

fn too_new(ours: &[&Package], dependencies: &[&Package]) -> Vec<String> {
    let promised = ours.iter().filter_map(|package| version(package)).min();
    let Some(promised) = promised.filter(|_| ours.iter().all(|one| version(one).is_some())) else {
        return vec!["a published crate names no `rust-version`".to_owned()];
    };
    let newer = dependencies
        .iter()
        .filter(|package| version(package).is_some_and(|needed| needed > promised));
    newer
        .map(|package| {
            let needed = package.rust_version.as_deref().unwrap_or_default();
            format!("`{}` {} needs Rust {needed}", package.name, package.version)
        })
        .collect()
}

/// Returns `1.89` and `1.89.0` as the same numbers.
fn version(package: &Package) -> Option<[u32; 3]> {
    let mut version = [0; 3];
    let parts = package.rust_version.as_ref()?.split('.');
    for (place, part) in version.iter_mut().zip(parts) {
        *place = part.parse().ok()?;
    }
    Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, rust: Option<&str>) -> Package {
        serde_json::from_value(serde_json::json!({
            "id": name, "name": name, "version": "1.0.0", "rust_version": rust,
            "manifest_path": "/nowhere/Cargo.toml", "dependencies": [],
        }))
        .unwrap()
    }

    #[test]
    fn a_dependency_that_needs_a_newer_compiler_is_named() {
        let ours = package("ours", Some("1.89"));
        let fits = [package("same", Some("1.89.0")), package("silent", None)];
        let newer = package("newer", Some("1.90"));
        assert_eq!(
            too_new(&[&ours], &[&fits[0], &fits[1]]),
            Vec::<String>::new()
        );
        assert_eq!(
            too_new(&[&ours], &[&newer]),
            ["`newer` 1.0.0 needs Rust 1.90"]
        );
        assert_eq!(too_new(&[&ours, &package("bare", None)], &[]).len(), 1);
    }
}
