//! `cargo xtask conformance`: the official suite against our client, strictly; its server side,
//! against the gateway, is in [`gateway`].
//!
//! Strict means one scenario per run, because only then the suite fails on warnings, time-outs and
//! exit codes. A run that passes without a single check does not count. Runs follow each other:
//! beside others, on a loaded machine, some fail without a fault.

pub(crate) mod gateway;
mod runs;
mod verdict;

use std::path::PathBuf;
use std::time::Instant;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools;

use self::runs::{NOT_YET, RUNS, Run};
use self::verdict::Verdict;

/// What to run and with which build of the client.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Only scenarios whose name contains this.
    pub(crate) only: Option<String>,
    /// The unoptimised build.
    pub(crate) dev: bool,
}

/// Runs the plan and prints a line for each run and how many passed.
///
/// # Errors
///
/// Returns [`XtaskError::Conformance`] if a run failed that should pass, or the other way round.
pub(crate) fn run(workspace: &Workspace, plan: &Plan) -> Result<(), XtaskError> {
    let client = build(workspace, "keyway-testkit", "conformance-client", plan.dev)?;
    let chosen: Vec<&Run> = RUNS.iter().filter(|run| plan.chooses(run)).collect();
    if chosen.is_empty() {
        return Err(XtaskError::ConformanceUnknown {
            pattern: plan.only.clone().unwrap_or_default(),
        });
    }
    let mut passed = 0;
    let mut surprises = Vec::new();
    for run in &chosen {
        let begin = Instant::now();
        let verdict = one(workspace, &client, run)?;
        let seconds = begin.elapsed().as_secs_f32();
        println!("{} {run} ({seconds:.1} s): {verdict}", verdict.word());
        passed += usize::from(verdict.has_passed());
        if verdict.has_passed() == NOT_YET.contains(run) {
            surprises.push(match verdict {
                Verdict::Passed { .. } => {
                    format!("{run} passes; take it off the list in `xtask/src/conformance/runs.rs`")
                }
                failed => format!("{run}: {failed}"),
            });
        }
    }
    println!("{passed} of {}", chosen.len());
    if surprises.is_empty() {
        Ok(())
    } else {
        Err(XtaskError::Conformance { surprises })
    }
}

impl Plan {
    fn chooses(&self, run: &Run) -> bool {
        self.only
            .as_deref()
            .is_none_or(|pattern| run.scenario.contains(pattern))
    }
}

/// Builds a package, and returns one of its programs.
fn build(
    workspace: &Workspace,
    package: &str,
    program: &str,
    dev: bool,
) -> Result<PathBuf, XtaskError> {
    let arguments = ["build", "--quiet", "--locked", "--package", package];
    let mut command = child::cargo(workspace, &arguments);
    if !dev {
        command.arg("--release");
    }
    child::run(&mut command)?;
    let folder = if dev { "debug" } else { "release" };
    Ok(workspace.target.join(folder).join(program))
}

fn one(workspace: &Workspace, client: &PathBuf, run: &Run) -> Result<Verdict, XtaskError> {
    let mut command = child::program(workspace, tools::node(workspace));
    command
        .arg(tools::modules(workspace).join(SUITE))
        .args(["client", "--scenario", run.scenario])
        .args(["--spec-version", run.wire, "--force"])
        .args(["--timeout", TIMEOUT_MS, "--command"])
        .arg(client)
        .arg("--output-dir")
        .arg(workspace.target.join("conformance"));
    let mut said = String::new();
    let status = child::follow_stderr(command.stdout(std::process::Stdio::null()), |line| {
        said.push_str(line);
        said.push('\n');
        false
    })?;
    Ok(Verdict::read(&said, status.success()))
}

/// Below the npm packages.
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";
const TIMEOUT_MS: &str = "90000";
