//! Starting our own binary as a process that outlives this one.
//!
//! A client that ends its bridge reaches for the process, its group, its children, or all of them:
//! some list the children of a process and kill those. So the process is started twice over. The
//! first copy begins a session of its own, starts the second and exits, and the second then is no
//! child of ours, has no terminal and can never get one.
//!
//! ```text
//!   bridge ── start ──▶ first copy: setsid ── start ──▶ second copy: `detached()` in its `main`
//!                             └─ exits, waited for by the bridge
//! ```
//!
//! Its standard input is one end of a socket pair: nothing secret stands in an argument list or an
//! environment.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{DETACH_ARG, DETACHED_ARG};

/// Starts `program` as a process that outlives this one, and returns a stream to it.
pub(super) fn start(
    program: &Path,
    environment: Vec<(OsString, OsString)>,
) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = command(program, DETACH_ARG, theirs.into());
    let status = command
        .env_clear()
        .envs(environment)
        .current_dir("/")
        .spawn()?
        .wait()?;
    if !status.success() {
        return Err(io::Error::other("the process could not be detached"));
    }
    Ok(ours)
}

/// Returns the stream to the process that started this one as a detached process; `None` in any
/// other process. To be called once, first in `main` after [`take_over`](super::take_over).
#[must_use]
pub fn detached() -> Option<UnixStream> {
    let first = std::env::args_os().nth(1);
    if first.as_deref() != Some(OsStr::new(DETACHED_ARG)) {
        return None;
    }
    let stdin = io::stdin().as_fd().try_clone_to_owned().ok()?;
    Some(UnixStream::from(stdin))
}

/// What the first copy does: begins a session and starts the second copy in it.
pub(super) fn detach(own_binary: &Path) -> u8 {
    let second = || -> io::Result<()> {
        rustix::process::setsid()?;
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        // It ends when its work is done; only the system waits for it.
        drop(command(own_binary, DETACHED_ARG, stdin).spawn()?);
        Ok(())
    };
    u8::from(second().is_err())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the product starts children"
)]
fn command(program: &Path, argument: &str, stdin: OwnedFd) -> Command {
    let mut command = Command::new(program);
    command
        .arg0(NAME)
        .arg(argument)
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// What lists of processes show instead of the link to the binary.
const NAME: &str = "keyway";
