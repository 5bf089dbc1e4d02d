//! The first process of a child: what a supervisor forks, and what our binary is without one.
//!
//! It reads the spec, isolates itself, and becomes the program. In a PID namespace it is process 1
//! and stays beside the program, because process 1 ignores signals that would end any other program
//! and has to collect what others leave behind.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};

use super::isolation::{self, ApplyError, Place, Request};
use super::own_process::NOT_STARTED;
#[cfg(target_os = "linux")]
use super::own_process::{drop_streams, exit_code, parent_of};
use super::report::Report;
use super::spec::{LENGTH_BYTES, LaunchMode, LaunchSpec, MAX_SPEC_BYTES};
use super::stage::LaunchStage;
use crate::timeouts::BUSY_DELAY;

/// Enters a place, reads a spec from standard input, isolates this process and starts the program.
///
/// Returns an exit status: 0 after a probe, 127 after a failure, which was reported to the parent,
/// otherwise the program's, unless this process became the program.
pub(super) fn run(enter: impl FnOnce() -> Result<Place, ApplyError>) -> u8 {
    match launch(enter) {
        Ok(code) => code,
        Err(ApplyError { stage, source }) => {
            Report::send_failure(stage, &source);
            NOT_STARTED
        }
    }
}

fn launch(enter: impl FnOnce() -> Result<Place, ApplyError>) -> Result<u8, ApplyError> {
    // Before `/proc` speaks of another namespace.
    let group = own_number().unwrap_or_else(getpid);
    // A group of its own lets signals reach the program and not the supervisor.
    _ = rustix::process::setsid();
    // While the host still finds out what is to start.
    let place = enter()?;
    // The standard handle reads ahead; a plain file does not.
    let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let spec = input.and_then(read_spec);
    let spec = spec.map_err(ApplyError::at(LaunchStage::Spec))?;
    let request = Request {
        isolation: &spec.isolation,
        hidden: &spec.hidden,
        root: spec.root.as_ref(),
        sockets: &spec.sockets,
        own_folders: [
            spec.variable("HOME").map(Path::new),
            spec.variable("TMPDIR").map(Path::new),
            spec.isolation.home.as_deref(),
        ],
    };
    let level = isolation::apply(request, &place)?;
    if spec.isolation.require && !level.is_complete() {
        Report::Insufficient(level).send();
        return Ok(NOT_STARTED);
    }
    if spec.mode == LaunchMode::Probe {
        Report::Ready { level, group }.send();
        return Ok(0);
    }
    std::env::set_current_dir(&spec.folder).map_err(ApplyError::at(LaunchStage::Folder))?;
    if spec.mode == LaunchMode::Helper {
        empty_input().map_err(ApplyError::at(LaunchStage::Spec))?;
    }
    find(&spec).map_err(ApplyError::at(LaunchStage::Program))?;
    Report::Ready { level, group }.send();
    let error = match place {
        #[cfg(target_os = "linux")]
        Place::First { .. } => match until_not_busy(|| start(&spec), sleep) {
            Ok(program) => return Ok(stay(program)),
            Err(error) => error,
        },
        _ => {
            let replace = || Err::<Infallible, _>(command(&spec).exec());
            let Err(error) = until_not_busy(replace, sleep);
            error
        }
    };
    // The parent has stopped listening for reports: this is for readers of the last lines.
    drop(writeln!(io::stderr(), "cannot be executed: {error}"));
    Ok(NOT_STARTED)
}

/// Returns the number of this process as the host sees it.
fn own_number() -> Option<Pid> {
    let own = std::fs::read_link("/proc/self").ok()?;
    Pid::from_raw(own.to_str()?.parse().ok()?)
}

/// Reads exactly the spec: what comes after it belongs to the program.
fn read_spec(mut input: impl Read) -> io::Result<LaunchSpec> {
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
    reason = "this is where the product starts children"
)]
fn command(spec: &LaunchSpec) -> Command {
    // Ours are closed anyway; these are what our own parent left open.
    close_fds::set_fds_cloexec(FIRST_BEYOND_STANDARD, &[]);
    let mut command = Command::new(&spec.command);
    command.args(&spec.args).env_clear();
    command.envs(spec.env.iter().map(|(name, value)| (name, value)));
    command
}

#[cfg(target_os = "linux")]
fn start(spec: &LaunchSpec) -> io::Result<Pid> {
    let program = command(spec).spawn()?;
    Ok(Pid::from_child(&program))
}

/// Starts a program, and again after a moment while its file is open for writing (`ETXTBSY`).
///
/// A file that was written a moment ago can still be open in a process that another thread of its
/// writer forked and that has not executed anything yet; the writer cannot know.
fn until_not_busy<T>(
    mut start: impl FnMut() -> io::Result<T>,
    mut wait: impl FnMut(Duration),
) -> io::Result<T> {
    let mut delay = BUSY_DELAY;
    for _ in 0..BUSY_RETRIES {
        match start() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                wait(delay);
                delay *= 2;
            }
            outcome => return outcome,
        }
    }
    start()
}

/// Collects what ends until the program has ended; the kernel then ends the rest.
#[cfg(target_os = "linux")]
fn stay(program: Pid) -> u8 {
    use rustix::process::{WaitOptions, wait};

    // Its streams are not ours any more, and no other process may read its secrets.
    drop((drop_streams(), crate::harden::harden_self()));
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == program => return exit_code(Some(status)),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return NOT_STARTED,
        }
    }
}

/// Looks the program up as `exec` will, so that the parent learns of a wrong name before anything
/// is sent.
fn find(spec: &LaunchSpec) -> io::Result<()> {
    if spec.command.as_bytes().contains(&b'/') {
        return is_executable(Path::new(&spec.command));
    }
    let path = spec.variable("PATH");
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
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

pub(super) fn is_executable(path: &Path) -> io::Result<()> {
    access(path, Access::EXEC_OK)?;
    if path.metadata()?.is_dir() {
        return Err(Errno::ACCESS.into());
    }
    Ok(())
}

/// Makes the kernel kill this process when its supervisor ends.
#[cfg(target_os = "linux")]
pub(super) fn die_with(supervisor: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // It may have ended before that counted. In a PID namespace only the old `/proc` knows.
    let parent = parent_of(Path::new("/proc/self/status"));
    if parent.is_some_and(|parent| parent != supervisor.as_raw_pid()) {
        return Err(Errno::CHILD.into());
    }
    Ok(())
}

const FIRST_BEYOND_STANDARD: i32 = 3;
/// Where `exec` looks without a `PATH`.
pub(super) const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// How often a program whose file is open for writing is tried again: 1.3 s in all.
const BUSY_RETRIES: u32 = 8;

#[cfg(test)]
mod tests {
    use std::fs::{OpenOptions, Permissions};
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a program has to be started to be busy"
    )]
    fn a_program_whose_file_is_still_open_for_writing_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("helper");
        std::fs::write(&path, "#!/bin/sh\nexit 7\n").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        let writer = OpenOptions::new().append(true).mode(0o700).open(&path);
        let mut writer = Some(writer.unwrap());
        let mut seen = Vec::new();
        let status = until_not_busy(
            || {
                let outcome = Command::new(&path).status();
                seen.push(outcome.as_ref().err().map(io::Error::kind));
                drop(writer.take());
                outcome
            },
            sleep,
        );
        assert_eq!(seen.first(), Some(&Some(io::ErrorKind::ExecutableFileBusy)));
        assert_eq!(status.unwrap().code(), Some(7));
    }

    #[test]
    fn any_other_failure_is_final_and_a_busy_file_is_not_tried_forever() {
        let fail = |kind: io::ErrorKind| {
            let (mut tries, mut waited) = (0, Duration::ZERO);
            let start = || {
                tries += 1;
                io::Result::<()>::Err(kind.into())
            };
            let outcome = until_not_busy(start, |delay| waited += delay);
            (outcome.unwrap_err().kind(), tries, waited.as_millis())
        };
        let missing = io::ErrorKind::NotFound;
        assert_eq!(fail(missing), (missing, 1, 0));
        let busy = io::ErrorKind::ExecutableFileBusy;
        assert_eq!(fail(busy), (busy, BUSY_RETRIES + 1, 1275));
    }

    #[test]
    fn no_room_is_made_for_a_spec_above_the_limit() {
        let refused = |length: usize| {
            let length = u32::try_from(length).unwrap().to_le_bytes();
            read_spec(length.as_slice()).unwrap_err().kind()
        };
        assert_eq!(refused(MAX_SPEC_BYTES), io::ErrorKind::UnexpectedEof);
        assert_eq!(refused(MAX_SPEC_BYTES + 1), io::ErrorKind::InvalidData);
        assert_eq!(refused(MAX_SPEC_BYTES * 2), io::ErrorKind::InvalidData);
    }

    /// As a shell: a program that may not be run is said to be there.
    #[test]
    fn a_program_that_cannot_be_run_is_told_from_one_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, mode) in [("plain/tool", 0o644), ("bin/tool", 0o755)] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            drop(File::create(at(name)).unwrap());
            std::fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        }
        std::fs::create_dir_all(at("folder/tool")).unwrap();
        let find = |command: &Path, folders: &[&str]| {
            let path = std::env::join_paths(folders.iter().map(|name| at(name))).unwrap();
            let spec = LaunchSpec {
                mode: LaunchMode::Server,
                command: command.into(),
                args: Vec::new(),
                env: vec![("PATH".into(), path)],
                folder: folder.path().to_owned(),
                isolation: isolation::Isolation::default(),
                hidden: Vec::new(),
                root: None,
                sockets: Vec::new(),
            };
            find(&spec).map_err(|error| error.kind())
        };
        let (missing, denied) = (io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied);
        for (folders, expected) in [
            (&["none"][..], Err(missing)),
            (&["plain"], Err(denied)),
            (&["folder", "none"], Err(denied)),
            (&["none", "plain", "bin"], Ok(())),
        ] {
            assert_eq!(find(Path::new("tool"), folders), expected, "{folders:?}");
        }
        assert_eq!(find(&at("bin/tool"), &[]), Ok(()));
        assert_eq!(find(&at("plain/tool"), &["bin"]), Err(denied));
        assert_eq!(find(&at("none"), &["bin"]), Err(missing));
    }
}
