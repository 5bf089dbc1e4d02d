//! A child in a session of its own, and the thread that waits for it.
//!
//! The thread starts the child's supervisor, sleeps until that has ended, ends what is left and
//! only then reaps it. So a signal never hits another process that got the same id, nothing stays
//! behind, and no signal handler is needed in the host.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::LAUNCH_ARG;
use super::own_process::LAUNCH_MARK;
use crate::timeouts::{PIPE_DRAIN_TIMEOUT, TERMINATE_STEP_TIMEOUT};

/// A running child and whatever it starts; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    group: Arc<Group>,
    ended: ExitWatch,
}

/// Our ends of the child's standard streams.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: pipe::Sender,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
}

/// A launcher that is being started by a thread of its own; killed when dropped.
#[derive(Debug)]
pub(super) struct Starting(oneshot::Receiver<io::Result<(Process, ChildPipes)>>);

type ChildPipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

/// Starts the launcher with an empty environment and a word for it; everything else comes with the
/// spec.
pub(super) fn start(launcher: &Path, namespaces: &str) -> io::Result<Starting> {
    let mut command = command(launcher, namespaces);
    let (started, start) = oneshot::channel();
    let (end, ended) = watch::channel(None);
    thread::Builder::new()
        .name("keyway-child".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || match command.spawn() {
            Err(error) => drop(started.send(Err(error))),
            Ok(mut child) => {
                let group = Arc::new(Group::of(&child));
                let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
                let process = Process {
                    group: Arc::clone(&group),
                    ended: ExitWatch(ended),
                };
                // If the caller stopped waiting, the process is dropped, and so killed.
                drop(started.send(Ok((process, pipes))));
                let status = group.wait(&mut child);
                end.send_replace(Some((status, Instant::now())));
            }
        })?;
    Ok(Starting(start))
}

impl Starting {
    /// Waits until the launcher runs.
    ///
    /// Cancel safety: dropping the future kills the launcher.
    pub(super) async fn started(self) -> io::Result<(Process, Pipes)> {
        let gone = |_| io::Error::other("the waiting thread ended");
        let (process, pipes) = self.0.await.map_err(gone)??;
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("a stream of the child is missing"));
        };
        let pipes = Pipes {
            stdin: pipe::Sender::from_owned_fd(stdin.into())?,
            stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
            stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
        };
        Ok((process, pipes))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the product starts children"
)]
fn command(launcher: &Path, namespaces: &str) -> Command {
    let mut command = Command::new(launcher);
    command
        .arg(LAUNCH_ARG)
        .args([&std::process::id().to_string(), namespaces])
        .env_clear()
        .env(LAUNCH_MARK, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Process {
    /// Returns a way to learn of the end.
    pub(crate) fn exit_watch(&self) -> ExitWatch {
        self.ended.clone()
    }

    /// Waits for the end after its standard input was closed, asking more firmly as time passes.
    pub(crate) async fn terminate(&self) {
        for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
            if let Some(signal) = signal {
                self.group.signal(signal);
            }
            if tokio::time::timeout(TERMINATE_STEP_TIMEOUT, self.exit_watch().status())
                .await
                .is_ok()
            {
                return;
            }
        }
    }

    /// Sends signals from now on to the program, which reported its process group.
    pub(super) fn set_program(&self, group: Pid) {
        _ = self.group.program.set(group);
    }

    /// Kills everything at once.
    pub(crate) fn kill(&self) {
        self.group.signal(Signal::KILL);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Tells when and how a child ended.
#[derive(Debug, Clone)]
pub(crate) struct ExitWatch(watch::Receiver<Option<(ExitStatus, Instant)>>);

impl ExitWatch {
    /// Watches a child that runs for as long as the sender is kept.
    #[cfg(test)]
    pub(crate) fn of_running() -> (impl Send, Self) {
        let (end, ended) = watch::channel(None);
        (end, Self(ended))
    }

    /// Waits for the end.
    pub(crate) async fn status(&mut self) -> ExitStatus {
        self.outcome().await.0
    }

    /// Waits until a little after the end: by then its pipes are empty, unless a process that left
    /// the group still holds them.
    pub(crate) async fn exited_and_drained(&mut self) {
        let (_, at) = self.outcome().await;
        tokio::time::sleep_until(at + PIPE_DRAIN_TIMEOUT).await;
    }

    async fn outcome(&mut self) -> (ExitStatus, Instant) {
        match self.0.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.unwrap_or_else(lost),
            Err(_) => lost(),
        }
    }
}

/// Cannot happen: the thread always says how it ended.
fn lost() -> (ExitStatus, Instant) {
    (ExitStatus::from_raw(0), Instant::now())
}

/// The processes of one child.
///
/// ```text
/// supervisor only ── reported ready ──> supervisor and program ── supervisor reaped ──> none
/// ```
#[derive(Debug)]
struct Group {
    /// The supervisor, which is our own child.
    supervisor: Pid,
    /// The process group of the program, once that is known. Until then killing the supervisor is
    /// enough: the kernel kills its child with it.
    program: OnceLock<Pid>,
    /// Held while signalling, so that the id cannot pass to another process meanwhile.
    is_reaped: Mutex<bool>,
}

impl Group {
    fn of(child: &Child) -> Self {
        Self {
            supervisor: Pid::from_child(child),
            program: OnceLock::new(),
            is_reaped: Mutex::new(false),
        }
    }

    fn signal(&self, signal: Signal) {
        let is_reaped = self.lock();
        if *is_reaped {
            return;
        }
        // An empty group is what the signal was for. The supervisor ends as soon as the group's
        // leader has, so the id does not belong to another process while that is not reaped.
        _ = match self.program.get() {
            Some(program) => kill_process_group(*program, signal),
            None => kill_process(self.supervisor, signal),
        };
    }

    /// Waits for the supervisor to end, and ends the rest.
    fn wait(&self, child: &mut Child) -> ExitStatus {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(self.supervisor), look) {}
        // Before the lock, because it may take a moment; the id is not free before the reaping.
        #[cfg(target_os = "linux")]
        super::control_group::end_group_of(self.supervisor);
        let mut is_reaped = self.lock();
        // Only if the supervisor was killed is anything left.
        if let Some(program) = self.program.get() {
            _ = kill_process_group(*program, Signal::KILL);
        }
        let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(0));
        *is_reaped = true;
        status
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, bool> {
        self.is_reaped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread does nothing but wait.
const STACK_BYTES: usize = 128 * 1024;
