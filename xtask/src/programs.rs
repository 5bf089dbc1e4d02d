//! Our own programs as the tests build them.
//!
//! A build of one package alone has fewer features than one of the workspace with its tests, in our
//! crates and in those of others, and would compile most of the tree once more.

use std::path::PathBuf;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Builds the programs without optimisation and returns the folder that they are in; after the tests
/// nothing is left to compile.
pub(crate) fn build(workspace: &Workspace, programs: &[&str]) -> Result<PathBuf, XtaskError> {
    let mut command = child::cargo(workspace, &["build", "--quiet", "--locked", "--workspace"]);
    for program in programs {
        command.args(["--bin", program]);
    }
    // An example brings the features of what only tests depend on.
    command.args(["--example", EXAMPLE]);
    child::run(&mut command)?;
    Ok(workspace.target.join("debug"))
}

/// Of `keyway-vault`; the tests build it as well.
const EXAMPLE: &str = "cost";
