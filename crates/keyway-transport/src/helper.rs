//! Runs a headers helper: one program, bounded in time and output, in a group of its own
//! (contract §5).

use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::BufMut;
use keyway_auth::ports::HelperRunner;
use keyway_auth::{BoxFuture, ConfinementNote, HelperFault};
use keyway_secret::Secret;
use tokio::net::unix::pipe;

use crate::child_env::ChildEnv;
use crate::child_log::{ChildLog, ChildStream, Log, Verify, VerifyMoment};
use crate::launch::{
    Denials, ExitWatch, Isolation, LaunchError, LaunchMode, Launcher, Lines, Program, StartedChild,
    look_at_root,
};

/// A headers helper, ready to be run any number of times.
#[non_exhaustive]
pub struct Helper {
    /// The binary that starts it.
    pub launcher: Launcher,
    /// What is run.
    pub command: HelperCommand,
    /// Its whole environment.
    pub env: ChildEnv,
    /// Where it runs.
    pub folder: PathBuf,
    /// The folder that a program named by a path must lie in, links followed.
    pub root: Option<PathBuf>,
    /// What it is kept from.
    pub isolation: Isolation,
    /// Values to mask in what it writes to standard error.
    pub secrets: Vec<Secret<String>>,
    /// Where that goes, up to 8 KiB for each run.
    pub log: Option<Log>,
    /// Called right before and right after the start: are the files still those approved?
    pub verify: Option<Verify>,
    /// What the last run was kept from, if it ran confined.
    /// Held for a copy or a replacement, never across an await.
    denials: Mutex<Option<Arc<Denials>>>,
}

impl Helper {
    /// Runs `command` in `folder` with nothing but `env`, hidden from what is ours.
    #[must_use]
    pub fn new(launcher: Launcher, command: HelperCommand, env: ChildEnv, folder: PathBuf) -> Self {
        Self {
            launcher,
            command,
            env,
            folder,
            root: None,
            isolation: Isolation::default(),
            secrets: Vec::new(),
            log: None,
            verify: None,
            denials: Mutex::default(),
        }
    }
}

/// The ways to write a helper; variables of the host in a path are already filled in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum HelperCommand {
    /// A text that begins like a path: a program, or a program and words to give it.
    Program(String),
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl HelperRunner for Helper {
    fn run(&self, timeout: Duration) -> BoxFuture<'_, Result<Secret<Vec<u8>>, HelperFault>> {
        Box::pin(async move {
            // What is given up half-way is dropped, and so killed with all that it started.
            let outcome = tokio::time::timeout(timeout, self.run_once()).await;
            outcome.unwrap_or_else(|_| {
                let seconds = timeout.as_millis().div_ceil(1000);
                let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
                Err(HelperFault::Timeout { seconds })
            })
        })
    }

    fn confinement(&self) -> Option<ConfinementNote> {
        let note = self.denials().as_ref()?.note();
        self.child_log().confinement(&note);
        Some(note)
    }
}

impl Helper {
    async fn run_once(&self) -> Result<Secret<Vec<u8>>, HelperFault> {
        *self.denials() = None;
        let program = self.program()?;
        // First: what is shown to the program is then the folder whose files were compared.
        let root = look_at_root(self.isolation.root.as_deref());
        self.verify(VerifyMoment::BeforeStart)?;
        let started = (&program, root.as_ref());
        let started = self.launcher.start(started, LaunchMode::Helper).await;
        let started = started.map_err(|error| {
            let (program, path) = (self.named(), error.path());
            match error {
                LaunchError::NotInitialized => HelperFault::LauncherNotInitialized { program },
                LaunchError::Insufficient { level } => {
                    let level = level.to_string();
                    HelperFault::IsolationUnavailable { program, level }
                }
                LaunchError::FolderReplaced { .. } => HelperFault::FolderReplaced { program, path },
                LaunchError::GrantHidden { .. } => HelperFault::GrantHidden { program, path },
                LaunchError::RootReplaced { .. } | LaunchError::GrantReplaced { .. } => {
                    HelperFault::Changed { file: path }
                }
                LaunchError::NotGranted { .. } => HelperFault::NotGranted { program, path },
                _ => self.not_executable(),
            }
        })?;
        self.verify(VerifyMoment::AfterStart)?;
        let StartedChild {
            process,
            stdin,
            stdout,
            stderr,
            level,
        } = started;
        drop(stdin);
        let denials = Denials::of(&program, level);
        self.denials().clone_from(&denials);
        let errors = tokio::spawn(log_errors(stderr, self.child_log(), denials.clone()));
        let mut ended = process.exit_watch();
        let output = read_output(&stdout, &mut ended).await;
        let output = output.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => HelperFault::TooMuchOutput {
                limit: OUTPUT_BYTES,
            },
            _ => HelperFault::Output {
                why: "cannot read its output",
            },
        })?;
        let status = ended.status().await;
        if denials.is_some() {
            // Its last lines may say why, and end by themselves shortly after it.
            drop(errors.await);
        }
        match status.code() {
            Some(0) => Ok(output),
            Some(NOT_EXECUTABLE | NOT_FOUND) => Err(self.not_executable()),
            _ => Err(HelperFault::Exit {
                status: keyway_code::describe_exit(status),
            }),
        }
    }

    /// Says what to start.
    fn program(&self) -> Result<Program, HelperFault> {
        let words = match &self.command {
            HelperCommand::Shell(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()],
            HelperCommand::Words(words) => match words.split_first() {
                Some((first, rest)) if begins_like_a_path(first) => {
                    let mut words = vec![self.contained(first)?];
                    words.extend_from_slice(rest);
                    words
                }
                _ => words.clone(),
            },
            // The whole text may be a path with spaces in it; otherwise words follow the path.
            HelperCommand::Program(text) => match self.contained(text) {
                Ok(program) => vec![program],
                Err(HelperFault::NotExecutable { .. }) => {
                    let mut words = text.split_whitespace();
                    let program = self.contained(words.next().unwrap_or_default())?;
                    std::iter::once(program)
                        .chain(words.map(str::to_owned))
                        .collect()
                }
                Err(outside) => return Err(outside),
            },
        };
        let mut words = words.into_iter().map(Secret::new);
        Ok(Program {
            command: words.next().ok_or_else(|| self.not_executable())?,
            args: words.collect(),
            env: self.env.clone(),
            folder: self.folder.clone(),
            isolation: self.isolation.clone(),
        })
    }

    /// Returns where a path leads, if there is a file and it lies in the root.
    fn contained(&self, path: &str) -> Result<String, HelperFault> {
        let full = match path.strip_prefix("~/") {
            Some(rest) => self.home().ok_or_else(|| self.not_executable())?.join(rest),
            None => self.folder.join(path),
        };
        let real = full.canonicalize().ok().filter(|real| real.is_file());
        let real = real.ok_or_else(|| self.not_executable())?;
        if let Some(root) = &self.root {
            let root = root.canonicalize().map_err(|_| self.not_executable())?;
            if !real.starts_with(root) {
                return Err(HelperFault::OutsidePlugin {
                    program: self.named(),
                });
            }
        }
        let full = full.into_os_string().into_string();
        full.map_err(|_| self.not_executable())
    }

    fn denials(&self) -> MutexGuard<'_, Option<Arc<Denials>>> {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn child_log(&self) -> ChildLog {
        ChildLog::new(&self.secrets, self.log.clone())
    }

    fn home(&self) -> Option<PathBuf> {
        let mut variables = self.env.expose();
        let (_, home) = variables.find(|(name, _)| *name == "HOME")?;
        Some(Path::new(std::ffi::OsStr::from_bytes(home)).to_owned())
    }

    fn verify(&self, moment: VerifyMoment) -> Result<(), HelperFault> {
        let verify = self.verify.as_ref();
        let outcome = verify.map_or(Ok(()), |verify| verify(moment));
        outcome.map_err(|file| HelperFault::Changed { file })
    }

    fn not_executable(&self) -> HelperFault {
        HelperFault::NotExecutable {
            program: self.named(),
        }
    }

    /// Returns the program as written in the entry.
    fn named(&self) -> String {
        match &self.command {
            HelperCommand::Program(text) | HelperCommand::Shell(text) => text.clone(),
            HelperCommand::Words(words) => words.first().cloned().unwrap_or_default(),
        }
    }
}

impl fmt::Debug for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helper")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

/// Reads everything up to the limit into one place, so that no copy is left behind.
async fn read_output(pipe: &pipe::Receiver, ended: &mut ExitWatch) -> io::Result<Secret<Vec<u8>>> {
    let mut output = Vec::with_capacity(OUTPUT_BYTES + 1);
    loop {
        let room = OUTPUT_BYTES + 1 - output.len();
        match pipe.try_read_buf(&mut (&mut output).limit(room)) {
            Ok(0) if room == 0 => return Err(io::ErrorKind::FileTooLarge.into()),
            Ok(0) => return Ok(Secret::new(output)),
            Ok(_) => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        // A grandchild may hold the pipe open: what comes after the exit is not waited for.
        // Not biased: what is in the pipe was read above.
        tokio::select! {
            ready = pipe.readable() => ready?,
            () = ended.exited_and_drained() => return Ok(Secret::new(output)),
        }
    }
}

/// Hands the beginning of standard error to the log, and throws the rest away.
async fn log_errors(mut stderr: Lines, log: ChildLog, denials: Option<Arc<Denials>>) {
    let mut room = ERROR_BYTES;
    while let Ok(Some(line)) = stderr.next().await {
        if line.len() <= room {
            let line = log.line(ChildStream::Error, &line);
            let denied = denials.as_ref().and_then(|denials| denials.in_line(&line));
            if let Some(denied) = denied {
                log.line(ChildStream::Error, denied.as_bytes());
            }
        }
        room = room.saturating_sub(line.len());
    }
}

fn begins_like_a_path(word: &str) -> bool {
    ["/", "./", "../", "~/"]
        .iter()
        .any(|start| word.starts_with(start))
}

const OUTPUT_BYTES: usize = 64 * 1024;
const ERROR_BYTES: usize = 8 * 1024;
/// What a shell says when it finds a file that it cannot execute.
const NOT_EXECUTABLE: i32 = 126;
/// What a shell says when it finds nothing.
const NOT_FOUND: i32 = 127;
