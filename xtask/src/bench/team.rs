//! `cargo xtask bench team`: what the gateway of a team costs, beside `pgbench`, a gateway token and
//! other gateways, and what the database adds to the program.
//!
//! All but the last is measured by `keyway-storm figures`, which prints a table with each goal.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{medians, milliseconds};
use crate::child;
use crate::dist::project::FEATURES;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::rivals;
use crate::tools::Missing;

/// What is measured, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// This optimised program with all features of a release, instead of building one
    #[arg(long, value_name = "PROGRAM")]
    keyway: Option<PathBuf>,
    /// The same program without database and PKCS#11, to compare size and start
    #[arg(long, value_name = "PROGRAM")]
    without: Option<PathBuf>,
    /// Build ours without optimisation: shows whether the benchmark works, and nothing else
    #[arg(long)]
    dev: bool,
    /// Compare with `mcp-contextforge-gateway` and LiteLLM from PyPI
    #[arg(long)]
    rivals: bool,
    /// Only these: `statements`, `calls`, `expiry`, `kills`, `memory`, `rivals`; may be repeated
    #[arg(long)]
    only: Vec<String>,
    /// For `keyway-storm figures`, such as `--people=1000`
    #[arg(last = true)]
    more: Vec<String>,
}

/// Measures, prints the tables, and fails if a goal is missed.
///
/// # Errors
///
/// Returns [`XtaskError::ToolsMissing`] if another gateway is not there and `missing` does not say that
/// it should be installed, and [`XtaskError::TooSlow`] if a goal is missed.
pub(crate) fn measure(
    workspace: &Workspace,
    missing: Missing,
    plan: &Plan,
) -> Result<(), XtaskError> {
    let rivals = match plan.rivals {
        true => rivals::gateways(workspace, missing)?,
        false => Vec::new(),
    };
    let built = build(workspace, plan)?;
    let keyway = plan.keyway.clone().unwrap_or_else(|| built.join("keyway"));
    let broken = match &plan.without {
        Some(without) => compare(&keyway, without)?,
        None => Vec::new(),
    };
    let mut figures = child::program(workspace, built.join("keyway-storm"));
    figures.arg("figures").arg(&keyway);
    figures.args(plan.only.iter().map(|only| format!("--only={only}")));
    figures.args(rivals.iter().map(|rival| format!("--rival={rival}")));
    figures.args(&plan.more);
    child::run(&mut figures)?;
    if broken.is_empty() {
        return Ok(());
    }
    Err(XtaskError::TooSlow { broken })
}

/// Builds what is not given and returns the folder that it is in.
fn build(workspace: &Workspace, plan: &Plan) -> Result<PathBuf, XtaskError> {
    let mut build = vec![
        "build",
        "--locked",
        "--package=keyway-storm",
        "--bin=keyway-storm",
    ];
    let features = format!(
        "--features=keyway-cli/{}",
        FEATURES.replace(',', ",keyway-cli/")
    );
    if plan.keyway.is_none() {
        build.extend(["--package=keyway-cli", "--bin=keyway", &features]);
    }
    if !plan.dev {
        build.push("--release");
    }
    child::run(&mut child::cargo(workspace, &build))?;
    let folder = if plan.dev { "debug" } else { "release" };
    Ok(workspace.target.join(folder))
}

/// Compares size and start of the program with and without a database.
fn compare(with: &Path, without: &Path) -> Result<Vec<String>, XtaskError> {
    let size = |path: &Path| {
        let found = std::fs::metadata(path).map_err(XtaskError::file(path))?;
        Ok::<_, XtaskError>(found.len())
    };
    let (large, small) = (size(with)?, size(without)?);
    let version = |path: &Path| {
        let path = path.to_owned();
        move || {
            let mut command = Command::new(&path);
            command.arg("--version");
            command
        }
    };
    let (ours, theirs) = (version(with), version(without));
    let commands: [&dyn Fn() -> Command; 2] = [&ours, &theirs];
    let times = medians(&commands, STARTS)?;
    let [ours, theirs] = times.as_slice() else {
        return Ok(Vec::new());
    };
    let (ours, theirs) = (milliseconds(*ours), milliseconds(*theirs));
    println!("\ndatabase and PKCS#11 in the program, median of {STARTS} starts in turn");
    println!("{:<20}{:>12} bytes{ours:>8.2} ms", "with", large);
    println!("{:<20}{:>12} bytes{theirs:>8.2} ms", "without", small);
    Ok(broken((large, small), (ours, theirs)))
}

/// Says which promises of size and start are broken.
fn broken((large, small): (u64, u64), (ours, theirs): (f64, f64)) -> Vec<String> {
    let mut broken = Vec::new();
    let more = large.saturating_sub(small);
    if more > MOST_BYTES {
        broken.push(format!(
            "the program grows by {more} bytes, more than {MOST_BYTES}"
        ));
    }
    if ours > theirs * START_NOISE {
        broken.push(format!(
            "`--version` takes {ours:.2} ms, without a database {theirs:.2} ms"
        ));
    }
    broken
}

const STARTS: usize = 100;
const MOST_BYTES: u64 = 3 << 20;
/// Two medians of one program differ by as much.
const START_NOISE: f64 = 1.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of_three_mebibytes_is_allowed_and_a_slower_start_is_not() {
        assert!(broken((8 << 20, 5 << 20), (10.0, 10.0)).is_empty());
        assert_eq!(broken(((8 << 20) + 1, 5 << 20), (10.0, 10.0)).len(), 1);
        assert_eq!(broken((1, 1), (11.0, 10.0)).len(), 1);
    }
}
