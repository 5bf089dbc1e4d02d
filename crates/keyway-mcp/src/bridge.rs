//! Moves frames between a client on two pipes and one [`Connection`].
//!
//! Bytes pass through; the envelope of the first request alone decides whether client and server
//! speak the same protocol era. Every request of the client gets exactly one answer: the server's,
//! or an error that says what happened and what to do.

pub mod input;
pub mod listed_tools;
mod opening;
pub mod output;
mod read_buffer;
pub mod traffic_observer;

use std::fmt;
use std::io;
use std::sync::Arc;

use keyway_auth::{ServerEvent, ServerObserver};
use keyway_transport::{Connection, Event, Frame};
use tokio::sync::mpsc;

pub use keyway_transport::{
    PipeReader, PipeWriter, ReadBytes, WriteBytes, socket_pipes, standard_pipes,
};

use self::input::{Incoming, Input};
use self::listed_tools::ListedTools;
use self::output::{Output, Pushed};
use self::traffic_observer::TrafficObserver;
use crate::explain::Explainer;
use crate::tool_memory::ToolMemory;

/// Serves a client until it goes away, and then closes the connection cleanly.
///
/// A client on standard input and output is served by the [`standard_pipes`].
///
/// # Errors
///
/// Returns what kept the client from being read or written to.
///
/// Cancel safety: dropping the future drops the connection, which ends it at once: a child is
/// killed, and requests in flight may have been carried out. Of a message for the client a part may
/// have been written. A sign-in or a renewal that the connection started continues.
pub async fn bridge(
    input: impl ReadBytes,
    output: impl WriteBytes,
    connection: Connection,
) -> io::Result<()> {
    resume(Input::new(input), Output::new(output), connection).await
}

/// Makes the connection that serves a client whose own server could not be asked.
pub type Fallback = Box<dyn FnOnce() -> Connection + Send>;

/// A server about which more is known than an error alone says.
pub struct BridgedServer {
    connection: Connection,
    explainer: Option<Explainer>,
    fallback: Fallback,
    tool_memory: Option<Arc<dyn ToolMemory>>,
    observer: Option<Arc<dyn TrafficObserver>>,
}

impl BridgedServer {
    /// Describes a server that `fallback` stands in for if it does not answer the first request.
    #[must_use]
    pub fn new(
        connection: Connection,
        explainer: impl Into<Option<Explainer>>,
        fallback: Fallback,
    ) -> Self {
        Self {
            connection,
            explainer: explainer.into(),
            fallback,
            tool_memory: None,
            observer: None,
        }
    }

    /// Remembers the tools that it lists.
    #[must_use]
    pub fn with_tool_memory(mut self, memory: Option<Arc<dyn ToolMemory>>) -> Self {
        self.tool_memory = memory;
        self
    }

    /// Lets an observer see the client's traffic, with the server or with what stands in for it.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn TrafficObserver>) -> Self {
        self.observer = Some(observer);
        self
    }
}

impl fmt::Debug for BridgedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BridgedServer").finish_non_exhaustive()
    }
}

/// The same for a server about which more is known.
///
/// A client drops a server whose `initialize` fails, and does not come back to it.
///
/// # Errors
///
/// Returns what kept the client from being read or written to.
///
/// Cancel safety: as [`bridge`].
pub async fn bridge_explained(
    input: impl ReadBytes,
    output: impl WriteBytes,
    server: BridgedServer,
) -> io::Result<()> {
    let BridgedServer {
        connection,
        explainer,
        mut fallback,
        tool_memory,
        observer,
    } = server;
    let mut input = Input::new(input);
    let mut output = Output::new(output);
    if let Some(explainer) = explainer {
        output = output.explained(explainer);
    }
    let mut observers: Vec<Arc<dyn TrafficObserver>> = observer.into_iter().collect();
    if let Some(memory) = tool_memory {
        let listed = Arc::new(ListedTools::new(memory));
        observers.push(Arc::clone(&listed) as Arc<dyn TrafficObserver>);
        fallback = Box::new(move || {
            // What stands in for the server does not say what the server says.
            listed.stop();
            fallback()
        });
    }
    if !observers.is_empty() {
        let observers: Arc<dyn TrafficObserver> = Arc::new(Observers(observers));
        input = input.observed_by(Arc::clone(&observers));
        output = output.observed_by(observers);
    }
    run(input, output, connection, Some(fallback)).await
}

/// Several that see the same traffic.
struct Observers(Vec<Arc<dyn TrafficObserver>>);

impl TrafficObserver for Observers {
    fn client_sent(&self, frame: &Frame) {
        self.0
            .iter()
            .for_each(|observer| observer.client_sent(frame));
    }

    fn client_received(&self, event: &Event) {
        self.0
            .iter()
            .for_each(|observer| observer.client_received(event));
    }
}

/// The same for a client from which something has been read already.
///
/// Cancel safety: as [`bridge`]; what `input` had read ahead and `output` had not written is lost.
pub async fn resume<R: ReadBytes, W: WriteBytes>(
    input: Input<R>,
    output: Output<W>,
    connection: Connection,
) -> io::Result<()> {
    run(input, output, connection, None).await
}

async fn run<R: ReadBytes, W: WriteBytes>(
    mut input: Input<R>,
    mut output: Output<W>,
    connection: Connection,
    fallback: Option<Fallback>,
) -> io::Result<()> {
    let opened = opening::open(&mut input, &mut output, connection, fallback).await?;
    let Some(mut connection) = opened else {
        return Ok(());
    };
    let served = serve(&mut input, &mut output, &mut connection).await;
    connection.link.close().await;
    served
}

/// Passes frames both ways, in two halves, so that a slow side never stops the other.
async fn serve<R: ReadBytes, W: WriteBytes>(
    input: &mut Input<R>,
    output: &mut Output<W>,
    connection: &mut Connection,
) -> io::Result<()> {
    let link = Arc::clone(&connection.link);
    let watch = connection.watch.clone();
    let (failures, mut failed) = mpsc::channel(FAILURES);
    let upwards = async {
        while let Some(incoming) = input.next().await? {
            let frame = match incoming {
                Incoming::Message(frame) => frame,
                Incoming::Refused(refusal) => {
                    let _gone = failures.send(Pushed::Refusal(refusal)).await;
                    continue;
                }
            };
            let id = frame.envelope().ok().and_then(|envelope| envelope.id());
            if let (Err(error), Some(id)) = (link.send(frame).await, id) {
                // The other half ends only after this one.
                let failed = Pushed::Event(Event::Failed { id, error });
                let _gone = failures.send(failed).await;
            }
        }
        io::Result::Ok(())
    };
    let downwards = async {
        loop {
            // Both are queues: whichever side is not taken now keeps what it has.
            let event = tokio::select! {
                Some(pushed) = failed.recv() => match pushed {
                    Pushed::Event(event) => event,
                    Pushed::Refusal(refusal) => {
                        output.refuse(refusal);
                        output.flush().await?;
                        continue;
                    }
                },
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
    // The client's end ends both: what the server still sends has no reader. What the other half
    // was about to write is dropped with it.
    tokio::select! {
        ended = upwards => ended,
        ended = downwards => ended,
    }
}

/// Reports that the server is gone, if it did not close cleanly.
fn report_closed(watch: &ServerObserver, event: &Event) {
    if let Event::Closed(Some(error)) = event {
        let code = error.code();
        watch.emit(ServerEvent::NotConnected { code });
    }
}

const FAILURES: usize = 64;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
