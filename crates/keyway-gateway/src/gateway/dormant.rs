//! Sessions of programs that their clients have not used yet: no program runs for them.
//!
//! A client that only begins a session, as many do at their start for every server that they know,
//! costs a process if its server is a program. Once a program has answered the same `initialize` of
//! the same client, that answer serves the next session; the program starts with the first request
//! that needs it, gets the client's own `initialize`, and must agree on the same version.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_auth::BoxFuture;
use keyway_transport::{
    Connection, Envelope, Event, EventSender, Frame, Link, Raw, RequestId, TransportError, queue,
};

use keyway_mcp::jsonrpc;

/// What a program answered to `initialize`, by client and parameters, the newest last.
///
/// The lock is held for one look or one change, never across an await.
#[derive(Debug, Default)]
pub(super) struct InitializeAnswers(Mutex<VecDeque<InitializeAnswer>>);

#[derive(Debug)]
struct InitializeAnswer {
    /// A policy may show one client less than another.
    client: Option<Box<str>>,
    params: Box<str>,
    result: Box<str>,
}

impl InitializeAnswers {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Keeps an answer, unless it is an error or long.
    pub(super) fn remember(&self, client: Option<&str>, initialize: &Frame, answer: &Frame) {
        let Ok(answer) = answer.envelope() else {
            return;
        };
        let (Some(params), Some(result)) = (params(initialize), answer.result) else {
            return;
        };
        if params.len().max(result.get().len()) > MAX_BYTES {
            return;
        }
        let mut known = self.lock();
        known.retain(|it| it.client.as_deref() != client || *it.params != *params);
        if known.len() >= MAX_ANSWERS {
            known.pop_front();
        }
        known.push_back(InitializeAnswer {
            client: client.map(Into::into),
            params,
            result: result.get().into(),
        });
    }

    /// Returns a connection that answers as the program did, if it has answered the same before.
    pub(super) fn connect(&self, client: Option<&str>, initialize: &Frame) -> Option<Connection> {
        let params = params(initialize)?;
        let known = self.lock();
        let mut fitting = known.iter().filter(|it| it.client.as_deref() == client);
        let result = fitting.find(|it| it.params == params)?.result.clone();
        drop(known);
        let (events, receiver) = queue(QUEUE);
        let link = DormantLink { events, result };
        Some(Connection::new(Arc::new(link), receiver))
    }

    /// Forgets all answers: the program does not start any more, or is another one.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<InitializeAnswer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says whether a message of a client needs the program itself.
pub(super) fn needs_program(envelope: &Envelope<'_>) -> bool {
    envelope.is_request() && envelope.method.as_deref() != Some("ping")
}

/// Stands in for a program that does not run.
#[derive(Debug)]
struct DormantLink {
    events: EventSender,
    result: Box<str>,
}

impl Link for DormantLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let envelope = frame.envelope()?;
            let (Some(method), Some(id)) = (envelope.method.as_deref(), envelope.id()) else {
                // The program is told of `notifications/initialized` when it starts.
                return Ok(());
            };
            let result = match method {
                "initialize" => &*self.result,
                "ping" => "{}",
                _ => return Err(TransportError::Closed),
            };
            let answer = Frame::new(jsonrpc::result(&id, result))?;
            self.events.deliver(Event::Frame(answer)).await;
            Ok(())
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.events.deliver(Event::Closed(None)).await;
        })
    }
}

fn params(initialize: &Frame) -> Option<Box<str>> {
    let envelope = initialize.envelope().ok()?;
    envelope.params.map(Raw::get).map(Into::into)
}

/// Longer ones are not kept: clients and servers write a few hundred bytes.
const MAX_BYTES: usize = 32 * 1024;
/// How many are kept for one server: clients in their versions.
const MAX_ANSWERS: usize = 16;
const QUEUE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn initialize(id: u32, name: &str) -> Frame {
        let params = format!(r#"{{"clientInfo":{{"name":"{name}"}}}}"#);
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{params}}}"#);
        Frame::new(text).unwrap()
    }

    #[tokio::test]
    async fn a_program_is_known_only_by_what_it_answered_to_the_same_client() {
        let answers = InitializeAnswers::new();
        let answer = Frame::new(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#).unwrap();
        let failure = Frame::new(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#).unwrap();
        answers.remember(Some("n"), &initialize(1, "x"), &answer);
        answers.remember(Some("n"), &initialize(1, "y"), &failure);
        for (client, name) in [(None, "x"), (Some("m"), "x"), (Some("n"), "y")] {
            let found = answers.connect(client, &initialize(2, name));
            assert!(found.is_none(), "{client:?} {name}");
        }
        let mut known = answers.connect(Some("n"), &initialize(2, "x")).unwrap();
        known.link.send(initialize(2, "x")).await.unwrap();
        let Some(Event::Frame(frame)) = known.events.recv().await else {
            panic!("no answer");
        };
        let text = str::from_utf8(frame.bytes()).unwrap();
        assert_eq!(text, r#"{"jsonrpc":"2.0","id":2,"result":{"a":1}}"#);
        answers.forget();
        assert!(answers.connect(Some("n"), &initialize(2, "x")).is_none());
    }

    #[test]
    fn no_more_answers_are_kept_than_clients_need() {
        let answers = InitializeAnswers::new();
        let answer = Frame::new(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap();
        for name in 0..100 {
            answers.remember(None, &initialize(1, &name.to_string()), &answer);
            answers.remember(None, &initialize(1, "99"), &answer);
        }
        assert_eq!(answers.lock().len(), MAX_ANSWERS);
        let long = "x".repeat(MAX_BYTES);
        answers.remember(None, &initialize(1, &long), &answer);
        assert!(answers.lock().iter().all(|it| it.params.len() < MAX_BYTES));
    }
}
