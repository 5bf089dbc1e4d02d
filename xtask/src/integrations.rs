//! Adapters to other projects' libraries: workspaces of their own, so that nothing of those reaches
//! the product's tree or lock file.

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Lints and tests each adapter, with all of its features.
pub(crate) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    for command in [
        &["clippy", "--all-targets"][..],
        &["test", "--lib", "--tests"],
    ] {
        let mut cargo = child::cargo(workspace, command);
        // Not locked: the lock file follows the product's manifests, which know nothing of it.
        cargo.args(["--all-features", "--manifest-path", RMCP]);
        // What both trees have in common is compiled once.
        cargo.arg("--target-dir").arg(&workspace.target);
        if command.first() == Some(&"clippy") {
            cargo.args(["--", "-Dwarnings"]);
        }
        child::run(&mut cargo)?;
    }
    Ok(())
}

/// The adapter to the official Rust SDK.
pub(crate) const RMCP: &str = "integrations/keyway-rmcp/Cargo.toml";
