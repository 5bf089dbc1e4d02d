//! Facts about this process that the launcher's roles share.

use std::io;
use std::path::PathBuf;

/// Returns the path of the binary that this process runs.
///
/// On Linux that is a link which still leads to the file if an upgrade replaced it.
pub(super) fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe()
}

#[cfg(target_os = "linux")]
/// Closes the streams that belong to the program.
pub(super) fn drop_streams() -> io::Result<()> {
    let nothing = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(rustix::stdio::dup2_stderr(&nothing)?)
}

#[cfg(target_os = "linux")]
/// Reads the parent out of `/proc/PID/status`.
pub(super) fn parent_of(status: &std::path::Path) -> Option<i32> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

#[cfg(target_os = "linux")]
/// Like a shell: a signal counts from 128 on.
pub(super) fn exit_code(status: Option<rustix::process::WaitStatus>) -> u8 {
    let code = status.and_then(|status| {
        let signal = status.terminating_signal().map(|signal| 128 + signal);
        status.exit_status().or(signal)
    });
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(NOT_STARTED)
}

/// The variable that a launcher is started with; the program that it becomes does not get it.
pub(super) const LAUNCH_MARK: &str = "KEYWAY_LAUNCHED";
/// What a shell says for a command that it cannot run.
pub(super) const NOT_STARTED: u8 = 127;
