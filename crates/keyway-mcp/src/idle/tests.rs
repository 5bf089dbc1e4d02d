//! On a clock that stands still unless everything waits for it.

use tokio::sync::mpsc;
use tokio::time::advance;

use super::*;
use crate::eras::testing::Server;
use crate::timeouts::CONNECT_TIMEOUT;

const IDLE: Duration = Duration::from_secs(1800);
const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A client, and the programs that were started for it.
struct Kit {
    client: Connection,
    started: mpsc::UnboundedReceiver<Server>,
}

impl Kit {
    /// A client that has begun, and its program.
    async fn begun() -> (Self, Server) {
        let (mut server, connection) = Server::new();
        let (starts, started) = mpsc::unbounded_channel();
        let reopen = move || {
            let (server, connection) = Server::new();
            starts.send(server).unwrap();
            let opened: BoxFuture<'static, _> = Box::pin(std::future::ready(Ok(connection)));
            opened
        };
        let client = end_when_idle(connection, IDLE, CONNECT_TIMEOUT, Box::new(reopen));
        let mut kit = Self { client, started };
        kit.send(INITIALIZE).await;
        assert_eq!(server.next().await, INITIALIZE);
        server.says(&answer("2025-11-25")).await;
        kit.frame().await;
        kit.send(INITIALIZED).await;
        assert_eq!(server.next().await, INITIALIZED);
        (kit, server)
    }

    async fn send(&self, text: &str) {
        let frame = Frame::new(text.to_owned()).unwrap();
        self.client.link.send(frame).await.unwrap();
    }

    async fn frame(&mut self) -> String {
        match self.client.events.recv().await {
            Some(Event::Frame(frame)) => String::from_utf8(frame.bytes().to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    async fn is_answered(&mut self, server: &mut Server, number: u32) {
        let request = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/list"}}"#);
        self.send(&request).await;
        assert_eq!(server.next().await, request);
        let result = format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{}}}}"#);
        server.says(&result).await;
        assert_eq!(self.frame().await, result);
    }
}

fn answer(version: &str) -> String {
    let result = format!(r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

/// Lets a time pass, and everything that it makes due take place.
async fn pass(time: Duration) {
    advance(time).await;
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Says whether what a program says is still listened to.
fn is_running(server: &Server) -> bool {
    !server.events.is_closed()
}

#[tokio::test(start_paused = true)]
async fn program_that_is_asked_nothing_ends_and_the_next_request_starts_it_again() {
    let (mut kit, mut first) = Kit::begun().await;
    pass(IDLE - Duration::from_secs(1)).await;
    kit.is_answered(&mut first, 2).await;
    pass(IDLE - Duration::from_secs(1)).await;
    assert!(is_running(&first), "a request was less than that ago");
    pass(Duration::from_secs(2)).await;
    assert!(!is_running(&first));
    // What expects no answer starts nothing.
    kit.send(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#)
        .await;
    assert!(kit.started.try_recv().is_err());
    for round in 0..2 {
        let request = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
        let frame = Frame::new(request.to_owned()).unwrap();
        let link = Arc::clone(&kit.client.link);
        let begun = async {
            let mut server = kit.started.recv().await.unwrap();
            assert_eq!(server.next().await, INITIALIZE);
            server.says(&answer("2025-11-25")).await;
            assert_eq!(server.next().await, INITIALIZED);
            server
        };
        let (sent, mut server) = tokio::join!(link.send(frame), begun);
        sent.unwrap();
        assert_eq!(server.next().await, request);
        let result = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
        server.says(result).await;
        assert_eq!(kit.frame().await, result, "and not that of `initialize`");
        pass(IDLE).await;
        assert!(!is_running(&server), "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn program_that_works_or_would_forget_something_does_not_end() {
    for request in [
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"long"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"x:"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"info"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","task":{}}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"1"}}"#,
    ] {
        let (mut kit, mut server) = Kit::begun().await;
        kit.send(request).await;
        server.next().await;
        if !request.contains("long") {
            server.says(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).await;
            kit.frame().await;
        }
        pass(10 * IDLE).await;
        assert!(is_running(&server), "{request}");
    }
    for unasked in [
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#,
    ] {
        let (mut kit, server) = Kit::begun().await;
        server.says(unasked).await;
        kit.frame().await;
        pass(10 * IDLE).await;
        assert!(is_running(&server), "{unasked}");
    }
}

#[tokio::test(start_paused = true)]
async fn request_that_was_cancelled_does_not_keep_a_program() {
    let (kit, server) = Kit::begun().await;
    kit.send(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#)
        .await;
    kit.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#)
        .await;
    pass(2 * IDLE).await;
    assert!(!is_running(&server));
}

#[tokio::test(start_paused = true)]
async fn program_that_is_another_by_now_ends_the_connection() {
    let (mut kit, first) = Kit::begun().await;
    pass(IDLE).await;
    assert!(!is_running(&first));
    let link = Arc::clone(&kit.client.link);
    let request = Frame::new(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).unwrap();
    let begun = async {
        let mut server = kit.started.recv().await.unwrap();
        server.next().await;
        server.says(&answer("2025-06-18")).await;
    };
    let (sent, ()) = tokio::join!(link.send(request), begun);
    assert!(matches!(sent, Err(TransportError::Closed)), "{sent:?}");
    let told = kit.client.events.recv().await;
    assert!(matches!(told, Some(Event::Closed(_))), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn connection_whose_program_has_ended_closes() {
    let (mut kit, first) = Kit::begun().await;
    pass(IDLE).await;
    assert!(!is_running(&first));
    kit.client.link.close().await;
    let told = kit.client.events.recv().await;
    assert!(matches!(told, Some(Event::Closed(None))), "{told:?}");
    assert!(kit.started.try_recv().is_err());
}
