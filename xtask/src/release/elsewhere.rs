//! The packed crates, built outside of the workspace: what is published has to stand alone.
//!
//! Neither the workspace's profiles nor `.cargo/config.toml` travel with a crate, and the cargo home is
//! an empty one. `keyway demo --check` has to pass all the same.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use crate::child;
use crate::dist::project::{CRATE, PROGRAM};
use crate::error::XtaskError;
use crate::metadata::{Package, Workspace};

/// Unpacks `crates` into a folder of their own, builds the program there and runs its check.
pub(super) fn check(workspace: &Workspace, crates: &[&Package]) -> Result<(), XtaskError> {
    let folder = Folder::create()?;
    let root = &folder.0;
    for package in crates {
        let name = format!("{}-{}.crate", package.name, package.version);
        let mut tar = child::program(workspace, "tar");
        tar.args(["--extract", "--gzip", "--file"])
            .arg(workspace.target.join("package").join(name))
            .arg("--directory")
            .arg(root);
        child::run(&mut tar)?;
    }
    write(&root.join("Cargo.toml"), &manifest(crates))?;
    // The versions that were tested; entries that only tests need fall away.
    let lock = workspace.root.join("Cargo.lock");
    fs::copy(&lock, root.join("Cargo.lock")).map_err(XtaskError::file(&lock))?;
    let mut cargo = child::cargo(workspace, &["build", "--quiet", "--package", CRATE]);
    cargo
        .current_dir(root)
        .env("CARGO_HOME", root.join("cargo-home"))
        .env("CARGO_TARGET_DIR", root.join("target"));
    child::run(&mut cargo)?;
    let program = root.join("target/debug").join(PROGRAM);
    child::run(child::program(workspace, program).args(["demo", "--check"]))
}

/// A workspace of the unpacked crates, which stand in for those that the registry will have.
fn manifest(crates: &[&Package]) -> String {
    let folder = |package: &Package| format!("{}-{}", package.name, package.version);
    let members: Vec<_> = crates
        .iter()
        .map(|package| format!("{:?}", folder(package)))
        .collect();
    let patches: String = crates
        .iter()
        .map(|package| format!("{} = {{ path = {:?} }}\n", package.name, folder(package)))
        .collect();
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[patch.crates-io]\n{patches}",
        members.join(", ")
    )
}

/// Outside of the workspace, whose configuration cargo would find; gone with this value.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Self, XtaskError> {
        let path = env::temp_dir().join(format!("keyway-crates-{}", process::id()));
        fs::create_dir_all(&path).map_err(XtaskError::file(&path))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A temporary folder; the system removes what is left of it.
        drop(fs::remove_dir_all(&self.0));
    }
}

fn write(path: &Path, text: &str) -> Result<(), XtaskError> {
    fs::write(path, text).map_err(XtaskError::file(path))
}
