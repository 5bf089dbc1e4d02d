//! The client itself: connections that come about, are used again, and are given up.

mod h2;
mod proxies;

use std::net::IpAddr;
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_code::Code;
use tokio::time::sleep;

use super::*;
use crate::testing::{Reply, Server, client};

/// A resolver that knows one answer.
#[derive(Debug)]
pub(super) struct Always(pub(super) &'static [&'static str]);

impl Lookup for Always {
    fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        let found = self.0.iter().map(|text| text.parse().unwrap()).collect();
        Box::pin(std::future::ready(Ok(found)))
    }
}

pub(super) async fn send(
    client: &HttpClient,
    method: Method,
    url: &str,
    body: &'static str,
) -> Result<(u16, Bytes), SendError> {
    let url = Url::parse(url).unwrap();
    let request = Request {
        method,
        url: &url,
        headers: HeaderMap::new,
        body: Bytes::from_static(body.as_bytes()),
    };
    let mut response = client.send(request).await?;
    let body = response.collect(1 << 24).await.unwrap();
    Ok((response.status(), body))
}

async fn get(client: &HttpClient, url: &str) -> Result<u16, SendError> {
    send(client, Method::GET, url, "")
        .await
        .map(|answer| answer.0)
}

fn hello(_: &crate::testing::Seen) -> Reply {
    Reply::json(200, "{}")
}

#[tokio::test]
async fn request_is_written_as_the_protocol_has_it() {
    let server = Server::start(hello).await;
    let url = format!("http://LOCALHOST:{}/a%20b//c?q=%2F&r#f", server.port);
    send(&client(), Method::POST, &url, "{}").await.unwrap();
    send(&client(), Method::GET, &url, "").await.unwrap();
    let journal = server.journal();
    assert_eq!(journal[0].path, "/a%20b//c?q=%2F&r");
    let host = format!("localhost:{}", server.port);
    assert_eq!(journal[0].header("host"), Some(host.as_str()));
    assert_eq!(journal[0].header("content-length"), Some("2"));
    assert_eq!(journal[1].header("content-length"), None);
    assert_eq!(journal[1].header("transfer-encoding"), None);
    assert!(
        journal[1]
            .header("user-agent")
            .unwrap()
            .starts_with("keyway/")
    );
    assert!(journal[1].head.starts_with("GET ") && journal[1].head.contains(" HTTP/1.1\r\n"));
}

#[tokio::test]
async fn connection_that_the_server_closed_while_it_waited_is_replaced() {
    let server = Server::start(|_| Reply::json(200, "{}").close()).await;
    let (client, url) = (client(), format!("http://localhost:{}/", server.port));
    for calls in 1..=3 {
        assert_eq!(get(&client, &url).await.unwrap(), 200);
        // Nothing shows from outside that the client saw the connection end.
        sleep(Duration::from_millis(30)).await;
        assert_eq!(server.connections(), calls);
    }
}

#[tokio::test]
async fn http1_connection_serves_one_request_at_a_time_and_is_reused() {
    let server = Server::start(|_| Reply::raw("").wait(50).then("HTTP/1.1 204 x\r\n\r\n")).await;
    let (client, url) = (client(), format!("http://localhost:{}/", server.port));
    for _ in 0..3 {
        let (one, two) = tokio::join!(get(&client, &url), get(&client, &url));
        assert_eq!((one.unwrap(), two.unwrap()), (204, 204));
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn unread_response_discards_the_connection() {
    let server = Server::start(|_| {
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12345")
            .wait(500)
            .then("6789")
    })
    .await;
    let (client, text) = (client(), format!("http://localhost:{}/", server.port));
    let url = Url::parse(&text).unwrap();
    let request = || Request {
        method: Method::GET,
        url: &url,
        headers: HeaderMap::new,
        body: Bytes::new(),
    };
    let mut response = client.send(request()).await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "12345");
    drop(response);
    let mut response = client.send(request()).await.unwrap();
    assert_eq!(response.collect(9).await.unwrap(), "123456789");
    assert_eq!(server.connections(), 2);
    assert_eq!(get(&client, &text).await.unwrap(), 200);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn all_addresses_of_a_name_are_tried() {
    let server = Server::start(hello).await;
    let found = Arc::new(Always(&["127.0.0.2", "::1", "127.0.0.1"]));
    let settings = HttpSettings {
        lookup: Some(found),
        ..HttpSettings::default()
    };
    let client = HttpClient::new(settings).unwrap();
    let url = format!("http://some.example:{}/", server.port);
    assert_eq!(get(&client, &url).await.unwrap(), 200);
    let listener = tokio::net::TcpListener::bind("[::1]:0").await.unwrap();
    let url = format!(
        "http://localhost:{}/",
        listener.local_addr().unwrap().port()
    );
    let client = self::client();
    let (asked, accepted) = tokio::join!(get(&client, &url), async {
        listener.accept().await.is_ok()
    });
    assert!(accepted, "the other family gets its chance");
    assert!(asked.is_err(), "and was closed");
}

#[tokio::test]
async fn failed_send_says_whether_a_retry_is_safe() {
    let server = Server::start(|_| Reply::raw("").close()).await;
    let url = format!("http://localhost:{}/", server.port);
    let failed = get(&client(), &url).await.unwrap_err();
    assert_eq!(
        (failed.retry, failed.may_have_arrived),
        (Retry::IfIdempotent, true)
    );
    server.stop().await;
    let failed = get(&client(), &url).await.unwrap_err();
    assert_eq!(
        (failed.retry, failed.may_have_arrived),
        (Retry::Safe, false)
    );
    let server = Server::start(|_| Reply::raw("220 smtp\r\n").hang()).await;
    let url = format!("http://localhost:{}/", server.port);
    let failed = get(&client(), &url).await.unwrap_err();
    assert_eq!(
        (failed.retry, failed.may_have_arrived),
        (Retry::Never, true)
    );
    let failed = get(&client(), "http://169.254.169.254/").await.unwrap_err();
    assert_eq!(
        (failed.retry, failed.may_have_arrived),
        (Retry::Never, false)
    );
    assert_eq!(failed.error.code(), Code::ForbiddenAddress);
}

#[tokio::test]
async fn silent_server_times_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = client();
    let began = std::time::Instant::now();
    let failed = get(&client, &format!("https://localhost:{port}/"))
        .await
        .unwrap_err();
    assert_eq!(failed.error.code(), Code::Timeout, "{}", failed.error);
    assert_eq!(failed.retry, Retry::Safe);
    let seconds = began.elapsed().as_secs_f64();
    assert!((10.0..100.0).contains(&seconds), "{seconds}");
}
