//! Servers that are down when a client comes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use keyway_mcp::bridge::{bridge_explained, socket_pipes};
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::*;

/// A server that can be dialled and answers nothing.
#[derive(Debug)]
struct Down;

#[derive(Debug)]
struct DownLink(EventSender);

impl Link for DownLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if let Some(id) = frame.envelope()?.id() {
                let error = refused();
                drop(self.0.send(Event::Failed { id, error }).await);
            }
            Ok(())
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn refused() -> TransportError {
    TransportError::Refused {
        status: 401,
        error: None,
        error_description: None,
        scope: None,
    }
}

impl Connector for Down {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(async { Err(ServerProblem::from(&refused())) })
    }
}

impl Upstream for Down {
    fn connect_as<'a>(&'a self, _: &'a AccountPin) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.connect()
    }

    fn open<'a>(&'a self, _: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        let (sender, events) = queue(16);
        Box::pin(async { Some(Connection::new(Arc::new(DownLink(sender)), events)) })
    }
}

#[tokio::test]
async fn server_that_refuses_its_credential_does_not_make_initialize_fail() {
    let running = Running::start(&[]);
    let (plugin, name) = ("a".to_owned(), "one".to_owned());
    let server = ServedServer::new(plugin, name, [7; 32], Arc::new(Down));
    running.gateway.replace(vec![server]);
    for path in ["/mcp/a/one", "/mcp"] {
        let session = running.session("all", path).await;
        let client = running.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        let listed = client.post(path, list).await;
        assert_eq!(listed.status, 200, "{listed:?}");
        assert!(listed.body.contains("status\""), "{listed:?}");
        let client = running.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"status"}}"#;
        let told = client.post(path, call).await;
        assert!(told.body.contains("auth-rejected"), "{told:?}");
        assert!(told.body.contains("hint"), "{told:?}");
    }
}

/// A server with one tool, which goes away on command and remembers its list.
#[derive(Debug, Default)]
struct Leaving {
    is_down: Arc<AtomicBool>,
    /// How often a tool was called.
    calls: Arc<AtomicUsize>,
    tools: ListMemory,
}

#[derive(Debug, Default)]
struct ListMemory(Mutex<Option<Vec<Box<RawValue>>>>);

impl ToolMemory for ListMemory {
    fn recall(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>> {
        let kept = self.0.lock().unwrap().clone();
        Box::pin(std::future::ready(kept))
    }

    fn remember(&self, tools: &[Box<RawValue>]) {
        *self.0.lock().unwrap() = Some(tools.to_vec());
    }
}

#[derive(Debug)]
struct LeavingLink {
    is_down: Arc<AtomicBool>,
    calls: Arc<AtomicUsize>,
    events: EventSender,
}

impl Link for LeavingLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let envelope = frame.envelope()?;
            let Some(id) = envelope.id() else {
                return Ok(());
            };
            if envelope.method.as_deref() == Some("tools/call") {
                self.calls.fetch_add(1, Ordering::SeqCst);
            }
            let event = if self.is_down.load(Ordering::SeqCst) {
                let error = TransportError::Status {
                    status: 502,
                    retry_after: None,
                };
                Event::Failed { id, error }
            } else {
                let result = match envelope.method.as_deref() {
                    Some("initialize") => {
                        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#
                    }
                    _ => r#"{"tools":[{"name":"kept","inputSchema":{"type":"object"}}]}"#,
                };
                let id = id.as_json();
                let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                Event::Frame(Frame::new(text)?)
            };
            let _gone = self.events.send(event).await;
            Ok(())
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Leaving {
    fn connection(&self) -> Connection {
        let (events, receiver) = queue(16);
        let link = LeavingLink {
            is_down: Arc::clone(&self.is_down),
            calls: Arc::clone(&self.calls),
            events,
        };
        Connection::new(Arc::new(link), receiver)
    }
}

impl Connector for Leaving {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        let opened = Opened::new(self.connection(), OfferedEras::Legacy);
        Box::pin(std::future::ready(Ok(opened)))
    }

    fn tool_memory(&self) -> Option<&dyn ToolMemory> {
        Some(&self.tools)
    }
}

impl Upstream for Leaving {
    fn connect_as<'a>(&'a self, _: &'a AccountPin) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.connect()
    }

    fn open<'a>(&'a self, _: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        Box::pin(std::future::ready(Some(self.connection())))
    }
}

/// A gateway with one server that can go away.
fn serving_one() -> (Running, Arc<Leaving>) {
    let running = Running::start(&[]);
    let leaving = Arc::new(Leaving::default());
    let (plugin, name) = ("a".to_owned(), "one".to_owned());
    let upstream = Arc::clone(&leaving) as Arc<dyn Upstream>;
    running
        .gateway
        .replace(vec![ServedServer::new(plugin, name, [7; 32], upstream)]);
    (running, leaving)
}

#[tokio::test]
async fn tools_that_were_listed_on_the_route_of_one_server_are_shown_while_it_is_down() {
    let (running, leaving) = serving_one();
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let listed = async || {
        let session = running.session("all", "/mcp/a/one").await;
        let client = running.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        client.post("/mcp/a/one", list).await.body
    };
    let before = listed().await;
    assert!(before.contains(r#""kept""#), "{before}");
    assert!(
        !before.contains("status"),
        "from the server itself: {before}"
    );
    leaving.is_down.store(true, Ordering::SeqCst);
    let meanwhile = listed().await;
    assert!(meanwhile.contains(r#""kept""#), "{meanwhile}");
    assert!(meanwhile.contains("status"), "{meanwhile}");
}

/// `keyway run` of one server, which uses the connection of the gateway.
#[tokio::test]
async fn initialize_of_a_process_that_shares_a_server_which_is_down_does_not_fail() {
    let leaving = Arc::new(Leaving::default());
    let upstream = Arc::clone(&leaving) as Arc<dyn Upstream>;
    let served = ServedServer::new("a".to_owned(), "one".to_owned(), [7; 32], upstream);
    let running = Running::start(&[]);
    running.gateway.replace(vec![served]);
    let served = Arc::clone(&running.gateway.servers()[0]);
    let talk = async || {
        let connection = leaving.connection();
        let server = crate::sharing::shared_server(&running.gateway, &served, connection);
        let (mut client, other) = UnixStream::pair().unwrap();
        let (read, write) = socket_pipes(other.into_std().unwrap()).unwrap();
        let bridged = tokio::spawn(bridge_explained(read, write, server));
        let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        let input = format!("{HELLO}\n{list}\n");
        client.write_all(input.as_bytes()).await.unwrap();
        let mut written = Vec::new();
        while written.iter().filter(|byte| **byte == b'\n').count() < 2 {
            assert_ne!(client.read_buf(&mut written).await.unwrap(), 0);
        }
        drop(client);
        bridged.await.unwrap().unwrap();
        String::from_utf8(written).unwrap()
    };
    let before = talk().await;
    assert!(before.contains(r#""kept""#), "{before}");
    leaving.is_down.store(true, Ordering::SeqCst);
    let meanwhile = talk().await;
    assert!(!meanwhile.contains(r#""error""#), "{meanwhile}");
    assert!(meanwhile.contains(r#""kept""#), "{meanwhile}");
    assert!(meanwhile.contains("status"), "{meanwhile}");
}

/// Since 2026-07-28 there is no `initialize`: the first request is any.
#[tokio::test]
async fn client_without_a_session_gets_tools_while_its_server_is_down() {
    let (running, leaving) = serving_one();
    let ask = async |method: &'static str, params: &str| {
        let client = running.client().await.token("all");
        let client = client.with("MCP-Protocol-Version", "2026-07-28");
        let client = client.with("Mcp-Method", method);
        let client = match method {
            "tools/call" => client.with("Mcp-Name", "status"),
            _ => client,
        };
        client.post("/mcp/a/one", &modern(method, params)).await
    };
    // Another client saw its tools before.
    let seen =
        RawValue::from_string(r#"{"name":"kept","inputSchema":{"type":"object"}}"#.to_owned());
    leaving.tools.remember(&[seen.unwrap()]);
    leaving.is_down.store(true, Ordering::SeqCst);
    let found = ask("server/discover", "").await;
    assert_eq!(found.status, 200, "{found:?}");
    assert!(!found.body.contains(r#""error""#), "{found:?}");
    let listed = ask("tools/list", "").await;
    assert!(listed.body.contains(r#""kept""#), "{listed:?}");
    assert!(listed.body.contains("status"), "{listed:?}");
    let told = ask("tools/call", r#""name":"status","#).await;
    assert!(told.body.contains("502"), "{told:?}");
}

/// The connection of clients without a session is shared, and outlives the server.
#[tokio::test]
async fn client_without_a_session_gets_tools_when_its_server_goes_down_later() {
    let (running, leaving) = serving_one();
    let ask = async |method: &'static str, name: &'static str| {
        let client = running.client().await.token("all");
        let client = client.with("MCP-Protocol-Version", "2026-07-28");
        let client = client.with("Mcp-Method", method);
        if name.is_empty() {
            return client.post("/mcp/a/one", &modern(method, "")).await;
        }
        let client = client.with("Mcp-Name", name);
        let params = format!(r#""name":"{name}","#);
        client.post("/mcp/a/one", &modern(method, &params)).await
    };
    let listed = ask("tools/list", "").await;
    assert!(listed.body.contains(r#""kept""#), "{listed:?}");
    assert!(!listed.body.contains("status"), "{listed:?}");
    leaving.is_down.store(true, Ordering::SeqCst);
    // It may have been carried out: it is told, and not sent again.
    let failed = ask("tools/call", "kept").await;
    assert!(failed.body.contains(r#""error""#), "{failed:?}");
    assert_eq!(leaving.calls.load(Ordering::SeqCst), 1);
    let listed = ask("tools/list", "").await;
    assert!(listed.body.contains(r#""kept""#), "{listed:?}");
    assert!(listed.body.contains("status"), "{listed:?}");
    let told = ask("tools/call", "status").await;
    assert!(told.body.contains("502"), "{told:?}");
}

/// A call that failed may have been carried out: it is not sent a second time.
#[tokio::test]
async fn call_that_fails_as_the_first_request_is_not_repeated() {
    let (running, leaving) = serving_one();
    leaving.is_down.store(true, Ordering::SeqCst);
    let client = running.client().await.token("all");
    let client = client.with("MCP-Protocol-Version", "2026-07-28");
    let client = client.with("Mcp-Method", "tools/call");
    let client = client.with("Mcp-Name", "kept");
    let call = modern("tools/call", r#""name":"kept","#);
    let answer = client.post("/mcp/a/one", &call).await;
    assert!(answer.body.contains(r#""error""#), "{answer:?}");
    assert_eq!(leaving.calls.load(Ordering::SeqCst), 1);
}
