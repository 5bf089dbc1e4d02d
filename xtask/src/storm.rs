//! `cargo xtask storm`: many people at several replicas while everything around them fails.
//!
//! Part of `cargo xtask test` in a short form. What a machine refuses (namespaces, mounts) is left out,
//! and that is printed. The storm is a program of its own, `keyway-storm`.

use std::path::PathBuf;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::programs;
use crate::rivals;
use crate::tools::Missing;

/// How the storm is run.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Plan {
    /// Half an hour, 10,000 people, stops of up to 90 seconds, and an optimised build
    #[arg(long)]
    pub(crate) long: bool,
    /// For how long things fail, in minutes
    #[arg(long)]
    minutes: Option<u64>,
    /// The number that decides what happens when; 1 unless it is given
    #[arg(long)]
    seed: Option<u64>,
    /// How many people have three sign-ins each
    #[arg(long)]
    people: Option<usize>,
    /// How many sign-ins are used at once
    #[arg(long)]
    active: Option<usize>,
    /// Do only what has this in its name
    #[arg(long)]
    only: Option<String>,
    /// An older `keyway`, which replicas run until the first rolling restart
    #[arg(long)]
    older: Option<PathBuf>,
    /// Compare what becomes of sign-ins with ContextForge and LiteLLM from PyPI, a few minutes each
    #[arg(long, conflicts_with_all = ["long", "active", "older"])]
    rivals: bool,
}

/// Builds the programs and runs the storm.
///
/// # Errors
///
/// Returns [`XtaskError`] if something is not as it has to be; the storm has printed what. Another
/// gateway that is not there is an error unless `missing` says that it should be installed.
pub(crate) fn run(workspace: &Workspace, missing: Missing, plan: &Plan) -> Result<(), XtaskError> {
    if plan.rivals {
        return beside_others(workspace, missing, plan);
    }
    let folder = match plan.long {
        false => programs::build(workspace, &["keyway", "keyway-storm"])?,
        true => {
            let build = [
                "build",
                "--locked",
                "--release",
                "--package=keyway-cli",
                "--package=keyway-storm",
                "--bin=keyway",
                "--bin=keyway-storm",
            ];
            child::run(&mut child::cargo(workspace, &build))?;
            workspace.target.join("release")
        }
    };
    let usual = if plan.long { LONG } else { SHORT };
    let mut storm = child::program(workspace, folder.join("keyway-storm"));
    let seconds = plan.minutes.map_or(usual.seconds, |minutes| minutes * 60);
    storm
        .arg(folder.join("keyway"))
        .arg(format!("--seconds={seconds}"))
        .arg(format!("--people={}", plan.people.unwrap_or(usual.people)))
        .arg(format!("--active={}", plan.active.unwrap_or(usual.active)))
        .arg(format!("--longest-stop={}", usual.longest_stop))
        .args(plan.seed.map(|seed| format!("--seed={seed}")))
        .args(plan.only.as_ref().map(|only| format!("--only={only}")));
    if let Some(older) = &plan.older {
        storm.arg("--older").arg(older);
    }
    child::run(&mut storm)
}

/// Runs ours and the other gateways, one after the other.
fn beside_others(workspace: &Workspace, missing: Missing, plan: &Plan) -> Result<(), XtaskError> {
    let gateways = rivals::gateways(workspace, missing)?;
    let folder = programs::build(workspace, &["keyway", "keyway-storm"])?;
    let mut storm = child::program(workspace, folder.join("keyway-storm"));
    storm
        .arg("rivals")
        .arg(folder.join("keyway"))
        .args(gateways.iter().map(|it| format!("--rival={it}")))
        .args(plan.minutes.map(|it| format!("--seconds={}", it * 60)))
        .args(plan.people.map(|people| format!("--people={people}")))
        .args(plan.seed.map(|seed| format!("--seed={seed}")))
        .args(plan.only.as_ref().map(|only| format!("--only={only}")));
    child::run(&mut storm)
}

/// What is done unless something else is asked for.
struct Usual {
    seconds: u64,
    people: usize,
    active: usize,
    longest_stop: u64,
}

const SHORT: Usual = Usual {
    seconds: 130,
    people: 500,
    active: 300,
    longest_stop: 10,
};
const LONG: Usual = Usual {
    seconds: 1_800,
    people: 10_000,
    active: 4_000,
    longest_stop: 89,
};
