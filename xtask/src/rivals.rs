//! `cargo xtask rivals`: ours and `mcp-remote` through the same attacks and races, side by side;
//! with `--refresh`, these and Codex while a token is renewed under difficulties.
//!
//! Not part of `cargo xtask test`: it takes minutes and needs a package that nothing else needs.
//! The attacks and races are in `bench/rivals.mjs`, the renewals in `bench/refresh.mjs`. Other gateways,
//! which `cargo xtask bench team` and `cargo xtask storm` compare with, are found and installed here.

use std::fs;
use std::path::PathBuf;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools::{self, Missing};

/// What is to be run.
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// Build ours without optimisation; then times mean nothing
    #[arg(long)]
    dev: bool,
    /// Compare what becomes of a sign-in while it is renewed, with Codex as well
    #[arg(long)]
    refresh: bool,
    /// Only these tests, such as `T5` or `cost`; with `--refresh`, such as `S1`
    #[arg(value_name = "TEST")]
    only: Vec<String>,
}

/// Builds ours, finds the other one, and prints the table.
///
/// # Errors
///
/// Returns [`XtaskError::ToolsMissing`] if the other one is not there and `missing` does not say
/// that it should be installed.
pub(crate) fn run(workspace: &Workspace, missing: Missing, plan: &Plan) -> Result<(), XtaskError> {
    let proxy = proxy(workspace, missing)?;
    // In one go, so that what both need is built once.
    let mut build = vec![
        "build",
        "--locked",
        "--package=keyway-cli",
        "--package=keyway-testkit",
        "--bin=keyway",
        "--bin=oauth-rig",
    ];
    if !plan.dev {
        build.push("--release");
    }
    child::run(&mut child::cargo(workspace, &build))?;
    let folder = if plan.dev { "debug" } else { "release" };
    let built = |name: &str| workspace.target.join(folder).join(name);
    let mut node = child::program(workspace, tools::node(workspace));
    let script = match plan.refresh {
        true => "bench/refresh.mjs",
        false => "bench/rivals.mjs",
    };
    node.arg(script)
        .args([built("keyway"), built("oauth-rig"), proxy]);
    if plan.refresh {
        node.arg(codex(workspace)?);
    }
    node.args(&plan.only);
    child::run(&mut node)
}

/// Returns the program of Codex, which the tests need as well.
fn codex(workspace: &Workspace) -> Result<PathBuf, XtaskError> {
    let program = tools::modules(workspace).join(".bin/codex");
    if program.is_file() {
        return Ok(program);
    }
    Err(XtaskError::ToolsMissing {
        missing: vec!["Codex CLI: cargo xtask tools --setup".to_owned()],
    })
}

/// Returns the other one's program, installed if it is missing and may be.
///
/// # Errors
///
/// Returns [`XtaskError::ToolsMissing`] if it may not.
pub(crate) fn proxy(workspace: &Workspace, missing: Missing) -> Result<PathBuf, XtaskError> {
    let proxy = prefix(workspace).join("node_modules/mcp-remote/dist/proxy.js");
    if !proxy.is_file() {
        install(workspace, missing)?;
    }
    Ok(proxy)
}

fn install(workspace: &Workspace, missing: Missing) -> Result<(), XtaskError> {
    if missing == Missing::Report {
        return Err(XtaskError::ToolsMissing {
            missing: vec![format!("mcp-remote {MCP_REMOTE} from npm, to compare with")],
        });
    }
    let prefix = prefix(workspace);
    fs::create_dir_all(&prefix).map_err(XtaskError::file(&prefix))?;
    let mut npm = child::program(workspace, "npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund"])
        .args(["--ignore-scripts", "--prefix"])
        .arg(&prefix)
        .arg(format!("mcp-remote@{MCP_REMOTE}"));
    child::run(&mut npm)
}

/// Finds other gateways, or installs them, each in an environment of its own; returns `NAME=FOLDER` of
/// each, as `keyway-storm` takes it.
///
/// # Errors
///
/// Returns [`XtaskError::ToolsMissing`] if one is not there and `missing` does not say that it should be
/// installed.
pub(crate) fn gateways(workspace: &Workspace, missing: Missing) -> Result<Vec<String>, XtaskError> {
    let mut found = Vec::new();
    let mut absent = Vec::new();
    for gateway in GATEWAYS {
        let folder = workspace.tools().join("rivals").join(gateway.name);
        if !folder.join(gateway.program).is_file() {
            if missing == Missing::Report {
                absent.push(format!(
                    "{} from PyPI, to compare with",
                    gateway.packages.join(" ")
                ));
                continue;
            }
            let mut make = child::program(workspace, "python3");
            child::run(make.args(["-m", "venv", "--clear"]).arg(&folder))?;
            let mut pip = child::program(workspace, folder.join("bin/pip"));
            child::run(pip.args(["install", "--quiet"]).args(gateway.packages))?;
        }
        found.push(format!("{}={}", gateway.name, folder.display()));
    }
    match absent.is_empty() {
        true => Ok(found),
        false => Err(XtaskError::ToolsMissing { missing: absent }),
    }
}

/// Another gateway.
struct Gateway {
    name: &'static str,
    packages: &'static [&'static str],
    program: &'static str,
}

fn prefix(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("mcp-remote")
}

const GATEWAYS: [Gateway; 2] = [
    Gateway {
        name: "contextforge",
        packages: &[
            "mcp-contextforge-gateway==1.0.7.post20260921",
            "psycopg[binary]==3.3.9",
        ],
        program: "bin/mcpgateway",
    },
    // Later ones need a `certifi` that PyPI does not have yet.
    Gateway {
        name: "litellm",
        packages: &["litellm[proxy,extra-proxy]==1.106.2"],
        program: "bin/litellm",
    },
];
pub(crate) const MCP_REMOTE: &str = "0.15.1";
