//! Runs a command line of the person's own and keeps what it prints, such as a key.
//!
//! Not for what a plugin names: it runs with the person's environment and is kept from nothing.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use keyway_secret::Secret;
use rustix::process::{Pid, Signal, kill_process_group};

/// Runs `line` in a shell and returns its standard output.
///
/// It gets `environment` and an empty standard input; its standard error is ours. It may print
/// 4 KiB. What has not ended after `timeout` is killed together with all that it started.
///
/// # Errors
///
/// Returns what kept it from starting, or a text that says how it ended. Its output is never part
/// of that.
pub fn capture(
    line: &OsStr,
    environment: Vec<(OsString, OsString)>,
    timeout: Duration,
) -> io::Result<Secret<Vec<u8>>> {
    let deadline = Instant::now() + timeout;
    #[expect(
        clippy::disallowed_methods,
        reason = "this crate starts the children, and this one is the person's own"
    )]
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).env_clear().envs(environment);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = Running {
        child: command.process_group(0).spawn()?,
        is_reaped: false,
    };
    let stdout = running.child.stdout.take();
    let output = read(stdout.ok_or(io::ErrorKind::BrokenPipe)?, deadline)?;
    let status = running.wait(deadline)?;
    if !status.success() {
        let how = keyway_code::describe_exit(status);
        return Err(io::Error::other(format!("the command failed: {how}")));
    }
    if output.expose().len() > OUTPUT_BYTES {
        return Err(io::Error::other("the command printed more than 4 KiB"));
    }
    Ok(output)
}

/// A child that is killed with all that it started, unless it ended by itself.
struct Running {
    child: Child,
    is_reaped: bool,
}

impl Running {
    fn wait(&mut self, deadline: Instant) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.is_reaped = true;
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(too_slow());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Once it is reaped, its process id may belong to another process.
        if !self.is_reaped {
            let _gone = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            drop(self.child.wait());
        }
    }
}

/// Reads one byte more than is allowed at most, into one place.
fn read(mut stdout: ChildStdout, deadline: Instant) -> io::Result<Secret<Vec<u8>>> {
    let (answer, answered) = mpsc::sync_channel(1);
    // Ends with the pipe, which is closed once the group is killed.
    std::thread::Builder::new().spawn(move || {
        let mut output = Vec::with_capacity(OUTPUT_BYTES + 1);
        let limit = OUTPUT_BYTES as u64 + 1;
        let read = stdout.by_ref().take(limit).read_to_end(&mut output);
        let output = Secret::new(output);
        drop(answer.send(read.map(|_| output)));
    })?;
    let left = deadline.saturating_duration_since(Instant::now());
    answered.recv_timeout(left).map_err(|_| too_slow())?
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the command did not end in time")
}

const OUTPUT_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str, timeout: Duration) -> io::Result<Secret<Vec<u8>>> {
        let environment = vec![("NAME".into(), "value".into())];
        capture(OsStr::new(line), environment, timeout)
    }

    const LONG: Duration = Duration::from_secs(1000);

    #[test]
    fn output_is_returned_and_the_environment_is_the_one_given() {
        let output = run("printf %s \"$NAME$HOME\"; cat", LONG).unwrap();
        assert_eq!(output.expose(), b"value");
    }

    #[test]
    fn failure_does_not_contain_the_output() {
        let error = run("echo CANARY; exit 3", LONG).unwrap_err().to_string();
        assert!(error.contains('3') && !error.contains("CANARY"), "{error}");
    }

    #[test]
    fn unbounded_output_and_slow_commands_are_stopped() {
        let start = Instant::now();
        assert!(run("yes", LONG).is_err());
        let short = Duration::from_millis(100);
        for line in ["sleep 1000", "sleep 1000 & exit 0", "exec 1>&-; sleep 1000"] {
            let error = run(line, short).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{line}");
        }
        assert!(start.elapsed() < LONG / 10);
    }
}
