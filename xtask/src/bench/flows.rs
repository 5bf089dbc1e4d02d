//! `cargo xtask bench flows`: steps and seconds from nothing to the first authenticated call, beside
//! `mcp-remote`, `mcporter` and `codex mcp add` in one run.
//!
//! The flows are in `bench/flows.mjs`; `docs/flows.md` has its tables.

use std::fs;
use std::path::PathBuf;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::rivals;
use crate::tools::{self, Missing};

/// Builds ours, finds the others, and prints the tables.
///
/// # Errors
///
/// Returns [`XtaskError::ToolsMissing`] if one of the others is not there and `missing` does not say
/// that it should be installed.
pub(crate) fn measure(
    workspace: &Workspace,
    missing: Missing,
    built: Option<PathBuf>,
    (runs, only): (usize, &[String]),
) -> Result<(), XtaskError> {
    let proxy = rivals::proxy(workspace, missing)?;
    let mcporter = mcporter(workspace, missing)?;
    let keyway = match built {
        Some(program) => program,
        None => {
            let release = ["build", "--release", "--locked", "--package", "keyway-cli"];
            child::run(&mut child::cargo(workspace, &release))?;
            workspace.target.join("release/keyway")
        }
    };
    let mut node = child::program(workspace, tools::node(workspace));
    node.arg("bench/flows.mjs")
        .args([keyway, tools::modules(workspace), proxy, mcporter])
        .arg(runs.to_string())
        .args(only);
    child::run(&mut node)
}

fn mcporter(workspace: &Workspace, missing: Missing) -> Result<PathBuf, XtaskError> {
    let prefix = workspace.tools().join("mcporter");
    let program = prefix.join("node_modules/mcporter/dist/cli.js");
    if program.is_file() {
        return Ok(program);
    }
    if missing == Missing::Report {
        return Err(XtaskError::ToolsMissing {
            missing: vec![format!("mcporter {MCPORTER} from npm, to compare with")],
        });
    }
    fs::create_dir_all(&prefix).map_err(XtaskError::file(&prefix))?;
    let mut npm = child::program(workspace, "npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund"])
        .args(["--ignore-scripts", "--prefix"])
        .arg(&prefix)
        .arg(format!("mcporter@{MCPORTER}"));
    child::run(&mut npm)?;
    Ok(program)
}

const MCPORTER: &str = "0.9.0";
