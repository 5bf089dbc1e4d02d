//! `cargo xtask instructions`: how many instructions a call takes through `keyway run` and through
//! `keyway serve`.
//!
//! `callgrind` counts what the program executes, which a busy machine does not change. The
//! difference between 2,000 calls and 1,000 leaves out starting, connecting and ending; the server
//! behind it is a thread of this task and is not counted. The numbers are recorded in
//! `bench/instructions.txt`: a call that takes more than a twentieth above fails.

mod calls;
mod http;
mod record;
mod upstream;

use std::path::PathBuf;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use calls::{Program, Way};
use record::{Measured, Record};

/// Measures and compares with the record.
pub(crate) fn check(workspace: &Workspace, profile: Profile) -> Result<(), XtaskError> {
    let measured = measure(workspace, profile)?;
    let record = Record::read(workspace)?;
    let toolchain = toolchain(workspace)?;
    if record.toolchain != toolchain {
        println!(
            "not compared: recorded with {}, and this is {toolchain}",
            record.toolchain
        );
        return Ok(());
    }
    let broken = record.compare(&measured);
    match broken.is_empty() {
        true => Ok(()),
        false => Err(XtaskError::Instructions { broken }),
    }
}

/// Measures and records.
pub(crate) fn write(workspace: &Workspace, profile: Profile) -> Result<(), XtaskError> {
    let measured = measure(workspace, profile)?;
    let mut record = Record::read(workspace)?;
    let toolchain = toolchain(workspace)?;
    if record.toolchain != toolchain {
        record = Record {
            toolchain,
            calls: Vec::new(),
        };
    }
    record.take(measured);
    record.write(workspace)
}

/// With which optimisation the program is built.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Profile {
    Dev,
    Release,
}

impl Profile {
    fn as_str(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "release",
        }
    }
}

fn measure(workspace: &Workspace, profile: Profile) -> Result<Vec<Measured>, XtaskError> {
    let program = Program {
        path: build(workspace, profile)?,
        scratch: workspace.target.join("instructions"),
    };
    let upstream = upstream::start()?;
    let mut measured = Vec::new();
    for way in [Way::Run, Way::Serve] {
        // What threads do while they wait differs from run to run, and only adds.
        let mut per_call = u64::MAX;
        for round in 0..ROUNDS {
            let few = program.count(way, upstream, FEW)?;
            let many = program.count(way, upstream, MANY)?;
            let found = many.saturating_sub(few) / u64::from(MANY - FEW);
            println!(
                "{} {}: {found} instructions per call ({} of {ROUNDS})",
                profile.as_str(),
                way.as_str(),
                round + 1
            );
            per_call = per_call.min(found);
        }
        measured.push(Measured {
            profile: profile.as_str().to_owned(),
            way: way.as_str().to_owned(),
            per_call,
        });
    }
    Ok(measured)
}

fn build(workspace: &Workspace, profile: Profile) -> Result<PathBuf, XtaskError> {
    let mut cargo = child::cargo(workspace, &["build", "--locked", "--package", "keyway-cli"]);
    let folder = match profile {
        Profile::Dev => "debug",
        Profile::Release => {
            cargo.arg("--release");
            "release"
        }
    };
    child::run(&mut cargo)?;
    Ok(workspace.target.join(folder).join("keyway"))
}

fn toolchain(workspace: &Workspace) -> Result<String, XtaskError> {
    let printed = child::capture(child::program(workspace, "rustc").arg("--version"))?;
    Ok(printed.trim().to_owned())
}

const FEW: u32 = 1_000;
const MANY: u32 = 2_000;
const ROUNDS: u32 = 3;
