//! The side that uses a shared connection: it relays lines, and continues alone without the
//! gateway.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_auth::BoxFuture;
use keyway_transport::{Connection, Event, Frame, Link, RequestId, TransportError, queue};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::SharedConnection;
use crate::timeouts::CLOSE_GRACE_TIMEOUT;
use keyway_mcp::bridge::input::{Incoming, Input};
use keyway_mcp::bridge::output::Output;
use keyway_mcp::bridge::{PipeReader, PipeWriter, ReadBytes, WriteBytes, resume, socket_pipes};

/// Serves a client through a gateway, until the client goes away.
///
/// When the gateway goes away, pending requests get an error: they may have been acted on, and are
/// not sent again. Later ones go through a connection that `alone` makes, which gets the client's
/// own `initialize`.
///
/// ```text
///   through the host ──host gone──▶ requests under way fail ──▶ alone: `initialize` is repeated,
///        │                                                       its answer is not shown again
///        └──client gone──▶ over ◀──client gone─────────────────────┘
/// ```
///
/// # Errors
///
/// Returns what kept the client from being read or written to.
///
/// Cancel safety: dropping the future closes the stream to the host, or drops the connection that
/// `alone` made. Requests under way may have been carried out, and get no answer. Of a message for
/// the client a part may have been written.
pub async fn relay<F: Future<Output = Connection>>(
    input: impl ReadBytes,
    output: impl WriteBytes,
    host: SharedConnection,
    alone: impl FnOnce() -> F,
) -> io::Result<()> {
    let mut input = Input::new(input);
    let mut output = Output::new(output);
    let sent = ClientMessages::default();
    if pass(&mut input, &mut output, host.0, &sent).await? == End::Client {
        return Ok(());
    }
    let sent = sent.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_initialize = |id: &RequestId| {
        let initialize = sent.initialize.as_ref();
        initialize.is_some_and(|(own, _)| own == id)
    };
    let is_initialized = !sent.waiting.iter().any(is_initialize);
    for id in sent.waiting.iter().filter(|id| !is_initialize(id)) {
        output.push(Event::Failed {
            id: id.clone(),
            error: TransportError::Closed,
        });
    }
    output.flush().await?;
    if let Some((id, frame)) = sent.initialize {
        input.put_back([frame]);
        input.put_back(sent.initialized);
        if is_initialized {
            output.mute(id);
        }
    }
    resume(input, output, alone().await).await
}

/// Which side went away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Client,
    Host,
}

/// What the client sent that counts after the gateway is gone.
///
/// The lock is held for one message at a time. Both halves of [`pass`] run in one task, so it is
/// never contended.
#[derive(Default)]
struct ClientMessages(Mutex<RecordedMessages>);

#[derive(Default)]
struct RecordedMessages {
    waiting: HashSet<RequestId>,
    initialize: Option<(RequestId, Frame)>,
    initialized: Option<Frame>,
}

impl ClientMessages {
    fn note(&self, frame: &Frame) {
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (envelope.id(), envelope.method.as_deref()) {
            (Some(id), Some(method)) => {
                if method == "initialize" {
                    kept.initialize = Some((id.clone(), frame.clone()));
                }
                kept.waiting.insert(id);
            }
            (None, Some("notifications/initialized")) => kept.initialized = Some(frame.clone()),
            _ => {}
        }
    }

    fn answered(&self, frame: &Frame) {
        if let Ok(envelope) = frame.envelope()
            && envelope.method.is_none()
            && let Some(id) = envelope.id()
        {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.waiting.remove(&id);
        }
    }
}

/// Passes lines both ways, in two halves, so that a slow side never stops the other.
async fn pass<R: ReadBytes, W: WriteBytes>(
    input: &mut Input<R>,
    output: &mut Output<W>,
    host: UnixStream,
    sent: &ClientMessages,
) -> io::Result<End> {
    let Ok((from, mut to)) = host.into_std().and_then(socket_pipes) else {
        return Ok(End::Host);
    };
    let mut from = Input::new(from);
    let (refusals, mut refused) = mpsc::channel(REFUSALS);
    let upwards = async {
        while let Some(incoming) = input.next().await? {
            let frame = match incoming {
                Incoming::Message(frame) => frame,
                Incoming::Refused(refusal) => {
                    // The other half writes; it is open for as long as this one runs.
                    let _gone = refusals.send(refusal).await;
                    continue;
                }
            };
            sent.note(&frame);
            if send(&mut to, &frame).await.is_err() {
                return io::Result::Ok(End::Host);
            }
        }
        Ok(End::Client)
    };
    let downwards = async {
        loop {
            // A failed read from the gateway is its end as well. Both sides are cancel safe.
            let frame = tokio::select! {
                Some(refusal) = refused.recv() => {
                    output.refuse(refusal);
                    output.flush().await?;
                    continue;
                }
                incoming = from.next() => match incoming {
                    Ok(Some(Incoming::Message(frame))) => frame,
                    Ok(Some(Incoming::Refused(_))) => continue,
                    Ok(None) | Err(_) => break,
                },
            };
            sent.answered(&frame);
            output.push(Event::Frame(frame));
            while let Some(frame) = from.cached() {
                sent.answered(&frame);
                output.push(Event::Frame(frame));
            }
            output.flush().await?;
        }
        io::Result::Ok(End::Host)
    };
    // Not biased. The half that loses is dropped. If that is the lower one, in the middle of a
    // write to the client, the next flush of `output` continues where it stopped.
    tokio::select! {
        ended = downwards => ended,
        ended = upwards => ended,
    }
}

async fn send(to: &mut PipeWriter, frame: &Frame) -> io::Result<()> {
    let mut line = Vec::with_capacity(frame.bytes().len().saturating_add(1));
    line.extend_from_slice(frame.bytes());
    line.push(b'\n');
    to.write_all(&line).await
}

/// Makes a connection of the two halves of a stream.
pub(super) fn connection(from: PipeReader, to: PipeWriter) -> Connection {
    let (sender, events) = queue(QUEUE);
    drop(tokio::spawn(async move {
        let mut from = Input::new(from);
        loop {
            // Reading is cancel safe, and what is lost after the reader is gone has no reader.
            let incoming = tokio::select! {
                incoming = from.next() => incoming,
                () = sender.closed() => return,
            };
            let Ok(Some(incoming)) = incoming else {
                break;
            };
            let Incoming::Message(frame) = incoming else {
                continue;
            };
            if sender.send(Event::Frame(frame)).await.is_err() {
                return;
            }
        }
        let _gone = sender.send(Event::Closed(None)).await;
    }));
    Connection::new(Arc::new(SharedLink::new(to)), events)
}

/// The sending half of a shared connection.
///
/// A task of its own writes, so that a message is written whole even if its `send` is dropped.
///
/// ```text
///   open ──close, or dropped──▶ flushing: what is queued is written ──▶ over
///     └──a write fails──▶ over          └── CLOSE_GRACE_TIMEOUT ────────▶ over
/// ```
///
/// The lock is held for a look only, never across an await.
#[derive(Debug)]
struct SharedLink(Mutex<Option<Writing>>);

/// The task that writes; it ends soon after this is dropped.
#[derive(Debug)]
struct Writing {
    /// Room for one message: the sender waits while the other side does not read.
    frames: mpsc::Sender<Frame>,
    /// Nothing is sent through it: dropping it says that the link has ended.
    is_open: oneshot::Sender<Infallible>,
    task: JoinHandle<()>,
}

impl SharedLink {
    fn new(mut to: PipeWriter) -> Self {
        let (frames, mut queued) = mpsc::channel(1);
        let (is_open, ended) = oneshot::channel::<Infallible>();
        let task = tokio::spawn(async move {
            let writing = async {
                while let Some(frame) = queued.recv().await {
                    if send(&mut to, &frame).await.is_err() {
                        return;
                    }
                }
            };
            let late = async {
                let _ended = ended.await;
                sleep(CLOSE_GRACE_TIMEOUT).await;
            };
            // A half message is left behind only where nothing can follow it.
            tokio::select! {
                () = writing => {}
                () = late => {}
            }
        });
        Self(Mutex::new(Some(Writing {
            frames,
            is_open,
            task,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Writing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link for SharedLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        let frames = self.lock().as_ref().map(|writing| writing.frames.clone());
        Box::pin(async move {
            let sent = frames.ok_or(TransportError::Closed)?.send(frame).await;
            sent.map_err(|_| TransportError::Closed)
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        let writing = self.lock().take();
        Box::pin(async move {
            if let Some(Writing {
                frames,
                is_open,
                task,
            }) = writing
            {
                drop((frames, is_open));
                // It ends by itself, after the grace time at the latest.
                let _panicked = task.await;
            }
        })
    }
}

const QUEUE: usize = 256;
const REFUSALS: usize = 16;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keyway_testkit::poll_at_most;
    use tokio::io::AsyncReadExt;
    use tokio::time::timeout;

    use super::*;

    /// More than the buffers of a socket hold.
    fn large(method: &str) -> Frame {
        let padding = "x".repeat(4 * 1024 * 1024);
        Frame::new(format!(r#"{{"method":"{method}","params":"{padding}"}}"#)).unwrap()
    }

    #[tokio::test]
    async fn a_send_that_is_dropped_leaves_no_half_message() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (from, to) = socket_pipes(ours.into_std().unwrap()).unwrap();
        let connection = connection(from, to);
        let cancelled = Frame::new(r#"{"method":"notifications/cancelled"}"#).unwrap();
        let reading = async {
            let mut text = String::new();
            theirs.read_to_string(&mut text).await.unwrap();
            text
        };
        let sending = async {
            for _ in 0..3 {
                // Dropped at its first wait, wherever that is.
                let _sent = poll_at_most(1, connection.link.send(large("x"))).await;
            }
            connection.link.send(cancelled).await.unwrap();
            connection.link.close().await;
            drop(connection);
        };
        let (text, ()) = tokio::join!(reading, sending);
        let mut lines = text.lines();
        assert_eq!(
            lines.next_back(),
            Some(r#"{"method":"notifications/cancelled"}"#)
        );
        let whole = large("x");
        for line in lines {
            assert_eq!(line.len(), whole.bytes().len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn closing_ends_although_the_other_side_does_not_read() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let (from, to) = socket_pipes(ours.into_std().unwrap()).unwrap();
        let connection = connection(from, to);
        let sending = async {
            loop {
                connection.link.send(large("x")).await?;
            }
        };
        let closing = async {
            // By now the buffers are full, and a message waits.
            tokio::task::yield_now().await;
            connection.link.close().await;
        };
        let both = async { tokio::join!(sending, closing) };
        let ended: Result<(Result<(), TransportError>, ()), _> =
            timeout(Duration::from_secs(60), both).await;
        let (sent, ()) = ended.expect("both end");
        assert!(matches!(sent, Err(TransportError::Closed)));
    }
}
