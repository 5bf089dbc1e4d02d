//! Limits by every way to a server: its own path, all servers together, batches and both eras.

use keyway::settings::{Limit, LimitSettings};

use super::*;

/// So slow that no test lives to see the next request allowed.
const ONE: Limit = Limit::NONE.calls_per_second(1);

fn start(client: Limit, server: Limit) -> Running {
    let limits = LimitSettings::new(client, server);
    Running::start_with(&[], |gateway| gateway.with_limits(limits))
}

fn call(name: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"{name}"}}}}"#)
}

fn calls(running: &Running) -> usize {
    let heard = running.heard();
    let calls = heard.iter().filter(|it| it.contains("\"tools/call\""));
    calls.count()
}

fn assert_refused(answer: &client::Answer) {
    assert_eq!(answer.status, 429, "{answer:?}");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait), "{answer:?}");
    assert!(answer.body.contains("try again in"), "{answer:?}");
}

#[tokio::test]
async fn a_client_that_asks_too_much_is_told_when_to_come_back_and_others_are_not_concerned() {
    let running = start(ONE, Limit::NONE);
    let modern_call = async |token: &str| {
        let client = running.client().await.token(token);
        let client = client.with("MCP-Protocol-Version", "2026-07-28");
        let client = client
            .with("Mcp-Method", "tools/call")
            .with("Mcp-Name", "add");
        let body = modern("tools/call", r#""name":"add","#);
        client.post("/mcp/a/one", &body).await
    };
    assert_eq!(modern_call("all").await.status, 200);
    assert_refused(&modern_call("all").await);
    assert_eq!(calls(&running), 1, "nothing of it reaches the server");
    assert_eq!(modern_call("only-a").await.status, 200);
    assert_eq!(calls(&running), 2);
}

#[tokio::test]
async fn every_message_of_a_batch_counts() {
    let running = start(Limit::NONE.calls_per_second(3), Limit::NONE);
    let session = running.session("all", "/mcp/a/one").await;
    let client = running.client().await.token("all");
    let client = client.with("Mcp-Session-Id", &session);
    let batch = format!("[{}]", [call("add"), call("add"), call("add")].join(","));
    let batch = batch.replacen(r#""id":3"#, r#""id":4"#, 1);
    let batch = batch.replacen(r#""id":3"#, r#""id":5"#, 1);
    let answer = client.post("/mcp/a/one", &batch).await;
    assert!(answer.body.contains("too many requests"), "{answer:?}");
    assert_eq!(calls(&running), 2, "the session began with one request");
}

/// A server may answer what has no id, and no audit would tell of it.
#[tokio::test]
async fn notifications_count_and_no_request_goes_without_an_id() {
    let running = start(Limit::NONE.calls_per_second(3), Limit::NONE);
    let session = running.session("all", "/mcp/a/one").await;
    let client = async || {
        let client = running.client().await.token("all");
        client.with("Mcp-Session-Id", &session)
    };
    for id in ["", r#""id":null,"#] {
        let body =
            format!(r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{"name":"add"}}}}"#);
        let answer = client().await.post("/mcp/a/one", &body).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.body.contains("needs an `id`"), "{answer:?}");
    }
    assert_eq!(calls(&running), 0);
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    let mut refused = 0;
    for _ in 0..20 {
        let answer = client().await.post("/mcp/a/one", progress).await;
        refused += usize::from(answer.status == 429);
    }
    assert!(
        refused > 0,
        "twenty at once, and three a second are allowed"
    );
}

#[tokio::test]
async fn a_server_has_its_own_limit_for_all_its_clients_at_its_path_and_among_all() {
    let running = start(Limit::NONE, Limit::NONE.calls_per_second(2));
    let session = running.session("all", "/mcp").await;
    let ask = async |body: &str| {
        let client = running.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        client.post("/mcp", body).await
    };
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    assert_eq!(ask(list).await.status, 200);
    for _ in 0..2 {
        assert_eq!(ask(&call("one__add")).await.status, 200);
    }
    assert_refused(&ask(&call("one__add")).await);
    // Also for another client that comes to the server itself.
    let other = running.client().await.token("only-a");
    assert_refused(&other.post("/mcp/a/one", HELLO).await);
    // Another server is not concerned.
    assert_eq!(ask(&call("two__add")).await.status, 200);
    assert_eq!(calls(&running), 3);
}

/// A client that hangs up and asks again must not have a server work on more than it may ask at once.
#[tokio::test]
async fn a_request_keeps_its_place_until_its_server_is_done_although_its_client_is_gone() {
    let running = start(Limit::NONE.calls_at_once(1), Limit::NONE);
    let session = running.session("all", "/mcp/a/one").await;
    let client = async || {
        let client = running.client().await.token("all");
        client.with("Mcp-Session-Id", &session)
    };
    let slow = r#"{"jsonrpc":"2.0","id":7,"method":"slow"}"#;
    let first = client().await;
    let waiting = tokio::spawn(async move { first.post("/mcp/a/one", slow).await });
    running.until_heard("\"slow\"").await;
    assert_refused(&client().await.post("/mcp/a/one", PING).await);
    waiting.abort();
    let _gone = waiting.await;
    // Long enough for the gateway to see that the client is gone: each is a request of its own.
    for _ in 0..50 {
        assert_refused(&client().await.post("/mcp/a/one", PING).await);
    }
    let finish = r#"{"jsonrpc":"2.0","method":"notifications/finish"}"#;
    assert_eq!(client().await.post("/mcp/a/one", finish).await.status, 202);
    let started = std::time::Instant::now();
    while client().await.post("/mcp/a/one", PING).await.status != 200 {
        assert!(started.elapsed() < PATIENCE, "the place is never free");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_request_that_is_cancelled_keeps_its_place_and_its_connection_gives_it_back() {
    let running = start(Limit::NONE.calls_at_once(1), Limit::NONE);
    let client = async |method: &'static str| {
        let client = running.client().await.token("all");
        client
            .with("MCP-Protocol-Version", "2026-07-28")
            .with("Mcp-Method", method)
    };
    let ask = async || {
        let body = modern("tools/list", "");
        let client = client("tools/list").await;
        client.post("/mcp/a/one", &body).await
    };
    let first = client("slow").await;
    let waiting = tokio::spawn(async move { first.post("/mcp/a/one", &modern("slow", "")).await });
    running.until_heard("\"slow\"").await;
    waiting.abort();
    running.until_heard("notifications/cancelled").await;
    assert_refused(&ask().await);
    running.gateway.reconnect("a", "one");
    let started = std::time::Instant::now();
    while ask().await.status != 200 {
        assert!(started.elapsed() < PATIENCE, "the place is never free");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_longest_idle_session_of_a_client_makes_room_at_its_limit() {
    let running = start(Limit::NONE.sessions(1), Limit::NONE);
    let first = running.session("all", "/mcp/a/one").await;
    let second = running.session("all", "/mcp/a/one").await;
    let other = running.session("only-a", "/mcp/a/one").await;
    for (token, session, status) in [
        ("all", &first, 404),
        ("all", &second, 200),
        ("only-a", &other, 200),
    ] {
        let client = running.client().await.token(token);
        let client = client.with("Mcp-Session-Id", session);
        assert_eq!(client.post("/mcp/a/one", PING).await.status, status);
    }
}
