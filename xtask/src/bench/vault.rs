//! `cargo xtask bench vault`: opening the vault and reading a token, beside what `mcp-remote` takes
//! to start.
//!
//! Its start is measured without arguments: it loads, says how it is called, and ends. So nothing
//! of a network or a server is in it, and a real start takes longer.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{median, milliseconds, ratio};
use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::rivals::{self, MCP_REMOTE};
use crate::tools::{self, Missing};

/// Measures in turn, prints the table, and fails if the promise is broken.
///
/// # Errors
///
/// Returns [`XtaskError::TooSlow`] if opening and reading takes more than a fiftieth.
pub(crate) fn measure(
    workspace: &Workspace,
    missing: Missing,
    runs: usize,
) -> Result<(), XtaskError> {
    let proxy = rivals::proxy(workspace, missing)?;
    let build = [
        "build",
        "--release",
        "--locked",
        "--package",
        "keyway-vault",
        "--example",
        "cost",
    ];
    child::run(&mut child::cargo(workspace, &build))?;
    let cost = workspace.target.join("release/examples/cost");
    let home = workspace.target.join("bench-vault");
    if home.exists() {
        fs::remove_dir_all(&home).map_err(XtaskError::file(&home))?;
    }
    child::run(Command::new(&cost).arg("make").arg(&home))?;
    let (mut reading, mut whole, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=runs {
        let begin = Instant::now();
        let printed = child::capture(Command::new(&cost).arg("read").arg(&home))?;
        let process = begin.elapsed();
        let micros = printed.trim().parse().map_err(|_| XtaskError::Output {
            command: "cost read".to_owned(),
            what: "it is not a number",
        })?;
        let mut node = Command::new(tools::node(workspace));
        node.arg(&proxy);
        let start = start(&mut node)?;
        if round > 0 {
            reading.push(Duration::from_micros(micros));
            whole.push(process);
            theirs.push(start);
        }
    }
    let [reading, whole, theirs] = [reading, whole, theirs].map(|mut times| median(&mut times));
    println!("\nopening the vault and reading a token, median of {runs} runs in turn");
    let row = |what: &str, time: Duration| {
        let share = ratio(theirs, time);
        println!("{what:<40}{:>8.2} ms{share:>8.0}×", milliseconds(time));
    };
    row("open and read", reading);
    row("a process that does it", whole);
    row(
        &format!("mcp-remote {MCP_REMOTE}, started and ended"),
        theirs,
    );
    kept(reading, theirs)
}

/// Says whether the promise is kept.
fn kept(reading: Duration, theirs: Duration) -> Result<(), XtaskError> {
    let times = ratio(theirs, reading);
    if times >= AT_LEAST {
        return Ok(());
    }
    let broken = vec![format!(
        "mcp-remote starts in {times:.1} times what opening and reading takes, not {AT_LEAST}"
    )];
    Err(XtaskError::TooSlow { broken })
}

/// Measures a program that ends by itself, whatever it thinks of its arguments.
fn start(command: &mut Command) -> Result<Duration, XtaskError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let begin = Instant::now();
    command
        .status()
        .map_err(|source| child::start_error(command, source))?;
    Ok(begin.elapsed())
}

/// What is promised: a fiftieth.
const AT_LEAST: f64 = 50.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fiftieth_is_enough_and_anything_more_breaks_the_promise() {
        let theirs = Duration::from_millis(500);
        assert!(kept(Duration::from_millis(10), theirs).is_ok());
        let broken = kept(Duration::from_micros(10_100), theirs);
        assert!(matches!(broken, Err(XtaskError::TooSlow { .. })));
    }
}
