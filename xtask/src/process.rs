//! Running other programs.
//!
//! Their output reaches the terminal as it comes. A failure names the command as one would type it.

use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::error::XtaskError;

/// Returns the name or path of the `cargo` that runs this task.
pub(crate) fn cargo_program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs `command` to its end; its output goes to ours.
pub(crate) fn run(command: &mut Command) -> Result<(), XtaskError> {
    let status = command
        .status()
        .map_err(|source| start_error(command, source))?;
    succeeded(command, status)
}

/// Runs `command` and returns what it printed to stdout; its stderr goes to ours.
pub(crate) fn capture(command: &mut Command) -> Result<String, XtaskError> {
    command.stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|source| start_error(command, source))?;
    succeeded(command, output.status)?;
    String::from_utf8(output.stdout).map_err(|_| XtaskError::Output {
        command: shown(command),
        what: "it is not UTF-8",
    })
}

/// Runs `command`, shows each line of its stderr to `keep` and copies those that it keeps to ours.
///
/// A child that fails is an answer here, not an error: the caller knows what its status means.
pub(crate) fn follow_stderr(
    command: &mut Command,
    mut keep: impl FnMut(&str) -> bool,
) -> Result<ExitStatus, XtaskError> {
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| start_error(command, source))?;
    if let Some(stderr) = child.stderr.take() {
        let mut lines = BufReader::new(stderr);
        let mut line = Vec::new();
        while lines
            .read_until(b'\n', &mut line)
            .map_err(|source| start_error(command, source))?
            > 0
        {
            if keep(String::from_utf8_lossy(&line).trim_end()) {
                // A reader that went away must not stop the child half-way.
                drop(io::stderr().write_all(&line));
            }
            line.clear();
        }
    }
    child.wait().map_err(|source| start_error(command, source))
}

/// Turns an unsuccessful `status` into an error that names `command`.
pub(crate) fn succeeded(command: &Command, status: ExitStatus) -> Result<(), XtaskError> {
    if status.success() {
        return Ok(());
    }
    Err(XtaskError::Child {
        command: shown(command),
        status,
    })
}

/// Returns what `command` prints to stdout if it can be started and succeeds.
///
/// For detecting what is installed: nothing it says reaches the terminal.
pub(crate) fn probe(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the error for a command that could not be started.
pub(crate) fn start_error(command: &Command, source: io::Error) -> XtaskError {
    XtaskError::Start {
        command: shown(command),
        source,
    }
}

fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name)
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}
