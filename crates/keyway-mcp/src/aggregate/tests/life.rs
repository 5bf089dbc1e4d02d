//! Connections that end, and what is made of them.

use keyway_auth::{ServerEvent, ServerObserver, Topic};
use serde_json::value::RawValue;

use super::*;

#[tokio::test(start_paused = true)]
async fn pending_calls_fail_when_the_connection_ends_and_the_next_call_reconnects() {
    let server = Fake::new("s")
        .tools(&["t"])
        .reply("tools/call", Reply::Silence);
    let mut client = Client::of(&[&server]);
    client.tools().await;
    let ids = [
        client.start("tools/call", json!({"name": "s__t"})).await,
        client.start("tools/call", json!({"name": "s__t"})).await,
    ];
    settle().await;
    server.hang_up().await;
    for id in ids {
        let answer = client.answer(id).await;
        assert_eq!(answer["error"]["data"]["code"], "connection-closed");
    }
    let arrived = client.arrived().await;
    assert_eq!(arrived[0]["method"], "notifications/tools/list_changed");
    server.tools(&["t"]);
    assert_eq!(client.call("s__t").await["result"]["from"], "s");
    assert_eq!(server.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn server_that_went_away_is_given_five_tries_with_growing_waits() {
    let server = Fake::new("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    client.tools().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    server.hang_up().await;
    for _ in 0..6 {
        server.attempt(0, Err(unreachable()));
    }
    let before = tokio::time::Instant::now();
    let refused = client.call("s__t").await;
    assert_eq!(refused["error"]["data"]["reason"], "network-error");
    assert_eq!(server.connects(), 1 + 5);
    // One, two, four and eight seconds, each at least half.
    let waited = before.elapsed().as_millis();
    assert!((7_500..=15_100).contains(&waited), "{waited}");
    // Now it counts as failed, and each call tries once.
    client.call("s__t").await;
    assert_eq!(server.connects(), 1 + 5 + 1);
    assert_eq!(client.call("s__t").await["result"]["from"], "s");
}

#[tokio::test(start_paused = true)]
async fn server_that_needs_a_person_is_not_tried_again_by_itself() {
    let server = Fake::new("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    client.tools().await;
    server.hang_up().await;
    server.attempt(0, Err(ServerProblem::from(&refused())));
    let answer = client.call("s__t").await;
    assert_eq!(answer["error"]["data"]["state"], "needs-auth");
    assert_eq!(server.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn server_that_ends_as_soon_as_it_is_listed_is_left_alone_after_five_times() {
    let server = Fake::new("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    for _ in 0..10 {
        let names = client.tools().await;
        if names == ["s__t"] {
            server.hang_up().await;
        }
    }
    assert_eq!(server.connects(), 5);
}

#[derive(Debug, Default)]
struct Diary(Mutex<Vec<String>>);

impl Observer for Diary {
    fn changed(&self, server: &str, state: ServerState, problem: Option<&ServerProblem>) {
        let code = problem.map_or("", |problem| problem.code.as_str());
        self.0
            .lock()
            .unwrap()
            .push(format!("{server} {state} {code}"));
    }
}

#[tokio::test(start_paused = true)]
async fn observer_is_told_of_every_state() {
    let server = Fake::new("s").attempt(0, Err(unreachable())).tools(&["t"]);
    let diary = Arc::new(Diary::default());
    let info = ClientInfo {
        name: "keyway".to_owned(),
        version: "1".to_owned(),
    };
    let settings = AggregateSettings {
        observer: Arc::clone(&diary) as Arc<dyn Observer>,
        ..AggregateSettings::new(info)
    };
    let member = Member {
        name: "s".to_owned(),
        connector: Arc::clone(&server) as Arc<dyn Connector>,
        timeout: None,
        server_id: None,
    };
    let connection = aggregate(vec![member], settings);
    let mut client = Client {
        connection,
        next_id: 1,
        others: Vec::new(),
    };
    client.tools().await;
    client.call("s__t").await;
    server.hang_up().await;
    let expected = [
        "s failed/network-error timeout",
        "s connected ",
        "s failed/network-error connection-closed",
    ];
    assert_eq!(*diary.0.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_connection_and_every_request() {
    let server = Fake::new("s")
        .tools(&["t"])
        .reply("tools/call", Reply::Silence);
    let mut client = Client::of(&[&server]);
    client.tools().await;
    client.start("tools/call", json!({"name": "s__t"})).await;
    settle().await;
    client.connection.link.close().await;
    assert!(matches!(
        client.connection.events.recv().await,
        Some(Event::Closed(None))
    ));
    assert_eq!(server.seen("notifications/cancelled").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_waiting_request_learns_why_a_server_went_away() {
    let server = Fake::new("s").tools(&["t"]);
    server.reply("tools/call", Reply::Silence);
    let mut client = Client::of(&[&server]);
    client.tools().await;
    let ids = [
        client.start("tools/call", json!({"name": "s__t"})).await,
        client.start("tools/call", json!({"name": "s__t"})).await,
    ];
    settle().await;
    let ended = TransportError::ChildEnded {
        status: "exit code 3".to_owned(),
        last_lines: Vec::new(),
        confined: None,
    };
    server.hang_up_because(Some(ended)).await;
    for id in ids {
        let answer = client.answer(id).await;
        assert_eq!(answer["error"]["data"]["code"], "child-ended");
    }
}

#[tokio::test(start_paused = true)]
async fn credential_that_is_refused_later_changes_the_state_until_it_is_taken_again() {
    let server = Fake::new("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    client.tools().await;
    server.reply("tools/call", Reply::Refused);
    server.reply("tools/list", Reply::Refused);
    let answer = client.call("s__t").await;
    assert_eq!(answer["error"]["data"]["state"], "needs-auth");
    let arrived = client.arrived().await;
    assert_eq!(arrived[0]["method"], "notifications/tools/list_changed");
    assert_eq!(client.tools().await, ["s__t", "s__status"]);
    server.tools(&["t"]);
    assert_eq!(client.call("s__t").await["result"]["from"], "s");
    assert_eq!(client.arrived().await.len(), 1);
    assert_eq!(client.tools().await, ["s__t"]);
    assert_eq!(server.connects(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_opened_after_the_end() {
    let server = Fake::new("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    client.connection.link.close().await;
    let answer = client.start("tools/call", json!({"name": "s__t"})).await;
    assert!(matches!(
        client.connection.events.recv().await,
        Some(Event::Closed(None))
    ));
    let answer = client.answer(answer).await;
    assert_eq!(answer["error"]["data"]["code"], "connection-closed");
    assert_eq!(server.connects(), 0);
}

#[tokio::test(start_paused = true)]
async fn client_is_told_when_a_server_that_was_down_is_back() {
    let server = Fake::new("s").tools(&["t"]);
    for _ in 0..3 {
        server.attempt(0, Err(unreachable()));
    }
    let mut client = Client::of(&[&server]);
    assert_eq!(client.tools().await, ["s__status"]);
    // After 30 s and another 60 s nothing has changed; after 120 s it is back.
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(server.connects(), 3);
    assert!(client.arrived().await.is_empty());
    tokio::time::sleep(Duration::from_secs(130)).await;
    assert_eq!(server.connects(), 4);
    let arrived = client.arrived().await;
    assert_eq!(arrived[0]["method"], "notifications/tools/list_changed");
    assert_eq!(client.tools().await, ["s__t"]);
}

#[tokio::test(start_paused = true)]
async fn tools_of_the_last_list_stay_while_a_server_is_down() {
    let server = Fake::new("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    assert_eq!(client.tools().await, ["s__t"]);
    server.hang_up().await;
    for _ in 0..6 {
        server.attempt(0, Err(unreachable()));
    }
    client.call("s__t").await;
    assert_eq!(client.tools().await, ["s__t", "s__status"]);
    let refused = client.call("s__t").await;
    assert!(refused["error"]["data"]["hint"].is_string(), "{refused}");
}

/// What two processes have in common.
#[derive(Debug, Default)]
pub(super) struct SharedMemory(Mutex<Option<Vec<Box<RawValue>>>>);

impl ToolMemory for SharedMemory {
    fn recall(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>> {
        let tools = self.0.lock().unwrap().clone();
        Box::pin(std::future::ready(tools))
    }

    fn remember(&self, tools: &[Box<RawValue>]) {
        *self.0.lock().unwrap() = Some(tools.to_vec());
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_is_down_at_the_start_shows_the_tools_that_another_process_saw() {
    let memory = Arc::new(SharedMemory::default());
    let server = Fake::new("s").tools(&["t"]);
    server.memory.set(Arc::clone(&memory)).unwrap();
    assert_eq!(Client::of(&[&server]).tools().await, ["s__t"]);
    let down = Fake::new("s").tools(&["t", "u"]);
    down.memory.set(memory).unwrap();
    for _ in 0..6 {
        down.attempt(0, Err(unreachable()));
    }
    let mut client = Client::of(&[&down]);
    assert_eq!(client.tools().await, ["s__t", "s__status"]);
    let refused = client.call("s__t").await;
    assert!(refused["error"]["data"]["hint"].is_string(), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn program_that_is_fetched_first_answers_within_its_own_limit() {
    use crate::timeouts::PACKAGE_START_TIMEOUT;
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    for (limit, is_waited_for) in [(None, false), (Some(PACKAGE_START_TIMEOUT), true)] {
        let server = Fake::new("s").tools(&["t"]);
        let late = Reply::Late(Duration::from_secs(100), greeting.to_owned());
        server.reply("initialize", late);
        if let Some(limit) = limit {
            server.start_limit.set(limit).unwrap();
        }
        let mut client = Client::of(&[&server]);
        let answer = client.call("s__t").await;
        assert_eq!(answer["result"]["from"] == "s", is_waited_for, "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_server_that_is_used_is_connected_to() {
    let servers: Vec<_> = ["a", "b", "c"]
        .map(|name| Fake::new(name).tools(&["t"]))
        .into();
    let count = || servers.iter().map(|it| it.connects()).collect::<Vec<_>>();
    let mut clients = Vec::new();
    for _ in 0..200 {
        let all: Vec<_> = servers.iter().collect();
        let mut client = Client::of(&all);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
        client.request("initialize", params).await;
        client.request("ping", json!({})).await;
        client
            .request("logging/setLevel", json!({"level": "info"}))
            .await;
        clients.push(client);
    }
    tokio::time::advance(Duration::from_secs(600)).await;
    settle().await;
    assert_eq!(count(), [0, 0, 0]);
    assert_eq!(clients[7].call("b__t").await["result"]["from"], "b");
    assert_eq!(count(), [0, 1, 0]);
}

/// Connects as a server does, and ends the aggregate at the moment at which the session is open.
#[derive(Debug)]
struct EndsMeanwhile {
    server: Arc<Fake>,
    members: OnceLock<AggregateMembers>,
    this: Weak<Self>,
}

impl Connector for EndsMeanwhile {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(async move {
            let mut opened = self.server.connect().await?;
            let this = self.this.upgrade().unwrap();
            opened.connection.watch = ServerObserver::new(this, "s");
            Ok(opened)
        })
    }
}

impl keyway_auth::Observer for EndsMeanwhile {
    fn emit(&self, _: &str, event: ServerEvent) {
        if matches!(event, ServerEvent::Connected) {
            self.members.get().unwrap().end();
        }
    }

    fn wants(&self, _: Topic) -> bool {
        false
    }

    fn note(&self, _: Topic, _: Option<&str>, _: &str) {}
}

#[tokio::test(start_paused = true)]
async fn a_session_that_opens_after_the_end_is_not_kept() {
    let server = Fake::new("s").tools(&["t"]);
    let connector = Arc::new_cyclic(|this| EndsMeanwhile {
        server: Arc::clone(&server),
        members: OnceLock::new(),
        this: this.clone(),
    });
    let mut described = as_members(&[&server]);
    described[0].connector = Arc::clone(&connector) as Arc<dyn Connector>;
    let info = ClientInfo::new("keyway", "1");
    let (connection, members) = aggregate_with_members(described, AggregateSettings::new(info));
    connector.members.set(members).unwrap();
    let list = Frame::new(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).unwrap();
    connection.link.send(list).await.unwrap();
    settle().await;
    assert_eq!(server.connects(), 1);
    let events = server.events.lock().unwrap().clone().unwrap();
    assert!(events.is_closed(), "the session is still read");
}

#[tokio::test(start_paused = true)]
async fn an_aggregate_that_is_dropped_ends_sessions_that_it_listens_to() {
    let server = super::resources::modern("s").tools(&["t"]);
    let mut client = Client::of(&[&server]);
    client.call("s__t").await;
    settle().await;
    assert_eq!(server.seen("subscriptions/listen").len(), 1);
    drop(client);
    settle().await;
    let events = server.events.lock().unwrap().clone().unwrap();
    assert!(events.is_closed(), "the session is still read");
}
