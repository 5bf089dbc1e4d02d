//! `cargo xtask bench memory`: what an idle release build of `keyway run` takes.
//!
//! The same test runs unoptimised in CI, with limits of its own.

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Runs the test of memory on the optimised program and shows what it prints.
///
/// # Errors
///
/// Returns [`XtaskError::Failed`] if a limit is passed.
pub(crate) fn measure(workspace: &Workspace) -> Result<(), XtaskError> {
    let test = [
        "test",
        "--release",
        "--locked",
        "--package",
        "keyway-cli",
        "--test",
        "memory",
        "--",
        "--nocapture",
        "--test-threads=1",
    ];
    child::run(&mut child::cargo(workspace, &test))
}
