//! `cargo xtask test`: every check, cheap ones first, up to the first that fails.

use std::time::Instant;

use crate::conformance::{Through, gateway};
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools::{self, Missing};
use crate::{
    budget, child, conformance, deny, dist, docs, features, fuzz, instructions, integrations,
    layers, nextest, peers, release, surface,
};

/// Runs every check; the last line printed is the number of tests that passed.
pub(crate) fn run(
    workspace: &Workspace,
    missing_tools: Missing,
    extent: Extent,
) -> Result<(), XtaskError> {
    let cargo = |arguments: &[&str]| child::run(&mut child::cargo(workspace, arguments));

    let mut steps = Steps { begun: 0 };
    steps.run("tools", || tools::ensure(workspace, missing_tools))?;
    steps.run("format", || {
        cargo(&["fmt", "--all", "--check"])?;
        cargo(&["fmt", "--manifest-path", fuzz::MANIFEST, "--check"])?;
        cargo(&["fmt", "--manifest-path", peers::MANIFEST, "--check"])?;
        cargo(&["fmt", "--manifest-path", integrations::RMCP, "--check"])
    })?;
    steps.run("layers", || layers::check(workspace))?;
    steps.run("size budget", || budget::check(workspace))?;
    steps.run("dependencies", || deny::check(workspace))?;
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
    })?;
    steps.run("features", || features::check(workspace))?;
    steps.run("public surface", || surface::check(workspace))?;
    let summary = steps.run("unit and integration tests", || {
        peers::build(workspace)?;
        nextest::run(workspace)
    })?;
    steps.run("integrations", || integrations::check(workspace))?;
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
    fn run<T>(
        &mut self,
        name: &str,
        step: impl FnOnce() -> Result<T, XtaskError>,
    ) -> Result<T, XtaskError> {
        self.begun += 1;
        let title = format!("[{}/{STEPS}] {name}", self.begun);
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

const STEPS: usize = 18;
