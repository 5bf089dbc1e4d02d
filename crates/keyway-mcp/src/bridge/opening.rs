//! The beginning of a bridge: what a client sends up to its first request, and that request.

use std::io;

use keyway_transport::{Connection, Event, Frame, ReadBytes, WriteBytes};

use super::{Fallback, Incoming, Input, Output};
use crate::negotiation::{Aside, FirstAnswer, FirstRequest, Negotiated, Outcome, negotiate};
use crate::version::ClientEra;

/// Passes on what comes before the first request, and negotiates the version with that.
///
/// Returns the connection to continue with, or `None` if the client went away.
pub(super) async fn open<R: ReadBytes, W: WriteBytes>(
    input: &mut Input<R>,
    output: &mut Output<W>,
    mut connection: Connection,
    mut fallback: Option<Fallback>,
) -> io::Result<Option<Connection>> {
    let mut early = Vec::new();
    let mut next = message(input, output).await?;
    let connection = loop {
        let Some(frame) = next else {
            connection.link.close().await;
            return Ok(None);
        };
        let Some(first) = FirstRequest::read(&frame) else {
            // A notification, or nonsense that the server may answer as it likes.
            let _unsent = connection.link.send(frame).await;
            next = message(input, output).await?;
            continue;
        };
        let is_repeatable = first.may_be_repeated();
        let interrupt = initialize_or_end(input, &mut early);
        match negotiate(connection, first, output, interrupt).await? {
            Outcome::Interrupted(same, other) => {
                connection = same;
                next = other;
            }
            Outcome::Done(negotiated) => {
                let has_failed =
                    matches!(negotiated.answer, FirstAnswer::Given(Event::Failed { .. }));
                // A call that failed may have been carried out, and is not sent elsewhere.
                if has_failed
                    && is_repeatable
                    && let Some(fallback) = fallback.take()
                {
                    negotiated.connection.link.close().await;
                    connection = fallback();
                    next = Some(frame);
                    continue;
                }
                let Negotiated { connection, answer } = negotiated;
                // A silent server may be slow to start: its answer is still to come.
                if let FirstAnswer::Given(answer) = answer {
                    output.push(answer);
                    output.flush().await?;
                }
                break connection;
            }
        }
    };
    for incoming in early {
        match incoming {
            Incoming::Message(frame) => send(&connection, output, frame).await?,
            Incoming::Refused(refusal) => {
                output.refuse(refusal);
                output.flush().await?;
            }
        }
    }
    Ok(Some(connection))
}

/// Waits for a message, and answers lines that are not messages.
async fn message<R: ReadBytes, W: WriteBytes>(
    input: &mut Input<R>,
    output: &mut Output<W>,
) -> io::Result<Option<Frame>> {
    loop {
        match input.next().await? {
            Some(Incoming::Message(frame)) => return Ok(Some(frame)),
            Some(Incoming::Refused(refusal)) => {
                output.refuse(refusal);
                output.flush().await?;
            }
            None => return Ok(None),
        }
    }
}

/// Waits until the client sends `initialize` or goes away. What else it sends is kept in `early`;
/// when that is full the client is not read any further.
async fn initialize_or_end<R: ReadBytes>(
    input: &mut Input<R>,
    early: &mut Vec<Incoming>,
) -> io::Result<Option<Frame>> {
    while early.len() < MAX_EARLY {
        match input.next().await? {
            Some(Incoming::Message(frame)) if is_initialize(&frame) => return Ok(Some(frame)),
            Some(other) => early.push(other),
            None => return Ok(None),
        }
    }
    std::future::pending().await
}

fn is_initialize(frame: &Frame) -> bool {
    FirstRequest::read(frame).is_some_and(|first| first.era == ClientEra::Legacy)
}

/// Sends a frame; a failure is the answer.
async fn send<W: WriteBytes>(
    connection: &Connection,
    output: &mut Output<W>,
    frame: Frame,
) -> io::Result<()> {
    let id = frame.envelope().ok().and_then(|envelope| envelope.id());
    if let (Err(error), Some(id)) = (connection.link.send(frame).await, id) {
        output.push(Event::Failed { id, error });
        output.flush().await?;
    }
    Ok(())
}

impl<W: WriteBytes> Aside for Output<W> {
    async fn pass(&mut self, event: Event) -> io::Result<()> {
        self.push(event);
        self.flush().await
    }
}

/// How many messages of a client wait while the server is silent.
const MAX_EARLY: usize = 256;
