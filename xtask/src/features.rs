//! The features of `keyway`: each of them alone, and none, builds without a warning.
//!
//! Only the crates of the workspace that a feature changes are checked again, by clippy, whose
//! results are there from the step before. The smallest host also runs its tests. Then the program
//! with what the released one has beside its default features.

use crate::child;
use crate::dist::project;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Builds `keyway` with none of its features and with each alone, and tests it with none.
pub(crate) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    let crates = workspace.crates();
    let keyway = crates.iter().find(|package| package.name == CRATE);
    let features = keyway.into_iter().flat_map(|package| package.features());
    let single = features.filter(|feature| *feature != "default");
    for feature in std::iter::once("").chain(single) {
        println!(
            "{CRATE} with {}",
            if feature.is_empty() {
                "no feature"
            } else {
                feature
            }
        );
        let mut cargo = child::gentle_cargo(workspace, &["clippy", "--quiet", "--locked"]);
        cargo.args(["--package", CRATE, "--no-default-features"]);
        cargo.args(["--features", feature, "--", "-Dwarnings"]);
        child::run(&mut cargo)?;
    }
    tested(
        workspace,
        &["--package", CRATE, "--no-default-features"],
        &[],
    )?;
    released(workspace)
}

/// Checks the program as it is released, and runs the tests that only its features have.
fn released(workspace: &Workspace) -> Result<(), XtaskError> {
    println!(
        "{} with {}, as it is released",
        project::CRATE,
        project::FEATURES
    );
    let mut cargo = child::gentle_cargo(workspace, &["clippy", "--quiet", "--locked"]);
    cargo.args(["--package", project::CRATE, "--features", project::FEATURES]);
    child::run(cargo.args(["--", "-Dwarnings"]))?;
    let built = [
        "--package",
        "keyway-postgres",
        "--features",
        project::FEATURES,
    ];
    tested(workspace, &built, &["-E", "test(pkcs11::)"])
}

/// Builds tests behind all else, and runs those that are chosen.
fn tested(workspace: &Workspace, built: &[&str], chosen: &[&str]) -> Result<(), XtaskError> {
    let tests = ["nextest", "run", "--locked"];
    let mut building = child::gentle_cargo(workspace, &tests);
    child::run(building.args(built).arg("--no-run"))?;
    child::run(child::cargo(workspace, &tests).args(built).args(chosen))
}

const CRATE: &str = "keyway";
