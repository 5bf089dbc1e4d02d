//! Programs that run beside the suite, and end with it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::child;
use crate::error::XtaskError;

/// A program that ends when it is dropped.
#[derive(Debug)]
pub(super) struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Self, XtaskError> {
        let child = command.stdin(Stdio::null()).spawn();
        child
            .map(Self)
            .map_err(|source| child::start_error(command, source))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts a program and returns the first line that it prints, without its end.
pub(super) fn first_line(command: &mut Command) -> Result<(Running, String), XtaskError> {
    let mut running = Running::start(command.stdout(Stdio::piped()))?;
    let mut line = String::new();
    if let Some(stdout) = running.0.stdout.take() {
        BufReader::new(stdout)
            .read_line(&mut line)
            .map_err(|source| child::start_error(command, source))?;
    }
    Ok((running, line.trim_end().to_owned()))
}
