//! The archive: a prefix to unpack into `/usr/local` or `~/.local`.

use std::path::{Path, PathBuf};

use crate::child;
use crate::dist::project::{PROGRAM, Project};
use crate::dist::{project, tree};
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Packs the program for `triple`; the same files give the same bytes.
pub(super) fn pack(
    workspace: &Workspace,
    project: &Project,
    triple: &str,
    binary: &Path,
    notices: &str,
) -> Result<PathBuf, XtaskError> {
    let name = format!("{PROGRAM}-{}-{triple}", project.version);
    let stage = workspace.target.join("dist-stage");
    tree::empty(&stage)?;
    tree::lay_out(workspace, binary, notices, &stage.join(&name))?;
    let path = project::folder(workspace).join(format!("{name}.tar.xz"));
    let mut tar = child::program(workspace, "tar");
    tar.args(["--create", "--xz", "--sort=name", "--format=ustar"])
        .args(["--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", project.epoch))
        .arg("--file")
        .arg(&path)
        .arg("--directory")
        .args([&stage, Path::new(&name)]);
    child::run(&mut tar)?;
    Ok(path)
}
