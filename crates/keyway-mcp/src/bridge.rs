//! Moves frames between a client on two pipes and one [`Connection`].
//!
//! Bytes pass through; the envelope of the first request alone decides whether client and server
//! speak the same protocol era. Every request of the client gets exactly one answer: the server's,
//! or an error that says what happened and what to do.

mod opening;
pub mod output;
pub mod traffic_observer;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use keyway_auth::{ServerEvent, ServerObserver};
use keyway_transport::{Connection, Event, Frame};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::mpsc;

use self::output::Output;
use self::traffic_observer::TrafficObserver;
use crate::explain::Explainer;

/// Serves a client until it goes away, and then ends the connection in good order.
///
/// # Errors
///
/// Returns what kept the client from being read or written to.
pub async fn bridge(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send,
    connection: Connection,
) -> io::Result<()> {
    resume(Input::new(input), Output::new(output), connection).await
}

/// The same for a server about which more is known than an error alone says.
///
/// # Errors
///
/// Returns what kept the client from being read or written to.
pub async fn bridge_explained(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send,
    connection: Connection,
    explainer: Explainer,
) -> io::Result<()> {
    let output = Output::new(output).explained(explainer);
    resume(Input::new(input), output, connection).await
}

/// The same for a client of whom somebody notes what it asks.
pub async fn bridge_observed(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send,
    connection: Connection,
    observer: Arc<dyn TrafficObserver>,
) -> io::Result<()> {
    let mut input = Input::new(input);
    input.observer = Some(Arc::clone(&observer));
    let output = Output::new(output).observed_by(observer);
    resume(input, output, connection).await
}

/// The same for a client of whom something has been read already.
pub async fn resume<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send>(
    mut input: Input<R>,
    mut output: Output<W>,
    connection: Connection,
) -> io::Result<()> {
    let Some(mut connection) = opening::open(&mut input, &mut output, connection).await? else {
        return Ok(());
    };
    let served = serve(&mut input, &mut output, &mut connection).await;
    connection.link.close().await;
    served
}

/// Passes frames both ways, in two halves, so that a slow side never stops the other.
async fn serve<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send>(
    input: &mut Input<R>,
    output: &mut Output<W>,
    connection: &mut Connection,
) -> io::Result<()> {
    let link = Arc::clone(&connection.link);
    let watch = connection.watch.clone();
    let (failures, mut failed) = mpsc::channel(FAILURES);
    let upwards = async {
        while let Some(frame) = input.next().await? {
            let id = frame.envelope().ok().and_then(|envelope| envelope.id());
            if let (Err(error), Some(id)) = (link.send(frame).await, id) {
                // The other half ends only after this one.
                let _gone = failures.send(Event::Failed { id, error }).await;
            }
        }
        io::Result::Ok(())
    };
    let downwards = async {
        loop {
            let event = tokio::select! {
                Some(event) = failed.recv() => event,
                event = connection.events.recv() => match event {
                    Some(event) => event,
                    None => return io::Result::Ok(()),
                },
            };
            report_closed(&watch, &event);
            output.push(event);
            while let Some(event) = connection.events.try_recv() {
                report_closed(&watch, &event);
                output.push(event);
            }
            output.flush().await?;
        }
    };
    tokio::select! {
        ended = upwards => ended,
        ended = downwards => ended,
    }
}

/// Tells that the server is gone, if it did not end in good order.
fn report_closed(watch: &ServerObserver, event: &Event) {
    if let Event::Closed(Some(error)) = event {
        let code = error.code();
        watch.emit(ServerEvent::NotConnected { code });
    }
}

/// Frames of a client, one per line.
pub struct Input<R> {
    /// What comes before anything that is read.
    front: VecDeque<Frame>,
    lines: BufReader<R>,
    line: Vec<u8>,
    observer: Option<Arc<dyn TrafficObserver>>,
}

impl<R> std::fmt::Debug for Input<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Messages may hold what a person typed.
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

impl<R: AsyncRead + Unpin> Input<R> {
    /// Reads messages from `input`, one on each line.
    pub fn new(input: R) -> Self {
        Self {
            front: VecDeque::new(),
            lines: BufReader::with_capacity(READ_BYTES, input),
            line: Vec::new(),
            observer: None,
        }
    }

    /// Lets frames come before everything that is still to be read, but after those that were put
    /// back earlier.
    pub fn put_back(&mut self, frames: impl IntoIterator<Item = Frame>) {
        self.front.extend(frames);
    }

    /// Returns a frame that needs no waiting; what cannot be read is left for [`Self::next`].
    pub fn cached(&mut self) -> Option<Frame> {
        if !self.line.is_empty() {
            return None;
        }
        let end = self.lines.buffer().iter().position(|byte| *byte == b'\n')?;
        let line = self.lines.buffer().get(..end)?.to_vec();
        let frame = Frame::new(line).ok().filter(|it| !it.bytes().is_empty())?;
        self.lines.consume(end.saturating_add(1));
        Some(frame)
    }

    /// Returns the next frame, or `None` when the client has gone away.
    ///
    /// Whoever stops waiting loses nothing: what was read of a line is kept.
    pub async fn next(&mut self) -> io::Result<Option<Frame>> {
        if let Some(frame) = self.front.pop_front() {
            return Ok(Some(frame));
        }
        loop {
            if self.lines.read_until(b'\n', &mut self.line).await? == 0 {
                return Ok(None);
            }
            let frame = Frame::new(std::mem::take(&mut self.line)).map_err(io::Error::other)?;
            if !frame.bytes().is_empty() {
                if let Some(observer) = &self.observer {
                    observer.client_sent(&frame);
                }
                return Ok(Some(frame));
            }
        }
    }
}

const READ_BYTES: usize = 64 * 1024;
const FAILURES: usize = 64;

#[cfg(test)]
mod tests;
