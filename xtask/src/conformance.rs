//! `cargo xtask conformance`: the client side of the official suite, strictly, against an adapter on
//! the library or against the program `keyway run`; its server side is in [`gateway`].
//!
//! Strict means one scenario per run, because only then the suite fails on warnings, time-outs and
//! exit codes. A run that passes without a single check does not count. Two run at a time; what fails
//! then is run once more alone, and that counts: a loaded machine is no fault of the client.

pub(crate) mod gateway;
mod runs;
mod verdict;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use clap::ValueEnum;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::{lanes, programs, tools};

use self::runs::{LEFT_OUT, RUNS, Run};
use self::verdict::Verdict;

/// What to run and with which build of the client.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Only scenarios whose name contains this.
    pub(crate) only: Option<String>,
    /// The unoptimised build.
    pub(crate) dev: bool,
    /// What the suite tests.
    pub(crate) through: Through,
}

/// What of Keyway the suite's client scenarios test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Through {
    /// An adapter on the library
    #[default]
    Library,
    /// The program `keyway run`, behind a plain client
    Run,
}

/// Runs the plan and prints a line for each run, how many passed, and what is left out.
///
/// # Errors
///
/// Returns [`XtaskError::Conformance`] if a run failed, or if the suite lists scenarios that are
/// neither run nor left out.
pub(crate) fn run(workspace: &Workspace, plan: &Plan) -> Result<(), XtaskError> {
    let client = client(workspace, plan)?;
    let chosen: Vec<&Run> = RUNS.iter().filter(|run| plan.chooses(run)).collect();
    if chosen.is_empty() {
        return Err(XtaskError::ConformanceUnknown {
            pattern: plan.only.clone().unwrap_or_default(),
        });
    }
    let listed = child::capture(suite(workspace).args(["list", "--client"]))?;
    let mut surprises = runs::surprises_of(&listed);
    let begin = Instant::now();
    let mut passed = 0;
    for (run, verdict) in judge_all(workspace, &client, &chosen)? {
        match verdict {
            Verdict::Passed { .. } => passed += 1,
            failed => surprises.push(format!("{run}: {failed}")),
        }
    }
    let of = match plan.through {
        Through::Library => "an adapter on the library",
        Through::Run => "`keyway run`",
    };
    let seconds = begin.elapsed().as_secs_f32();
    println!(
        "{passed} of {} client runs of {of} in {seconds:.0} s",
        chosen.len()
    );
    for it in LEFT_OUT {
        println!("left out: {}, {}", it.scenario, it.why);
    }
    if surprises.is_empty() {
        Ok(())
    } else {
        Err(XtaskError::Conformance { surprises })
    }
}

/// Builds the client that the suite starts, and returns its command line.
fn client(workspace: &Workspace, plan: &Plan) -> Result<OsString, XtaskError> {
    let testkit = |program: &str| build(workspace, "keyway-testkit", program, plan.dev);
    match plan.through {
        Through::Library => testkit("conformance-client").map(OsString::from),
        Through::Run => {
            let mut command = OsString::from(testkit("conformance-run")?);
            command.push(" ");
            command.push(build(workspace, "keyway-cli", "keyway", plan.dev)?);
            Ok(command)
        }
    }
}

impl Plan {
    fn chooses(&self, run: &Run) -> bool {
        self.only
            .as_deref()
            .is_none_or(|pattern| run.scenario.contains(pattern))
    }
}

/// Builds a program of a package, and returns it.
fn build(
    workspace: &Workspace,
    package: &str,
    program: &str,
    dev: bool,
) -> Result<PathBuf, XtaskError> {
    if dev {
        return Ok(programs::build(workspace, PROGRAMS)?.join(program));
    }
    let arguments = ["build", "--quiet", "--locked", "--release", "--package"];
    child::run(child::cargo(workspace, &arguments).arg(package))?;
    Ok(workspace.target.join("release").join(program))
}

/// Runs them beside each other; what fails is run once more afterwards, alone.
fn judge_all<'run>(
    workspace: &Workspace,
    client: &OsString,
    runs: &[&'run Run],
) -> Result<Vec<(&'run Run, Verdict)>, XtaskError> {
    let mut judged = lanes::map(runs, |&run| Ok((run, one(workspace, client, run)?)))?;
    for (run, verdict) in &mut judged {
        if !verdict.has_passed() {
            println!("once more, alone:");
            *verdict = one(workspace, client, run)?;
        }
    }
    Ok(judged)
}

/// Prints a line about the run.
fn one(workspace: &Workspace, client: &OsString, run: &Run) -> Result<Verdict, XtaskError> {
    let begin = Instant::now();
    let mut command = suite(workspace);
    command
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
    let verdict = Verdict::read(&said, status.success());
    let seconds = begin.elapsed().as_secs_f32();
    println!("{} {run} ({seconds:.1} s): {verdict}", verdict.word());
    Ok(verdict)
}

/// Returns the suite's own program.
fn suite(workspace: &Workspace) -> Command {
    let mut command = child::program(workspace, tools::node(workspace));
    // It is started hundreds of times; compiling its modules is a quarter of the time.
    command
        .env("NODE_COMPILE_CACHE", workspace.target.join("node-cache"))
        .arg(tools::modules(workspace).join(SUITE));
    command
}

/// What is tested, what tests it, and the browser that agrees, which lies beside them.
const PROGRAMS: &[&str] = &[
    "conformance-client",
    "conformance-run",
    "fake-browser",
    "keyway",
];
/// Below the npm packages.
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";
const TIMEOUT_MS: &str = "90000";
