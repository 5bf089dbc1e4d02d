//! The gateway on a real port, in front of a server in memory.

mod admin;
mod backpressure;
mod bad_tokens;
mod client;
mod client_session;
mod consent;
mod dashboard;
mod dormant;
mod down;
mod ending;
mod http_sse;
mod limits;
mod own_values;
mod people;
mod policies;
mod public;
mod recorded_server;
mod resuming;
mod sealed_session;
mod served_servers;
mod signed_out;

use std::time::{Duration, UNIX_EPOCH};

use std::sync::{Arc, Mutex};

use keyway_auth::BoxFuture;
use keyway_testkit::PATIENCE;
use keyway_transport::{
    Connection, Event, EventSender, Frame, Link, Listener, RequestId, TransportError, queue,
};

use self::client::Client;
use super::*;
use keyway::sign_in::AccountPin;
use keyway_mcp::aggregate::{Connector, Opened};
use keyway_mcp::session::OfferedEras;
use keyway_mcp::states::ServerProblem;
use keyway_people::Person;
use keyway_policy::{GatewayToken, TokenScope};
use keyway_secret::Secret;

/// Waits until something is so; panics if it never is.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        // Between two looks at what other tasks do.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A server that answers everything with its method, and keeps what it heard.
#[derive(Debug, Default)]
struct Echo {
    heard: Arc<Mutex<Vec<String>>>,
    /// What it says before each answer.
    before: Vec<String>,
}

#[derive(Debug)]
struct EchoLink {
    events: EventSender,
    /// What was asked last that is slow: it is answered on command.
    slow: Mutex<Option<RequestId>>,
    heard: Arc<Mutex<Vec<String>>>,
    before: Vec<String>,
}

impl Link for EchoLink {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            let text = String::from_utf8(frame.bytes().to_vec()).unwrap();
            self.heard.lock().unwrap().push(text);
            let envelope = frame.envelope().unwrap();
            let slow = || self.slow.lock().unwrap().take();
            if envelope.method.as_deref() == Some("notifications/finish")
                && let Some(id) = slow()
            {
                let id = id.as_json();
                let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
                let answer = Event::Frame(Frame::new(text).unwrap());
                self.events.send(answer).await.unwrap();
            }
            let (Some(method), Some(id)) = (envelope.method.as_deref(), envelope.id()) else {
                return Ok(());
            };
            if method != "initialize" && method != "server/discover" {
                for text in &self.before {
                    let note = Frame::new(text.clone()).unwrap();
                    self.events.send(Event::Frame(note)).await.unwrap();
                }
            }
            let result = match method {
                "initialize" => {
                    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}}}"#.to_owned()
                }
                "tools/list" => {
                    r#"{"method":"tools/list","tools":[{"name":"add","inputSchema":{"type":"object"}}],"big":12345678901234567890123}"#.to_owned()
                }
                "server/discover" => {
                    r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#.to_owned()
                }
                "slow" => {
                    *self.slow.lock().unwrap() = Some(id);
                    return Ok(());
                }
                "large" => {
                    let (events, heard) = (self.events.clone(), Arc::clone(&self.heard));
                    let id = id.clone();
                    drop(tokio::spawn(async move {
                        let text = "x".repeat(4_000_000);
                        let text =
                            format!(r#"{{"method":"notifications/message","params":"{text}"}}"#);
                        let note = Frame::new(text).unwrap();
                        for _ in 0..30 {
                            events.send(Event::Frame(note.clone())).await.unwrap();
                            heard.lock().unwrap().push("sent".to_owned());
                        }
                        let id = id.as_json();
                        let text =
                            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"large":1}}}}"#);
                        let answer = Frame::new(text).unwrap();
                        drop(events.send(Event::Frame(answer)).await);
                    }));
                    return Ok(());
                }
                "later" => {
                    let (events, id) = (self.events.clone(), id.clone());
                    drop(tokio::spawn(async move {
                        // Slow on command.
                        tokio::time::sleep(Duration::from_millis(300)).await;
                        let id = id.as_json();
                        let text =
                            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"late":1}}}}"#);
                        let answer = Frame::new(text).unwrap();
                        drop(events.send(Event::Frame(answer)).await);
                    }));
                    return Ok(());
                }
                other => format!(r#"{{"method":"{other}","big":12345678901234567890123}}"#),
            };
            let id = id.as_json();
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            let answer = Frame::new(answer).unwrap();
            self.events.send(Event::Frame(answer)).await.unwrap();
            Ok(())
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.heard.lock().unwrap().push("closed".to_owned());
        })
    }
}

impl Connector for Echo {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(async {
            let connection = self.open(None).await.unwrap();
            let offer = OfferedEras::Legacy;
            Ok(Opened::new(connection, offer))
        })
    }
}

impl Upstream for Echo {
    fn connect_as<'a>(&'a self, _: &'a AccountPin) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.connect()
    }

    fn connect_service<'a>(
        &'a self,
        account: &'a str,
        _: Option<&'a AccountPin>,
    ) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.heard.lock().unwrap().push(format!("as {account}"));
        self.connect()
    }

    fn connect_person<'a>(
        &'a self,
        person: &'a Person,
        _: Option<&'a AccountPin>,
    ) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.heard.lock().unwrap().push(format!("for {person}"));
        self.connect()
    }

    fn runs_program_of(&self, person: &Person) -> bool {
        person.subject() == "ada"
    }

    fn open<'a>(&'a self, _: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        self.heard.lock().unwrap().push("opened".to_owned());
        let (sender, events) = queue(16);
        let link = Arc::new(EchoLink {
            events: sender,
            slow: Mutex::default(),
            heard: Arc::clone(&self.heard),
            before: self.before.clone(),
        });
        Box::pin(async { Some(Connection::new(link, events)) })
    }
}

/// A token that opens what `scope` names, or everything.
fn token(text: &str, scope: Option<&str>) -> GatewayToken {
    let servers = scope.map(|scope| vec![TokenScope::read(scope).unwrap()]);
    GatewayToken::new("test", servers, &Secret::new(text.to_owned()), UNIX_EPOCH)
}

fn served(
    plugin: &str,
    name: &str,
    digest: [u8; 32],
    heard: &Arc<Mutex<Vec<String>>>,
    before: &[&str],
) -> ServedServer {
    let echo = Echo {
        heard: Arc::clone(heard),
        before: before.iter().map(|text| (*text).to_owned()).collect(),
    };
    ServedServer::new(plugin.to_owned(), name.to_owned(), digest, Arc::new(echo))
}

/// A gateway that runs.
struct Running {
    gateway: Arc<Gateway>,
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    capabilities: Arc<Mutex<Vec<GatewayToken>>>,
}

impl Running {
    fn start(before: &[&str]) -> Self {
        Self::start_with(before, |gateway| gateway)
    }

    fn start_with(before: &[&str], finish: impl FnOnce(Gateway) -> Gateway) -> Self {
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let served = |plugin: &str, name: &str| served(plugin, name, [0; 32], &heard, before);
        let servers = vec![served("a", "one"), served("b", "two"), served("b", "same")];
        let capabilities = vec![token("all", None), token("only-a", Some("a:*"))];
        let capabilities = Arc::new(Mutex::new(capabilities));
        let reader: TokenReader = {
            let capabilities = Arc::clone(&capabilities);
            Arc::new(move || Ok(capabilities.lock().unwrap().clone()))
        };
        let info = ClientInfo::new("keyway", "0");
        let gateway = Arc::new(finish(Gateway::new(servers, reader, info)));
        let listener = Listener::loopback("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = listener.port().unwrap();
        let service = Arc::clone(&gateway) as Arc<dyn Service>;
        drop(tokio::spawn(async move {
            serve(vec![listener], service, std::future::pending()).await;
        }));
        Self {
            gateway,
            port,
            heard,
            capabilities,
        }
    }

    async fn client(&self) -> Client {
        Client::connect(self.port).await
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// Waits until the server has heard something.
    async fn until_heard(&self, what: &str) {
        let is_it = |text: &String| text.contains(what);
        until(what, || self.heard().iter().any(is_it)).await;
    }

    /// Begins a session and returns its id.
    async fn session(&self, token: &str, path: &str) -> String {
        let answer = self.client().await.token(token).post(path, HELLO).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.header("mcp-session-id").expect("a session")
    }
}

/// T16, T16b, B6 and C10: every combination but the right one is turned away, and nothing of it
/// reaches the server.
#[tokio::test]
async fn b6_c10_t16_only_the_right_host_origin_and_token_are_accepted() {
    let running = Running::start(&[]);
    let port = running.port;
    let own = format!("localhost:{port}");
    let hosts = [own.as_str(), "evil.test", "evil.test:80", "127.0.0.1:1"];
    let good = format!("http://localhost:{port}");
    let origins = [
        None,
        Some(good.as_str()),
        Some("http://evil.test"),
        Some("null"),
    ];
    let tokens = [None, Some("all"), Some("only-a"), Some("wrong"), Some("")];
    for path in ["/mcp/b/two", "/mcp/two", "/mcp/a/one"] {
        for host in hosts {
            for origin in origins {
                for token in tokens {
                    let may = match token {
                        Some("all") => true,
                        Some("only-a") => path == "/mcp/a/one",
                        _ => false,
                    };
                    let is_right =
                        host == own && [None, Some(good.as_str())].contains(&origin) && may;
                    let before = running.heard().len();
                    let mut client = running.client().await.host(host);
                    client = origin
                        .into_iter()
                        .fold(client, |it, origin| it.with("Origin", origin));
                    client = token.into_iter().fold(client, Client::token);
                    let answer = client.post(path, HELLO).await;
                    let case = format!("{path} {host} {origin:?} {token:?}: {answer:?}");
                    assert_eq!(answer.status, if is_right { 200 } else { 403 }, "{case}");
                    assert_eq!(running.heard().len() > before, is_right, "{case}");
                    assert!(
                        !answer.head.to_lowercase().contains("access-control"),
                        "{case}"
                    );
                }
            }
        }
    }
    assert!(!running.heard().concat().contains("Bearer"));
}

#[tokio::test]
async fn b6_a_foreign_page_learns_nothing_even_where_no_token_is_needed() {
    let running = Running::start(&[]);
    let get = |host: &str| {
        let (host, running) = (host.to_owned(), &running);
        async move {
            running
                .client()
                .await
                .host(&host)
                .send("GET", "/healthz", "")
                .await
        }
    };
    assert_eq!(get("evil.test").await.status, 403);
    assert_eq!(get(&format!("[::1]:{}", running.port)).await.status, 200);
    assert_eq!(
        running
            .client()
            .await
            .send("GET", "/metrics", "")
            .await
            .status,
        403
    );
    let metrics = running
        .client()
        .await
        .token("all")
        .send("GET", "/metrics", "")
        .await;
    assert!(
        metrics
            .body
            .contains("keyway_refused_total{client=\"http\"} 2\n"),
        "{metrics:?}"
    );
}

#[tokio::test]
async fn c10_a_token_for_one_plugin_does_not_reveal_the_other() {
    let running = Running::start(&[]);
    for path in ["/mcp/b/two", "/mcp/b/none", "/mcp/none"] {
        let answer = running
            .client()
            .await
            .token("only-a")
            .post(path, HELLO)
            .await;
        assert_eq!(answer.status, 403, "{path}");
    }
    // Everything it may reach is one server, which has no prefix then.
    let answer = running
        .client()
        .await
        .token("only-a")
        .post("/mcp", HELLO)
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    for path in ["/mcp/b/none", "/mcp/none", "/other", "/mcpx"] {
        let answer = running.client().await.token("all").post(path, HELLO).await;
        assert_eq!(answer.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_session_belongs_to_its_token_and_route_and_ends_when_deleted() {
    let running = Running::start(&[]);
    let id = running.session("all", "/mcp/one").await;
    let list = r#"{"jsonrpc":"2.0","id":"x","method":"tools/list"}"#;
    let from = &running;
    let ask = |token: &'static str, path: &'static str, id: String| async move {
        let client = from.client().await.token(token).with("Mcp-Session-Id", &id);
        client.post(path, list).await
    };
    let answer = ask("all", "/mcp/a/one", id.clone()).await;
    let expected = r#"{"jsonrpc":"2.0","id":"x","result":{"method":"tools/list","tools":[{"name":"add","inputSchema":{"type":"object"}}],"big":12345678901234567890123}}"#;
    assert_eq!((answer.status, answer.body.as_str()), (200, expected));
    assert_eq!(ask("only-a", "/mcp/one", id.clone()).await.status, 404);
    assert_eq!(ask("all", "/mcp/two", id.clone()).await.status, 404);
    assert_eq!(ask("all", "/mcp/one", "guess".to_owned()).await.status, 404);
    let client = running
        .client()
        .await
        .token("all")
        .with("Mcp-Session-Id", &id);
    assert_eq!(client.send("DELETE", "/mcp/one", "").await.status, 204);
    assert!(running.heard().contains(&"closed".to_owned()));
    assert_eq!(ask("all", "/mcp/one", id).await.status, 404);
    let without = running
        .client()
        .await
        .token("all")
        .post("/mcp/one", list)
        .await;
    assert_eq!(without.status, 400);
}

#[tokio::test]
async fn what_a_server_says_before_its_answer_comes_as_a_stream_and_the_rest_on_the_other() {
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}"#;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let running = Running::start(&[progress, changed]);
    let id = running.session("all", "/mcp/one").await;
    let client = running
        .client()
        .await
        .token("all")
        .with("Mcp-Session-Id", &id);
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":5}}}"#;
    let answer = client.post("/mcp/one", call).await;
    assert_eq!(answer.header("content-type").unwrap(), "text/event-stream");
    let events = answer.events();
    assert_eq!(events[0], progress);
    assert!(
        events[1].starts_with(r#"{"jsonrpc":"2.0","id":1,"result""#),
        "{events:?}"
    );
    assert_eq!(events.len(), 2, "{events:?}");
    // It came while no client listened, and was kept.
    let listening = running
        .client()
        .await
        .token("all")
        .with("Mcp-Session-Id", &id);
    let heard = listening.first_event("/mcp/one").await;
    assert_eq!(heard, changed);
}

#[tokio::test]
async fn modern_headers_that_say_something_else_are_refused_and_nothing_is_passed_on() {
    let running = Running::start(&[]);
    let call = modern("tools/call", r#""name":"echo","#);
    let right = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "echo"),
    ];
    let ask = |headers: Vec<(&'static str, &'static str)>, body: String| {
        let running = &running;
        async move {
            let client = running.client().await.token("all");
            let client = headers
                .iter()
                .fold(client, |it, (name, value)| it.with(name, value));
            client.post("/mcp/one", &body).await
        }
    };
    for at in 0..right.len() {
        let mut missing = right.to_vec();
        missing.remove(at);
        if at == 0 {
            missing.push(("MCP-Protocol-Version", "2025-11-25"));
        }
        let mut wrong = right.to_vec();
        wrong[at].1 = "other";
        for headers in [missing, wrong] {
            let answer = ask(headers.clone(), call.clone()).await;
            assert_eq!(answer.status, 400, "{headers:?} {answer:?}");
            assert!(
                answer.body.contains(r#""code":-32020"#),
                "{headers:?} {answer:?}"
            );
        }
    }
    assert!(running.heard().is_empty(), "{:?}", running.heard());
    let encoded = [right[0], right[1], ("Mcp-Name", "=?base64?ZWNobw==?=")];
    for headers in [right, encoded] {
        let answer = ask(headers.to_vec(), call.clone()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    // A client that asks for a stream gets one, even for a single message.
    let client = running.client().await.token("all");
    let client = right
        .iter()
        .fold(client, |it, (name, value)| it.with(name, value));
    let client = client.with("Content-Type", "application/json");
    let client = client.with("Accept", "text/event-stream, application/json");
    let answer = client.send("POST", "/mcp/one", &call).await;
    assert_eq!(answer.header("content-type").unwrap(), "text/event-stream");
    assert_eq!(answer.events().len(), 1, "{answer:?}");
    let old = modern("ping", "");
    let answer = ask(vec![right[0], ("Mcp-Method", "ping")], old).await;
    assert_eq!(answer.status, 404, "{answer:?}");
}

#[tokio::test]
async fn two_modern_clients_with_the_same_id_at_once_both_get_their_answer() {
    let running = Running::start(&[]);
    let headers = |method: &'static str| {
        let running = &running;
        async move {
            let client = running.client().await.token("all");
            let client = client.with("MCP-Protocol-Version", "2026-07-28");
            client.with("Mcp-Method", method)
        }
    };
    let waiting = headers("slow")
        .await
        .begin("/mcp/one", &modern("slow", ""))
        .await;
    running.until_heard(r#""slow""#).await;
    let answer = headers("tools/list")
        .await
        .post("/mcp/one", &modern("tools/list", ""))
        .await;
    assert!(
        answer.body.contains(r#""method":"tools/list""#),
        "{answer:?}"
    );
    // To go away is to cancel.
    drop(waiting);
    running.until_heard("notifications/cancelled").await;
}

#[tokio::test]
async fn modern_clients_share_a_connection_only_if_they_can_do_the_same() {
    let running = Running::start(&[]);
    let able = modern("tools/list", "").replace(
        r#"clientCapabilities":{}"#,
        r#"clientCapabilities":{"elicitation":{}}"#,
    );
    let unable = modern("tools/list", "");
    for (body, expected) in [(&unable, 1), (&able, 2), (&unable, 2), (&able, 2)] {
        let client = running.client().await.token("all");
        let client = client.with("MCP-Protocol-Version", "2026-07-28");
        let client = client.with("Mcp-Method", "tools/list");
        assert_eq!(client.post("/mcp/one", body).await.status, 200);
        let heard = running.heard();
        let opened = heard.iter().filter(|text| *text == "opened");
        assert_eq!(opened.count(), expected, "{body}");
    }
}

#[tokio::test]
async fn revoking_a_token_closes_its_sessions() {
    let running = Running::start(&[]);
    let id = running.session("all", "/mcp/one").await;
    let listening = running
        .client()
        .await
        .token("all")
        .with("Mcp-Session-Id", &id);
    let mut stream = listening.listen("/mcp/one").await;
    let slow = running
        .client()
        .await
        .token("all")
        .with("Mcp-Method", "slow");
    let slow = slow.with("MCP-Protocol-Version", "2026-07-28");
    let mut waiting = slow.begin("/mcp/one", &modern("slow", "")).await;
    running.until_heard(r#""slow""#).await;
    running.capabilities.lock().unwrap().clear();
    let gateway = Arc::clone(&running.gateway);
    let tending = tokio::spawn(async move { gateway.run_maintenance().await });
    // The stream ends.
    stream.read_to_end().await;
    let mut piece = [0; 256];
    let read = tokio::io::AsyncReadExt::read(&mut waiting, &mut piece).await;
    assert!(read.unwrap() > 0, "a waiting client is told");
    tending.abort();
    assert!(running.heard().contains(&"closed".to_owned()));
    let again = running
        .client()
        .await
        .token("all")
        .post("/mcp/one", HELLO)
        .await;
    assert_eq!(again.status, 403);
}

#[tokio::test]
async fn a_body_that_is_not_a_message_is_refused() {
    let running = Running::start(&[]);
    let ask = |kind: &'static str, body: &'static str| {
        let running = &running;
        async move {
            let client = running
                .client()
                .await
                .token("all")
                .with("Content-Type", kind);
            client.send("POST", "/mcp/one", body).await.status
        }
    };
    assert_eq!(ask("text/plain", HELLO).await, 415);
    assert_eq!(ask("application/json", "nonsense").await, 400);
    assert_eq!(ask("application/json", "[]").await, 400);
    assert_eq!(
        running
            .client()
            .await
            .token("all")
            .send("PUT", "/mcp", "")
            .await
            .status,
        405
    );
    assert_eq!(
        running
            .client()
            .await
            .token("all")
            .send("GET", "/mcp", "")
            .await
            .status,
        405
    );
    assert!(running.heard().is_empty());
}

#[tokio::test]
async fn batch_is_answered_where_the_version_has_batches_and_refused_elsewhere() {
    let running = Running::start(&[]);
    let id = running.session("all", "/mcp/one").await;
    let batch = r#"[{"jsonrpc":"2.0","id":7,"method":"a"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"8","method":"b"},3]"#;
    let ask = |version: Option<&'static str>, body: &'static str| {
        let (running, id) = (&running, id.clone());
        async move {
            let client = running.client().await.token("all");
            let client = client.with("Mcp-Session-Id", &id);
            let client = match version {
                Some(version) => client.with("MCP-Protocol-Version", version),
                None => client,
            };
            client.post("/mcp/one", body).await
        }
    };
    for version in [None, Some("2025-03-26")] {
        let answer = ask(version, batch).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let answers: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(answers[0]["id"], 7, "{answers}");
        assert_eq!(answers[0]["result"]["method"], "a");
        assert_eq!(answers[1]["id"], "8");
        assert_eq!(answers[2]["error"]["code"], -32700, "not a message");
        assert_eq!(answers.as_array().unwrap().len(), 3);
    }
    running.until_heard("notifications/x").await;
    let told = ask(None, r#"[{"jsonrpc":"2.0","method":"notifications/y"}]"#).await;
    assert_eq!((told.status, told.body.as_str()), (202, ""));
    for (version, body) in [(Some("2025-11-25"), batch), (None, "[]")] {
        let answer = ask(version, body).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        let error: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(error["error"]["code"], -32600, "{error}");
    }
    let client = running.client().await.token("all");
    let gone = client
        .with("Mcp-Session-Id", "gone")
        .post("/mcp/one", batch);
    assert_eq!(gone.await.status, 404);
}

#[tokio::test]
async fn session_whose_client_only_initialized_ends_after_two_minutes_and_a_used_one_stays() {
    let running = Running::start(&[]);
    let id = running.session("all", "/mcp/one").await;
    running.session("all", "/mcp/one").await;
    let client = running.client().await.token("all");
    let used = client.with("Mcp-Session-Id", &id).post("/mcp/one", PING);
    assert_eq!(used.await.status, 200);
    assert_eq!(running.gateway.session_count(), 2);
    // The connections of the clients are done: from here on only the clock moves.
    tokio::time::pause();
    let gateway = &running.gateway;
    let close = || {
        let closing = &gateway.router.closing;
        gateway
            .sessions
            .close_expired(|id| gateway.may_stay(id), closing);
        gateway.session_count()
    };
    tokio::time::advance(Duration::from_secs(119)).await;
    assert_eq!(close(), 2);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(close(), 1);
    tokio::time::advance(Duration::from_secs(30 * 60)).await;
    assert_eq!(close(), 0);
}

const PING: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;

fn modern(method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;

#[tokio::test]
async fn a_refusal_says_how_to_get_a_token_and_not_which_servers_exist() {
    let running = Running::start(&[]);
    let post = async |token: Option<&str>, path: &str| {
        let client = running.client().await;
        let client = token.into_iter().fold(client, Client::token);
        let answer = client.post(path, HELLO).await;
        assert_eq!(answer.status, 403, "{path}");
        answer.body
    };
    let without = post(None, "/mcp/a/one").await;
    assert!(
        without.contains("keyway token new --name NAME"),
        "{without}"
    );
    assert_eq!(post(Some("wrong"), "/mcp/a/one").await, without);
    assert_eq!(post(None, "/mcp/a/missing").await, without);
    let narrow = post(Some("only-a"), "/mcp/b/two").await;
    assert!(narrow.contains("does not open this path"), "{narrow}");
    assert_eq!(post(Some("only-a"), "/mcp/b/missing").await, narrow);
    // A foreign page may read its answer.
    let foreign = running.client().await.host("evil.test");
    let foreign = foreign.post("/mcp/a/one", HELLO).await;
    assert_eq!(foreign.body, "forbidden\n");
}

/// Threat E16.
#[tokio::test]
async fn e16_metrics_need_a_token_that_opens_every_server() {
    let running = Running::start(&[]);
    for (token, status) in [("all", 200), ("only-a", 403)] {
        let client = running.client().await.token(token);
        assert_eq!(client.send("GET", "/metrics", "").await.status, status);
    }
}

/// A proxy in front could see another end of the request than we do (RFC 9112, 6.3): chunks count,
/// and what follows them on the connection is never read as a request.
#[tokio::test]
async fn nothing_is_read_after_a_request_with_two_lengths() {
    let running = Running::start(&[]);
    let host = format!("Host: 127.0.0.1:{}\r\n", running.port);
    let head = format!(
        "POST /mcp/a/one HTTP/1.1\r\n{host}Authorization: Bearer all\r\n\
         Content-Type: application/json\r\n"
    );
    let next = format!("GET /healthz HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
    let chunked = "Transfer-Encoding: chunked\r\n";
    for (lengths, answers) in [
        (format!("Content-Length: 5\r\n{chunked}"), 1),
        (chunked.to_owned(), 2),
    ] {
        let mut client = running.client().await;
        let text = format!("{head}{lengths}\r\n0\r\n\r\n{next}");
        client.write_raw(&text).await;
        let text = client.read_all().await;
        assert_eq!(
            text.matches("HTTP/1.1 ").count(),
            answers,
            "{lengths}: {text}"
        );
    }
}
