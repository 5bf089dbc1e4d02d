//! Both eras against a server that does as it is told.

mod hostile;
mod refusal;
mod streams;

use std::time::Duration;
use tokio::sync::Barrier;

use super::*;
use crate::queue::queue;
use crate::testing::*;

#[tokio::test]
async fn modern_request_carries_its_metadata_and_nothing_of_a_session() {
    let server = Server::start(|seen| seen.ok()).await;
    let mut connection = server.connect();
    send(&connection, modern(1, "tools/call", r#""name":"wéather""#)).await;
    assert_eq!(
        next_text(&mut connection).await,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#
    );
    send(
        &connection,
        modern(2, "resources/read", r#""uri":"file:///x""#),
    )
    .await;
    next_text(&mut connection).await;
    connection.link.close().await;
    let journal = server.journal();
    assert_eq!(journal.len(), 2, "no GET, no DELETE");
    let first = &journal[0];
    for (name, value) in [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("accept-encoding", "identity"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "=?base64?d8OpYXRoZXI=?="),
        ("authorization", "Bearer CANARY-header"),
    ] {
        assert_eq!(first.header(name), Some(value), "{name}");
    }
    assert_eq!(first.header("mcp-session-id"), None);
    assert_eq!(journal[1].header("mcp-name"), Some("file:///x"));
}

fn legacy(seen: &Seen) -> Reply {
    match (seen.method.as_str(), seen.rpc().as_str()) {
        ("POST", "initialize") => Reply::json_with(
            200,
            "Mcp-Session-Id: CANARY-session\r\n",
            &seen.answer(r#"{"protocolVersion":"2025-06-18"}"#),
        ),
        ("POST", _) if seen.id() == "null" => Reply::status(202, ""),
        ("POST", _) => seen.ok(),
        ("GET", _) => Reply::status(405, ""),
        _ => Reply::status(200, ""),
    }
}

#[tokio::test]
async fn legacy_session_is_begun_used_and_ended() {
    let server = Server::start(legacy).await;
    let mut connection = server.connect();
    // All at once, as a script does.
    for text in [INITIALIZE, INITIALIZED, r#"{"id":2,"method":"tools/list"}"#] {
        send(&connection, text).await;
    }
    assert!(next_text(&mut connection).await.contains("2025-06-18"));
    assert_eq!(
        next_text(&mut connection).await,
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#
    );
    server.heard(4).await;
    connection.link.close().await;
    assert!(matches!(next(&mut connection).await, Event::Closed(None)));
    let mut kinds: Vec<_> = server
        .journal()
        .iter()
        .map(|seen| format!("{} {}", seen.method, seen.rpc()))
        .collect();
    assert_eq!(
        kinds[..2],
        ["POST initialize", "POST notifications/initialized"]
    );
    assert_eq!(kinds.pop().unwrap(), "DELETE ");
    kinds[2..].sort();
    assert_eq!(kinds[2..], ["GET ", "POST tools/list"]);
    let journal = server.journal();
    assert_eq!(journal[0].header("mcp-session-id"), None);
    assert_eq!(journal[0].header("mcp-protocol-version"), None);
    for seen in &journal[1..] {
        assert_eq!(seen.header("mcp-session-id"), Some("CANARY-session"));
        assert_eq!(seen.header("mcp-protocol-version"), Some("2025-06-18"));
        assert_eq!(seen.header("authorization"), Some("Bearer CANARY-header"));
    }
    assert!(!format!("{connection:?}").contains("CANARY"));
}

/// Answers a modern server's methods; calls of `t` need the header `Mcp-Param-Region`.
fn annotated(seen: &Seen) -> Reply {
    let list = r#"{"tools":[{"name":"bad","inputSchema":{"properties":{"x":{"type":"number","x-mcp-header":"X"}}}},{"name":"t","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}"#;
    match seen.rpc().as_str() {
        "tools/list" => seen.result(list),
        "tools/call" if seen.header("mcp-param-region") != Some("eu") => {
            let id = seen.id();
            let error = format!(r#"{{"id":{id},"error":{{"code":-32020,"message":"x"}}}}"#);
            Reply::json(400, &error)
        }
        _ => seen.ok(),
    }
}

#[tokio::test]
async fn annotations_are_learned_and_invalid_tools_dropped() {
    let server = Server::start(annotated).await;
    let mut connection = server.connect();
    send(&connection, modern(1, "tools/list", "")).await;
    let dropped = next(&mut connection).await;
    assert!(
        matches!(&dropped, Event::ToolDropped { tool, .. } if tool == "bad"),
        "{dropped:?}"
    );
    let list = next_text(&mut connection).await;
    assert!(
        list.contains(r#""name":"t""#) && !list.contains("bad"),
        "{list}"
    );
    send(
        &connection,
        modern(2, "tools/call", r#""name":"t","arguments":{"region":"eu"}"#),
    )
    .await;
    assert!(next_text(&mut connection).await.contains("result"));
    assert_eq!(server.journal().len(), 2);
}

#[tokio::test]
async fn missing_tool_header_is_learned_and_the_call_repeated_once() {
    let server = Server::start(annotated).await;
    let mut connection = server.connect();
    send(
        &connection,
        modern(2, "tools/call", r#""name":"t","arguments":{"region":"eu"}"#),
    )
    .await;
    assert!(matches!(
        next(&mut connection).await,
        Event::ToolDropped { .. }
    ));
    assert!(next_text(&mut connection).await.contains("result"));
    let methods: Vec<_> = server.journal().iter().map(Seen::rpc).collect();
    assert_eq!(methods, ["tools/call", "tools/list", "tools/call"]);
    let list = &server.journal()[1];
    assert_eq!(list.header("mcp-method"), Some("tools/list"));
    assert!(list.body.contains("clientInfo") && !list.body.contains("progressToken"));
    // Nothing new to learn: the error is the answer.
    send(
        &connection,
        modern(3, "tools/call", r#""name":"t","arguments":{"region":"us"}"#),
    )
    .await;
    assert!(matches!(
        next(&mut connection).await,
        Event::ToolDropped { .. }
    ));
    assert!(next_text(&mut connection).await.contains("-32020"));
    assert_eq!(server.journal().len(), 5);
}

#[tokio::test]
async fn json_rpc_error_in_an_http_error_is_the_response() {
    const LATER: &str =
        "Date: Sun, 06 Nov 1994 12:00:00 GMT\r\nRetry-After: Sun, 06 Nov 1994 12:01:30 GMT\r\n";
    let server = Server::start(|seen| match seen.id().as_str() {
        "1" => Reply::json(
            404,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}"#,
        ),
        "2" => Reply::json(
            400,
            r#"{"jsonrpc":"2.0","error":{"code":-32022,"message":""}}"#,
        ),
        "3" => Reply::json(400, r#"{"id":99,"error":{"code":-1}}"#),
        "4" => Reply::status(503, "Retry-After: 7\r\n"),
        "6" => Reply::status(429, LATER),
        "7" => Reply::status(429, "Retry-After: Sat, 06 Nov 2094 12:00:00 GMT\r\n"),
        _ => Reply::raw("HTTP/1.1 500 x\r\nContent-Length: 5\r\n\r\n<htm>"),
    })
    .await;
    let mut connection = server.connect();
    send(&connection, modern(1, "x", "")).await;
    assert!(next_text(&mut connection).await.contains("-32601"));
    send(&connection, modern(2, "x", "")).await;
    assert!(
        next_text(&mut connection)
            .await
            .starts_with(r#"{"id":2,"jsonrpc""#)
    );
    for (id, expected, wait) in [
        (3, 400, None),
        (4, 503, Some(7)),
        (5, 500, None),
        (6, 429, Some(90)),
        // Against our own clock, which may be wrong.
        (7, 429, Some(3600)),
    ] {
        send(&connection, modern(id, "x", "")).await;
        let error = next_error(&mut connection).await;
        assert!(
            matches!(error, TransportError::Status { status, retry_after } if status == expected && retry_after == wait),
            "{error}"
        );
    }
}

#[tokio::test]
async fn thousand_concurrent_calls_all_get_responses() {
    let server = Server::start(|seen| seen.ok().wait(1)).await;
    let mut connection = server.connect();
    let link = Arc::clone(&connection.link);
    let sending = tokio::spawn(async move {
        for id in 0..1000 {
            let frame = Frame::new(modern(id, "tools/call", r#""name":"t""#)).unwrap();
            link.send(frame).await.unwrap();
        }
    });
    let mut ids = std::collections::BTreeSet::new();
    while ids.len() < 1000 {
        let text = next_text(&mut connection).await;
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(ids.insert(value["id"].as_u64().unwrap()), "answered twice");
    }
    sending.await.unwrap();
}

#[tokio::test]
async fn connections_are_reused() {
    let server = Server::start(|seen| match seen.id().as_str() {
        "1" => seen.ok(),
        _ => Reply::stream("")
            .events(&format!("data: {}\n\n", seen.answer("{}")))
            .end(),
    })
    .await;
    let mut connection = server.connect();
    for id in 1..5 {
        send(&connection, modern(id, "tools/call", "")).await;
        next_text(&mut connection).await;
        // Nothing shows from outside that the connection is in the pool again.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn abandoned_request_closes_its_stream_and_says_nothing_more() {
    let server = Server::start(|seen| match seen.rpc().as_str() {
        "slow" => Reply::stream("").events(": hello\n\n").hang(),
        _ => seen.ok(),
    })
    .await;
    let mut connection = server.connect();
    send(&connection, modern(1, "slow", "")).await;
    send(&connection, modern(2, "slow", "")).await;
    server.heard(2).await;
    connection.link.abandon(&RequestId::number(1));
    // A client of the modern era says it so.
    send(
        &connection,
        r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#,
    )
    .await;
    send(&connection, modern(3, "fast", "")).await;
    assert!(next_text(&mut connection).await.contains("\"id\":3"));
    assert_eq!(server.journal().len(), 3, "the cancellation is not posted");
    connection.link.close().await;
    assert!(matches!(next(&mut connection).await, Event::Closed(None)));
}

#[tokio::test]
async fn close_fails_pending_requests() {
    let server = Server::start(|_| Reply::stream("").hang()).await;
    let mut connection = server.connect();
    send(&connection, modern(1, "slow", "")).await;
    server.heard(1).await;
    connection.link.close().await;
    assert!(matches!(
        next_error(&mut connection).await,
        TransportError::Closed
    ));
    assert!(matches!(next(&mut connection).await, Event::Closed(None)));
    let late = connection
        .link
        .send(Frame::new(modern(2, "x", "")).unwrap())
        .await;
    assert!(matches!(late, Err(TransportError::Closed)));
}

#[tokio::test]
async fn responses_to_the_server_do_not_wait_for_the_handshake() {
    let both = Arc::new(Barrier::new(2));
    let server = Server::start(move |seen| match seen.rpc().as_str() {
        "initialize" => Reply::stream("")
            .events("data: {\"id\":\"s\",\"method\":\"ping\"}\n\n")
            .meet(&both)
            .events(&format!("data: {}\n\n", seen.answer("{}")))
            .end(),
        _ => Reply::raw("")
            .meet(&both)
            .then("HTTP/1.1 202 x\r\nContent-Length: 0\r\n\r\n"),
    })
    .await;
    let mut connection = server.connect();
    send(&connection, INITIALIZE).await;
    assert!(next_text(&mut connection).await.contains("ping"));
    send(&connection, r#"{"id":"s","result":{}}"#).await;
    server.heard(2).await;
    assert!(next_text(&mut connection).await.contains("result"));
}

#[tokio::test]
async fn task_of_a_call_is_small() {
    let server = Server::start(|seen| seen.ok()).await;
    let shared = Arc::new(StreamableShared::new(server.server(), queue(1).0));
    let frame = Frame::new(modern(1, "tools/call", "")).unwrap();
    let message = Outgoing::read(frame, false).unwrap();
    let size = size_of_val(&shared.exchange(&message, &RequestId::number(1)));
    assert!(
        size < 2048,
        "{size} bytes are moved and allocated for every call"
    );
}
