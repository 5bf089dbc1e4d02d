//! Whether this process may start children through itself.
//!
//! A child starts as a second process of our own binary, which becomes a launcher because `main`
//! calls [`take_over`] first. A host that forgets that call would start a second copy of itself,
//! which would start a third. So [`Launcher`](super::Launcher) refuses until the call was made, and
//! a process that was started as a launcher without it exits.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;

use super::own_process::{LAUNCH_MARK, own_binary};
use super::{DETACH_ARG, LAUNCH_ARG, detached};

/// Set once [`take_over`] ran. Process-wide because it is a fact about `main` of this process.
static INITIALIZED: OnceLock<()> = OnceLock::new();

/// Becomes a launcher if this process was started as one, and allows it to start children.
///
/// Call this first in `main`, before an async runtime or any thread is started. In a process that
/// was started as a launcher it never returns: the process becomes the child or exits.
pub fn take_over() {
    let mut words = std::env::args_os().skip(1);
    let first = words.next();
    if first.as_deref() == Some(OsStr::new(LAUNCH_ARG)) {
        let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
        exit(launched(&words));
    }
    if first.as_deref() == Some(OsStr::new(DETACH_ARG)) {
        let program = own_binary().unwrap_or_default();
        exit(detached::detach(&program));
    }
    // A second call changes nothing.
    INITIALIZED.get_or_init(|| ());
}

/// Supervises a child, or is about to become one.
#[cfg(target_os = "linux")]
fn launched(words: &[String]) -> u8 {
    super::supervisor::run(words)
}

/// Without what a supervisor needs of Linux, the child is started directly.
#[cfg(not(target_os = "linux"))]
fn launched(_: &[String]) -> u8 {
    super::exec::run(|| Ok(super::isolation::Place::Only))
}

/// Says whether `program` may be started as a launcher by this process.
///
/// Another binary has a `main` of its own, about which this process knows nothing.
pub(super) fn may_start(program: &Path) -> bool {
    if INITIALIZED.get().is_some() {
        return true;
    }
    if is_launched() {
        // The second copy of a host that does not call `take_over`: it must not start a third.
        exit(NOT_TAKEN_OVER);
    }
    !is_same_file(program, &own_binary().unwrap_or_default())
}

fn is_same_file(left: &Path, right: &Path) -> bool {
    let id = |file: Metadata| (file.dev(), file.ino());
    match (left.metadata(), right.metadata()) {
        (Ok(left), Ok(right)) => id(left) == id(right),
        _ => false,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "says how this process was started; nothing of the person's is read"
)]
fn is_launched() -> bool {
    std::env::var_os(LAUNCH_MARK).is_some()
}

#[expect(clippy::exit, reason = "a launcher has no caller to return to")]
fn exit(code: u8) -> ! {
    std::process::exit(code.into())
}

/// What a shell says for a command that it cannot execute.
const NOT_TAKEN_OVER: u8 = 126;
