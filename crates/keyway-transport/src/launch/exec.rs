//! The launcher: what our binary does when it is executed once more to become a child.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::isolation;
use super::report::{LaunchStage, Report};
use super::spec::{LENGTH_BYTES, LaunchMode, LaunchSpec, MAX_SPEC_BYTES};

/// Reads a spec from standard input, isolates this process and becomes the program.
///
/// Returns an exit status only if there is nothing to become: 0 after a probe, 127 after a failure,
/// which was reported to the parent.
pub(super) fn run() -> u8 {
    match launch() {
        Ok(code) => code,
        Err(failure) => {
            let errno = failure.source.raw_os_error();
            let errno = errno.unwrap_or_else(|| Errno::IO.raw_os_error());
            report(&Report::Failed {
                stage: failure.stage,
                errno,
            });
            NOT_STARTED
        }
    }
}

fn launch() -> Result<u8, Failure> {
    if has_threads() {
        return Err(Failure::at(LaunchStage::Threads)(Errno::BUSY.into()));
    }
    let spec = read_spec().map_err(Failure::at(LaunchStage::Spec))?;
    let level = isolation::apply(&spec.isolation).map_err(Failure::at(LaunchStage::Isolation))?;
    if spec.mode == LaunchMode::Probe {
        report(&Report::Ready(level));
        return Ok(0);
    }
    std::env::set_current_dir(&spec.folder).map_err(Failure::at(LaunchStage::Folder))?;
    if spec.mode == LaunchMode::Helper {
        empty_input().map_err(Failure::at(LaunchStage::Spec))?;
    }
    find(&spec).map_err(Failure::at(LaunchStage::Program))?;
    die_with_parent();
    report(&Report::Ready(level));
    let error = exec_program(&spec);
    // The parent has stopped listening for reports: this is for whoever reads the last lines.
    drop(writeln!(io::stderr(), "cannot be executed: {error}"));
    Ok(NOT_STARTED)
}

/// A process with threads cannot enter a user namespace, so it would be isolated less than asked.
fn has_threads() -> bool {
    cfg!(target_os = "linux")
        && std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1)
}

/// Reads exactly the spec: what comes after it belongs to the program.
fn read_spec() -> io::Result<LaunchSpec> {
    // The standard handle reads ahead; a plain file does not.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut length = [0; LENGTH_BYTES];
    input.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_SPEC_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    LaunchSpec::decode(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn empty_input() -> io::Result<()> {
    Ok(rustix::stdio::dup2_stdin(File::open("/dev/null")?)?)
}

#[expect(
    clippy::disallowed_methods,
    reason = "replaces this process; starts none"
)]
fn exec_program(spec: &LaunchSpec) -> io::Error {
    // Ours are closed anyway; these are what our own parent left open.
    close_fds::set_fds_cloexec(FIRST_BEYOND_STANDARD, &[]);
    let mut command = Command::new(&spec.command);
    command.args(&spec.args).env_clear();
    command.envs(spec.env.iter().map(|(name, value)| (name, value)));
    command.exec()
}

/// Looks the program up as `exec` will, so that the parent learns of a wrong name before anything
/// is sent.
fn find(spec: &LaunchSpec) -> io::Result<()> {
    if spec.command.as_bytes().contains(&b'/') {
        return is_executable(Path::new(&spec.command));
    }
    let path = spec.env.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value);
    let mut outcome = Err(Errno::NOENT.into());
    for folder in std::env::split_paths(path) {
        match is_executable(&folder.join(&spec.command)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => outcome = Err(error),
            Err(_) => {}
        }
    }
    outcome
}

fn is_executable(path: &Path) -> io::Result<()> {
    access(path, Access::EXEC_OK)?;
    if path.metadata()?.is_dir() {
        return Err(Errno::ACCESS.into());
    }
    Ok(())
}

/// If the parent is killed, nobody is left to close the child in good order.
fn die_with_parent() {
    #[cfg(target_os = "linux")]
    {
        let signal = Some(rustix::process::Signal::TERM);
        // Where it cannot be had, the child still sees the end of its input.
        _ = rustix::process::set_parent_process_death_signal(signal);
    }
}

/// The parent reads this line off before it reads anything of the program's.
fn report(report: &Report) {
    // In one write; if nobody listens, nobody needs to know.
    drop(io::stderr().write_all(report.to_string().as_bytes()));
}

struct Failure {
    stage: LaunchStage,
    source: io::Error,
}

impl Failure {
    fn at(stage: LaunchStage) -> impl Fn(io::Error) -> Self {
        move |source| Self { stage, source }
    }
}

/// What a shell says for a command that it cannot run.
const NOT_STARTED: u8 = 127;
const FIRST_BEYOND_STANDARD: i32 = 3;
/// Where `exec` looks without a `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
