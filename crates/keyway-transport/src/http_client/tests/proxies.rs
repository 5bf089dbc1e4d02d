//! Servers behind a proxy: it learns their name and port, and nothing else.

use std::sync::Mutex;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::testing::Authority;

/// Leads everything to `port`; returns its own port and what it was asked.
async fn proxy(port: u16, tls: Option<TlsAcceptor>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&heard);
    drop(tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let heads = Arc::clone(&heads);
            match &tls {
                None => drop(tokio::spawn(lead(stream, port, heads))),
                Some(tls) => {
                    let stream = tls.accept(stream).await.unwrap();
                    drop(tokio::spawn(lead(stream, port, heads)));
                }
            }
        }
    }));
    (own, heard)
}

async fn lead<S>(mut stream: S, port: u16, heads: Arc<Mutex<Vec<String>>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let is_known = head.contains("dTpDQU5BUlk=");
    heads.lock().unwrap().push(head);
    if !is_known {
        let refusal = b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(refusal).await.unwrap();
        return;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let mut target = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    drop(tokio::io::copy_bidirectional(&mut stream, &mut target).await);
}

fn client(authority: &Authority, proxy: String) -> HttpClient {
    let settings = HttpSettings {
        root_certificates: authority.root_certificates(),
        proxies: ProxySettings {
            all: Some(Secret::new(proxy)),
            none: Some("direct.example".to_owned()),
            ..ProxySettings::default()
        },
        // A request that uses this resolver reaches no server.
        lookup: Some(Arc::new(Always(&["127.0.0.3"]))),
        ..HttpSettings::default()
    };
    HttpClient::new(settings).unwrap()
}

#[tokio::test]
async fn tunnel_request_carries_only_the_proxy_credential() {
    let authority = Authority::new();
    let acceptor = authority.acceptor_as("mcp.example", false);
    let server = Server::start_with(Some(acceptor), hello).await;
    let hop = authority.acceptor_as("localhost", false);
    for (scheme, tls) in [("http", None), ("https", Some(hop))] {
        let (port, heard) = proxy(server.port, tls).await;
        let address = format!("{scheme}://u:CANARY@localhost:{port}");
        let client = client(&authority, address);
        let url = "https://mcp.example/path?q=CANARY";
        for _ in 0..3 {
            let (status, _) = send(&client, Method::POST, url, "CANARY").await.unwrap();
            assert_eq!(status, 200, "{scheme}");
        }
        let heads = heard.lock().unwrap();
        assert_eq!(heads.len(), 1, "the tunnel is used again");
        let head = heads[0].to_ascii_lowercase();
        assert!(
            head.starts_with("connect mcp.example:443 http/1.1\r\n"),
            "{head}"
        );
        assert!(head.contains("host: mcp.example:443\r\n"), "{head}");
        assert!(head.contains("proxy-authorization: basic "), "{head}");
        assert!(
            !heads[0].contains("CANARY") && !head.contains("path"),
            "{head}"
        );
    }
    for seen in server.journal() {
        assert_eq!(seen.header("proxy-authorization"), None);
        assert_eq!(seen.header("host"), Some("mcp.example"));
    }
}

#[tokio::test]
async fn proxy_that_refuses_is_named_and_the_request_stays_here() {
    let authority = Authority::new();
    let (port, heard) = proxy(1, None).await;
    let client = client(&authority, format!("http://u:wrong@127.0.0.1:{port}"));
    let failed = send(&client, Method::POST, "https://mcp.example/", "{}")
        .await
        .unwrap_err();
    assert_eq!(
        (failed.retry, failed.may_have_arrived),
        (Retry::Safe, false)
    );
    let source = std::error::Error::source(&failed.error)
        .unwrap()
        .to_string();
    assert_eq!(source, "the proxy answered HTTP 407");
    assert!(!format!("{failed:?}").contains("wrong"));
    assert_eq!(heard.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn server_that_needs_no_proxy_is_reached_without() {
    let authority = Authority::new();
    let (port, heard) = proxy(1, None).await;
    let client = client(&authority, format!("http://u:CANARY@127.0.0.1:{port}"));
    assert!(get(&client, "https://direct.example:9/").await.is_err());
    let server = Server::start(hello).await;
    let url = format!("http://127.0.0.1:{}/", server.port);
    assert_eq!(get(&client, &url).await.unwrap(), 200);
    assert!(heard.lock().unwrap().is_empty());
}
