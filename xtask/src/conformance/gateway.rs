//! `cargo xtask conformance --server`: the server side of the official suite against `keyway serve`.
//!
//! Behind the gateway runs the conformance server of `peers/rust-sdk`. The suite first tests that
//! server alone, so that a failure afterwards is the gateway's. The suite cannot send a gateway
//! token; a shim in front of the gateway adds it.

mod differs;
mod processes;
mod scores;

use std::fs;
use std::path::Path;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::{peers, tools};

use self::differs::{DIFFERS, Difference};
use self::processes::{Running, first_line};
use self::scores::Scores;

/// Which endpoint of the gateway the suite tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// The endpoint of one server, which has to behave as the server itself.
    Server,
    /// The endpoint of all servers together, where some things differ by design.
    Aggregate,
}

impl Endpoint {
    /// Returns what the flag, given or not, asks for.
    pub(crate) const fn from_flag(aggregate: bool) -> Self {
        if aggregate {
            Self::Aggregate
        } else {
            Self::Server
        }
    }
}

/// Runs the suite's server side at both versions, and prints how many checks passed of how many.
///
/// # Errors
///
/// Returns [`XtaskError::Conformance`] if a check fails that should pass, or the other way round.
pub(crate) fn run(workspace: &Workspace, dev: bool, endpoint: Endpoint) -> Result<(), XtaskError> {
    peers::build(workspace)?;
    let keyway = super::build(workspace, "keyway-cli", "keyway", dev)?;
    let folder = workspace.target.join("conformance-gateway");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    }
    let mut command = child::program(workspace, peers::program(workspace));
    let (_server, port) = first_line(command.args(["conformance", "0"]))?;
    let mut surprises = Vec::new();
    let mut check = |url: &str, path: &str, endpoint| {
        for (version, wanted) in VERSIONS {
            let scores = ask(workspace, url, version)?;
            println!("{} of {wanted} at {version}, {path}", scores.passed());
            surprises.extend(surprises_of(&scores, version, *wanted, endpoint));
        }
        Ok::<(), XtaskError>(())
    };
    let direct = format!("http://localhost:{port}/mcp");
    check(&direct, "the server alone", Endpoint::Server)?;

    let gateway = Gateway::start(workspace, &keyway, &folder, &port)?;
    let (path, prefix) = match endpoint {
        Endpoint::Server => ("/mcp/plugin/sdk", ""),
        Endpoint::Aggregate => ("/mcp", "sdk__"),
    };
    let mut command = child::program(workspace, tools::node(workspace));
    command
        .arg(workspace.root.join("xtask/src/conformance/shim.mjs"))
        .arg(&gateway.port)
        .arg(prefix)
        .env("GATEWAY_TOKEN", &gateway.token);
    let (_shim, line) = first_line(&mut command)?;
    let url = format!("http://localhost:{line}{path}");
    check(&url, path, endpoint)?;
    if surprises.is_empty() {
        Ok(())
    } else {
        Err(XtaskError::Conformance { surprises })
    }
}

fn ask(workspace: &Workspace, url: &str, version: &str) -> Result<Scores, XtaskError> {
    let mut command = super::suite(workspace);
    command
        .args(["server", "--url", url, "--requirements", version])
        .arg("--output-dir")
        .arg(workspace.target.join("conformance"));
    let output = command
        .output()
        .map_err(|source| child::start_error(&command, source))?;
    let said = String::from_utf8_lossy(&output.stdout);
    Scores::read(&said).ok_or(XtaskError::Output {
        command: "conformance server".to_owned(),
        what: "it has no summary",
    })
}

/// Compares what passed with what should.
fn surprises_of(scores: &Scores, version: &str, wanted: usize, endpoint: Endpoint) -> Vec<String> {
    let differs = |scenario: &str| {
        let is_listed = |it: &&Difference| it.version == version && it.scenario == scenario;
        endpoint == Endpoint::Aggregate && DIFFERS.iter().any(|it| is_listed(&it))
    };
    let mut surprises = Vec::new();
    for score in &scores.0 {
        let scenario = &score.scenario;
        match (score.failed > 0, differs(scenario)) {
            (true, false) => surprises.push(format!("{version} {scenario} failed")),
            (false, true) => surprises.push(format!(
                "{version} {scenario} passes; take it off the list in \
                 `xtask/src/conformance/gateway/differs.rs`"
            )),
            _ => {}
        }
    }
    if endpoint == Endpoint::Server && scores.passed() != wanted {
        surprises.push(format!("{} of {wanted} at {version}", scores.passed()));
    }
    surprises
}

/// `keyway serve` with a home of its own.
struct Gateway {
    port: String,
    token: String,
    _running: Running,
}

impl Gateway {
    fn start(
        workspace: &Workspace,
        keyway: &Path,
        folder: &Path,
        upstream: &str,
    ) -> Result<Self, XtaskError> {
        let plugin = folder.join("plugin");
        fs::create_dir_all(&plugin).map_err(XtaskError::file(&plugin))?;
        let file = plugin.join(".mcp.json");
        // The second is never there, so that `/mcp` is more than the first.
        let text = format!(
            r#"{{"sdk": {{"type": "http", "url": "http://127.0.0.1:{upstream}/mcp"}},
                "down": {{"type": "http", "url": "http://127.0.0.1:9/mcp"}}}}"#
        );
        fs::write(&file, text).map_err(XtaskError::file(&file))?;
        let command = |arguments: &[&str]| {
            let mut command = child::program(workspace, keyway);
            command
                .args(arguments)
                .current_dir(folder)
                .env("HOME", folder)
                .env("KEYWAY_HOME", folder.join("home"));
            command
        };
        let token = child::capture(&mut command(&["token", "new", "--name", "suite"]))?;
        let mut serve = command(&["serve", "plugin", "--trust", "--quiet"]);
        let (running, line) = first_line(serve.args(["--listen", "127.0.0.1:0"]))?;
        let port = line.strip_prefix("http://127.0.0.1:");
        let port = port.and_then(|rest| rest.strip_suffix("/mcp"));
        let port = port.ok_or(XtaskError::Output {
            command: "keyway serve".to_owned(),
            what: "it does not begin with an address",
        })?;
        Ok(Self {
            port: port.to_owned(),
            token: token.trim().to_owned(),
            _running: running,
        })
    }
}

/// The versions that the suite freezes, and how many checks each has at a server that passes all.
const VERSIONS: &[(&str, usize)] = &[("2025-11-25", 83), ("2026-07-28", 197)];
