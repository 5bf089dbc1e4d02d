//! The first request of a client: the server answers it, or speaks another protocol era.

use std::io;
use std::pin::pin;
use std::time::Duration;

use keyway_auth::ServerEvent;
use keyway_transport::{Connection, Event, Frame, RequestId, TransportError};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

use super::settling::Aside;
use super::{Input, Output};
use crate::eras::{self, ClientEra};

/// Passes on what comes before and including the first request, and waits for its answer.
///
/// Returns the connection to go on with, translated if the server speaks the other era, or `None`
/// if the client went away.
pub(super) async fn open<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send>(
    input: &mut Input<R>,
    output: &mut Output<W>,
    mut connection: Connection,
) -> io::Result<Option<Connection>> {
    let mut early = Vec::new();
    let mut next = input.next().await?;
    let connection = loop {
        let Some(frame) = next else {
            connection.link.close().await;
            return Ok(None);
        };
        let Some((id, era)) = first_request(&frame) else {
            // A notification, or nonsense that the server may answer as it likes.
            let _unsent = connection.link.send(frame).await;
            next = input.next().await?;
            continue;
        };
        if era == ClientEra::Modern && !is_discovery(&frame) {
            // A legacy server may act on it as if it were a request of its own era, so that the
            // answer would say nothing, and asking twice could do harm.
            let connection = match eras::answers_discovery(connection, &frame).await {
                Ok(modern) => connected(modern),
                Err(other) => eras::translate(other, era, &frame)
                    .await
                    .map_or_else(|neither| neither, connected),
            };
            send(&connection, output, frame).await?;
            break connection;
        }
        let answer = if is_discovery(&frame) {
            let asked = first_answer(&mut connection, output, frame.clone(), &id);
            match discovery(input, asked, &mut early).await? {
                Waited::Answered(answer) => Some(answer),
                Waited::Silence => None,
                Waited::Interrupted(other) => {
                    next = other;
                    continue;
                }
            }
        } else {
            Some(first_answer(&mut connection, output, frame.clone(), &id).await?)
        };
        let answer = match answer {
            Some(answer) if !is_of_other_era(&answer) => {
                connection.tell(&answer);
                output.push(answer);
                output.flush().await?;
                break connection;
            }
            other => other,
        };
        // The session of the other era begins on the same connection.
        match eras::translate(connection, era, &frame).await {
            Ok(translated) => {
                let translated = connected(translated);
                send(&translated, output, frame).await?;
                break translated;
            }
            Err(neither) => {
                // A server that kept silent may be slow to start: its answer is still to come.
                if let Some(answer) = answer {
                    neither.tell(&answer);
                    output.push(answer);
                    output.flush().await?;
                }
                break neither;
            }
        }
    };
    for frame in early {
        send(&connection, output, frame).await?;
    }
    Ok(Some(connection))
}

/// Tells that the server has answered.
pub(super) fn connected(connection: Connection) -> Connection {
    connection.watch.emit(ServerEvent::Connected);
    connection
}

/// What came of waiting for an answer to `server/discover`.
enum Waited {
    Answered(Event),
    /// An old server may keep silent about a question that it does not know.
    Silence,
    /// The client does not wait any longer: it greets the old way, or is gone.
    Interrupted(Option<Frame>),
}

/// Waits for the answer, for some time, and as long as the client does.
///
/// What else the client says meanwhile is to be sent afterwards.
async fn discovery<R: AsyncRead + Unpin>(
    input: &mut Input<R>,
    asked: impl Future<Output = io::Result<Event>>,
    early: &mut Vec<Frame>,
) -> io::Result<Waited> {
    let mut asked = pin!(asked);
    let mut patience = pin!(tokio::time::sleep(DISCOVERY_WAIT));
    loop {
        tokio::select! {
            biased;
            answer = &mut asked => return Ok(Waited::Answered(answer?)),
            () = &mut patience => return Ok(Waited::Silence),
            said = input.next(), if early.len() < MAX_EARLY => match said? {
                Some(frame) if !is_greeting(&frame) => early.push(frame),
                other => return Ok(Waited::Interrupted(other)),
            },
        }
    }
}

fn is_greeting(frame: &Frame) -> bool {
    first_request(frame).is_some_and(|(_, era)| era == ClientEra::Legacy)
}

/// Returns the id and the era of a request that shows its era.
pub(crate) fn first_request(frame: &Frame) -> Option<(RequestId, ClientEra)> {
    let envelope = frame.envelope().ok()?;
    let id = envelope.id().filter(|_| envelope.is_request())?;
    Some((id, ClientEra::of(&envelope)?))
}

pub(super) fn is_discovery(frame: &Frame) -> bool {
    let envelope = frame.envelope();
    envelope.is_ok_and(|envelope| envelope.method.as_deref() == Some("server/discover"))
}

/// Sends a frame; whoever reads the connection gets the answer.
async fn send<W: AsyncWrite + Unpin>(
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

/// Sends the first request and waits for its answer, passing on what comes before it.
pub(super) async fn first_answer(
    connection: &mut Connection,
    aside: &mut impl Aside,
    frame: Frame,
    id: &RequestId,
) -> io::Result<Event> {
    if let Err(error) = connection.link.send(frame).await {
        return Ok(Event::Failed {
            id: id.clone(),
            error,
        });
    }
    loop {
        let event = match connection.events.recv().await {
            Some(Event::Closed(reason)) => {
                let error = reason.unwrap_or(TransportError::Closed);
                return Ok(Event::Failed {
                    id: id.clone(),
                    error,
                });
            }
            Some(event) => event,
            None => {
                return Ok(Event::Failed {
                    id: id.clone(),
                    error: TransportError::Closed,
                });
            }
        };
        let answers = match &event {
            Event::Failed { id: failed, .. } => failed == id,
            Event::Frame(frame) => frame
                .envelope()
                .is_ok_and(|e| e.method.is_none() && e.id().as_ref() == Some(id)),
            _ => false,
        };
        if answers {
            return Ok(event);
        }
        aside.pass(event).await?;
    }
}

/// Says whether an answer looks like that of a server which does not know this era.
pub(super) fn is_of_other_era(answer: &Event) -> bool {
    #[derive(Deserialize)]
    struct Code {
        code: i64,
    }
    match answer {
        Event::Failed {
            error: TransportError::Timeout { .. },
            ..
        } => true,
        Event::Failed {
            error: TransportError::Status { status, .. },
            ..
        } => {
            matches!(status, 400 | 404 | 405 | 406 | 415 | 422)
        }
        Event::Frame(frame) => {
            let Ok(envelope) = frame.envelope() else {
                return false;
            };
            let code = envelope
                .error
                .and_then(|e| serde_json::from_str::<Code>(e.get()).ok());
            code.is_some_and(|error| UNKNOWN_ERA_CODES.contains(&error.code))
        }
        _ => false,
    }
}

/// What servers answer to a request of another era: unknown method, missing parameters, and the
/// modern codes for headers, capabilities and versions. Legacy servers also use their own -32000.
const UNKNOWN_ERA_CODES: &[i64] = &[-32601, -32602, -32600, -32000, -32020, -32021, -32022];

/// How long a server may take to answer the modern question.
pub(super) const DISCOVERY_WAIT: Duration = Duration::from_secs(10);

/// How many frames of a client that does not wait are kept.
const MAX_EARLY: usize = 256;
