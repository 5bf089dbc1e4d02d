//! The first request of a client: the server answers it, or an adapter to the other era is put in
//! front of the server.
//!
//! ```text
//!  first request
//!    ├─ modern, not `server/discover` ──► ask the server `server/discover` first
//!    │        ├─ it is modern ──────────► send the request
//!    │        ├─ it is not ─────────────► translate, send the request
//!    │        └─ it is neither ─────────► send it; what only asks is waited for
//!    └─ `initialize` or `server/discover` ──► send it, wait for the answer
//!             ├─ an answer of its own era ──► done
//!             └─ an answer of the other era, or silence ──► translate, send it again
//! ```
//!
//! Used by the bridge and by the gateway. What an answer decides is decided in `era_negotiation`,
//! which sessions of our own (`session`) drive as well.

use std::io;
use std::pin::pin;

use keyway_auth::ServerEvent;
use keyway_transport::{Connection, Event, Frame, Raw, RequestId, TransportError};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::era_negotiation::{Answer, EraNegotiation, Question, Step};
use crate::eras;
use crate::timeouts::DISCOVERY_TIMEOUT;
use crate::version::ClientEra;

/// The first request of a client that shows its era.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FirstRequest {
    /// The message.
    pub frame: Frame,
    /// Its id.
    pub id: RequestId,
    /// The era of the client.
    pub era: ClientEra,
}

impl FirstRequest {
    /// Takes a request whose id and era were read before.
    #[must_use]
    pub const fn new(frame: Frame, id: RequestId, era: ClientEra) -> Self {
        Self { frame, id, era }
    }

    /// Reads a message; `None` if it is not a request, or could be of either era.
    #[must_use]
    pub fn read(frame: &Frame) -> Option<Self> {
        let envelope = frame.envelope().ok()?;
        let id = envelope.id().filter(|_| envelope.is_request())?;
        let era = ClientEra::of(&envelope)?;
        let frame = frame.clone();
        Some(Self { frame, id, era })
    }

    pub(crate) fn may_be_repeated(&self) -> bool {
        let envelope = self.frame.envelope().ok();
        let method = envelope.and_then(|envelope| envelope.method);
        method.is_some_and(|method| may_be_repeated(&method))
    }

    /// The question about the era that the client's own request is.
    const fn question(&self) -> Question {
        match self.era {
            ClientEra::Modern => Question::Discover,
            ClientEra::Legacy => Question::Initialize,
        }
    }

    fn is_discovery(&self) -> bool {
        let envelope = self.frame.envelope();
        envelope.is_ok_and(|envelope| envelope.method.as_deref() == Some("server/discover"))
    }
}

/// Says whether a first request that failed may be sent once more, to what stands in for the server:
/// only what asks. A call may have been carried out before its answer was lost.
#[must_use]
pub fn may_be_repeated(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
    )
}

/// Takes what the server sends before it has answered the first request.
pub trait Aside {
    /// Passes an event on.
    ///
    /// Cancel safety: dropped when the negotiation ends before it is ready: after the time for
    /// `server/discover`, by an interruption, or with the negotiation itself. The event may be lost
    /// then, and must not be passed on in part.
    fn pass(&mut self, event: Event) -> impl Future<Output = io::Result<()>> + Send;
}

/// A connection to continue with.
#[derive(Debug)]
#[non_exhaustive]
pub struct Negotiated {
    /// The connection, with an adapter if the server speaks the other era.
    pub connection: Connection,
    /// What became of the first request.
    pub answer: FirstAnswer,
}

/// What became of a first request.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "bridge and gateway handle every case"
)]
pub enum FirstAnswer {
    /// It was answered.
    Given(Event),
    /// It was sent; the answer comes on the connection.
    Pending,
    /// The server kept silent about `server/discover` and knows no other era. It may still answer.
    Silent,
}

/// How a negotiation ended.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "bridge and gateway handle every case"
)]
pub enum Outcome<T> {
    /// With a connection.
    Done(Negotiated),
    /// The client did not wait for the answer to `server/discover`.
    Interrupted(Connection, T),
}

/// Sends the first request of a client, and finds out how to continue.
///
/// `interrupt` is polled only while a server is silent about `server/discover`: a client may send
/// `initialize` instead, or go away. Dropping the future loses what the server has answered.
///
/// # Errors
///
/// Returns what `aside` or `interrupt` failed with.
///
/// Cancel safety: dropping the future drops the connection, and with it what the server has
/// answered; the first request may have been carried out.
pub async fn negotiate<T>(
    mut connection: Connection,
    first: FirstRequest,
    aside: &mut impl Aside,
    interrupt: impl Future<Output = io::Result<T>>,
) -> io::Result<Outcome<T>> {
    if connection.watch.is_on()
        && let Some(client) = client_name(&first.frame)
    {
        connection.watch = connection.watch.for_client(&client);
    }
    let mut negotiation = EraNegotiation::of_client(first.era);
    if first.era == ClientEra::Modern && !first.is_discovery() {
        // A legacy server may act on it as if it were a request of its own era, so that the
        // answer would say nothing, and asking twice could do harm.
        let (connection, answer) = eras::discover(connection, &first.frame).await;
        let step = match answer {
            Some(answer) => negotiation.answered(Question::Discover, answer),
            None => negotiation.silent(),
        };
        let found = match step {
            Step::Ask(_) => eras::translate(connection, first.era, &first.frame).await,
            _ => Ok(connection),
        };
        return Ok(Outcome::Done(match found {
            Ok(connection) => send(connected(connection), first).await,
            Err(neither) => send_to_unknown(neither, first, aside).await?,
        }));
    }
    let waited = {
        let mut answer = pin!(first_answer(&mut connection, aside, &first));
        if first.is_discovery() {
            // The answer goes first: it decides even if the client has moved on at the same time.
            tokio::select! {
                biased;
                answer = &mut answer => Waited::Answered(answer?),
                // A legacy server may keep silent about a question that it does not know.
                () = tokio::time::sleep(DISCOVERY_TIMEOUT) => Waited::Silence,
                interrupted = interrupt => Waited::Interrupted(interrupted?),
            }
        } else {
            Waited::Answered(answer.await?)
        }
    };
    let (step, answer) = match waited {
        Waited::Answered(answer) => {
            let read = Answer::to_client(&answer);
            (negotiation.answered(first.question(), read), Some(answer))
        }
        Waited::Silence => (negotiation.silent(), None),
        Waited::Interrupted(other) => return Ok(Outcome::Interrupted(connection, other)),
    };
    // The session of the other era starts on the same connection.
    let found = match step {
        Step::Ask(_) => eras::translate(connection, first.era, &first.frame).await,
        _ => Err(connection),
    };
    let negotiated = match (found, answer) {
        (Ok(translated), _) => send(connected(translated), first).await,
        (Err(connection), Some(answer)) => given(connection, answer),
        (Err(connection), None) => Negotiated {
            connection,
            answer: FirstAnswer::Silent,
        },
    };
    Ok(Outcome::Done(negotiated))
}

/// What came of waiting for the answer to a first request.
enum Waited<T> {
    Answered(Event),
    Silence,
    Interrupted(T),
}

fn given(connection: Connection, answer: Event) -> Negotiated {
    connection.tell(&answer);
    Negotiated {
        connection,
        answer: FirstAnswer::Given(answer),
    }
}

fn connected(connection: Connection) -> Connection {
    connection.watch.emit(ServerEvent::Connected);
    connection
}

/// Sends the request; the answer comes on the connection.
async fn send(connection: Connection, first: FirstRequest) -> Negotiated {
    let FirstRequest { frame, id, .. } = first;
    let answer = match connection.link.send(frame).await {
        Ok(()) => FirstAnswer::Pending,
        Err(error) => FirstAnswer::Given(Event::Failed { id, error }),
    };
    Negotiated { connection, answer }
}

/// Sends the request to a server that speaks neither era: it may be down. What only asks is waited
/// for, so that the caller learns of it and can put something in the server's place.
async fn send_to_unknown(
    mut connection: Connection,
    first: FirstRequest,
    aside: &mut impl Aside,
) -> io::Result<Negotiated> {
    if !first.may_be_repeated() {
        return Ok(send(connection, first).await);
    }
    let answer = first_answer(&mut connection, aside, &first);
    Ok(match timeout(DISCOVERY_TIMEOUT, answer).await {
        Ok(answer) => given(connection, answer?),
        Err(_) => Negotiated {
            connection,
            answer: FirstAnswer::Pending,
        },
    })
}

/// Sends the first request and waits for its answer, passing on what comes before it.
async fn first_answer(
    connection: &mut Connection,
    aside: &mut impl Aside,
    first: &FirstRequest,
) -> io::Result<Event> {
    let id = &first.id;
    let failed = |error| Event::Failed {
        id: id.clone(),
        error,
    };
    if let Err(error) = connection.link.send(first.frame.clone()).await {
        return Ok(failed(error));
    }
    loop {
        let event = match connection.events.recv().await {
            Some(Event::Closed(reason)) => {
                return Ok(failed(reason.unwrap_or(TransportError::Closed)));
            }
            Some(event) => event,
            None => return Ok(failed(TransportError::Closed)),
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

/// Returns how the client introduces itself: `name/version`, or the name alone.
fn client_name(first: &Frame) -> Option<String> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "clientInfo")]
        info: Option<&'a RawValue>,
        #[serde(borrow, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
        info: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Info {
        name: String,
        version: Option<String>,
    }
    let params = first.envelope().ok()?.params.map(Raw::get)?;
    let params: Params<'_> = serde_json::from_str(params).ok()?;
    let meta = params.meta.map(RawValue::get);
    let meta = meta.and_then(|meta| serde_json::from_str::<Meta<'_>>(meta).ok());
    let info = params.info.or_else(|| meta.and_then(|meta| meta.info))?;
    let Info { name, version } = serde_json::from_str(info.get()).ok()?;
    let text = version.map_or_else(|| name.clone(), |version| format!("{name}/{version}"));
    Some(text.chars().take(MAX_CLIENT_NAME).collect())
}

/// How many characters of a client's name and version are kept.
const MAX_CLIENT_NAME: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_named_by_initialize_and_by_the_metadata_of_a_modern_request() {
        for (frame, expected) in [
            (
                r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"c","version":"1.2"}}}"#,
                Some("c/1.2"),
            ),
            (
                r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"c"}}}"#,
                Some("c"),
            ),
            (
                r#"{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"m","version":"3"}}}}"#,
                Some("m/3"),
            ),
            (r#"{"id":1,"method":"initialize","params":{}}"#, None),
            (r#"{"id":1,"method":"initialize"}"#, None),
        ] {
            let frame = Frame::new(frame).unwrap();
            assert_eq!(client_name(&frame).as_deref(), expected, "{frame:?}");
        }
    }
}
