//! Peers on the official Rust SDK that tests talk to: a server, a client, and a conformance server.

use std::path::PathBuf;

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

/// Returns the program of the Rust peer, once [`build`] has built it.
pub(crate) fn program(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("rust-sdk/debug/rust-peer")
}

/// The manifest of the Rust peer, which is a workspace of its own.
pub(crate) const MANIFEST: &str = "peers/rust-sdk/Cargo.toml";
