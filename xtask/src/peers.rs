//! Peers that are built here but are none of ours: the official Rust SDK as a server and a client.

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Builds them into `target/tools`, where tests look.
pub(crate) fn build(workspace: &Workspace) -> Result<(), XtaskError> {
    let mut command = child::cargo(
        workspace,
        &["build", "--quiet", "--locked", "--manifest-path", MANIFEST],
    );
    command
        .arg("--target-dir")
        .arg(workspace.tools().join("rust-sdk"));
    child::run(&mut command)
}

/// The manifest of the Rust peer, which is a workspace of its own.
pub(crate) const MANIFEST: &str = "peers/rust-sdk/Cargo.toml";
