//! Two builds of one commit, in two folders and with two cargo homes, must be one file.

use std::path::PathBuf;
use std::{env, process};

use crate::child;
use crate::dist::build::{self, Place};
use crate::dist::project::Project;
use crate::dist::targets::Target;
use crate::dist::{checksums, tree};
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Builds the last commit elsewhere and compares it with `built`; returns the common hash.
///
/// # Errors
///
/// Returns [`XtaskError::Release`] if the two differ, or if `built` is not of a commit.
pub(super) fn check(
    workspace: &Workspace,
    project: &Project,
    target: &Target,
    built: &std::path::Path,
) -> Result<String, XtaskError> {
    let mut status = child::program(workspace, "git");
    if !child::capture(status.args(["status", "--porcelain"]))?.is_empty() {
        return Err(fault(
            "there are uncommitted changes; a second build would lack them",
        ));
    }
    let elsewhere = Elsewhere::create(workspace)?;
    let second = build::binary(workspace, project, target, &elsewhere.place())?;
    let (first, second) = (checksums::of(built)?, checksums::of(&second)?);
    if first == second {
        return Ok(first);
    }
    Err(fault(&format!("two builds differ: {first} and {second}")))
}

/// A copy of the last commit outside of the workspace, gone with this value.
struct Elsewhere(PathBuf);

impl Elsewhere {
    fn create(workspace: &Workspace) -> Result<Self, XtaskError> {
        let folder = env::temp_dir().join(format!("keyway-again-{}", process::id()));
        tree::empty(&folder.join("sources"))?;
        let elsewhere = Self(folder);
        let archive = elsewhere.0.join("sources.tar");
        let mut git = child::program(workspace, "git");
        git.args(["archive", "--format=tar", "HEAD", "--output"]);
        child::run(git.arg(&archive))?;
        let mut tar = child::program(workspace, "tar");
        tar.args(["--extract", "--file"]).arg(&archive);
        child::run(tar.arg("--directory").arg(elsewhere.0.join("sources")))?;
        Ok(elsewhere)
    }

    fn place(&self) -> Place {
        Place {
            source: self.0.join("sources"),
            cargo_home: self.0.join("cargo"),
            target: self.0.join("sources/built-here"),
            zig_cache: self.0.join("zig"),
        }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // A temporary folder; the system removes what is left of it.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn fault(what: &str) -> XtaskError {
    XtaskError::Release {
        faults: vec![what.to_owned()],
    }
}
