mod dropped;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use keyway_auth::BoxFuture;
use keyway_code::Code;
use keyway_transport::{Event, EventSender, Link, TransportError, queue};
use serde_json::json;

use super::*;

/// A server in memory: answers each request by the first rule whose method fits.
#[derive(Debug)]
struct Scripted {
    rules: Mutex<VecDeque<(&'static str, Reply)>>,
    seen: Mutex<Vec<Value>>,
    events: EventSender,
    /// Nothing can be written any more: the server does not read.
    is_full: AtomicBool,
    is_slow_to_close: AtomicBool,
}

#[derive(Debug)]
enum Reply {
    Result(Value),
    Error(Value),
    Status(u16),
    Late(Duration, Value),
    Silence,
    Ask(Value),
}

impl Link for Scripted {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if self.is_full.load(Ordering::Relaxed) {
                return std::future::pending().await;
            }
            let message: Value = serde_json::from_slice(frame.bytes()).unwrap();
            self.seen.lock().unwrap().push(message.clone());
            let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
                return Ok(());
            };
            let rule = {
                let mut rules = self.rules.lock().unwrap();
                let index = rules.iter().position(|(name, _)| *name == method);
                index.and_then(|index| rules.remove(index))
            };
            let event = |value: Value| Event::Frame(Frame::new(value.to_string()).unwrap());
            let envelope = frame.envelope().unwrap().id().unwrap();
            match rule.map(|(_, reply)| reply) {
                Some(Reply::Result(result)) => {
                    self.events
                        .send(event(json!({"id": id, "result": result})))
                        .await
                        .unwrap();
                }
                Some(Reply::Late(delay, result)) => {
                    // A server that is late, by the clock that the test has paused or not.
                    tokio::time::sleep(delay).await;
                    let answer = event(json!({"id": id, "result": result}));
                    self.events.send(answer).await.unwrap();
                }
                Some(Reply::Error(error)) => {
                    self.events
                        .send(event(json!({"id": id, "error": error})))
                        .await
                        .unwrap();
                }
                Some(Reply::Status(status)) => {
                    let error = TransportError::Status {
                        status,
                        retry_after: None,
                    };
                    self.events
                        .send(Event::Failed {
                            id: envelope,
                            error,
                        })
                        .await
                        .unwrap();
                }
                Some(Reply::Ask(question)) => self.events.send(event(question)).await.unwrap(),
                Some(Reply::Silence) | None => {}
            }
            Ok(())
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if self.is_slow_to_close.load(Ordering::Relaxed) {
                // Slow on command, on a paused clock.
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        })
    }
}

fn scripted(rules: Vec<(&'static str, Reply)>) -> (Arc<Scripted>, Connection) {
    let (events, receiver) = queue(16);
    let link = Arc::new(Scripted {
        rules: Mutex::new(rules.into()),
        seen: Mutex::default(),
        events,
        is_full: AtomicBool::new(false),
        is_slow_to_close: AtomicBool::new(false),
    });
    let connection = Connection::new(Arc::clone(&link) as Arc<dyn Link>, receiver);
    (link, connection)
}

fn client() -> ClientInfo {
    ClientInfo {
        name: "t".to_owned(),
        version: "1".to_owned(),
    }
}

const BOTH: era::OfferedEras = era::OfferedEras::Both {
    probe: Duration::from_millis(50),
};

fn modern() -> (&'static str, Reply) {
    let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
    ("server/discover", Reply::Result(found))
}

fn legacy(version: &str) -> (&'static str, Reply) {
    (
        "initialize",
        Reply::Result(
            json!({"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "x"}}),
        ),
    )
}

async fn open(rules: Vec<(&'static str, Reply)>) -> (Arc<Scripted>, Result<Session, SessionError>) {
    let (link, connection) = scripted(rules);
    let session = Session::open(connection, client(), Arc::new(NoHandler), BOTH).await;
    (link, session)
}

#[tokio::test]
async fn a_modern_server_gets_its_metadata_with_every_request() {
    let (link, session) = open(vec![
        modern(),
        (
            "tools/list",
            Reply::Result(json!({"tools": [{"name": "a"}]})),
        ),
    ])
    .await;
    let tools = session.unwrap().list("tools/list", "tools").await.unwrap();
    assert_eq!(tools[0].get(), r#"{"name":"a"}"#);
    let seen = link.seen.lock().unwrap();
    for message in seen.iter() {
        let meta = &message["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
    }
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn any_other_answer_to_discovery_means_a_legacy_server() {
    for reply in [
        Reply::Result(json!({})),
        Reply::Error(json!({"code": -32601, "message": "no"})),
        Reply::Error(
            json!({"code": -32022, "message": "no", "data": {"supported": ["2025-06-18"]}}),
        ),
        Reply::Status(400),
        Reply::Status(404),
        Reply::Status(405),
        Reply::Silence,
    ] {
        let name = format!("{reply:?}");
        let (link, session) = open(vec![("server/discover", reply), legacy("2025-06-18")]).await;
        let session = session.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            session.facts().era,
            Era::Legacy {
                version: "2025-06-18".to_owned()
            }
        );
        let seen = link.seen.lock().unwrap();
        let last = seen.last().unwrap();
        assert_eq!(last["method"], "notifications/initialized", "{name}");
    }
}

#[tokio::test]
async fn a_server_that_fails_or_shares_no_version_is_not_taken_for_a_legacy_one() {
    let (link, session) = open(vec![("server/discover", Reply::Status(503))]).await;
    assert_eq!(session.unwrap_err().code(), Code::HttpError);
    assert_eq!(link.seen.lock().unwrap().len(), 1);
    let unknown = Reply::Error(
        json!({"code": -32022, "message": "no", "data": {"supported": ["2099-01-01"]}}),
    );
    let (_, session) = open(vec![("server/discover", unknown)]).await;
    assert_eq!(session.unwrap_err().code(), Code::NoCommonVersion);
    let (_, session) = open(vec![
        ("server/discover", Reply::Result(json!({}))),
        legacy("1999-01-01"),
    ])
    .await;
    assert_eq!(session.unwrap_err().code(), Code::NoCommonVersion);
}

#[tokio::test]
async fn a_server_that_refuses_a_version_it_supports_is_asked_once_more() {
    let refusal = || {
        let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}});
        ("server/discover", Reply::Error(error))
    };
    let (link, session) = open(vec![refusal(), modern()]).await;
    let modern = Era::Modern {
        version: "2026-07-28".to_owned(),
    };
    assert_eq!(session.unwrap().facts().era, modern);
    assert_eq!(link.seen.lock().unwrap().len(), 2);
    let (link, session) = open(vec![refusal(), refusal(), refusal()]).await;
    assert_eq!(session.unwrap_err().code(), Code::NoCommonVersion);
    assert_eq!(link.seen.lock().unwrap().len(), 2);
}

/// What a server says that was still starting when it was asked; 1 is the id of the question.
fn late_discovery() -> Value {
    json!({"id": 1, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}})
}

#[tokio::test]
async fn a_modern_server_that_is_slow_to_start_is_not_taken_for_a_legacy_one() {
    let modern = Era::Modern {
        version: "2026-07-28".to_owned(),
    };
    // `server/discover` is answered first, and `initialize` never.
    let (_, session) = open(vec![
        ("server/discover", Reply::Silence),
        ("initialize", Reply::Ask(late_discovery())),
    ])
    .await;
    assert_eq!(session.unwrap().facts().era, modern);

    // `initialize` is refused first, for a reason that only modern servers have.
    let refusal = json!({"code": -32022, "message": "this connection is modern"});
    let (link, connection) = scripted(vec![
        ("server/discover", Reply::Silence),
        ("initialize", Reply::Error(refusal)),
    ]);
    let late = async {
        while link.seen.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        // Nothing shows from outside that the refusal was read.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let frame = Frame::new(late_discovery().to_string()).unwrap();
        link.events.send(Event::Frame(frame)).await.unwrap();
    };
    let opened = Session::open(connection, client(), Arc::new(NoHandler), BOTH);
    let (session, ()) = tokio::join!(opened, late);
    assert_eq!(session.unwrap().facts().era, modern);
}

#[tokio::test]
async fn a_slow_server_that_accepts_initialize_has_a_legacy_session() {
    let (link, connection) = scripted(vec![
        ("server/discover", Reply::Silence),
        ("initialize", Reply::Ask(late_discovery())),
    ]);
    let late = async {
        while link.seen.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        let greeting = json!({"id": 2, "result": {"protocolVersion": "2025-11-25"}});
        let frame = Frame::new(greeting.to_string()).unwrap();
        link.events.send(Event::Frame(frame)).await.unwrap();
    };
    let opened = Session::open(connection, client(), Arc::new(NoHandler), BOTH);
    let (session, ()) = tokio::join!(opened, late);
    let legacy = Era::Legacy {
        version: "2025-11-25".to_owned(),
    };
    assert_eq!(session.unwrap().facts().era, legacy);
}

#[tokio::test]
async fn results_arrive_as_written_and_errors_with_their_code() {
    let (link, session) = open(vec![modern()]).await;
    let session = session.unwrap();
    let raw = r#"{"id":2,"result":{"n":12345678901234567890123,"a":1.50}}"#;
    link.rules
        .lock()
        .unwrap()
        .push_back(("tools/call", Reply::Silence));
    let call = session.request(Request::new("tools/call", Map::new()));
    let reply = async {
        tokio::task::yield_now().await;
        link.events
            .send(Event::Frame(Frame::new(raw).unwrap()))
            .await
            .unwrap();
    };
    let (result, ()) = tokio::join!(call, reply);
    assert_eq!(
        result.unwrap().get(),
        r#"{"n":12345678901234567890123,"a":1.50}"#
    );
    link.rules.lock().unwrap().push_back((
        "x",
        Reply::Error(json!({"code": 7, "message": "\u{1b}[31mno"})),
    ));
    let error = session
        .request(Request::new("x", Map::new()))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server answered with error 7: [31mno"
    );
}

#[derive(Debug)]
struct Answers;

impl Handler for Answers {
    fn capabilities(&self) -> Value {
        json!({"elicitation": {}})
    }

    fn answer<'a>(
        &'a self,
        method: &'a str,
        _: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(std::future::ready(Ok(
            json!({"action": "accept", "for": method}),
        )))
    }

    fn notified(&self, _: &str, _: &Frame) {}
}

#[tokio::test]
async fn questions_inside_a_result_are_answered_and_the_request_repeated_with_its_state() {
    let ask = json!({"resultType": "input_required", "requestState": "opaque==",
        "inputRequests": {"k": {"method": "elicitation/create", "params": {}}}});
    let rules = vec![
        modern(),
        ("tools/call", Reply::Result(ask)),
        ("tools/call", Reply::Result(json!({"ok": true}))),
    ];
    let (link, connection) = scripted(rules);
    let session = Session::open(connection, client(), Arc::new(Answers), BOTH)
        .await
        .unwrap();
    let params = Map::from_iter([("name".to_owned(), json!("t"))]);
    let result = session
        .request(Request::new("tools/call", params))
        .await
        .unwrap();
    assert_eq!(result.get(), r#"{"ok":true}"#);
    let seen = link.seen.lock().unwrap();
    let (first, second) = (&seen[1], &seen[2]);
    assert_ne!(first["id"], second["id"]);
    assert!(first["params"].get("requestState").is_none());
    assert_eq!(second["params"]["requestState"], "opaque==");
    assert_eq!(
        second["params"]["inputResponses"]["k"]["for"],
        "elicitation/create"
    );
    assert_eq!(second["params"]["name"], "t");
}

#[tokio::test]
async fn a_request_of_a_legacy_server_is_answered() {
    let question = json!({"id": "q1", "method": "elicitation/create", "params": {}});
    let rules = vec![
        ("server/discover", Reply::Result(json!({}))),
        legacy("2025-11-25"),
        ("x", Reply::Ask(question)),
    ];
    let (link, connection) = scripted(rules);
    let session = Session::open(connection, client(), Arc::new(Answers), BOTH)
        .await
        .unwrap();
    let short = Request {
        timeout: Duration::from_millis(500),
        ..Request::new("x", Map::new())
    };
    assert_eq!(
        session.request(short).await.unwrap_err().code(),
        Code::Timeout
    );
    let seen = link.seen.lock().unwrap();
    let answer = seen.iter().find(|message| message["id"] == "q1").unwrap();
    assert_eq!(answer["result"]["action"], "accept");
    assert!(
        seen.iter()
            .any(|message| message["method"] == "notifications/cancelled")
    );
}

#[tokio::test]
async fn every_waiting_request_is_told_when_the_connection_ends() {
    let (link, session) = open(vec![modern()]).await;
    let session = session.unwrap();
    let (first, second) = (Request::new("a", Map::new()), Request::new("b", Map::new()));
    let end = async {
        tokio::task::yield_now().await;
        link.events.send(Event::Closed(None)).await.unwrap();
    };
    let (first, second, ()) = tokio::join!(session.request(first), session.request(second), end);
    assert_eq!(first.unwrap_err().code(), Code::ConnectionClosed);
    assert_eq!(second.unwrap_err().code(), Code::ConnectionClosed);
    let late = session.request(Request::new("c", Map::new())).await;
    assert_eq!(late.unwrap_err().code(), Code::ConnectionClosed);
}

/// Threat E15: cursors, sizes and times without end.
#[tokio::test(start_paused = true)]
async fn e15_lists_without_an_end_are_refused() {
    let page = |cursor: usize, bytes: usize| json!({"tools": ["x".repeat(bytes)], "nextCursor": cursor.to_string()});
    let endless: Vec<_> = (0..2000).map(|at| Reply::Result(page(at, 1))).collect();
    let repeating: Vec<_> = (0..3).map(|_| Reply::Result(page(7, 1))).collect();
    let large: Vec<_> = (0..4)
        .map(|at| Reply::Result(page(at, MAX_LIST_BYTES / 2)))
        .collect();
    let slow: Vec<_> = (0..9)
        .map(|at| Reply::Late(Duration::from_secs(50), page(at, 1)))
        .collect();
    for (pages, most, code) in [
        (endless, MAX_PAGES, Code::ProtocolError),
        (repeating, 2, Code::ProtocolError),
        (large, 3, Code::ProtocolError),
        (slow, 3, Code::Timeout),
    ] {
        let pages = pages.into_iter().map(|page| ("tools/list", page));
        let rules = std::iter::once(modern()).chain(pages).collect();
        let (link, connection) = scripted(rules);
        let session = Session::open(connection, client(), Arc::new(NoHandler), BOTH).await;
        let session = session.unwrap();
        let error = session.list("tools/list", "tools").await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        let asked = link.seen.lock().unwrap();
        let asked = asked
            .iter()
            .filter(|it| it["method"] == "tools/list")
            .count();
        assert!(asked <= most, "{asked} pages, not {most}");
    }
}

/// What a package runner does when it is used for the first time.
#[tokio::test(start_paused = true)]
async fn a_program_that_is_fetched_first_answers_within_its_own_limit() {
    use crate::timeouts::PACKAGE_START_TIMEOUT;
    for (limit, is_waited_for) in [(DEFAULT_TIMEOUT, false), (PACKAGE_START_TIMEOUT, true)] {
        let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}});
        let late = Reply::Late(Duration::from_secs(90), found);
        let rules = vec![("server/discover", late), ("initialize", Reply::Silence)];
        let (_link, connection) = scripted(rules);
        let handler = Arc::new(NoHandler);
        let opened = Session::open_within(connection, client(), handler, (BOTH, limit)).await;
        assert_eq!(opened.is_ok(), is_waited_for, "{limit:?}");
    }
}
