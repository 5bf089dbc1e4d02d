//! Starting children through a launcher: our own binary, executed once more.
//!
//! The parent starts the launcher with fixed words as arguments and an empty environment, and writes
//! a spec to its standard input: program, arguments, environment, isolation. The launcher stays as a
//! [`supervisor`] and forks, into namespaces of their own where there are any; the process that comes
//! of it reads the spec, shuts itself in and starts the program. So nothing secret stands in an
//! argument list or in the supervisor, nothing of the host's runs between `fork` and `exec`, and
//! standard input is the program's own from the byte after the spec.

mod ahead;
#[cfg(target_os = "linux")]
mod ancestry;
#[cfg(target_os = "linux")]
mod control_group;
mod denials;
mod denied;
mod detached;
mod exec;
mod init;
mod isolation;
mod known_folders;
mod lines;
#[cfg(target_os = "linux")]
mod namespaces;
mod own_process;
mod process;
mod report;
#[cfg(target_os = "linux")]
mod sockets;
mod spec;
mod stage;
#[cfg(target_os = "linux")]
mod supervisor;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use keyway_secret::Secret;
use thiserror::Error;
use tokio::net::unix::pipe;

pub(crate) use self::denials::Denials;
pub(crate) use self::known_folders::{KnownPath, look_at_root};
pub(crate) use self::lines::{Lines, Overflow};
use crate::child_env::ChildEnv;

use self::ahead::Ahead;
#[cfg(target_os = "linux")]
pub use self::ancestry::is_started_by_keyway;
pub use self::detached::detached;
pub use self::init::take_over;
pub use self::isolation::{Isolation, IsolationLevel, IsolationMechanism, IsolationProfile};
pub use self::known_folders::{KnownFolders, KnownGrant};
pub(crate) use self::process::{ExitWatch, Process};
use self::report::Report;
use self::spec::Found;
pub(crate) use self::spec::LaunchMode;
pub use self::stage::LaunchStage;
use crate::timeouts::LAUNCH_TIMEOUT;

/// The binary that starts children.
///
/// [`Launcher::current`] is the binary of this process, whose `main` calls [`take_over`] first.
#[derive(Clone)]
pub struct Launcher {
    program: PathBuf,
    on_reduced: Option<OnReduced>,
    ahead: Ahead,
}

/// Is told which isolation a program starts with, where that is less than was requested.
pub type OnReduced = Arc<dyn Fn(&IsolationLevel) + Send + Sync>;

impl fmt::Debug for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Launcher");
        debug
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl Launcher {
    /// Uses the binary of this process.
    ///
    /// # Errors
    ///
    /// Returns [`LaunchError::NotInitialized`] unless [`take_over`] was called, and
    /// [`LaunchError::Spawn`] if the system does not name the binary.
    pub fn current() -> Result<Self, LaunchError> {
        let program = own_process::own_binary().map_err(LaunchError::Spawn)?;
        if !init::may_start(&program) {
            return Err(LaunchError::NotInitialized);
        }
        Ok(Self::new(program))
    }

    /// Uses another binary, whose `main` calls [`take_over`] first.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            on_reduced: None,
            ahead: Ahead::default(),
        }
    }

    /// Starts the launcher before it is known what it is to start, for the next program of this value
    /// or a clone, if that has namespaces as `isolation` says. Until then it only waits, and it ends with
    /// [`Self::end_ahead`], a program that needs another one, or the last clone. One that cannot be
    /// started shows when the program is.
    ///
    /// It takes about as long as finding out whether a program may start, and needs nothing of it.
    pub fn start_ahead(&self, isolation: &Isolation) {
        if init::may_start(&self.program) {
            let [wanted, _] = namespaces(isolation);
            self.ahead
                .put(wanted, process::start(&self.program, wanted));
        }
    }

    /// Ends a launcher that waits, because no program will be started soon.
    pub fn end_ahead(&self) {
        drop(self.ahead.take(""));
    }

    /// Tells about every program that starts with less isolation than was requested.
    #[must_use]
    pub fn on_reduced(mut self, tell: OnReduced) -> Self {
        self.on_reduced = Some(tell);
        self
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
        let root = look_at_root(isolation.root.as_deref());
        let started = self.start((&nothing, root.as_ref()), LaunchMode::Probe);
        let started = started.await?;
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

    /// Starts a program and waits until nothing but its own `exec` is left to do. The root of its
    /// plugin was looked at before the plugin's files were compared.
    pub(crate) async fn start(
        &self,
        program: (&Program, Option<&KnownPath>),
        mode: LaunchMode,
    ) -> Result<StartedChild, LaunchError> {
        for _ in 1..IDENTITY_ATTEMPTS {
            match self.start_once(program, mode).await {
                // A place of another process, such as the socket of a gateway that stops, went away or
                // was made again between two looks. Looking again leaves it out or knows it, and still
                // refuses folders of ours.
                Err(LaunchError::Refused {
                    stage: LaunchStage::Identity,
                    source,
                }) if source.kind() == io::ErrorKind::NotFound || is_stale(&source) => {}
                outcome => return outcome,
            }
        }
        self.start_once(program, mode).await
    }

    async fn start_once(
        &self,
        (program, root): (&Program, Option<&KnownPath>),
        mode: LaunchMode,
    ) -> Result<StartedChild, LaunchError> {
        if !init::may_start(&self.program) {
            return Err(LaunchError::NotInitialized);
        }
        let hidden = match program.isolation.profile {
            IsolationProfile::None => Vec::new(),
            _ => {
                let known = &program.isolation.known_folders;
                let mut hidden = known.identify(&program.isolation.hidden)?;
                hidden.extend(known_folders::find_others(&program.isolation.also_hidden));
                hidden
            }
        };
        let found = Found {
            hidden: &hidden,
            root,
            sockets: &sockets_to_cover(&program.isolation),
        };
        let spec = spec::encode(program, found, mode).ok_or(LaunchError::TooLarge)?;
        let [wanted, fallback] = namespaces(&program.isolation);
        let started = match self.start_in(wanted, &spec).await {
            // Some systems allow namespaces in which nothing can be mounted.
            Err(LaunchError::Refused {
                stage: LaunchStage::Namespaces,
                ..
            }) => self.start_in(fallback, &spec).await,
            outcome => outcome,
        }
        .map_err(|error| explained(error, program))?;
        let is_program = !matches!(mode, LaunchMode::Probe);
        if let Some(tell) = self.on_reduced.as_ref()
            && is_program
            && !started.level.is_complete()
        {
            tell(&started.level);
        }
        Ok(started)
    }

    async fn start_in(
        &self,
        namespaces: &str,
        spec: &Secret<Vec<u8>>,
    ) -> Result<StartedChild, LaunchError> {
        let starting = match self.ahead.take(namespaces) {
            Some(starting) => starting,
            None => process::start(&self.program, namespaces).map_err(LaunchError::Spawn)?,
        };
        let (process, pipes) = starting.started().await.map_err(LaunchError::Spawn)?;
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
                Some(Report::Ready { level, group }) => {
                    process.set_program(group);
                    written.map(|()| level).map_err(LaunchError::Spawn)
                }
                Some(Report::Insufficient(level)) => Err(LaunchError::Insufficient { level }),
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

fn is_stale(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::STALE.raw_os_error())
}

/// Returns the sockets of other programs that a confined child would see in system folders.
fn sockets_to_cover(isolation: &Isolation) -> Vec<PathBuf> {
    #[cfg(target_os = "linux")]
    if isolation.profile == IsolationProfile::Confine {
        return sockets::in_system_folders();
    }
    _ = isolation;
    Vec::new()
}

/// Names the path that kept a program from starting, where that can be known.
fn explained(error: LaunchError, program: &Program) -> LaunchError {
    let LaunchError::Refused { stage, source } = error else {
        return error;
    };
    if let Some(path) = denied::at_start(program, stage) {
        return LaunchError::NotGranted { path };
    }
    if let Some(path) = denied::in_hidden(program, stage) {
        return LaunchError::GrantHidden { path };
    }
    if let Some(path) = denied::replaced(&program.isolation, stage) {
        return LaunchError::GrantReplaced { path };
    }
    match &program.isolation.root {
        Some(root) if stage == LaunchStage::Grants && is_stale(&source) => {
            LaunchError::RootReplaced { path: root.clone() }
        }
        _ => LaunchError::Refused { stage, source },
    }
}

/// Returns the word for the namespaces that an isolation needs, and the one for none.
fn namespaces(isolation: &Isolation) -> [&'static str; 2] {
    #[cfg(target_os = "linux")]
    {
        use self::namespaces::Namespaces;
        [Namespaces::of(isolation), Namespaces::Shared].map(Namespaces::as_word)
    }
    #[cfg(not(target_os = "linux"))]
    {
        _ = isolation;
        ["shared"; 2]
    }
}

/// A program to start, with everything that it gets.
#[derive(Debug, Clone)]
#[non_exhaustive]
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

impl Program {
    /// Starts `command` without arguments, in `folder` with nothing but `env`, hidden from what is
    /// ours.
    #[must_use]
    pub fn new(command: Secret<String>, env: ChildEnv, folder: impl Into<PathBuf>) -> Self {
        Self {
            command,
            args: Vec::new(),
            env,
            folder: folder.into(),
            isolation: Isolation::default(),
        }
    }
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
    /// The isolation that the settings require is not available here.
    #[error("the isolation that `sandbox.require` demands is not available: {level}")]
    Insufficient {
        /// What could be had.
        level: IsolationLevel,
    },
    /// A folder of ours is not the one that it was: what was to be hidden would lie open elsewhere.
    #[error("`{}` was moved or replaced while this process runs", path.display())]
    FolderReplaced {
        /// Where it was.
        path: PathBuf,
    },
    /// The plugin's folder, or one that was granted, leads to what is ours.
    #[error("`{}` leads into a folder of Keyway's own", path.display())]
    GrantHidden {
        /// As it was given.
        path: PathBuf,
    },
    /// A grant leads elsewhere than it did when the person was asked.
    #[error("`{}` was moved or replaced since it was approved", path.display())]
    GrantReplaced {
        /// As it was given.
        path: PathBuf,
    },
    /// The plugin's folder is not the one whose files were compared.
    #[error("`{}` was moved or replaced during the start", path.display())]
    RootReplaced {
        /// Where it was.
        path: PathBuf,
    },
    /// The program or its working folder is there, but a confined child does not see it.
    #[error("`{}` is outside what a confined program may use", path.display())]
    NotGranted {
        /// What would have to be granted.
        path: PathBuf,
    },
    /// Arguments and environment are larger than any system takes.
    #[error("arguments and environment exceed the size limit")]
    TooLarge,
    /// The launcher ended or continued without a report; the binary may not be one.
    #[error("the launcher did not report its status")]
    NoReport,
}

impl LaunchError {
    /// Returns the path that it is about; empty for one that is about none.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::FolderReplaced { path }
            | Self::GrantHidden { path }
            | Self::GrantReplaced { path }
            | Self::RootReplaced { path }
            | Self::NotGranted { path } => path.display().to_string(),
            _ => String::new(),
        }
    }
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

/// How often the places to hide are looked up for one start.
const IDENTITY_ATTEMPTS: usize = 4;

/// The first argument that turns our binary into a launcher.
const LAUNCH_ARG: &str = "__launch";
/// The first argument that makes it start itself again in a session of its own.
const DETACH_ARG: &str = "__detach";
/// The first argument of what was started so.
const DETACHED_ARG: &str = "__detached";

/// The longest line of standard error that is kept in one piece.
const REPORT_BYTES: usize = 8 * 1024;
