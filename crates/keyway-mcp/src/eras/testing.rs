//! A server in memory that says what a test tells it to.

use std::sync::Arc;
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_transport::{
    Connection, Event, EventSender, Frame, Link, RequestId, TransportError, queue,
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{ClientEra, translate};

/// Both ends of a connection.
pub(crate) struct Bench {
    pub(crate) client: Connection,
    pub(crate) server: Server,
}

/// The server's end.
pub(crate) struct Server {
    seen: mpsc::UnboundedReceiver<String>,
    pub(crate) events: EventSender,
}

#[derive(Debug)]
struct Recorder(mpsc::UnboundedSender<String>);

impl Link for Recorder {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        let text = String::from_utf8(frame.bytes().to_vec()).unwrap();
        let sent = match text.contains("UNSENDABLE") {
            true => Err(TransportError::Redirect { to: String::new() }),
            false => self.0.send(text).map_err(|_| TransportError::Closed),
        };
        Box::pin(std::future::ready(sent))
    }

    fn abandon(&self, id: &RequestId) {
        self.0.send(format!("abandon {}", id.as_json())).ok();
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Server {
    pub(crate) fn new() -> (Self, Connection) {
        let (sender, seen) = mpsc::unbounded_channel();
        let (events, receiver) = queue(16);
        let connection = Connection::new(Arc::new(Recorder(sender)), receiver);
        (Self { seen, events }, connection)
    }

    /// Returns what the server gets next.
    pub(crate) async fn next(&mut self) -> String {
        let next = tokio::time::timeout(PATIENCE, self.seen.recv()).await;
        next.expect("the server gets something").unwrap()
    }

    pub(crate) async fn next_json(&mut self) -> Value {
        let text = self.next().await;
        serde_json::from_str(&text).expect(&text)
    }

    pub(crate) async fn says(&self, text: &str) {
        let frame = Frame::new(text.to_owned()).unwrap();
        self.events.send(Event::Frame(frame)).await.unwrap();
    }

    pub(crate) async fn fails(&self, id: &str, error: TransportError) {
        let frame = Frame::new(format!("{{\"id\":{id}}}")).unwrap();
        let id = frame.envelope().unwrap().id().unwrap();
        self.events.send(Event::Failed { id, error }).await.unwrap();
    }
}

impl Bench {
    /// Puts an adapter in front of a server that answers the first request with `result`.
    pub(crate) async fn attached(era: ClientEra, first: &str, result: &str) -> Self {
        let (mut server, connection) = Server::new();
        let first = Frame::new(first.to_owned()).unwrap();
        let greeted = async {
            let id = server.next_json().await["id"].clone();
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            server.says(&answer).await;
        };
        let (client, ()) = tokio::join!(translate(connection, era, &first), greeted);
        let client = client.expect("the server understands the other era");
        Self { client, server }
    }

    pub(crate) async fn send(&self, text: &str) {
        let frame = Frame::new(text.to_owned()).unwrap();
        self.client.link.send(frame).await.unwrap();
    }

    pub(crate) async fn event(&mut self) -> Event {
        let next = tokio::time::timeout(PATIENCE, self.client.events.recv()).await;
        next.expect("the client gets something").unwrap()
    }

    /// Returns the message that the client gets next.
    pub(crate) async fn next(&mut self) -> String {
        match self.event().await {
            Event::Frame(frame) => String::from_utf8(frame.bytes().to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn next_json(&mut self) -> Value {
        let text = self.next().await;
        serde_json::from_str(&text).expect(&text)
    }
}

/// Longer than everything that is waited for on purpose; the clock of these tests is a fake.
const PATIENCE: Duration = Duration::from_secs(3600);
