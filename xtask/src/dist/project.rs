//! What every package says of the project: taken from the manifests, so that it is written once.

use std::path::{Path, PathBuf};

use crate::child;
use crate::error::XtaskError;
use crate::metadata::{Package, Workspace};

/// The project as packages describe it.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) licence: String,
    /// `repository` of the workspace's manifest; `None` as long as there is none.
    pub(crate) address: Option<String>,
    /// Seconds since 1970 of the last commit: the time of every file in a package.
    pub(crate) epoch: String,
}

impl Project {
    /// Reads the manifest of the program and the time of the last commit.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self, XtaskError> {
        let program = program(workspace)?;
        let mut git = child::program(workspace, "git");
        let epoch = child::capture(git.args(["log", "-1", "--format=%ct"]))?;
        Ok(Self {
            version: program.version.clone(),
            description: DESCRIPTION.to_owned(),
            licence: program.license.clone().unwrap_or_default(),
            address: program
                .repository
                .clone()
                .filter(|address| !address.is_empty()),
            epoch: epoch.trim().to_owned(),
        })
    }
}

/// Returns the crate that the program is built from.
pub(crate) fn program(workspace: &Workspace) -> Result<&Package, XtaskError> {
    workspace
        .crates()
        .into_iter()
        .find(|package| package.name == CRATE)
        .ok_or_else(|| XtaskError::CrateUnknown {
            name: CRATE.to_owned(),
        })
}

/// Returns where packages are put.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("dist")
}

/// Returns the name of a file, for people.
pub(crate) fn name_of(file: &Path) -> String {
    file.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The crate of the program.
pub(crate) const CRATE: &str = "keyway-cli";
/// What the released program has beside the default features.
pub(crate) const FEATURES: &str = "pkcs11";
/// The program, the archive and the Debian package.
pub(crate) const PROGRAM: &str = "keyway";
/// The package on npm and PyPI, where `keyway` is another project's.
pub(crate) const PACKAGE: &str = "keyway-mcp";
pub(crate) const AUTHORS: &str = "The Keyway contributors";
const DESCRIPTION: &str = "Signs in to MCP servers once for every client on the machine";
