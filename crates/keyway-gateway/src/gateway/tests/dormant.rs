//! Sessions of a program that their clients have not used yet.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A program that answers as [`Echo`] does, until it is gone.
#[derive(Debug)]
struct Program {
    echo: Echo,
    is_gone: AtomicBool,
}

impl Connector for Program {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        match self.is_gone.load(Ordering::SeqCst) {
            true => Box::pin(async { Err(ServerProblem::from(&TransportError::Closed)) }),
            false => self.echo.connect(),
        }
    }
}

impl Upstream for Program {
    fn connect_as<'a>(&'a self, _: &'a AccountPin) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        self.connect()
    }

    fn open<'a>(&'a self, account: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        match self.is_gone.load(Ordering::SeqCst) {
            true => Box::pin(async { None }),
            false => self.echo.open(account),
        }
    }

    fn may_start_later(&self) -> bool {
        true
    }
}

impl Running {
    fn serve_program(&self) -> Arc<Program> {
        let echo = Echo {
            heard: Arc::clone(&self.heard),
            before: Vec::new(),
        };
        let is_gone = AtomicBool::new(false);
        let program = Arc::new(Program { echo, is_gone });
        let upstream = Arc::clone(&program) as Arc<dyn Upstream>;
        let served = ServedServer::new("a".to_owned(), "one".to_owned(), [9; 32], upstream);
        self.gateway.replace(vec![served]);
        program
    }

    fn count_heard(&self, what: &str) -> usize {
        self.heard().iter().filter(|it| it.contains(what)).count()
    }

    async fn post_in(&self, session: &str, body: &str) -> client::Answer {
        let client = self.client().await.token("all");
        let client = client.with("Mcp-Session-Id", session);
        client.post("/mcp/a/one", body).await
    }
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[tokio::test]
async fn program_that_has_answered_before_starts_when_a_session_uses_it() {
    let running = Running::start(&[]);
    running.serve_program();
    let mut sessions = Vec::new();
    for _ in 0..50 {
        let session = running.session("all", "/mcp/a/one").await;
        assert_eq!(running.post_in(&session, INITIALIZED).await.status, 202);
        let pong = running.post_in(&session, PING).await;
        assert_eq!(pong.status, 200, "{pong:?}");
        sessions.push(session);
    }
    assert_eq!(running.count_heard("opened"), 1, "for the first of them");
    let listed = running.post_in(&sessions[7], LIST).await;
    assert!(listed.body.contains(r#""name":"add""#), "{listed:?}");
    assert_eq!(running.count_heard("opened"), 2);
    assert_eq!(running.count_heard(r#""initialize""#), 2);
    assert_eq!(running.count_heard("notifications/initialized"), 2);
    // It is that session's from now on.
    running.post_in(&sessions[7], LIST).await;
    assert_eq!(running.count_heard("opened"), 2);
    // What another client is answered is not known.
    running.session("only-a", "/mcp/a/one").await;
    assert_eq!(
        running.count_heard("opened"),
        2,
        "both tokens have one name"
    );
    let other = HELLO.replace(r#""capabilities":{}"#, r#""capabilities":{"roots":{}}"#);
    let client = running.client().await.token("all");
    assert_eq!(client.post("/mcp/a/one", &other).await.status, 200);
    assert_eq!(running.count_heard("opened"), 3);
}

#[tokio::test]
async fn session_whose_program_does_not_start_any_more_gets_its_status() {
    let running = Running::start(&[]);
    let program = running.serve_program();
    running.session("all", "/mcp/a/one").await;
    let session = running.session("all", "/mcp/a/one").await;
    program.is_gone.store(true, Ordering::SeqCst);
    let listed = running.post_in(&session, LIST).await;
    assert_eq!(listed.status, 200, "{listed:?}");
    assert!(listed.body.contains(r#""name":"status""#), "{listed:?}");
    program.is_gone.store(false, Ordering::SeqCst);
    // The next session asks the program itself.
    let before = running.count_heard("opened");
    running.session("all", "/mcp/a/one").await;
    assert_eq!(running.count_heard("opened"), before + 1);
}

#[tokio::test]
async fn session_of_an_entry_that_changed_ends_although_its_program_never_ran() {
    let running = Running::start(&[]);
    running.serve_program();
    running.session("all", "/mcp/a/one").await;
    let session = running.session("all", "/mcp/a/one").await;
    let echo = Echo::default();
    let other = ServedServer::new("a".to_owned(), "one".to_owned(), [8; 32], Arc::new(echo));
    running.gateway.replace(vec![other]);
    assert_eq!(running.post_in(&session, PING).await.status, 404);
}
