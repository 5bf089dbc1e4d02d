//! HTTP/2, where both sides agree on it.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::{Barrier, Notify, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::testing::{Authority, DEADLINE};

struct H2Server {
    port: u16,
    connections: Arc<AtomicUsize>,
    /// Ends every connection there is.
    hang_up: Arc<Notify>,
    /// While it is set, nothing is read from connections, and no ping answered.
    stopped: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl H2Server {
    /// Answers with what it was asked.
    async fn start(authority: &Authority) -> Self {
        let mut config = (**authority.acceptor(false).config()).clone();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let tls = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let hang_up = Arc::new(Notify::new());
        let (count, hung_up) = (Arc::clone(&connections), Arc::clone(&hang_up));
        let (stopped, is_stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let stream = tls.accept(stream).await.unwrap();
                let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service_fn(answer));
                let serving = unless_stopped(is_stopped.clone(), serving);
                let hung_up = Arc::clone(&hung_up);
                drop(tokio::spawn(async move {
                    tokio::select! {
                        _ = serving => {}
                        () = hung_up.notified() => {}
                    }
                }));
            }
        });
        Self {
            port,
            connections,
            hang_up,
            stopped,
            task,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for H2Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Polls a future only while the flag is not set, as the system does with a process.
async fn unless_stopped<F: Future>(mut stopped: watch::Receiver<bool>, future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    loop {
        // The flag first. Neither side loses anything by being dropped: one is a look at a value,
        // the other is pinned outside.
        tokio::select! {
            biased;
            _ = stopped.wait_for(|is_set| *is_set) => {}
            output = &mut future => return output,
        }
        drop(stopped.wait_for(|is_set| !*is_set).await);
    }
}

async fn answer(
    request: http::Request<hyper::body::Incoming>,
) -> Result<http::Response<String>, Infallible> {
    assert_eq!(request.version(), http::Version::HTTP_2);
    assert!(!request.headers().contains_key("host"));
    let time = match request.uri().path() {
        "/late" => Duration::from_secs(90),
        _ => Duration::from_millis(20),
    };
    // Slow on command, so that requests come side by side.
    sleep(time).await;
    let body = match request.uri().path() {
        "/large" => "x".repeat(1 << 23),
        _ => format!("{} {}", request.method(), request.uri()),
    };
    Ok(http::Response::new(body))
}

fn client(authority: &Authority) -> HttpClient {
    let settings = HttpSettings {
        root_certificates: authority.root_certificates(),
        ..HttpSettings::default()
    };
    HttpClient::new(settings).unwrap()
}

#[tokio::test]
async fn fifty_requests_at_once_share_one_connection() {
    let authority = Authority::new();
    let server = H2Server::start(&authority).await;
    let client = client(&authority);
    let url = server.url("/mcp?q=1");
    let calls = (0..50).map(|_| send(&client, Method::POST, &url, "{}"));
    for answer in futures_util::future::join_all(calls).await {
        let (status, body) = answer.unwrap();
        assert_eq!(status, 200);
        assert_eq!(body, format!("POST {url}"));
    }
    assert_eq!(server.connections(), 1);
}

/// A resolver that answers the first alone, and all others when the last of them has asked.
#[derive(Debug)]
struct Slow {
    asked: AtomicUsize,
    others: Barrier,
}

impl Lookup for Slow {
    fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async {
            if self.asked.fetch_add(1, Ordering::SeqCst) == 0 {
                // Time for the others to ask as well, which they may not.
                sleep(Duration::from_millis(300)).await;
                let asked = self.asked.load(Ordering::SeqCst);
                assert_eq!(asked, 1, "the others wait for what it finds");
            } else {
                self.others.wait().await;
            }
            Ok(vec![std::net::Ipv4Addr::LOCALHOST.into()])
        })
    }
}

#[tokio::test]
async fn one_connection_negotiates_the_protocol_and_the_others_follow_at_once() {
    let authority = Authority::new();
    let acceptor = authority.acceptor_as("slow.example", false);
    let all = Arc::new(Barrier::new(10));
    let answer = "HTTP/1.1 204 x\r\n\r\n";
    let reply = move |_: &_| Reply::raw("").meet(&all).then(answer);
    let server = Server::start_with(Some(acceptor), reply).await;
    let slow = Slow {
        asked: AtomicUsize::new(0),
        others: Barrier::new(9),
    };
    let settings = HttpSettings {
        root_certificates: authority.root_certificates(),
        lookup: Some(Arc::new(slow)),
        ..HttpSettings::default()
    };
    let client = HttpClient::new(settings).unwrap();
    let url = format!("https://slow.example:{}/", server.port);
    let calls = (0..10).map(|_| get(&client, &url));
    let answers = timeout(DEADLINE, futures_util::future::join_all(calls)).await;
    for answer in answers.expect("they go on together") {
        assert_eq!(answer.unwrap(), 204);
    }
}

#[tokio::test]
async fn large_answers_fit_through() {
    let authority = Authority::new();
    let server = H2Server::start(&authority).await;
    let answer = send(&client(&authority), Method::GET, &server.url("/large"), "").await;
    assert_eq!(answer.unwrap().1.len(), 1 << 23);
}

#[tokio::test]
async fn connection_that_has_ended_is_replaced() {
    let authority = Authority::new();
    let server = H2Server::start(&authority).await;
    let client = client(&authority);
    for connections in 1..=3 {
        assert_eq!(get(&client, &server.url("/")).await.unwrap(), 200);
        assert_eq!(server.connections(), connections);
        server.hang_up.notify_waiters();
        // Nothing shows from outside that the client saw the connection end.
        sleep(Duration::from_millis(250)).await;
    }
}

#[tokio::test]
async fn upgrade_connection_uses_http_1() {
    let authority = Authority::new();
    let server = Server::start_with(Some(authority.acceptor(false)), hello).await;
    let client = client(&authority).for_upgrade().unwrap();
    let url = format!("https://localhost:{}/", server.port);
    assert_eq!(get(&client, &url).await.unwrap(), 200);
    assert!(server.journal()[0].head.contains(" HTTP/1.1\r\n"));
    let h2 = H2Server::start(&authority).await;
    assert!(
        get(&client, &h2.url("/")).await.is_err(),
        "this server speaks HTTP/2 only"
    );
}

/// Returns clients for MCP servers and for authorization servers that are connected already.
///
/// In real time: sockets and a clock that jumps do not go together.
async fn connected(authority: &Authority, server: &H2Server) -> [HttpClient; 2] {
    tokio::time::resume();
    let mcp = client(authority);
    let authorization = mcp.with_policy(AddressPolicy::Configured).unwrap();
    for client in [&mcp, &authorization] {
        assert_eq!(get(client, &server.url("/")).await.unwrap(), 200);
    }
    tokio::time::pause();
    [mcp, authorization]
}

#[tokio::test(start_paused = true)]
async fn pings_do_not_cut_an_exchange_with_an_authorization_server() {
    let authority = Authority::new();
    let server = H2Server::start(&authority).await;
    let [mcp, authorization] = connected(&authority, &server).await;
    // A server that answers after 90 seconds and answers pings meanwhile.
    let answer = get(&authorization, &server.url("/late")).await;
    assert_eq!(answer.unwrap(), 200);
    // One that is stopped for three minutes; to the client it looks the same if that is stopped.
    server.stopped.send_replace(true);
    let url = server.url("/");
    let continuing = async {
        sleep(Duration::from_secs(180)).await;
        server.stopped.send_replace(false);
    };
    let (given_up, answer, ()) =
        tokio::join!(get(&mcp, &url), get(&authorization, &url), continuing);
    assert!(given_up.is_err(), "what is pinged is given up");
    assert_eq!(answer.unwrap(), 200);
    assert_eq!(server.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn connection_on_which_an_answer_was_given_up_is_not_used_again() {
    let authority = Authority::new();
    let server = H2Server::start(&authority).await;
    let [_, authorization] = connected(&authority, &server).await;
    let url = server.url("/");
    server.stopped.send_replace(true);
    let given_up = timeout(Duration::from_secs(60), get(&authorization, &url)).await;
    assert!(given_up.is_err());
    server.stopped.send_replace(false);
    tokio::time::resume();
    assert_eq!(get(&authorization, &url).await.unwrap(), 200);
    assert_eq!(server.connections(), 3, "two at first, and one instead");
}
