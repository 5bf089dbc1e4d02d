//! Sessions that continue while the connection behind them is replaced.

use super::*;
use keyway_code::Code;
use keyway_mcp::states::{Reason, ServerState, State};
use keyway_transport::{EventSender, queue};

/// A server without a sign-in.
#[derive(Debug)]
struct Shut;

impl Connector for Shut {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(async {
            let mut problem = ServerProblem::new(Code::SignInRequired, "sign-in required");
            problem.state = ServerState::new(State::NeedsAuth, Reason::ReauthRequired);
            Err(problem)
        })
    }
}

impl Upstream for Shut {
    fn connect_as<'a>(&'a self, _: &'a AccountPin) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.connect()
    }

    fn open<'a>(&'a self, _: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        Box::pin(async { None })
    }
}

/// A server that is there, and answers nothing.
#[derive(Debug)]
struct Mute(EventSender);

impl Link for Mute {
    fn send(&self, _: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async { Err(TransportError::Closed) })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { drop(self.0.send(Event::Closed(None)).await) })
    }
}

#[derive(Debug)]
struct Down;

impl Connector for Down {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(async { Shut.connect().await })
    }
}

impl Upstream for Down {
    fn connect_as<'a>(&'a self, _: &'a AccountPin) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.connect()
    }

    fn open<'a>(&'a self, _: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        let (sender, events) = queue(4);
        Box::pin(async { Some(Connection::new(Arc::new(Mute(sender)), events)) })
    }
}

impl Running {
    /// Serves one server from now on: what a connection depends on, and what a session does.
    fn serve_one(&self, upstream: Arc<dyn Upstream>, digest: u8, entry: u8) {
        let (plugin, name) = ("a".to_owned(), "one".to_owned());
        let served = ServedServer::new(plugin, name, [digest; 32], upstream);
        self.gateway
            .replace(vec![served.with_entry_digest([entry; 32])]);
    }

    fn echo(&self) -> Arc<Echo> {
        Arc::new(Echo {
            heard: Arc::clone(&self.heard),
            before: Vec::new(),
        })
    }

    /// Asks inside a session; returns the status and the answer.
    async fn ask(&self, id: &str, message: &str) -> (u16, String) {
        let client = self.client().await.token("all").with("Mcp-Session-Id", id);
        let answer = client.post("/mcp/a/one", message).await;
        (answer.status, answer.body)
    }

    fn count(&self, what: &str) -> usize {
        let heard = self.heard();
        heard.iter().filter(|it| it.contains(what)).count()
    }
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;

#[tokio::test]
async fn a_session_and_its_stream_outlive_a_sign_out_but_not_the_entry() {
    let running = Running::start(&[]);
    running.serve_one(running.echo(), 1, 9);
    let id = running.session("all", "/mcp/a/one").await;
    let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(running.ask(&id, told).await.0, 202);
    let client = running.client().await.token("all");
    let mut stream = client
        .with("Mcp-Session-Id", &id)
        .listen("/mcp/a/one")
        .await;
    stream.read_until("200 OK").await;
    let client = running.client().await.token("all");
    let client = client.with("Mcp-Session-Id", &id);
    let later = r#"{"jsonrpc":"2.0","id":6,"method":"later"}"#;
    let late = client.post("/mcp/a/one", later);
    let sign_out = async {
        running.until_heard("later").await;
        running.serve_one(Arc::new(Shut), 2, 9);
        let said = stream.read_until("list_changed").await;
        assert!(said.contains("notifications/tools/list_changed"), "{said}");
    };
    let (late, ()) = tokio::join!(late, sign_out);
    assert!(late.body.contains("late"), "{late:?}");
    let (status, listed) = running.ask(&id, LIST).await;
    assert_eq!(status, 200);
    assert!(
        listed.contains("status") && !listed.contains("add"),
        "{listed}"
    );
    until("the old connection closes", || running.count("closed") == 1).await;
    running.serve_one(running.echo(), 3, 9);
    let said = stream.read_until("list_changed").await;
    assert!(!said.contains("prompts"), "what it was not told of: {said}");
    let (_, listed) = running.ask(&id, LIST).await;
    assert!(listed.contains("add"), "{listed}");
    running.serve_one(running.echo(), 4, 8);
    assert_eq!(running.ask(&id, LIST).await.0, 404);
    stream.read_to_end().await;
}

#[tokio::test]
async fn the_server_is_initialized_again_as_the_client_initialized_it() {
    let running = Running::start(&[]);
    running.serve_one(running.echo(), 1, 9);
    let id = running.session("all", "/mcp/a/one").await;
    let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(running.ask(&id, told).await.0, 202);
    running.gateway.reconnect("a", "one");
    let (status, listed) = running.ask(&id, LIST).await;
    assert!(status == 200 && listed.contains("add"), "{listed}");
    let heard = running.heard();
    let greetings: Vec<&String> = heard
        .iter()
        .filter(|it| it.contains("initialize\""))
        .collect();
    assert_eq!(greetings.len(), 2, "{heard:?}");
    let params = |text: &str| {
        let message: serde_json::Value = serde_json::from_str(text).unwrap();
        message["params"].clone()
    };
    assert_eq!(params(greetings[0]), params(greetings[1]));
    assert_eq!(running.count("notifications/initialized"), 2);
}

#[tokio::test]
async fn concurrent_requests_during_a_change_migrate_the_session_once() {
    let running = Running::start(&[]);
    running.serve_one(running.echo(), 1, 9);
    let id = running.session("all", "/mcp/a/one").await;
    running.serve_one(running.echo(), 2, 9);
    let ask = async |number: u8| {
        let message = format!(r#"{{"jsonrpc":"2.0","id":"m{number}","method":"tools/list"}}"#);
        running.ask(&id, &message).await.0
    };
    let statuses = tokio::join!(ask(1), ask(2), ask(3), ask(4));
    assert_eq!(statuses, (200, 200, 200, 200));
    assert_eq!(running.count("opened"), 2);
}

#[tokio::test]
async fn a_migrated_session_ends_with_its_token() {
    let running = Running::start(&[]);
    running.serve_one(running.echo(), 1, 9);
    let id = running.session("all", "/mcp/a/one").await;
    running.serve_one(Arc::new(Shut), 2, 9);
    assert_eq!(running.ask(&id, LIST).await.0, 200);
    let gateway = Arc::clone(&running.gateway);
    drop(tokio::spawn(async move { gateway.run_maintenance().await }));
    running.capabilities.lock().unwrap().clear();
    until("it ends", || running.gateway.session_count() == 0).await;
}

#[tokio::test]
async fn a_session_whose_server_does_not_answer_reports_it_and_waits() {
    let running = Running::start(&[]);
    running.serve_one(running.echo(), 1, 9);
    let id = running.session("all", "/mcp/a/one").await;
    running.serve_one(Arc::new(Down), 2, 9);
    let (status, listed) = running.ask(&id, LIST).await;
    assert!(status == 200 && listed.contains("status"), "{listed}");
    running.serve_one(running.echo(), 3, 9);
    let (status, listed) = running.ask(&id, LIST).await;
    assert!(status == 200 && listed.contains("add"), "{listed}");
}
