//! Programs that run beside the suite, and end with it.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::child;
use crate::error::XtaskError;

/// A program that ends when it is dropped.
#[derive(Debug)]
pub(super) struct Running(Child);

impl Running {
    /// Starts a program whose output nobody needs.
    pub(super) fn quietly(command: &mut Command) -> Result<Self, XtaskError> {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self::start(command)
    }

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

/// Returns a port that nobody listens on.
pub(super) fn free_port() -> Result<u16, XtaskError> {
    let bound = TcpListener::bind(("127.0.0.1", 0));
    let port = bound.and_then(|listener| listener.local_addr());
    port.map(|address| address.port())
        .map_err(|source| XtaskError::Start {
            command: "a server".to_owned(),
            source,
        })
}

/// Waits until somebody listens.
pub(super) fn until_listening(port: u16) -> Result<(), XtaskError> {
    for _ in 0..TRIES {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    Err(XtaskError::Output {
        command: "conformance-server".to_owned(),
        what: "it does not listen",
    })
}

const TRIES: usize = 200;
const PAUSE: Duration = Duration::from_millis(50);
