//! The workspace as `cargo metadata` describes it: where it is, its crates, their dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::error::XtaskError;
use crate::process;

/// The workspace that this task was built in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The directory of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where build results go.
    pub(crate) target: PathBuf,
    /// Whether the whole is built here for the first time.
    pub(crate) is_first_build: bool,
    metadata: Metadata,
}

impl Workspace {
    /// Asks `cargo` about the workspace in which this task was started.
    pub(crate) fn load() -> Result<Self, XtaskError> {
        let mut command = Command::new(process::cargo_program());
        command.args(["metadata", "--format-version=1", "--locked", PLATFORM]);
        Ok(Self::new(Metadata::read(&mut command)?))
    }

    /// Takes the workspace as `metadata` describes it.
    pub(crate) fn new(metadata: Metadata) -> Self {
        Self {
            root: metadata.workspace_root.clone(),
            target: metadata.target_directory.clone(),
            is_first_build: false,
            metadata,
        }
    }

    /// Looks whether the tests were built here before. If not, what would make a second build faster
    /// is left out: it makes the first one slower, by a sixth.
    pub(crate) fn building_whole(mut self) -> Self {
        self.is_first_build = !self.target.join("debug/keyway").exists();
        self
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

    /// Returns every package of the graph, ours and foreign.
    pub(crate) fn packages(&self) -> &[Package] {
        &self.metadata.packages
    }

    /// Returns the identifiers of the packages that `package` uses, whatever for.
    pub(crate) fn uses(&self, package: &Package) -> Vec<&str> {
        let nodes = self.metadata.resolve.iter().flat_map(|graph| &graph.nodes);
        nodes
            .filter(|node| node.id == package.id)
            .flat_map(|node| node.dependencies.iter().map(String::as_str))
            .collect()
    }

    /// Says whether the workspace has a crate called `name`.
    pub(crate) fn has_crate(&self, name: &str) -> bool {
        self.crates().iter().any(|package| package.name == name)
    }
}

/// What `cargo metadata` prints, as far as we read it.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    workspace_root: PathBuf,
    target_directory: PathBuf,
    workspace_members: BTreeSet<String>,
    packages: Vec<Package>,
    #[serde(default)]
    resolve: Option<Graph>,
}

/// Which package uses which, by identifier.
#[derive(Debug, Deserialize)]
struct Graph {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    #[serde(default)]
    dependencies: Vec<String>,
}

impl Metadata {
    /// Runs `command`, which must be a `cargo metadata`.
    pub(crate) fn read(command: &mut Command) -> Result<Self, XtaskError> {
        let text = process::capture(command)?;
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
    #[serde(default)]
    pub(crate) version: String,
    /// A licence expression.
    #[serde(default)]
    pub(crate) license: Option<String>,
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// The address of its project; empty if it says that it has none.
    #[serde(default)]
    pub(crate) repository: Option<String>,
    /// The oldest compiler that it says it needs.
    #[serde(default)]
    pub(crate) rust_version: Option<String>,
    /// The registry that it comes from; `None` for ours.
    #[serde(default)]
    pub(crate) source: Option<String>,
    /// The registries that it may be published to; `None` for all.
    #[serde(default)]
    publish: Option<Vec<String>>,
    /// What its manifest declares, before any resolution.
    pub(crate) dependencies: Vec<Dependency>,
    /// Its library, programs, tests and examples.
    #[serde(default)]
    pub(crate) targets: Vec<Target>,
    #[serde(default)]
    features: BTreeMap<String, Vec<String>>,
    pub(crate) id: String,
    manifest_path: PathBuf,
}

impl Package {
    /// Says whether it may be published.
    pub(crate) fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|to| !to.is_empty())
    }

    /// Returns the directory of its manifest.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new(""))
    }

    /// Returns the names of its features.
    pub(crate) fn features(&self) -> impl Iterator<Item = &str> {
        self.features.keys().map(String::as_str)
    }

    /// Says whether other crates can use it.
    pub(crate) fn has_library(&self) -> bool {
        let mut kinds = self.targets.iter().flat_map(|target| &target.kind);
        kinds.any(|kind| kind == "lib")
    }
}

/// Something that is built from a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    /// `lib`, `bin`, `test` and so on.
    pub(crate) kind: Vec<String>,
    /// Its root module.
    pub(crate) src_path: PathBuf,
}

impl Target {
    /// Says whether it is a library or a program, and not a test, an example or a build script.
    pub(crate) fn is_product(&self) -> bool {
        self.kind.iter().any(|kind| kind == "lib" || kind == "bin")
    }
}

/// A dependency as declared in a manifest.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// The package's own name, whatever it was renamed to.
    pub(crate) name: String,
    /// `dev`, `build`, or `None` for a normal one.
    pub(crate) kind: Option<String>,
    /// The versions that it may have; `*` if the manifest names none.
    #[serde(default)]
    pub(crate) req: String,
}

const PLATFORM: &str = "--filter-platform=x86_64-unknown-linux-gnu";

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::child;

    #[test]
    fn only_the_first_build_of_the_whole_leaves_out_what_helps_the_second() {
        let folder = tempfile::tempdir().unwrap();
        let load = || {
            let metadata = json!({
                "workspace_root": folder.path(), "target_directory": folder.path(),
                "workspace_members": [], "packages": [],
            });
            Workspace::new(serde_json::from_value(metadata).unwrap())
        };
        let is_incremental = |workspace: &Workspace| {
            let command = child::program(workspace, "cargo");
            let off = (OsStr::new("CARGO_INCREMENTAL"), Some(OsStr::new("0")));
            !command.get_envs().any(|variable| variable == off)
        };
        assert!(is_incremental(&load()));
        assert!(!is_incremental(&load().building_whole()));
        fs::create_dir(folder.path().join("debug")).unwrap();
        fs::write(folder.path().join("debug/keyway"), "").unwrap();
        assert!(is_incremental(&load().building_whole()));
    }
}
