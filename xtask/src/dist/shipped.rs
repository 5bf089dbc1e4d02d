//! The foreign code inside the program: which packages, with which checksums and licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::child;
use crate::dist::project;
use crate::error::XtaskError;
use crate::metadata::{Package, Workspace};

/// Returns the packages whose code is in the program for `triple`, ours included, sorted by name.
///
/// `cargo tree` knows the features with which each is built; macros and build scripts run while
/// compiling and leave nothing of their own behind.
pub(super) fn packages<'a>(
    workspace: &'a Workspace,
    triple: &str,
) -> Result<Vec<&'a Package>, XtaskError> {
    let mut cargo = child::cargo(workspace, &["tree", "--locked", "--prefix=none"]);
    cargo
        .args(["--edges=normal,no-proc-macro", "--format={p}"])
        .args(["--package", project::CRATE, "--target", triple])
        .args(["--features", project::FEATURES]);
    let names = listed(&child::capture(&mut cargo)?);
    let mut packages: Vec<_> = workspace
        .packages()
        .iter()
        .filter(|package| names.contains(&(package.name.clone(), package.version.clone())))
        .collect();
    packages.sort_by_key(|package| (&package.name, &package.version));
    Ok(packages)
}

/// Reads lines such as `url v2.5.8` and `keyway v0.1.0 (/somewhere) (*)`.
fn listed(tree: &str) -> BTreeSet<(String, String)> {
    let words = tree.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?.strip_prefix('v')?))
    });
    words
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .collect()
}

/// The checksums of `Cargo.lock`, by name and version.
#[derive(Debug)]
pub(super) struct Checksums(BTreeMap<(String, String), String>);

impl Checksums {
    pub(super) fn read(workspace: &Workspace) -> Result<Self, XtaskError> {
        let path = workspace.root.join("Cargo.lock");
        let text = fs::read_to_string(&path).map_err(XtaskError::file(&path))?;
        Ok(Self::parse(&text))
    }

    fn parse(lock: &str) -> Self {
        let entries = lock.split("[[package]]").filter_map(|entry| {
            let field = |name: &str| {
                let start = format!("{name} = \"");
                let line = entry.lines().find_map(|line| line.strip_prefix(&start))?;
                Some(line.trim_end_matches('"').to_owned())
            };
            Some(((field("name")?, field("version")?), field("checksum")?))
        });
        Self(entries.collect())
    }

    /// Returns the SHA-256 of the package's archive; `None` for ours.
    pub(super) fn of(&self, package: &Package) -> Option<&str> {
        let key = (package.name.clone(), package.version.clone());
        self.0.get(&key).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_a_tree_once() {
        let tree = "keyway v0.1.0 (/a b/c)\nurl v2.5.8\nurl v2.5.8 (*)\n\n";
        let names = listed(tree);
        assert_eq!(names.len(), 2);
        assert!(names.contains(&("keyway".to_owned(), "0.1.0".to_owned())));
    }

    #[test]
    fn a_package_without_a_checksum_is_left_out() {
        let lock = "version = 4\n\n[[package]]\nname = \"keyway\"\nversion = \"0.1.0\"\n\n\
                    [[package]]\nname = \"url\"\nversion = \"2.5.8\"\nsource = \"registry\"\n\
                    checksum = \"ab12\"\ndependencies = [\n \"idna\",\n]\n";
        let Checksums(found) = Checksums::parse(lock);
        let url = ("url".to_owned(), "2.5.8".to_owned());
        assert_eq!(found, BTreeMap::from([(url, "ab12".to_owned())]));
    }
}
