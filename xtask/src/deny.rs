//! `cargo deny`: what may be a dependency, under which licence, from where. The law is `deny.toml`.

use crate::child;
use crate::error::XtaskError;
use crate::fuzz;
use crate::metadata::Workspace;

/// Checks bans, licences and sources of the workspace, and sources of the fuzz targets.
///
/// Needs no network once the dependencies are downloaded.
pub(crate) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    let check = ["deny", "--locked", "check", "bans", "licenses", "sources"];
    // The law names crates that may be the only ones to use another before they exist.
    child::run(child::cargo(workspace, &check).args(["--allow", "unused-wrapper"]))?;
    // Nothing of the fuzz targets is shipped: it only matters where their code comes from.
    let fuzz = [
        "deny",
        "--locked",
        "--manifest-path",
        fuzz::MANIFEST,
        "--config",
        "deny.toml",
    ];
    child::run(child::cargo(workspace, &fuzz).args(["check", "sources"]))
}

/// Checks for known vulnerabilities; fetches the advisory database.
///
/// Not part of `cargo xtask test`: an advisory published overnight must not break a commit that is
/// innocent of it, nor must a machine without network.
pub(crate) fn check_advisories(workspace: &Workspace) -> Result<(), XtaskError> {
    child::run(&mut child::cargo(
        workspace,
        &["deny", "--locked", "check", "advisories"],
    ))
}
