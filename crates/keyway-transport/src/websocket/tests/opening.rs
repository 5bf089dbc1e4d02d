//! How a WebSocket begins: refusals, redirects, certificates, proxies, forbidden addresses.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use keyway_auth::ports::HelperRunner;
use keyway_auth::{BoxFuture, Dynamic, HelperFault, Renewal};
use keyway_code::Code;
use keyway_secret::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::http_client::{HttpSettings, ProxySettings};
use crate::testing::{Authority, Renewing, Reply, Server};

/// A helper whose header counts its runs.
#[derive(Debug, Clone, Default)]
struct Runs(Arc<AtomicUsize>);

impl HelperRunner for Runs {
    fn run(&self, _: Duration) -> BoxFuture<'_, Result<Secret<Vec<u8>>, HelperFault>> {
        let run = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let text = format!(r#"{{"X-Run": "CANARY-{run}"}}"#);
        Box::pin(std::future::ready(Ok(Secret::new(text.into_bytes()))))
    }
}

#[derive(Debug)]
struct Wall;

impl Clock for Wall {
    fn monotonic(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> std::time::SystemTime {
        std::time::SystemTime::UNIX_EPOCH
    }
}

fn helper(runs: &Runs) -> Arc<dyn Authorizer> {
    let timeout = Duration::from_secs(10);
    Arc::new(Dynamic::new(
        runs.clone(),
        Wall,
        Renewal::Connection,
        timeout,
        Vec::new(),
    ))
}

/// Tries to connect and checks that the error shows nothing confidential.
async fn failed(url: &Secret<String>, client: &HttpClient) -> TransportError {
    let authorizer = Arc::new(Fixed::new(canary_header()));
    let error = connect_ws(url, authorizer, client).await.unwrap_err();
    let mut shown = format!("{error:?} {error}");
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        shown.push_str(&format!(" {cause:?} {cause}"));
        source = cause.source();
    }
    assert!(!shown.contains("CANARY"), "{shown}");
    error
}

fn ws(server: &Server) -> Secret<String> {
    Secret::new(server.url().expose().replace("http://", "ws://"))
}

#[tokio::test]
async fn helper_runs_once_more_after_a_refusal_and_the_retry_is_accepted() {
    let answer = |headers: &HeaderMap, response: Response| match headers["x-run"].to_str() {
        Ok("CANARY-1") => {
            let refused = http::Response::builder().status(401).body(None);
            Err(Box::new(refused.unwrap()))
        }
        _ => Ok(response),
    };
    let server = WsServer::start_with(None, answer, echo).await;
    let runs = Runs::default();
    let connected = connect_ws(&server.url(), helper(&runs), &client()).await;
    let mut connection = connected.unwrap();
    send(&connection, CALL).await;
    assert!(next_text(&mut connection).await.contains("result"));
    assert_eq!(runs.0.load(Ordering::Relaxed), 2);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn second_refusal_is_final_and_carries_the_challenge() {
    let challenge =
        "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"read write\"\r\n";
    let server = Server::start(move |_| Reply::status(403, challenge)).await;
    let runs = Runs::default();
    let error = connect_ws(&ws(&server), helper(&runs), &client()).await;
    match error.unwrap_err() {
        TransportError::Refused {
            status,
            error,
            scope,
            ..
        } => {
            assert_eq!(status, 403);
            assert_eq!(error.as_deref(), Some("insufficient_scope"));
            assert_eq!(scope.as_deref(), Some("read write"));
        }
        other => panic!("{other}"),
    }
    assert_eq!(runs.0.load(Ordering::Relaxed), 2);
    assert_eq!(server.journal().len(), 2);
}

#[tokio::test]
async fn handshake_is_retried_with_each_new_credential() {
    let answer = |headers: &HeaderMap, response: Response| match headers["authorization"].to_str() {
        Ok("CANARY-4") => Ok(response),
        _ => {
            let refused = http::Response::builder().status(403).body(None);
            Err(Box::new(refused.unwrap()))
        }
    };
    let server = WsServer::start_with(None, answer, echo).await;
    let authorizer = Arc::new(Renewing::default());
    let connected = connect_ws(&server.url(), Arc::clone(&authorizer) as _, &client()).await;
    assert!(connected.is_ok());
    assert_eq!(*authorizer.heard.lock().unwrap(), [1, 2, 3, 4]);
}

#[tokio::test]
async fn other_statuses_than_101_are_errors_and_no_redirect_is_followed() {
    let table = [
        (200, "", "http-error"),
        (404, "", "http-error"),
        (503, "", "http-error"),
        (307, "Location: /elsewhere\r\n", "http-error"),
        (
            302,
            "Location: http://other.example/\r\n",
            "cross-origin-redirect",
        ),
    ];
    for (status, headers, code) in table {
        let server = Server::start(move |_| Reply::status(status, headers)).await;
        let error = failed(&ws(&server), &client()).await;
        assert_eq!(error.code().as_str(), code, "{status}: {error}");
        let tries = if status == 503 { 3 } else { 1 };
        assert_eq!(server.journal().len(), tries, "{status}");
    }
}

#[tokio::test]
async fn upgrade_to_something_else_is_refused() {
    for headers in [
        "Connection: upgrade\r\nUpgrade: websocket\r\n",
        "Connection: upgrade\r\nUpgrade: h2c\r\n",
    ] {
        let answer = format!("HTTP/1.1 101 x\r\n{headers}\r\n");
        let server = Server::start(move |_| Reply::raw(answer.clone()).hang()).await;
        let error = failed(&ws(&server), &client()).await;
        assert_eq!(error.code(), Code::ProtocolError, "{headers}");
    }
}

#[tokio::test]
async fn server_may_omit_the_subprotocol_but_not_choose_another() {
    let silent = WsServer::start_with(None, |_, response| Ok(response), echo).await;
    let mut connection = silent.connect().await;
    send(&connection, CALL).await;
    assert!(next_text(&mut connection).await.contains("result"));
    let other = |_: &HeaderMap, mut response: Response| {
        let value = http::HeaderValue::from_static("graphql-ws");
        response
            .headers_mut()
            .insert("sec-websocket-protocol", value);
        Ok(response)
    };
    let server = WsServer::start_with(None, other, echo).await;
    let error = failed(&server.url(), &client()).await;
    assert!(matches!(error, TransportError::Protocol { .. }), "{error}");
}

#[tokio::test]
async fn failing_connection_is_tried_three_times() {
    let server = Server::start(|_| Reply::raw("").close()).await;
    let error = failed(&ws(&server), &client()).await;
    assert_eq!(error.code(), Code::Unreachable);
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn addresses_that_may_not_be_reached_are_refused_before_anything_is_sent() {
    for (url, code) in [
        ("ws://example.com/CANARY", "config-error"),
        ("ws://10.0.0.1/CANARY", "config-error"),
        ("ws://localhost.example/CANARY", "config-error"),
        ("https://example.com/CANARY", "config-error"),
        ("CANARY", "config-error"),
        ("wss://169.254.169.254/CANARY", "forbidden-address"),
        ("wss://metadata.google.internal/CANARY", "forbidden-address"),
    ] {
        let error = failed(&Secret::new(url.to_owned()), &client()).await;
        assert_eq!(error.code().as_str(), code, "{url}: {error}");
    }
}

#[tokio::test]
async fn wss_needs_a_trusted_ca() {
    let authority = Authority::new();
    let accept = |_: &HeaderMap, response| Ok(response);
    let server = WsServer::start_with(Some(authority.acceptor(false)), accept, echo).await;
    let url = Secret::new(format!("wss://localhost:{}/mcp?q=CANARY", server.port));
    let trusting = |authority: &Authority| HttpSettings {
        root_certificates: authority.root_certificates(),
        ..HttpSettings::default()
    };
    let client = HttpClient::new(trusting(&authority)).unwrap();
    let authorizer = Arc::new(Fixed::new(canary_header()));
    let mut connection = connect_ws(&url, authorizer, &client).await.unwrap();
    send(&connection, CALL).await;
    assert!(next_text(&mut connection).await.contains("result"));
    connection.link.close().await;
    assert!(closed(&mut connection).await.is_none());
    let other = Authority::new();
    let stranger = HttpClient::new(trusting(&other)).unwrap();
    let code = failed(&url, &stranger).await.code();
    assert_eq!(code, Code::CertificateUntrusted);
    assert_eq!(server.seen().len(), 1);
}

/// Starts a proxy that leads everything to `port`, and returns its own port and what it was asked.
async fn proxy(port: u16) -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(String::new()));
    let heads = Arc::clone(&heard);
    drop(tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        *heads.lock().unwrap() = String::from_utf8(head).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let mut target = tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .unwrap();
        drop(tokio::io::copy_bidirectional(&mut stream, &mut target).await);
    }));
    (own, heard)
}

#[tokio::test]
async fn wss_goes_through_the_proxy_as_https_does_and_shows_it_nothing() {
    let authority = Authority::new();
    let acceptor = authority.acceptor_as("ws.example", false);
    let server = WsServer::start_with(Some(acceptor), |_, response| Ok(response), echo).await;
    let (port, heard) = proxy(server.port).await;
    let settings = HttpSettings {
        root_certificates: authority.root_certificates(),
        proxies: ProxySettings {
            https: Some(Secret::new(format!("http://127.0.0.1:{port}"))),
            ..ProxySettings::default()
        },
        ..HttpSettings::default()
    };
    let client = HttpClient::new(settings).unwrap();
    let url = Secret::new("wss://ws.example/mcp?q=CANARY".to_owned());
    let authorizer = Arc::new(Fixed::new(canary_header()));
    let mut connection = connect_ws(&url, authorizer, &client).await.unwrap();
    send(&connection, CALL).await;
    assert!(next_text(&mut connection).await.contains("result"));
    let heard = heard.lock().unwrap();
    assert!(heard.starts_with("CONNECT ws.example:443 "), "{heard}");
    assert!(!heard.contains("CANARY"), "{heard}");
}
