//! `cargo xtask conformance --server`: the official suite against `keyway serve`.
//!
//! Behind the gateway is the conformance server of the official Rust SDK. That is in no registry, so
//! it is built from a checkout of the SDK that `KEYWAY_RUST_SDK` names, and kept in
//! `target/rust-sdk-conformance`. The suite cannot send a capability; a shim in front of the gateway adds it.

mod differs;
mod processes;
mod scores;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools;

use self::differs::{DIFFERS, Difference};
use self::processes::{Running, first_line, free_port};
use self::scores::Scores;

/// Where the suite knocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// At one server, which has to look as if nothing stood before it.
    Server,
    /// At all servers together, where some things differ by design.
    Aggregate,
}

/// Runs the suite's server side on both revisions, and prints how many checks passed of how many.
///
/// # Errors
///
/// Returns [`XtaskError::ConformanceServer`] if the SDK's server is not there, and
/// [`XtaskError::Conformance`] if anything differs that is not meant to, or the other way round.
pub(crate) fn run(workspace: &Workspace, dev: bool, door: Door) -> Result<(), XtaskError> {
    let server = sdk_server(workspace)?;
    let keyway = super::build(workspace, "keyway-cli", "keyway", dev)?;
    let folder = workspace.target.join("conformance-gateway");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    }
    let port = free_port()?;
    let mut command = child::program(workspace, &server);
    let _server = Running::quietly(command.env("PORT", port.to_string()))?;
    processes::until_listening(port)?;

    let gateway = Gateway::start(workspace, &keyway, &folder, port)?;
    let (path, prefix) = match door {
        Door::Server => ("/mcp/plugin/sdk", ""),
        Door::Aggregate => ("/mcp", "sdk__"),
    };
    let mut command = child::program(workspace, tools::node(workspace));
    command
        .arg(workspace.root.join("xtask/src/conformance/shim.mjs"))
        .arg(&gateway.port)
        .arg(prefix)
        .env("CAPABILITY", &gateway.capability);
    let (_shim, line) = first_line(&mut command)?;
    let url = format!("http://localhost:{line}{path}");

    let mut surprises = Vec::new();
    for (revision, wanted) in REVISIONS {
        let scores = ask(workspace, &url, revision)?;
        println!("{} of {wanted} at {revision}, {path}", scores.passed());
        surprises.extend(surprises_of(&scores, revision, *wanted, door));
    }
    if surprises.is_empty() {
        Ok(())
    } else {
        Err(XtaskError::Conformance { surprises })
    }
}

/// Returns the SDK's server, built anew where its sources are named.
fn sdk_server(workspace: &Workspace) -> Result<PathBuf, XtaskError> {
    let folder = workspace.target.join("rust-sdk-conformance");
    if let Some(checkout) = env::var_os("KEYWAY_RUST_SDK") {
        let mut command = child::cargo(workspace, &["build", "--quiet"]);
        command
            .args(["--package", "mcp-conformance", "--bin", SERVER])
            .arg("--manifest-path")
            .arg(Path::new(&checkout).join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&folder)
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        child::run(&mut command)?;
    }
    let server = folder.join("debug").join(SERVER);
    if server.is_file() {
        Ok(server)
    } else {
        Err(XtaskError::ConformanceServer)
    }
}

fn ask(workspace: &Workspace, url: &str, revision: &str) -> Result<Scores, XtaskError> {
    let mut command = child::program(workspace, tools::node(workspace));
    command
        .arg(tools::modules(workspace).join(super::SUITE))
        .args(["server", "--url", url, "--requirements", revision])
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
fn surprises_of(scores: &Scores, revision: &str, wanted: usize, door: Door) -> Vec<String> {
    let differs = |scenario: &str| {
        let is_listed = |it: &&Difference| it.revision == revision && it.scenario == scenario;
        door == Door::Aggregate && DIFFERS.iter().any(|it| is_listed(&it))
    };
    let mut surprises = Vec::new();
    for score in &scores.0 {
        let scenario = &score.scenario;
        match (score.failed > 0, differs(scenario)) {
            (true, false) => surprises.push(format!("{revision} {scenario} failed")),
            (false, true) => surprises.push(format!(
                "{revision} {scenario} passes; take it off the list in \
                 `xtask/src/conformance/gateway/differs.rs`"
            )),
            _ => {}
        }
    }
    if door == Door::Server && scores.passed() != wanted {
        surprises.push(format!("{} of {wanted} at {revision}", scores.passed()));
    }
    surprises
}

/// `keyway serve` with a home of its own.
struct Gateway {
    port: String,
    capability: String,
    _running: Running,
}

impl Gateway {
    fn start(
        workspace: &Workspace,
        keyway: &Path,
        folder: &Path,
        upstream: u16,
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
        let capability = child::capture(&mut command(&["token", "new", "--name", "suite"]))?;
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
            capability: capability.trim().to_owned(),
            _running: running,
        })
    }
}

const SERVER: &str = "conformance-server";
/// The revisions, and how many checks each has at a server that passes all.
const REVISIONS: &[(&str, usize)] = &[("2025-11-25", 83), ("2026-07-28", 197)];
