//! WebSocket against servers that speak it, well or badly.

mod ends;
mod opening;

use std::future::Future;
use std::sync::Mutex;

use futures_util::SinkExt;
use http::HeaderMap;
use keyway_auth::Fixed;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use super::*;
use crate::connection::Event;
use crate::testing::{canary_header, client, next, next_error, next_text, send};

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

type ServerSocket = WebSocketStream<Box<dyn Io>>;

/// A server on loopback, which remembers the headers of each handshake.
struct WsServer {
    port: u16,
    seen: Arc<Mutex<Vec<HeaderMap>>>,
}

impl WsServer {
    /// Starts a server that accepts every connection as `mcp` and does what `script` says.
    async fn start<F, R>(script: F) -> Self
    where
        F: Fn(ServerSocket) -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send,
    {
        let accept = |_: &HeaderMap, mut response: Response| {
            let mcp = http::HeaderValue::from_static("mcp");
            response.headers_mut().insert("sec-websocket-protocol", mcp);
            Ok(response)
        };
        Self::start_with(None, accept, script).await
    }

    async fn start_with<A, F, R>(tls: Option<TlsAcceptor>, answer: A, script: F) -> Self
    where
        A: Fn(&HeaderMap, Response) -> Result<Response, Box<ErrorResponse>> + Send + Sync + 'static,
        F: Fn(ServerSocket) -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let journal = Arc::clone(&seen);
        let shared = Arc::new((answer, script, tls));
        drop(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, journal) = (Arc::clone(&shared), Arc::clone(&journal));
                drop(tokio::spawn(async move {
                    let (answer, script, tls) = &*shared;
                    let stream: Box<dyn Io> = match tls {
                        None => Box::new(stream),
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return,
                        },
                    };
                    if let Ok(socket) = accept(stream, answer, &journal).await {
                        script(socket).await;
                    }
                }));
            }
        }));
        Self { port, seen }
    }

    fn url(&self) -> Secret<String> {
        Secret::new(format!("ws://127.0.0.1:{}/mcp?q=CANARY-query", self.port))
    }

    fn seen(&self) -> Vec<HeaderMap> {
        self.seen.lock().unwrap().clone()
    }

    async fn connect(&self) -> Connection {
        self.connect_pinging(PING_INTERVAL).await
    }

    async fn connect_pinging(&self, ping_time: Duration) -> Connection {
        let authorizer = Arc::new(Fixed::new(canary_header()));
        let connected = connect(&self.url(), authorizer, &client(), ping_time).await;
        connected.unwrap()
    }
}

#[expect(
    clippy::result_large_err,
    reason = "the server library wants its answer unboxed"
)]
async fn accept(
    stream: Box<dyn Io>,
    answer: &(impl Fn(&HeaderMap, Response) -> Result<Response, Box<ErrorResponse>> + Sync),
    journal: &Mutex<Vec<HeaderMap>>,
) -> Result<ServerSocket, tokio_tungstenite::tungstenite::Error> {
    let callback = |request: &Request, response: Response| {
        journal.lock().unwrap().push(request.headers().clone());
        answer(request.headers(), response).map_err(|refused| *refused)
    };
    accept_hdr_async(stream, callback).await
}

/// Answers every request with its own parameters.
async fn echo(mut socket: ServerSocket) {
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else {
            continue;
        };
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        if value["id"].is_null() {
            continue;
        }
        let (id, params) = (&value["id"], &value["params"]);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{params}}}"#);
        if socket.send(Message::text(answer)).await.is_err() {
            return;
        }
    }
}

/// Waits for the end and returns its error.
async fn closed(connection: &mut Connection) -> Option<TransportError> {
    match next(connection).await {
        Event::Closed(error) => {
            assert!(!format!("{error:?}").contains("CANARY"));
            error
        }
        other => panic!("{other:?}"),
    }
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":1}}"#;

#[tokio::test]
async fn messages_go_both_ways_and_the_handshake_carries_headers_and_subprotocol() {
    let server = WsServer::start(echo).await;
    let mut connection = server.connect().await;
    send(&connection, CALL).await;
    assert!(next_text(&mut connection).await.contains(r#"{"a":1}"#));
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0]["authorization"], "Bearer CANARY-header");
    assert_eq!(seen[0]["sec-websocket-protocol"], "mcp");
    assert!(!seen[0].contains_key("sec-websocket-extensions"));
    assert!(!format!("{connection:?}").contains("CANARY"));
    connection.link.close().await;
    assert!(closed(&mut connection).await.is_none());
}

#[tokio::test]
async fn thousand_concurrent_calls_get_their_own_responses() {
    let server = WsServer::start(echo).await;
    let mut connection = server.connect().await;
    for id in 0..1000 {
        let link = Arc::clone(&connection.link);
        drop(tokio::spawn(async move {
            let text = format!(r#"{{"id":{id},"method":"tools/call","params":{{"n":{id}}}}}"#);
            link.send(Frame::new(text).unwrap()).await.unwrap();
        }));
    }
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..1000 {
        let text = next_text(&mut connection).await;
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["id"], answer["result"]["n"]);
        ids.insert(answer["id"].as_u64().unwrap());
    }
    assert_eq!(ids.len(), 1000);
}

#[tokio::test]
async fn line_breaks_and_id_spellings_are_normalised_and_unrelated_responses_dropped() {
    let server = WsServer::start(|mut socket| async move {
        socket.next().await.unwrap().unwrap();
        for text in [
            r#"{"id":9,"result":{}}"#,
            "{\"id\":1.0,\n\"result\":{}}",
            r#"{"method":"notifications/x"}"#,
        ] {
            socket.send(Message::text(text)).await.unwrap();
        }
        std::future::pending::<()>().await;
    })
    .await;
    let mut connection = server.connect().await;
    send(&connection, CALL).await;
    assert_eq!(next_text(&mut connection).await, r#"{"id":1, "result":{}}"#);
    assert!(next_text(&mut connection).await.contains("notifications/x"));
}

#[tokio::test]
async fn pings_of_the_server_are_answered() {
    let server = WsServer::start(|mut socket| async move {
        socket.send(Message::Ping("p".into())).await.unwrap();
        let pong = socket.next().await.unwrap().unwrap();
        assert_eq!(pong, Message::Pong("p".into()));
        socket
            .send(Message::text(r#"{"method":"ponged"}"#))
            .await
            .unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let mut connection = server.connect().await;
    assert!(next_text(&mut connection).await.contains("ponged"));
}

#[tokio::test]
async fn large_messages_pass_and_a_slow_reader_slows_the_server() {
    let text = format!(
        r#"{{"id":1,"method":"x","params":"{}"}}"#,
        "x".repeat(8 << 20)
    );
    let server = WsServer::start(echo).await;
    let mut connection = server.connect().await;
    send(&connection, text).await;
    assert!(next_text(&mut connection).await.len() > 8 << 20);

    let sent = Arc::new(Mutex::new(0_usize));
    let count = Arc::clone(&sent);
    let server = WsServer::start(move |mut socket| {
        let count = Arc::clone(&count);
        async move {
            let text = format!(r#"{{"method":"{}"}}"#, "x".repeat(64 << 10));
            while socket.send(Message::text(text.clone())).await.is_ok() {
                *count.lock().unwrap() += 1;
            }
        }
    })
    .await;
    let connection = server.connect().await;
    let (mut before, mut looks) = (0, 0);
    // Some time after everything that is taken was sent, it is still the same.
    while looks < 5 {
        let now = *sent.lock().unwrap();
        assert!(now < EVENT_QUEUE + 1000, "{now}");
        let is_it = now == before && now >= EVENT_QUEUE;
        (before, looks) = (now, if is_it { looks + 1 } else { 0 });
        // Rest is the absence of events: nothing tells when it has come.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    drop(connection);
}
