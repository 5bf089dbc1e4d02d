//! Processes of a gateway that runs, whichever it is.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Instant;

use crate::timeouts::{READY_TIMEOUT, RIVAL_POLL, RIVAL_START_TIMEOUT};
use crate::upstream::World;

/// A process whose requests are known to be its own; it ends with this value.
pub(crate) struct Started {
    child: Child,
    number: usize,
    world: Arc<World>,
}

impl Started {
    pub(crate) fn new(child: Child, (number, world): (usize, &Arc<World>)) -> Self {
        let process = (child.id(), Ipv4Addr::LOCALHOST.into());
        world.kill_trigger.runs(number, Some(process));
        Self {
            child,
            number,
            world: Arc::clone(world),
        }
    }

    /// Tells whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        self.world.kill_trigger.runs(self.number, None);
    }
}

/// Returns the command of a program that ends with this process, however that ends.
pub(crate) fn ending_with_us(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

/// Waits until a path is answered with status 200.
pub(crate) fn wait_until_ready(port: u16, path: &str) -> Result<(), String> {
    let deadline = Instant::now() + RIVAL_START_TIMEOUT;
    while !is_ready(port, path) {
        if Instant::now() > deadline {
            return Err(format!("no answer at {path}"));
        }
        std::thread::sleep(RIVAL_POLL);
    }
    Ok(())
}

fn is_ready(port: u16, path: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return false;
    };
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
    let mut answer = String::new();
    // One that still starts may close the connection, or wait.
    let asked = stream
        .set_read_timeout(Some(READY_TIMEOUT))
        .and_then(|()| stream.write_all(request.as_bytes()))
        .and_then(|()| stream.read_to_string(&mut answer));
    asked.is_ok() && answer.starts_with("HTTP/1.1 200")
}

/// Returns the last word of what a program says of its version.
pub(crate) fn version(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(arguments).output();
    let done = done.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&done.stdout);
    let last = text.split_whitespace().last().unwrap_or("unknown");
    Ok(last.to_owned())
}
