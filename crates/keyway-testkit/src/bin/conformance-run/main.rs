//! A plain MCP client of `keyway run`, for the official conformance suite.
//!
//! Usage: `conformance-run KEYWAY URL`; the suite appends the address of its server. The client
//! writes a plugin with that address and nothing else, starts the program `KEYWAY run` on it with a
//! browser that agrees, and speaks the protocol version that the suite names over its pipes. How to
//! authenticate is the program's business alone.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a program: it reads its environment and reports to the suite"
)]

mod stdio;

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::process::ExitCode;

use keyway_testkit::conformance::{Context, use_everything};
use keyway_testkit::{Folder, Keyway};
use serde_json::json;
use thiserror::Error;

use crate::stdio::Stdio;

/// Why the work cannot be done.
#[derive(Debug, Error)]
enum Failure {
    #[error("usage: conformance-run KEYWAY URL")]
    Usage,
    #[error("`MCP_CONFORMANCE_CONTEXT` is not valid: {0}")]
    Context(#[from] serde_json::Error),
    #[error("cannot prepare the run: {0}")]
    Prepare(#[from] io::Error),
    #[error("`{method}` was answered with an error: {error}")]
    Refused {
        method: &'static str,
        error: serde_json::Value,
    },
    #[error("`keyway run` stopped answering: {0}")]
    Silent(&'static str),
    #[error("`keyway run` exited with status {0}")]
    Exit(i32),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let mut words = env::args().skip(1);
    let (Some(program), Some(url), None) = (words.next(), words.next(), words.next()) else {
        return Err(Failure::Usage);
    };
    let context = Context::read(env::var("MCP_CONFORMANCE_CONTEXT").ok().as_deref())?;
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION");
    let version = version.unwrap_or_else(|_| "2025-11-25".to_owned());

    let entry = json!({ "server": { "type": "http", "url": url } });
    let folder = Folder::new().file("conformance/.mcp.json", entry.to_string());
    let settings = folder.at("home/config");
    fs::create_dir_all(&settings)?;
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o700))?;
    context.write_settings(&settings)?;
    let browser = env::current_exe()?.with_file_name("fake-browser");
    let mut call = Keyway::new(&program, folder.path())
        .args(["run", "conformance", "--server", "server", "--trust"])
        .env("KEYWAY_HOME", folder.at("home"))
        .env("BROWSER", browser);
    for (name, value) in context.variables() {
        call = call.env(&name.to_string_lossy(), value);
    }

    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut server = Stdio::start(&call, &version)?;
    let worked = match server.open() {
        Ok(()) => runtime.block_on(use_everything(&mut server, &context)),
        refused => refused,
    };
    let left = server.close();
    worked.and(left)
}
