//! The client that the official conformance suite tests: a thin adapter around the library `keyway`.
//!
//! The suite appends the address of its server as the last argument. The adapter does the same with
//! every server: connect, list, call every tool, read every resource, get every prompt, close.
//! Which scenario is under way it never asks; what a scenario hands to its client comes in through
//! [`Context`], and how to authenticate is the library's business alone.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a program: it reads its environment and reports to the suite"
)]

mod accounts;
mod person;
mod reach;
mod work;

use std::error::Error;
use std::process::ExitCode;

use keyway_testkit::conformance::{Context, use_everything};

use crate::work::{Failure, Server};

fn main() -> ExitCode {
    keyway::init();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let url = std::env::args().next_back().unwrap_or_default();
    let context = Context::read(std::env::var("MCP_CONFORMANCE_CONTEXT").ok().as_deref())
        .map_err(|source| Failure::Context { source })?;
    let home = tempfile::tempdir().map_err(|source| Failure::Runtime { source })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Failure::Runtime { source })?;
    runtime.block_on(async {
        let session = reach::open(&url, &context, home.path()).await?;
        let worked = use_everything(&mut Server(&session), &context).await;
        session.close().await;
        worked
    })
}

fn report(error: &dyn Error) {
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(below) = cause {
        eprintln!("  caused by: {below}");
        cause = below.source();
    }
}
