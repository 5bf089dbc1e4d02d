//! The features of `keyway`: each of them alone, and none, builds without a warning.
//!
//! Only the crates of the workspace that a feature changes are checked again, by clippy, whose
//! results are there from the step before. The smallest host also runs its tests.

use crate::child;
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
        let mut cargo = child::cargo(workspace, &["clippy", "--quiet", "--locked"]);
        cargo.args(["--package", CRATE, "--no-default-features"]);
        cargo.args(["--features", feature, "--", "-Dwarnings"]);
        child::run(&mut cargo)?;
    }
    let mut tests = child::cargo(workspace, &["nextest", "run", "--locked"]);
    tests.args(["--package", CRATE, "--no-default-features"]);
    child::run(&mut tests)
}

const CRATE: &str = "keyway";
