//! What becomes of connections when their client is gone, or their server does not close.

use std::time::Duration;

use http::HeaderMap;
use keyway_testkit::poll_at_most;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::super::binding::BoundConnection;
use super::super::principal::Principal;
use super::super::reply::SESSION_ID;
use super::super::routes::Route;
use super::super::upstream_connection::{CloseOnDrop, RequestInfo, UpstreamConnection};
use super::*;

/// A server that takes its time to come and to go.
#[derive(Debug)]
struct Odd {
    echo: Echo,
    /// A connection opens only with a permit.
    gate: Arc<Semaphore>,
    /// A connection closes only with one.
    goodbye: Arc<Semaphore>,
}

impl Odd {
    fn new(goodbyes: usize) -> Self {
        Self {
            echo: Echo::default(),
            gate: Arc::new(Semaphore::new(0)),
            goodbye: Arc::new(Semaphore::new(goodbyes)),
        }
    }
}

#[derive(Debug)]
struct OddLink {
    link: Arc<dyn Link>,
    heard: Arc<Mutex<Vec<String>>>,
    goodbye: Arc<Semaphore>,
}

impl Link for OddLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        self.link.send(frame)
    }

    fn abandon(&self, id: &RequestId) {
        self.link.abandon(id);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.link.close().await;
            self.goodbye.acquire().await.unwrap().forget();
            self.heard.lock().unwrap().push("gone".to_owned());
        })
    }
}

impl Connector for Odd {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(async {
            let connection = self.open(None).await.unwrap();
            let offer = OfferedEras::Legacy;
            Ok(Opened::new(connection, offer))
        })
    }
}

impl Upstream for Odd {
    fn connect_as<'a>(&'a self, _: &'a AccountPin) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.connect()
    }

    fn open<'a>(&'a self, _: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        Box::pin(async {
            let opened = self.echo.open(None).await?;
            self.gate.acquire().await.unwrap().forget();
            let link = Arc::new(OddLink {
                link: Arc::clone(&opened.link),
                heard: Arc::clone(&self.echo.heard),
                goodbye: Arc::clone(&self.goodbye),
            });
            Some(Connection::new(link, opened.events))
        })
    }
}

/// Starts a gateway in front of it, which is tended.
fn started(odd: Odd) -> (Running, Arc<Mutex<Vec<String>>>, Arc<Semaphore>) {
    let (heard, gate) = (Arc::clone(&odd.echo.heard), Arc::clone(&odd.gate));
    let served = ServedServer::new("a".to_owned(), "one".to_owned(), [9; 32], Arc::new(odd));
    let running = Running::start_with(&[], |gateway| {
        gateway.replace(vec![served]);
        gateway
    });
    let gateway = Arc::clone(&running.gateway);
    drop(tokio::spawn(async move { gateway.run_maintenance().await }));
    (running, heard, gate)
}

fn count(heard: &Mutex<Vec<String>>, what: &str) -> usize {
    let heard = heard.lock().unwrap();
    heard.iter().filter(|it| it.as_str() == what).count()
}

#[tokio::test]
async fn an_sse_session_that_ends_while_connecting_leaves_no_connection() {
    let (running, heard, gate) = started(Odd::new(9));
    let (stream, endpoint) = http_sse::opened(&running, "/mcp/a/one/sse").await;
    let client = running.client().await.token("all");
    let _asking = client.begin(&endpoint, HELLO).await;
    until("opened", || count(&heard, "opened") == 1).await;
    drop(stream);
    until("swept", || running.gateway.session_count() == 0).await;
    gate.add_permits(1);
    until("closed", || count(&heard, "closed") == 1).await;
}

#[tokio::test]
async fn an_sse_session_does_not_expire_while_connecting() {
    let (running, heard, gate) = started(Odd::new(9));
    let (mut stream, endpoint) = http_sse::opened(&running, "/mcp/a/one/sse").await;
    let client = running.client().await.token("all");
    let _asking = client.begin(&endpoint, HELLO).await;
    until("opened", || count(&heard, "opened") == 1).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(40)).await;
    tokio::time::resume();
    // Time to be swept away, which may not happen.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(running.gateway.session_count(), 1);
    gate.add_permits(1);
    stream.read_until("result").await;
    assert_eq!(count(&heard, "closed"), 0);
}

#[tokio::test]
async fn an_unused_upstream_connection_is_closed_on_drop() {
    let odd = Odd::new(9);
    odd.gate.add_permits(2);
    let frame = Frame::new(HELLO).unwrap();
    let id = frame.envelope().unwrap().id().unwrap();
    let asked = RequestInfo {
        id,
        token: None,
        takes_events: false,
    };
    let open = async || {
        let connection = odd.open(None).await.unwrap();
        let binding = None;
        let bound = BoundConnection {
            connection,
            binding,
            members: None,
            tool_memory: None,
            is_dormant: false,
        };
        let (first, streams) = (frame.clone(), Arc::default());
        let opened =
            UpstreamConnection::open(bound, first, ClientEra::Legacy, &asked, streams).await;
        opened.unwrap().connection
    };
    let (kept, close_on_drop) = (open().await, open().await);
    CloseOnDrop::new(Arc::clone(&kept)).keep();
    drop(CloseOnDrop::new(Arc::clone(&close_on_drop)));
    until("closed", || close_on_drop.is_over()).await;
    until("gone", || count(&odd.echo.heard, "gone") == 1).await;
    assert!(!kept.is_over());
}

#[tokio::test]
async fn a_server_that_does_not_close_delays_no_other() {
    let odd = Odd::new(0);
    let goodbye = Arc::clone(&odd.goodbye);
    let (running, heard, gate) = started(odd);
    gate.add_permits(3);
    running.session("all", "/mcp/a/one").await;
    running.session("all", "/mcp/a/one").await;
    let (_stream, endpoint) = http_sse::opened(&running, "/mcp/a/one/sse").await;
    let client = running.client().await.token("all");
    assert_eq!(client.post(&endpoint, HELLO).await.status, 202);
    running.capabilities.lock().unwrap().clear();
    until("closed", || count(&heard, "closed") == 3).await;
    assert_eq!(count(&heard, "gone"), 0);
    // Closing the gateway waits for all of them.
    let gateway = Arc::clone(&running.gateway);
    let ending = tokio::spawn(async move { gateway.close().await });
    for gone in 1..=3 {
        // Time to end too early, which may not happen.
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!ending.is_finished(), "{gone}");
        goodbye.add_permits(1);
        until("one is gone", || count(&heard, "gone") == gone).await;
    }
    ending.await.unwrap();
}

/// Who uses the token `all`, and where the only server is.
fn owner(running: &Running) -> (Principal, Route) {
    let token = token("all", None);
    let server = Arc::clone(&running.gateway.servers()[0]);
    (Principal::Token(Arc::new(token)), Route::One(server))
}

#[tokio::test]
async fn a_session_whose_deletion_is_not_waited_for_is_closed() {
    let odd = Odd::new(0);
    let goodbye = Arc::clone(&odd.goodbye);
    let (running, heard, gate) = started(odd);
    gate.add_permits(1);
    let id = running.session("all", "/mcp/a/one").await;
    let (principal, route) = owner(&running);
    let headers = HeaderMap::from_iter([(SESSION_ID, id.parse().unwrap())]);
    // As the HTTP server does when the client disconnects.
    let ending = running.gateway.end(&principal, &route, &headers);
    assert!(poll_at_most(1, ending).await.is_none());
    goodbye.add_permits(1);
    until("gone", || count(&heard, "gone") == 1).await;
}

#[tokio::test]
async fn a_notification_of_a_client_that_was_moved_goes_to_the_new_connection() {
    let (running, heard, gate) = started(Odd::new(9));
    gate.add_permits(1);
    let id = running.session("all", "/mcp/a/one").await;
    let (principal, route) = owner(&running);
    let sessions = &running.gateway.sessions;
    let client = sessions.streamable(&id, &principal, &route).unwrap();
    let before = client.connection();
    let other = ServedServer::new(
        "a".to_owned(),
        "one".to_owned(),
        [8; 32],
        Arc::new(Echo {
            heard: Arc::clone(&heard),
            before: Vec::new(),
        }),
    );
    let other = other.with_entry_digest([9; 32]);
    running.gateway.replace(vec![other]);
    let moved = client.reconnect_if_needed(&running.gateway.router).await;
    let moved = moved.unwrap();
    assert!(!Arc::ptr_eq(&moved, &before));
    let frame = Frame::new(r#"{"method":"notifications/initialized"}"#).unwrap();
    let used = client.observe_notification(&frame.envelope().unwrap(), before);
    assert!(Arc::ptr_eq(&moved, &used));
}

#[tokio::test]
async fn a_connection_that_is_slow_to_open_blocks_no_request_that_has_another() {
    let (running, heard, gate) = started(Odd::new(9));
    let request = |id: u32, method: &str| {
        modern(method, "").replacen(r#""id":1"#, &format!(r#""id":{id}"#), 1)
    };
    let client = async |method: &str| {
        let client = running.client().await.token("all");
        let client = client.with("MCP-Protocol-Version", "2026-07-28");
        client.with("Mcp-Method", method)
    };
    gate.add_permits(1);
    let slow = client("slow").await;
    let _slow = slow.begin("/mcp/a/one", &request(1, "slow")).await;
    until("slow", || {
        let heard = heard.lock().unwrap();
        heard.iter().any(|it| it.contains("slow"))
    })
    .await;
    // The same id at the same time needs a connection of its own, which does not come.
    let same = client("tools/list").await;
    let _same = same.begin("/mcp/a/one", &request(1, "tools/list")).await;
    until("opened", || count(&heard, "opened") == 2).await;
    let other = client("tools/list").await;
    let answer = other.post("/mcp/a/one", &request(2, "tools/list")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test]
async fn one_token_cannot_use_up_all_sessions() {
    let running = Running::start(&[]);
    let status = async |token: &str| {
        let client = running.client().await.token(token);
        client.post("/mcp/a/one", HELLO).await.status
    };
    let listed = async |session: &str, token: &str| {
        let client = running.client().await.token(token);
        let client = client.with("Mcp-Session-Id", session);
        client
            .post(
                "/mcp/a/one",
                r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#,
            )
            .await
            .status
    };
    let other = running.session("all", "/mcp/a/one").await;
    let oldest = running.session("only-a", "/mcp/a/one").await;
    let second = running.session("only-a", "/mcp/a/one").await;
    // What reads its stream is in use, however long ago it began.
    let reading = running.session("only-a", "/mcp/a/one").await;
    let client = running.client().await.token("only-a");
    let client = client.with("Mcp-Session-Id", &reading);
    let _stream = client.listen("/mcp/a/one").await;
    for _ in 3..1024 {
        assert_eq!(status("only-a").await, 200);
    }
    assert_eq!(listed(&oldest, "only-a").await, 200, "it is the latest now");
    // The session that was idle for longest is evicted: one of the same token, and no other's.
    assert_eq!(status("only-a").await, 200);
    assert_eq!(running.gateway.session_count(), 1025);
    assert_eq!(listed(&second, "only-a").await, 404);
    for (session, token) in [(&oldest, "only-a"), (&reading, "only-a"), (&other, "all")] {
        assert_eq!(listed(session, token).await, 200);
    }
    let mut streams = Vec::new();
    let mut listen = async |token: &str| {
        let client = running.client().await.token(token);
        let mut stream = client.listen("/mcp/a/one/sse").await;
        let text = stream.read_until("\r\n\r\n").await;
        streams.push(stream);
        text.contains(" 200 ")
    };
    for _ in 0..256 {
        assert!(listen("only-a").await);
    }
    assert!(!listen("only-a").await);
    assert!(listen("all").await);
}

#[tokio::test]
async fn a_gateway_that_is_about_to_end_answers_and_sends_clients_elsewhere() {
    let running = Running::start(&[]);
    let call = async |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", running.port))
            .await
            .unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n",
            running.port
        );
        let request = format!("{head}Authorization: Bearer all\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap()
    };
    let before = call("/healthz").await;
    assert!(!before.contains("connection: close"), "{before}");
    running.gateway.drain();
    assert!(call("/readyz").await.starts_with("HTTP/1.1 503"));
    let after = call("/healthz").await;
    assert!(after.starts_with("HTTP/1.1 200"), "{after}");
    assert!(after.contains("connection: close"), "{after}");
}
