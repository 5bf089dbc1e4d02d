//! `cargo xtask test`: every check, cheap ones first, up to the first that fails.
//!
//! Most tests wait for processes, answers and times. What only compiles is done beside them, and
//! what is fetched from elsewhere beside the lints.

use std::time::Instant;

use crate::conformance::{Through, gateway};
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools::{self, Missing};
use crate::{
    beside, budget, child, conformance, deny, dist, docs, fuzz, instructions, integrations, layers,
    nextest, peers, release, storm, surface,
};

/// Runs every check; the last line printed is the number of tests that passed.
pub(crate) fn run(
    workspace: &Workspace,
    missing_tools: Missing,
    extent: Extent,
) -> Result<(), XtaskError> {
    let cargo = |arguments: &[&str]| child::run(&mut child::cargo(workspace, arguments));

    let mut steps = Steps { begun: 0 };
    steps.run("tools", || tools::prepare(workspace, missing_tools))?;
    let more_tools: &[&str] = match missing_tools {
        Missing::Report => &["tools"],
        Missing::Install => &["tools", "--setup"],
    };
    let more_tools = steps.beside(5, &[("more tools", more_tools)]);
    beside::with(workspace, &more_tools, |begin| {
        begin();
        first_look(workspace, &mut steps)
    })?;
    steps.begun += more_tools.len();
    steps.run("dependencies", || deny::check(workspace))?;
    steps.run("public surface", || surface::check(workspace))?;
    let fuzz_targets: &[&str] = match extent {
        Extent::Usual => &["fuzz", "--build"],
        Extent::Long => &["fuzz", "--build", "--long"],
    };
    let compiling = steps.beside(
        1,
        &[
            ("features", &["features"]),
            ("integrations", &["integrations"]),
            ("fuzz targets", fuzz_targets),
        ],
    );
    let summary = steps.run("unit and integration tests", || {
        peers::build(workspace)?;
        beside::with(workspace, &compiling, |begin| {
            nextest::run(workspace, begin)
        })
    })?;
    steps.begun += compiling.len();
    steps.run("storm", || {
        let mut plan = storm::Plan::default();
        plan.long = extent == Extent::Long;
        storm::run(workspace, missing_tools, &plan)
    })?;
    steps.run("package", || dist::smoke(workspace))?;
    steps.run("conformance", || {
        for through in [Through::Library, Through::Run] {
            let plan = conformance::Plan {
                only: None,
                dev: true,
                through,
            };
            conformance::run(workspace, &plan)?;
        }
        Ok(())
    })?;
    steps.run("conformance of the gateway", || {
        gateway::run(workspace, true, gateway::Endpoint::Server)
    })?;
    steps.run("doc tests", || {
        cargo(&["test", "--doc", "--workspace", "--locked"])
    })?;
    steps.run("generated documents", || docs::check(workspace))?;
    steps.run("instructions", || match extent {
        Extent::Usual => {
            println!("skipped: an optimised build takes minutes; run `cargo xtask instructions`");
            Ok(())
        }
        Extent::Long => instructions::check(workspace, instructions::Profile::Release),
    })?;
    steps.run("fuzzing", || {
        fuzz::run(
            workspace,
            None,
            fuzz::Extent::new(None, extent == Extent::Long),
        )
    })?;

    println!("\n{}", summary.closing_line());
    Ok(())
}

/// What needs no tool but those of the machine.
fn first_look(workspace: &Workspace, steps: &mut Steps) -> Result<(), XtaskError> {
    let cargo = |arguments: &[&str]| child::run(&mut child::cargo(workspace, arguments));
    steps.run("format", || {
        cargo(&["fmt", "--all", "--check"])?;
        cargo(&["fmt", "--manifest-path", fuzz::MANIFEST, "--check"])?;
        cargo(&["fmt", "--manifest-path", peers::MANIFEST, "--check"])?;
        cargo(&["fmt", "--manifest-path", integrations::RMCP, "--check"])
    })?;
    steps.run("layers", || layers::check(workspace))?;
    steps.run("size budget", || budget::check(workspace))?;
    steps.run("release", || release::check(workspace))?;
    steps.run("clippy", || {
        cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-Dwarnings",
        ])
    })
}

/// How much time the checks may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Extent {
    Usual,
    /// With an optimised build, and ten million executions of each fuzz target.
    Long,
}

impl Extent {
    /// Returns what the flag, given or not, asks for.
    pub(crate) const fn from_flag(given: bool) -> Self {
        if given { Self::Long } else { Self::Usual }
    }
}

/// Numbers the steps and measures each.
struct Steps {
    begun: usize,
}

impl Steps {
    /// Returns steps that have the numbers after the next few.
    fn beside(&self, next: usize, tasks: &[(&str, &'static [&'static str])]) -> Vec<beside::Step> {
        let numbered = tasks.iter().zip(self.begun + next + 1..);
        let steps = numbered.map(|(&(name, task), number)| beside::Step {
            title: title(number, name),
            task,
        });
        steps.collect()
    }

    fn run<T>(
        &mut self,
        name: &str,
        step: impl FnOnce() -> Result<T, XtaskError>,
    ) -> Result<T, XtaskError> {
        self.begun += 1;
        let title = title(self.begun, name);
        println!("\n{title}");
        let begin = Instant::now();
        let result = step();
        let outcome = if result.is_ok() { "ok" } else { "FAILED" };
        println!(
            "{title}: {outcome} after {:.1} s",
            begin.elapsed().as_secs_f32()
        );
        result
    }
}

fn title(number: usize, name: &str) -> String {
    format!("[{number}/{STEPS}] {name}")
}

const STEPS: usize = 21;
