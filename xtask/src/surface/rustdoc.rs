//! Documentation as JSON, by the toolchain that builds everything else.
//!
//! The format is not stable, so `rustdoc` must be told that we know. Only `rustdoc` is told: with the
//! same variable set for `cargo`, build scripts would see another compiler and everything would be
//! compiled a second time.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::{Package, Workspace};

/// Documents `libraries` and returns the folder with a JSON file for each.
pub(super) fn document(
    workspace: &Workspace,
    libraries: &[&Package],
) -> Result<PathBuf, XtaskError> {
    let mut cargo = child::cargo(
        workspace,
        &["doc", "--no-deps", "--lib", "--locked", "--quiet"],
    );
    for library in libraries {
        cargo.args(["--package", &library.name]);
    }
    cargo
        .env("RUSTDOC", wrapper(workspace)?)
        .env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json");
    child::run(&mut cargo)?;
    Ok(workspace.target.join("doc"))
}

/// Writes a script that starts `rustdoc` with its unstable options.
fn wrapper(workspace: &Workspace) -> Result<PathBuf, XtaskError> {
    let folder = workspace.target.join("surface");
    fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    let script = folder.join("rustdoc");
    // Cargo compares the time of this file: one that is there already stays as it is.
    if fs::read_to_string(&script).is_ok_and(|text| text == SCRIPT) {
        return Ok(script);
    }
    fs::write(&script, SCRIPT).map_err(XtaskError::file(&script))?;
    fs::set_permissions(&script, Permissions::from_mode(0o755))
        .map_err(XtaskError::file(&script))?;
    Ok(script)
}

const SCRIPT: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
