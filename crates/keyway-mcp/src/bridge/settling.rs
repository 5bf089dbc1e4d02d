//! The first request of a client that is answered aside: by the server, or in the other era.

use std::io;

use keyway_transport::{Connection, Event, Frame, RequestId, TransportError};
use tokio::io::AsyncWrite;

use super::Output;
use super::opening::{DISCOVERY_WAIT, connected, first_answer, is_discovery, is_of_other_era};
use crate::eras::{self, ClientEra};

/// Takes what the server says beside the answer to the first request.
pub trait Aside {
    /// Passes an event on.
    fn pass(&mut self, event: Event) -> impl Future<Output = io::Result<()>> + Send;
}

impl<W: AsyncWrite + Unpin + Send> Aside for Output<W> {
    async fn pass(&mut self, event: Event) -> io::Result<()> {
        self.push(event);
        self.flush().await
    }
}

/// A connection on which the first request has been sent.
#[derive(Debug)]
pub struct Settled {
    /// The connection to go on with.
    pub connection: Connection,
    /// The answer; `None` if it is still to come.
    pub answer: Option<Event>,
}

/// Sends the first request; the connection that comes back is translated if the server speaks the
/// other era.
pub async fn settle(
    mut connection: Connection,
    (frame, id, era): (Frame, RequestId, ClientEra),
    aside: &mut impl Aside,
) -> io::Result<Settled> {
    if era == ClientEra::Modern && !is_discovery(&frame) {
        // A legacy server may act on it as if it were a request of its own era, so that the
        // answer would say nothing, and asking twice could do harm.
        let connection = match eras::answers_discovery(connection, &frame).await {
            Ok(modern) => connected(modern),
            Err(other) => eras::translate(other, era, &frame)
                .await
                .map_or_else(|neither| neither, connected),
        };
        return Ok(sent(connection, frame, id).await);
    }
    let answer = first_answer(&mut connection, aside, frame.clone(), &id);
    let answer = if is_discovery(&frame) {
        // An old server may keep silent about a question that it does not know.
        tokio::time::timeout(DISCOVERY_WAIT, answer).await
    } else {
        Ok(answer.await)
    };
    let answer = answer.unwrap_or_else(|_| Ok(silence(&id)))?;
    if !is_of_other_era(&answer) {
        connection.tell(&answer);
        let answer = Some(answer);
        return Ok(Settled { connection, answer });
    }
    // The session of the other era begins on the same connection.
    match eras::translate(connection, era, &frame).await {
        Ok(translated) => Ok(sent(connected(translated), frame, id).await),
        Err(connection) => {
            connection.tell(&answer);
            let answer = Some(answer);
            Ok(Settled { connection, answer })
        }
    }
}

fn silence(id: &RequestId) -> Event {
    let seconds = DISCOVERY_WAIT.as_secs();
    Event::Failed {
        id: id.clone(),
        error: TransportError::Timeout { seconds },
    }
}

/// Sends a request; whoever reads the connection gets the answer.
async fn sent(connection: Connection, frame: Frame, id: RequestId) -> Settled {
    let sent = connection.link.send(frame).await;
    let answer = sent.err().map(|error| Event::Failed { id, error });
    Settled { connection, answer }
}
