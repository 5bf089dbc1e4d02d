//! Adapters to other projects' libraries: workspaces of their own, so that nothing of those reaches
//! the product's tree or lock file.

use std::process::Command;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Lints and tests each adapter, with all of its features.
pub(crate) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    let clippy = child::gentle_cargo(workspace, &["clippy", "--all-targets"]);
    child::run(of(workspace, clippy).args(["--", "-Dwarnings"]))?;
    let test = &["test", "--lib", "--tests"];
    let build = child::gentle_cargo(workspace, test);
    child::run(of(workspace, build).arg("--no-run"))?;
    child::run(&mut of(workspace, child::cargo(workspace, test)))
}

/// Returns the command for the adapter.
fn of(workspace: &Workspace, mut cargo: Command) -> Command {
    // Not locked: the lock file follows the product's manifests, which know nothing of it.
    cargo.args(["--all-features", "--manifest-path", RMCP]);
    // What both trees have in common is compiled once.
    cargo.arg("--target-dir").arg(&workspace.target);
    cargo
}

/// The adapter to the official Rust SDK.
pub(crate) const RMCP: &str = "integrations/keyway-rmcp/Cargo.toml";
