//! Event streams: in pieces, cut, resumed, and sessions that are lost.

use std::sync::atomic::AtomicUsize;

use super::*;
use std::time::Duration;

#[tokio::test]
async fn notifications_and_requests_arrive_before_the_response() {
    let server = Server::start(|seen| {
        Reply::stream("")
            .events(": hello\n\nevent: other\ndata: ignored\n\n")
            .events("data: {\"method\":\"notifications/progress\"}\n\ndata: {\"id\":9,\"method\":\"ping\"}\n\n")
            .events("data: {\"id\":77,\"result\":\"stray\"}\n\n")
            .events(&format!("data: {}\n\n", seen.answer("{}")))
            .hang()
    })
    .await;
    let mut connection = server.connect();
    send(&connection, modern(1, "tools/call", "")).await;
    assert!(next_text(&mut connection).await.contains("progress"));
    assert!(next_text(&mut connection).await.contains("ping"));
    assert!(next_text(&mut connection).await.contains("\"id\":1"));
}

#[tokio::test]
async fn half_a_character_at_the_end_of_a_piece_is_completed_by_the_next() {
    let server = Server::start(|seen| {
        let text = format!("data: {}\n\n", seen.answer("\"h\u{e9}\u{1f600}\""));
        let mut reply = Reply::raw(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        for byte in text.bytes() {
            reply = reply.then([b"1\r\n".as_slice(), &[byte], b"\r\n"].concat());
        }
        reply.end()
    })
    .await;
    let mut connection = server.connect();
    send(&connection, modern(1, "tools/call", "")).await;
    assert!(
        next_text(&mut connection)
            .await
            .contains("\"h\u{e9}\u{1f600}\"")
    );
}

#[tokio::test]
async fn multi_line_responses_become_one_line() {
    let server = Server::start(|seen| match seen.id().as_str() {
        "1" => Reply::json(200, "{\r\n \"id\": 1,\n \"result\": {}\n}\n"),
        _ => Reply::stream("")
            .events("data: {\ndata: \"id\":2,\r\ndata: \"result\":{}}\n\n")
            .end(),
    })
    .await;
    let mut connection = server.connect();
    for id in [1, 2] {
        send(&connection, modern(id, "tools/call", "")).await;
        let text = next_text(&mut connection).await;
        assert!(!text.contains('\n') && text.contains("result"), "{text}");
    }
}

#[tokio::test]
async fn stream_that_ends_without_a_response_fails_the_call_once() {
    for reply in [
        Reply::stream("").end(),
        Reply::stream("").events("data: {\"id\":1,\"resu").close(),
        Reply::stream("").events("id: 5\nretry: 1\ndata:\n\n").end(),
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{\"id\":1").close(),
    ] {
        let server = Server::start(move |_| reply.clone()).await;
        let mut connection = server.connect();
        send(&connection, modern(1, "tools/call", "")).await;
        let error = next_error(&mut connection).await;
        assert!(matches!(error, TransportError::ResponseLost { .. }), "{error}");
        assert_eq!(server.journal().len(), 1, "a call is never repeated");
        assert!(connection.events.try_recv().is_none());
    }
}

#[tokio::test]
async fn legacy_stream_is_resumed_after_the_time_the_server_asks_for() {
    let server = Server::start(|seen| match (seen.method.as_str(), seen.rpc().as_str()) {
        ("POST", "tools/call") => Reply::stream("")
            .events("id: e-1\nretry: 1500\ndata:\n\n")
            .end(),
        ("GET", _) if seen.header("last-event-id") == Some("e-1") => Reply::stream("")
            .events("id: e-2\ndata: {\"method\":\"notifications/progress\"}\n\n")
            .end(),
        ("GET", _) if seen.header("last-event-id") == Some("e-2") => Reply::stream("")
            .events("id: e-3\ndata: {\"id\":2,\"result\":{}}\n\n")
            .end(),
        _ => legacy(seen),
    })
    .await;
    let mut connection = server.connect();
    for text in [INITIALIZE, INITIALIZED] {
        send(&connection, text).await;
    }
    next_text(&mut connection).await;
    send(&connection, r#"{"id":2,"method":"tools/call"}"#).await;
    assert!(next_text(&mut connection).await.contains("progress"));
    assert!(next_text(&mut connection).await.contains("result"));
    let journal = server.journal();
    let call = journal
        .iter()
        .find(|seen| seen.rpc() == "tools/call")
        .unwrap();
    let resumed: Vec<_> = journal
        .iter()
        .filter(|seen| seen.header("last-event-id").is_some())
        .collect();
    assert_eq!(resumed.len(), 2);
    for (later, earlier) in [(resumed[0], call), (resumed[1], resumed[0])] {
        let waited = later.at.duration_since(earlier.at);
        // Longer than it would be without that wish.
        assert!(waited >= Duration::from_millis(1500), "{waited:?}");
        assert_eq!(later.header("mcp-session-id"), Some("CANARY-session"));
    }
}

#[tokio::test]
async fn get_stream_respects_retry_after() {
    for headers in [
        "retry-after: 1\r\n",
        "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:38 GMT\r\n",
    ] {
        let server = Server::start(move |seen| match seen.method.as_str() {
            "GET" => Reply::status(429, headers),
            _ => legacy(seen),
        })
        .await;
        let mut connection = server.connect();
        for text in [INITIALIZE, INITIALIZED] {
            send(&connection, text).await;
        }
        next_text(&mut connection).await;
        let asked = server.heard_of(2, |seen| seen.method == "GET").await;
        // One second is our own patience, the other one the server's wish.
        let waited = asked[1].at.duration_since(asked[0].at);
        assert!(waited >= Duration::from_secs(2), "{headers}: {waited:?}");
    }
}

#[tokio::test]
async fn get_stream_delivers_server_messages_and_is_reopened() {
    let server = Server::start(|seen| match (seen.method.as_str(), seen.header("last-event-id")) {
        ("GET", None) => Reply::stream("")
            .events("id: 7\nretry: 20\ndata: {\"method\":\"notifications/one\"}\n\n")
            .close(),
        ("GET", Some("7")) => Reply::stream("")
            .events("data: {\"id\":\"s\",\"method\":\"roots/list\"}\n\ndata: {\"id\":1,\"result\":0}\n\n")
            .hang(),
        _ => legacy(seen),
    })
    .await;
    let mut connection = server.connect();
    for text in [INITIALIZE, INITIALIZED] {
        send(&connection, text).await;
    }
    next_text(&mut connection).await;
    assert!(
        next_text(&mut connection)
            .await
            .contains("notifications/one")
    );
    assert!(next_text(&mut connection).await.contains("roots/list"));
    connection.link.close().await;
    assert!(matches!(next(&mut connection).await, Event::Closed(None)));
}

/// A server that forgets every session after two requests in it.
async fn forgetful() -> Server {
    let sessions = Mutex::new((0, 0));
    Server::start(move |seen| {
        let mut sessions = sessions.lock().unwrap();
        if seen.method == "GET" {
            return Reply::status(405, "");
        }
        if seen.rpc() == "initialize" {
            *sessions = (sessions.0 + 1, 0);
            let header = format!("Mcp-Session-Id: s{}\r\n", sessions.0);
            let answer = seen.answer("{\"protocolVersion\":\"2025-11-25\"}");
            return Reply::json_with(200, &header, &answer);
        }
        let current = format!("s{}", sessions.0);
        if seen.header("mcp-session-id") != Some(&current) || sessions.1 >= 2 {
            return Reply::json(404, "{\"id\":null,\"error\":{\"code\":-32001}}");
        }
        if seen.id() == "null" {
            return Reply::status(202, "");
        }
        sessions.1 += 1;
        seen.ok()
    })
    .await
}

#[tokio::test]
async fn lost_session_is_replaced_transparently() {
    let server = forgetful().await;
    let mut connection = server.connect();
    for text in [INITIALIZE, INITIALIZED] {
        send(&connection, text).await;
    }
    next_text(&mut connection).await;
    for id in 1..6 {
        send(
            &connection,
            format!(r#"{{"id":{id},"method":"tools/call"}}"#),
        )
        .await;
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(next_text(&mut connection).await, expected);
    }
    let count = |method: &str| {
        let journal = server.journal();
        journal.iter().filter(|seen| seen.rpc() == method).count()
    };
    assert_eq!(count("initialize"), 3);
    assert_eq!(count("notifications/initialized"), 3);
    assert_eq!(count("tools/call"), 7);
    assert!(
        connection.events.try_recv().is_none(),
        "no second answer to `initialize`"
    );
}

#[tokio::test]
async fn session_lost_again_is_replaced_only_once() {
    let server = Server::start(|seen| match seen.rpc().as_str() {
        "tools/call" => Reply::status(404, ""),
        _ => legacy(seen),
    })
    .await;
    let mut connection = server.connect();
    for text in [INITIALIZE, INITIALIZED] {
        send(&connection, text).await;
    }
    next_text(&mut connection).await;
    send(&connection, r#"{"id":1,"method":"tools/call"}"#).await;
    let error = next_error(&mut connection).await;
    assert!(
        matches!(error, TransportError::Status { status: 404, .. }),
        "{error}"
    );
    let journal = server.journal();
    assert_eq!(
        journal
            .iter()
            .filter(|seen| seen.rpc() == "initialize")
            .count(),
        2
    );
}

#[tokio::test]
async fn a_connection_that_has_ended_does_not_begin_to_listen() {
    let server = Server::start(legacy).await;
    let (sender, _events) = queue(1);
    let shared = Arc::new(StreamableShared::new(server.server(), sender));
    shared.stop();
    // As `notifications/initialized` does that is accepted only now.
    shared.listen();
    assert!(shared.listener.lock().unwrap().is_none());
}

#[tokio::test]
async fn a_session_that_has_ended_does_not_begin_to_listen() {
    let server = Server::start(legacy).await;
    let (sender, _events) = queue(1);
    let shared = Arc::new(StreamableShared::new(server.server(), sender));
    let frame = Frame::new(r#"{"id":1,"result":{}}"#).unwrap();
    let session = super::super::session::Session::new(None, &frame);
    shared.sessions.begin(session, &frame);
    shared.end_session().await;
    shared.listen();
    assert!(shared.listener.lock().unwrap().is_none());
}

/// The first session is lost at once; in the second, nothing is accepted before
/// `notifications/initialized`, which takes until `initialized` is met.
async fn slow_to_initialize(initialized: Arc<Barrier>) -> Server {
    let (begun, is_initialized) = (AtomicUsize::new(0), AtomicBool::new(false));
    Server::start(move |seen| {
        let begun_before = begun.load(Ordering::Relaxed);
        match (seen.method.as_str(), seen.rpc().as_str()) {
            ("GET", _) => Reply::status(405, ""),
            (_, "initialize") => {
                begun.fetch_add(1, Ordering::Relaxed);
                let header = format!("Mcp-Session-Id: s{}\r\n", begun_before + 1);
                let answer = seen.answer("{\"protocolVersion\":\"2025-11-25\"}");
                Reply::json_with(200, &header, &answer)
            }
            (_, "notifications/initialized") => match begun_before {
                1 => Reply::status(202, ""),
                // Cancelled while it is being read: the server has not accepted it.
                2 => Reply::raw("").meet(&initialized).close(),
                _ => {
                    is_initialized.store(true, Ordering::Relaxed);
                    Reply::status(202, "")
                }
            },
            _ if seen.header("mcp-session-id") == Some("s1") => Reply::status(404, ""),
            _ if is_initialized.load(Ordering::Relaxed) => seen.ok(),
            _ => Reply::status(400, ""),
        }
    })
    .await
}

#[tokio::test]
async fn a_session_whose_replacement_was_cancelled_is_replaced_by_the_next_request() {
    let initialized = Arc::new(Barrier::new(2));
    let server = slow_to_initialize(Arc::clone(&initialized)).await;
    let mut connection = server.connect();
    for text in [INITIALIZE, INITIALIZED] {
        send(&connection, text).await;
    }
    next_text(&mut connection).await;
    let second = |seen: &Seen| seen.rpc() == "notifications/initialized";
    server.heard_of(1, second).await;
    send(&connection, r#"{"id":7,"method":"tools/call"}"#).await;
    server.heard_of(2, second).await;
    connection.link.abandon(&RequestId::number(7));
    initialized.wait().await;
    send(&connection, r#"{"id":8,"method":"tools/call"}"#).await;
    let expected = r#"{"jsonrpc":"2.0","id":8,"result":{}}"#;
    assert_eq!(next_text(&mut connection).await, expected);
}
