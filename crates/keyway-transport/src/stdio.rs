//! The stdio transport: a child process that speaks one JSON-RPC message per line.

mod tail;
mod writer;

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use keyway_auth::BoxFuture;
use keyway_secret::Secret;
use tokio::task::JoinHandle;

use self::tail::Tail;
use self::writer::Writer;
use crate::child_log::{ChildLog, ChildStream, Log, Verify, VerifyMoment};
use crate::connection::{Connection, EVENT_QUEUE, Event, EventSender, Link};
use crate::error::TransportError;
use crate::frame::{Frame, FrameError, MAX_FRAME_BYTES, RequestId};
use crate::launch::{
    Denials, IsolationLevel, LaunchError, LaunchMode, Launcher, Lines, Overflow, Process, Program,
    StartedChild, look_at_root,
};
use crate::queue::queue;

/// A stdio server to start.
#[non_exhaustive]
pub struct StdioServer {
    /// The program as written in the entry, for messages.
    pub label: String,
    /// What is started.
    pub program: Program,
    /// Values to mask in everything that the child prints beside the protocol.
    pub secrets: Vec<Secret<String>>,
    /// Where that goes.
    pub log: Option<Log>,
    /// Called right before and right after the start: are the files still those approved?
    pub verify: Option<Verify>,
}

impl StdioServer {
    /// Starts a program; `label` is what messages call it.
    #[must_use]
    pub fn new(label: impl Into<String>, program: Program) -> Self {
        Self {
            label: label.into(),
            program,
            secrets: Vec::new(),
            log: None,
            verify: None,
        }
    }

    /// Starts the server; the connection is up when nothing but the program's own start is left.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Spawn`] if it could not be started and
    /// [`TransportError::Changed`] if a file that it runs is not the one approved, and
    /// [`TransportError::LauncherNotInitialized`] if `main` did not call
    /// [`take_over`](crate::take_over).
    ///
    /// Cancel safety: dropping the future kills the child, if it was started.
    pub async fn open(
        self,
        launcher: &Launcher,
    ) -> Result<(Connection, IsolationLevel), TransportError> {
        // First: what is shown to the program is then the folder whose files were compared.
        let root = look_at_root(self.program.isolation.root.as_deref());
        self.verify(VerifyMoment::BeforeStart)?;
        let program = (&self.program, root.as_ref());
        let started = launcher.start(program, LaunchMode::Server).await;
        let started = started.map_err(|error| {
            let (program, path) = (self.label.clone(), error.path());
            match error {
                LaunchError::NotInitialized => TransportError::LauncherNotInitialized { program },
                LaunchError::Insufficient { level } => {
                    let level = level.to_string();
                    TransportError::IsolationUnavailable { program, level }
                }
                LaunchError::FolderReplaced { .. } => {
                    TransportError::FolderReplaced { program, path }
                }
                LaunchError::GrantHidden { .. } => TransportError::GrantHidden { program, path },
                LaunchError::RootReplaced { .. } | LaunchError::GrantReplaced { .. } => {
                    TransportError::Changed { file: path }
                }
                LaunchError::NotGranted { .. } => TransportError::NotGranted { program, path },
                other => TransportError::Spawn {
                    program,
                    source: other.into(),
                },
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
        let stdout = Lines::new(
            stdout,
            process.exit_watch(),
            Overflow::Fail(MAX_FRAME_BYTES),
        );
        let shared = Arc::new(StdioShared {
            process,
            writer: Writer::new(stdin),
            outstanding: Mutex::default(),
        });
        let log = ChildLog::new(&self.secrets, self.log);
        let tail = Arc::new(Tail::default());
        let denials = Denials::of(&self.program, level);
        let errors = keep_errors(stderr, log.clone(), Arc::clone(&tail), denials.clone());
        let errors = tokio::spawn(errors);
        let (sender, events) = queue(EVENT_QUEUE);
        let pump = Pump {
            shared: Arc::clone(&shared),
            events: sender,
            log,
            tail,
            denials,
        };
        drop(tokio::spawn(pump.run(stdout, errors)));
        let link = Arc::new(Stdio { shared });
        Ok((Connection::new(link, events), level))
    }

    fn verify(&self, moment: VerifyMoment) -> Result<(), TransportError> {
        let verify = self.verify.as_ref();
        let outcome = verify.map_or(Ok(()), |verify| verify(moment));
        outcome.map_err(|file| TransportError::Changed { file })
    }
}

impl fmt::Debug for StdioServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioServer")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

/// The sending side; dropping it kills the child.
///
/// ```text
///   open ──close──▶ stdin closed ──▶ TERM ──▶ KILL ──▶ ended     (TERMINATE_STEP_TIMEOUT each)
///     ├──dropped────────────────────────────▶ KILL ──▶ ended
///     └──child closes its output, or ends ──▶ as close ──▶ ended
/// ```
///
/// At the end every request without an answer fails, then `Closed` is reported.
#[derive(Debug)]
struct Stdio {
    shared: Arc<StdioShared>,
}

impl Link for Stdio {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let request = {
                let envelope = frame.envelope()?;
                envelope.id().filter(|_| envelope.is_request())
            };
            if let Some(id) = &request {
                self.shared.outstanding().insert(id.clone());
            }
            let sent = self.shared.writer.write(frame.bytes().clone()).await;
            if let (Err(_), Some(id)) = (&sent, &request) {
                self.abandon(id);
            }
            sent.map_err(|_| TransportError::Closed)
        })
    }

    fn abandon(&self, id: &RequestId) {
        self.shared.outstanding().remove(id);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shared.shut_down())
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.shared.writer.refuse();
        self.shared.process.kill();
    }
}

#[derive(Debug)]
struct StdioShared {
    process: Process,
    writer: Writer,
    /// Requests of ours that the server has not answered.
    /// Held for one entry, never across an await.
    outstanding: Mutex<HashSet<RequestId>>,
}

impl StdioShared {
    async fn shut_down(&self) {
        self.writer.close().await;
        self.process.terminate().await;
    }

    fn outstanding(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.outstanding
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves what the child prints to the receiver of the events.
struct Pump {
    shared: Arc<StdioShared>,
    events: EventSender,
    log: ChildLog,
    tail: Arc<Tail>,
    denials: Option<Arc<Denials>>,
}

impl Pump {
    async fn run(self, stdout: Lines, errors: JoinHandle<()>) {
        let outcome = self.forward(stdout).await;
        let was_closed = self.shared.writer.is_closed();
        self.shared.shut_down().await;
        let status = keyway_code::describe_exit(self.shared.process.exit_watch().status().await);
        // Ends by itself shortly after the child.
        drop(errors.await);
        let denials = self.denials.as_deref().filter(|_| !was_closed);
        let confined = denials.map(|denials| Box::new(denials.note()));
        if let Some(note) = &confined {
            self.log.confinement(note);
        }
        let why = || match &outcome {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                FrameError::above_limit().into()
            }
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => FrameError::NoRoom.into(),
            _ if was_closed => TransportError::Closed,
            _ => TransportError::ChildEnded {
                status: status.clone(),
                last_lines: self.tail.last_lines(),
                confined: confined.clone(),
            },
        };
        let unanswered = std::mem::take(&mut *self.shared.outstanding());
        for id in unanswered {
            drop(self.events.send(Event::Failed { id, error: why() }).await);
        }
        let closed = Event::Closed((!was_closed).then(why));
        drop(self.events.send(closed).await);
    }

    /// Forwards messages until the child closes its output or the receiver is dropped.
    async fn forward(&self, mut stdout: Lines) -> io::Result<()> {
        while let Some(line) = stdout.next().await? {
            let Some(frame) = self.message(line).await else {
                continue;
            };
            if !self.events.deliver(Event::Frame(frame)).await {
                break;
            }
        }
        Ok(())
    }

    /// Returns the message on a line; anything else is logged and goes no further.
    async fn message(&self, line: Bytes) -> Option<Frame> {
        let frame = Frame::new(line.clone()).ok()?;
        frame.read_ahead().await;
        let answered = match frame.envelope() {
            Ok(envelope) => envelope.id().filter(|_| envelope.is_response()),
            Err(_) => {
                self.log.line(ChildStream::Output, &line);
                return None;
            }
        };
        if let Some(id) = answered {
            self.shared.outstanding().remove(&id);
        }
        Some(frame)
    }
}

async fn keep_errors(
    mut stderr: Lines,
    log: ChildLog,
    tail: Arc<Tail>,
    denials: Option<Arc<Denials>>,
) {
    while let Ok(Some(line)) = stderr.next().await {
        let line = log.line(ChildStream::Error, &line);
        let denied = denials.as_ref().and_then(|denials| denials.in_line(&line));
        tail.push(line);
        if let Some(denied) = denied {
            log.line(ChildStream::Error, denied.as_bytes());
        }
    }
}
