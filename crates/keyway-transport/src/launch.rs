//! Starting children through a launcher: our own binary, executed once more.
//!
//! The parent starts the launcher with one fixed argument and an empty environment, and writes a
//! spec to its standard input: program, arguments, environment, isolation. The launcher shuts
//! itself in and becomes the program. So nothing secret stands in an argument list, no code runs
//! between `fork` and `exec`, and standard input is the program's own from the byte after the spec.

mod detached;
mod exec;
mod init;
mod isolation;
mod lines;
mod process;
mod report;
mod spec;

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use keyway_secret::Secret;
use thiserror::Error;
use tokio::net::unix::pipe;

pub(crate) use self::lines::{Lines, Overflow};
use crate::child_env::ChildEnv;

pub use self::detached::detached;
pub use self::init::take_over;
pub use self::isolation::{Isolation, IsolationLevel, IsolationMechanism, IsolationProfile};
pub(crate) use self::process::{ExitWatch, Process};
pub use self::report::LaunchStage;
use self::report::Report;
pub(crate) use self::spec::LaunchMode;
use crate::times::LAUNCH_TIMEOUT;

/// The binary that starts children.
///
/// [`Launcher::current`] is the binary of this process, whose `main` calls [`take_over`] first.
#[derive(Debug, Clone)]
pub struct Launcher {
    program: PathBuf,
}

impl Launcher {
    /// Uses the binary of this process.
    ///
    /// # Errors
    ///
    /// Returns [`LaunchError::NotInitialized`] unless [`take_over`] was called, and
    /// [`LaunchError::Spawn`] if the system does not name the binary.
    pub fn current() -> Result<Self, LaunchError> {
        let program = init::own_binary().map_err(LaunchError::Spawn)?;
        if !init::may_start(&program) {
            return Err(LaunchError::NotInitialized);
        }
        Ok(Self { program })
    }

    /// Uses another binary, whose `main` calls [`take_over`] first.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
        }
    }

    /// Finds out which isolation is in force here, without starting any program.
    ///
    /// # Errors
    ///
    /// Returns what kept the launcher from starting.
    ///
    /// Cancel safety: dropping the future kills the launcher; nothing else was started.
    pub async fn probe(&self, isolation: &Isolation) -> Result<IsolationLevel, LaunchError> {
        let nothing = Program {
            command: Secret::new(String::new()),
            args: Vec::new(),
            env: ChildEnv::default(),
            folder: PathBuf::from("/"),
            isolation: isolation.clone(),
        };
        let started = self.start(&nothing, LaunchMode::Probe).await?;
        Ok(started.level)
    }

    /// Starts this binary as a process that outlives this one, and returns a stream to it. `main` of
    /// that process gets the other end from [`detached`].
    ///
    /// It starts in `/`, with `environment` and nothing else, and with `/dev/null` for output. Takes
    /// some milliseconds, in which it blocks.
    ///
    /// # Errors
    ///
    /// Returns what kept it from starting.
    pub fn start_detached(&self, environment: Vec<(OsString, OsString)>) -> io::Result<UnixStream> {
        if !init::may_start(&self.program) {
            return Err(LaunchError::NotInitialized.into());
        }
        detached::start(&self.program, environment)
    }

    /// Starts a program and waits until nothing but its own `exec` is left to do.
    pub(crate) async fn start(
        &self,
        program: &Program,
        mode: LaunchMode,
    ) -> Result<StartedChild, LaunchError> {
        if !init::may_start(&self.program) {
            return Err(LaunchError::NotInitialized);
        }
        let spec = spec::encode(program, mode).ok_or(LaunchError::TooLarge)?;
        let (process, pipes) = process::start(&self.program)
            .await
            .map_err(LaunchError::Spawn)?;
        let mut stderr = Lines::new(
            pipes.stderr,
            process.exit_watch(),
            Overflow::Split(REPORT_BYTES),
        );
        let handshake = async {
            // A launcher that ended before it read everything has said why.
            let written = write_all(&pipes.stdin, spec.expose()).await;
            let line = stderr.next().await.map_err(LaunchError::Spawn)?;
            match line.as_deref().and_then(Report::parse) {
                Some(Report::Ready(level)) => written.map(|()| level).map_err(LaunchError::Spawn),
                Some(Report::Failed { stage, errno }) => Err(LaunchError::Refused {
                    stage,
                    source: io::Error::from_raw_os_error(errno),
                }),
                None => Err(LaunchError::NoReport),
            }
        };
        let level = tokio::time::timeout(LAUNCH_TIMEOUT, handshake)
            .await
            .map_err(|_| LaunchError::NoReport)??;
        Ok(StartedChild {
            process,
            stdin: pipes.stdin,
            stdout: pipes.stdout,
            stderr,
            level,
        })
    }
}

/// A program to start, with everything that it gets.
#[derive(Debug, Clone)]
pub struct Program {
    /// A path, or a name to look up in the `PATH` of `env`.
    pub command: Secret<String>,
    /// Its arguments.
    pub args: Vec<Secret<String>>,
    /// Its whole environment.
    pub env: ChildEnv,
    /// Where it starts.
    pub folder: PathBuf,
    /// What it is kept from.
    pub isolation: Isolation,
}

/// A child that is about to run, or already does.
#[derive(Debug)]
pub(crate) struct StartedChild {
    pub(crate) process: Process,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: Lines,
    pub(crate) level: IsolationLevel,
}

/// Why a child could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// `main` did not call [`take_over`], so a second copy of this process would not be a launcher.
    #[error("cannot start a program: `keyway::init()` was not called first in `main`")]
    NotInitialized,
    /// The launcher itself could not be started or spoken to.
    #[error("cannot start the launcher")]
    Spawn(#[source] io::Error),
    /// The launcher could not do one of its steps.
    #[error("{stage}")]
    Refused {
        /// Which step.
        stage: LaunchStage,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Arguments and environment are larger than any system takes.
    #[error("arguments and environment exceed the size limit")]
    TooLarge,
    /// The launcher ended or went on without a word; the binary may not be one.
    #[error("the launcher did not report its status")]
    NoReport,
}

impl From<LaunchError> for io::Error {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Spawn(source)
            | LaunchError::Refused {
                stage: LaunchStage::Program,
                source,
            } => source,
            other => Self::other(other),
        }
    }
}

async fn write_all(pipe: &pipe::Sender, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        pipe.writable().await?;
        match pipe.try_write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The first argument that turns our binary into a launcher.
const LAUNCH_ARG: &str = "__launch";
/// The first argument that makes it start itself again in a session of its own.
const DETACH_ARG: &str = "__detach";
/// The first argument of what was started so.
const DETACHED_ARG: &str = "__detached";

/// The longest line of standard error that is kept in one piece.
const REPORT_BYTES: usize = 8 * 1024;
