//! The workspace as `cargo metadata` describes it: where it is, its crates, who depends on whom.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::child;
use crate::error::XtaskError;

/// The workspace that this task was built in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The directory of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where build results go.
    pub(crate) target: PathBuf,
    metadata: Metadata,
}

impl Workspace {
    /// Asks `cargo` about the workspace in which this task was started.
    pub(crate) fn load() -> Result<Self, XtaskError> {
        let mut command = Command::new(child::cargo_program());
        command.args(["metadata", "--format-version=1", "--locked", PLATFORM]);
        Ok(Self::new(Metadata::read(&mut command)?))
    }

    /// Takes the workspace as `metadata` describes it.
    pub(crate) fn new(metadata: Metadata) -> Self {
        Self {
            root: metadata.workspace_root.clone(),
            target: metadata.target_directory.clone(),
            metadata,
        }
    }

    /// Returns where `--setup` installs tools.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// Returns the workspace's own crates, sorted by name.
    pub(crate) fn crates(&self) -> Vec<&Package> {
        let members = &self.metadata.workspace_members;
        let mut crates: Vec<_> = self
            .metadata
            .packages
            .iter()
            .filter(|package| members.contains(&package.id))
            .collect();
        crates.sort_by(|a, b| a.name.cmp(&b.name));
        crates
    }

    /// Says whether the workspace has a crate called `name`.
    pub(crate) fn has_crate(&self, name: &str) -> bool {
        self.crates().iter().any(|package| package.name == name)
    }

    /// Returns how many crates a build of `name` for Linux needs at run time, itself included;
    /// `None` if there is no such crate.
    ///
    /// Build and development dependencies do not count. Features are those of a build of the whole
    /// workspace, so the number can be higher than that of the crate alone, never lower.
    pub(crate) fn normal_tree_size(&self, name: &str) -> Option<usize> {
        let root = self
            .crates()
            .into_iter()
            .find(|package| package.name == name)?;
        Some(self.metadata.resolve.normal_tree(&root.id).len())
    }
}

/// What `cargo metadata` prints, as far as we read it.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    workspace_root: PathBuf,
    target_directory: PathBuf,
    workspace_members: BTreeSet<String>,
    packages: Vec<Package>,
    resolve: Resolve,
}

impl Metadata {
    /// Runs `command`, which must be a `cargo metadata`.
    pub(crate) fn read(command: &mut Command) -> Result<Self, XtaskError> {
        let text = child::capture(command)?;
        serde_json::from_str(&text).map_err(|source| XtaskError::Metadata { source })
    }

    /// Returns the directory with the sources of the package called `name`.
    pub(crate) fn source_of(&self, name: &str) -> Option<&Path> {
        self.packages
            .iter()
            .find(|package| package.name == name)?
            .manifest_path
            .parent()
    }
}

/// One package, ours or foreign.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    /// The name in its manifest.
    pub(crate) name: String,
    /// What its manifest declares, before any resolution.
    pub(crate) dependencies: Vec<Dependency>,
    id: String,
    manifest_path: PathBuf,
}

/// A dependency as declared in a manifest.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// The package's own name, whatever it was renamed to.
    pub(crate) name: String,
    /// `dev`, `build`, or `None` for a normal one.
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

impl Resolve {
    fn normal_tree(&self, root: &str) -> BTreeSet<&str> {
        let nodes: HashMap<&str, &Node> = self
            .nodes
            .iter()
            .map(|node| (node.id.as_str(), node))
            .collect();
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = nodes
            .get_key_value(root)
            .map(|(id, _)| *id)
            .into_iter()
            .collect();
        while let Some(id) = open.pop() {
            if seen.insert(id)
                && let Some(node) = nodes.get(id)
            {
                open.extend(node.normal_dependencies());
            }
        }
        seen
    }
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<NodeDependency>,
}

impl Node {
    fn normal_dependencies(&self) -> impl Iterator<Item = &str> {
        self.deps
            .iter()
            .filter(|dependency| {
                dependency
                    .dep_kinds
                    .iter()
                    .any(|found| found.kind.is_none())
            })
            .map(|dependency| dependency.pkg.as_str())
    }
}

#[derive(Debug, Deserialize)]
struct NodeDependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Debug, Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

const PLATFORM: &str = "--filter-platform=x86_64-unknown-linux-gnu";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_and_development_dependencies_do_not_count() {
        let resolve: Resolve = serde_json::from_str(
            r#"{"nodes": [
                {"id": "a", "deps": [
                    {"pkg": "b", "dep_kinds": [{"kind": null}]},
                    {"pkg": "c", "dep_kinds": [{"kind": "dev"}]},
                    {"pkg": "d", "dep_kinds": [{"kind": "build"}]}
                ]},
                {"id": "b", "deps": [{"pkg": "e", "dep_kinds": [{"kind": "dev"}, {"kind": null}]}]},
                {"id": "c", "deps": []},
                {"id": "d", "deps": []},
                {"id": "e", "deps": [{"pkg": "b", "dep_kinds": [{"kind": null}]}]}
            ]}"#,
        )
        .unwrap();
        assert_eq!(resolve.normal_tree("a"), BTreeSet::from(["a", "b", "e"]));
        assert!(resolve.normal_tree("nobody").is_empty());
    }
}
