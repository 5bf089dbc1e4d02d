//! The old transport against a server that does as it is told.

use std::sync::Mutex;
use std::time::Duration;

use keyway_auth::Fixed;

use super::*;
use crate::testing::*;

/// What the stream of a test says next, from whichever request decides it.
type Script = Arc<Mutex<Vec<String>>>;

async fn connect(server: &Server) -> Result<Connection, TransportError> {
    let authorizer = Arc::new(Fixed::new(canary_header()));
    connect_sse(&server.url(), authorizer, &client()).await
}

/// A server whose stream brings `events` after the endpoint, half a second late, then ends.
async fn server(endpoint: &'static str, events: &'static str) -> Server {
    Server::start(move |seen| match seen.method.as_str() {
        "GET" => Reply::stream("")
            .events(&format!("event: endpoint\ndata: {endpoint}\n\n"))
            .wait(300)
            .events(events)
            .end()
            .hang(),
        _ => Reply::status(202, ""),
    })
    .await
}

#[tokio::test]
async fn messages_are_posted_to_the_endpoint_and_responses_arrive_on_the_stream() {
    let events = ": ping\n\ndata: {\"method\":\"notifications/x\"}\n\nevent: other\ndata: x\n\ndata: {\"id\":1.0,\"result\":{}}\n\ndata: {\"id\":9,\"result\":{}}\n\n";
    let server = server("/messages?session=CANARY-session", events).await;
    let mut connection = connect(&server).await.unwrap();
    send(&connection, INITIALIZED).await;
    send(&connection, r#"{"id":1,"method":"tools/call"}"#).await;
    send(&connection, r#"{"id":2,"method":"tools/call"}"#).await;
    assert!(next_text(&mut connection).await.contains("notifications/x"));
    assert_eq!(next_text(&mut connection).await, r#"{"id":1,"result":{}}"#);
    // The stream ends: what waits has failed, and the session is over.
    assert!(matches!(
        next_error(&mut connection).await,
        TransportError::Closed
    ));
    let end = next(&mut connection).await;
    assert!(matches!(end, Event::Closed(Some(TransportError::Closed))));
    let again = connection
        .link
        .send(Frame::new("{\"method\":\"x\"}").unwrap())
        .await;
    assert!(matches!(again, Err(TransportError::Closed)));
    let journal = server.journal();
    assert_eq!(journal[0].header("accept"), Some("text/event-stream"));
    assert_eq!(journal[1].rpc(), "notifications/initialized");
    assert_eq!(journal.len(), 4);
    for seen in &journal {
        assert_eq!(seen.header("authorization"), Some("Bearer CANARY-header"));
    }
    for seen in &journal[1..] {
        assert_eq!(seen.path, "/messages?session=CANARY-session");
    }
    assert!(!format!("{connection:?}").contains("CANARY"));
}

#[tokio::test]
async fn stream_and_messages_are_retried_with_each_new_credential() {
    let server = Server::start(|seen| {
        let is_accepted = match seen.method.as_str() {
            "GET" => "CANARY-3",
            _ => "CANARY-8",
        };
        match seen.header("authorization") == Some(is_accepted) {
            false => Reply::status(401, ""),
            true if seen.method == "GET" => Reply::stream("")
                .events("event: endpoint\ndata: /messages\n\n")
                .hang(),
            true => Reply::status(202, ""),
        }
    })
    .await;
    let authorizer = Arc::new(Renewing::default());
    let connected = connect_sse(&server.url(), Arc::clone(&authorizer) as _, &client()).await;
    let connection = connected.unwrap();
    send(&connection, INITIALIZED).await;
    server.heard(9).await;
    assert_eq!(*authorizer.heard.lock().unwrap(), [1, 2, 3, 1, 2, 3, 4]);
}

#[tokio::test]
async fn c3_endpoint_in_another_origin_is_refused_and_nothing_is_posted() {
    let other = Server::start(|seen| seen.ok()).await;
    let port = other.port;
    for endpoint in [
        format!("http://127.0.0.1:{port}/m"),
        format!("//127.0.0.1:{port}/m"),
        format!("http://localhost:{port}/m"),
        "https://127.0.0.1/m".to_owned(),
        "file:///etc/passwd".to_owned(),
    ] {
        let first = Server::start(move |_| {
            Reply::stream("")
                .events(&format!("event: endpoint\ndata: {endpoint}\n\n"))
                .hang()
        })
        .await;
        let error = connect(&first).await.unwrap_err();
        assert!(matches!(error, TransportError::Protocol { .. }), "{error}");
        assert_eq!(first.journal().len(), 1);
    }
    assert!(other.journal().is_empty());
}

#[tokio::test]
async fn stream_without_an_endpoint_event_is_refused() {
    for first in ["data: x\n\n", "event: message\ndata: /m\n\n"] {
        let server = Server::start(move |_| Reply::stream("").events(first).hang()).await;
        assert!(connect(&server).await.is_err());
    }
    for reply in [
        Reply::status(404, ""),
        Reply::json(200, "{}"),
        Reply::stream("").end(),
    ] {
        let server = Server::start(move |_| reply.clone()).await;
        assert!(connect(&server).await.is_err());
    }
}

#[tokio::test]
async fn refused_post_fails_its_request_alone() {
    let script: Script = Arc::default();
    let server = Server::start(move |seen| match seen.method.as_str() {
        "GET" => Reply::stream("")
            .events("event: endpoint\ndata: m\n\n")
            .hang(),
        _ => {
            script.lock().unwrap().push(seen.body.clone());
            match seen.id().as_str() {
                "1" => Reply::status(401, "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n"),
                "2" => Reply::json(400, r#"{"id":null,"error":{"code":-32600}}"#),
                _ => Reply::status(500, ""),
            }
        }
    })
    .await;
    let mut connection = connect(&server).await.unwrap();
    send(&connection, r#"{"id":1,"method":"tools/call"}"#).await;
    let error = next_error(&mut connection).await;
    assert!(
        matches!(&error, TransportError::Refused { status: 401, error: Some(error), .. } if error == "invalid_token")
    );
    send(&connection, r#"{"id":2,"method":"tools/call"}"#).await;
    assert_eq!(
        next_text(&mut connection).await,
        r#"{"id":2,"error":{"code":-32600}}"#
    );
    send(&connection, r#"{"id":3,"method":"tools/call"}"#).await;
    let error = next_error(&mut connection).await;
    assert!(matches!(error, TransportError::Status { status: 500, .. }));
    assert_eq!(server.journal().len(), 4);
    assert_eq!(server.journal()[1].path, "/m");
}

#[tokio::test]
async fn close_fails_pending_requests_then_closes() {
    let server = Server::start(|seen| match seen.method.as_str() {
        "GET" => Reply::stream("")
            .events("event: endpoint\ndata: m\n\n")
            .hang(),
        _ => Reply::status(202, ""),
    })
    .await;
    let mut connection = connect(&server).await.unwrap();
    send(&connection, r#"{"id":1,"method":"tools/call"}"#).await;
    server.heard(2).await;
    connection.link.close().await;
    assert!(matches!(
        next_error(&mut connection).await,
        TransportError::Closed
    ));
    assert!(matches!(next(&mut connection).await, Event::Closed(None)));
}

/// A server whose every stream answers the handshake and then one request, each after a while.
async fn patient(answer_to_initialize: &'static str) -> Server {
    let streams = std::sync::atomic::AtomicUsize::new(0);
    Server::start(move |seen| match seen.method.as_str() {
        "GET" => {
            let number = streams.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let greeted = match number {
                0 => r#""result":{}"#,
                _ => answer_to_initialize,
            };
            Reply::stream("")
                .events(&format!("event: endpoint\ndata: /m{number}\n\n"))
                .wait(200)
                .events("data: {\"method\":\"notifications/early\"}\n\n")
                .events(&format!("data: {{\"id\":1.0,{greeted}}}\n\n"))
                .wait(300)
                .events("data: {\"id\":3,\"result\":{}}\n\n")
                .hang()
        }
        _ => Reply::status(202, ""),
    })
    .await
}

const INITIALIZE: &str = r#"{"id":1,"method":"initialize"}"#;

#[tokio::test]
async fn request_after_a_sign_out_opens_a_stream_and_repeats_initialize() {
    let server = patient(r#""result":{}"#).await;
    let mut connection = connect(&server).await.unwrap();
    send(&connection, INITIALIZE).await;
    assert!(next_text(&mut connection).await.contains("early"));
    assert_eq!(next_text(&mut connection).await, r#"{"id":1,"result":{}}"#);
    send(&connection, INITIALIZED).await;
    send(&connection, r#"{"id":2,"method":"tools/call"}"#).await;
    server.heard(4).await;
    connection.link.end_session().await;
    // What waited for an answer gets none.
    let error = next_error(&mut connection).await;
    assert!(matches!(error, TransportError::Closed));
    // A notification without a session is not sent.
    send(&connection, r#"{"method":"notifications/cancelled"}"#).await;
    connection.link.end_session().await;
    send(&connection, r#"{"id":3,"method":"tools/call"}"#).await;
    assert_eq!(next_text(&mut connection).await, r#"{"id":3,"result":{}}"#);
    let journal = server.journal();
    let said: Vec<_> = journal.iter().map(Seen::rpc).collect();
    let greeting = ["", "initialize", "notifications/initialized", "tools/call"];
    assert_eq!(said, [greeting, greeting].concat());
    assert!(journal[1..4].iter().all(|seen| seen.path == "/m0"));
    assert!(journal[5..].iter().all(|seen| seen.path == "/m1"));
}

#[tokio::test]
async fn server_that_rejects_the_new_session_fails_the_request_and_the_next_one_tries_again() {
    let server = patient(r#""error":{"code":-32000}"#).await;
    let mut connection = connect(&server).await.unwrap();
    send(&connection, INITIALIZE).await;
    assert!(next_text(&mut connection).await.contains("early"));
    assert_eq!(next_text(&mut connection).await, r#"{"id":1,"result":{}}"#);
    connection.link.end_session().await;
    for id in [2, 3] {
        send(
            &connection,
            format!(r#"{{"id":{id},"method":"tools/call"}}"#),
        )
        .await;
        let error = next_error(&mut connection).await;
        assert!(matches!(error, TransportError::Protocol { .. }), "{error}");
    }
    let opened = server.journal().into_iter();
    assert_eq!(opened.filter(|seen| seen.method == "GET").count(), 3);
    assert!(
        !server
            .journal()
            .iter()
            .any(|seen| seen.rpc() == "tools/call")
    );
}

#[tokio::test]
async fn concurrent_requests_after_a_sign_out_open_one_stream() {
    let server = patient(r#""result":{}"#).await;
    let mut connection = connect(&server).await.unwrap();
    send(&connection, INITIALIZE).await;
    assert!(next_text(&mut connection).await.contains("early"));
    next_text(&mut connection).await;
    connection.link.end_session().await;
    for id in [3, 4, 5] {
        send(
            &connection,
            format!(r#"{{"id":{id},"method":"tools/call"}}"#),
        )
        .await;
    }
    assert_eq!(next_text(&mut connection).await, r#"{"id":3,"result":{}}"#);
    // One `initialize`, one stream, and all three.
    let journal = server.heard(7).await;
    assert_eq!(
        journal.iter().filter(|seen| seen.method == "GET").count(),
        2
    );
}

#[tokio::test]
async fn closed_connection_opens_no_stream() {
    let server = patient(r#""result":{}"#).await;
    let mut connection = connect(&server).await.unwrap();
    connection.link.end_session().await;
    connection.link.close().await;
    assert!(matches!(next(&mut connection).await, Event::Closed(None)));
    let frame = Frame::new(r#"{"id":2,"method":"tools/call"}"#).unwrap();
    let again = connection.link.send(frame).await;
    assert!(matches!(again, Err(TransportError::Closed)));
    assert_eq!(server.journal().len(), 1);
}

/// A server that drops its first streams once `initialize` is answered; a later one stays.
async fn forgetful(dropped: usize) -> Server {
    let streams = std::sync::atomic::AtomicUsize::new(0);
    Server::start(move |seen| match seen.method.as_str() {
        "GET" => {
            let number = streams.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let greeted = Reply::stream("")
                .events(&format!("event: endpoint\ndata: /m{number}\n\n"))
                .wait(100)
                .events("data: {\"id\":1,\"result\":{}}\n\n")
                .wait(200);
            match number < dropped {
                true => greeted.end(),
                false => greeted.events("data: {\"id\":3,\"result\":{}}\n\n").hang(),
            }
        }
        _ => Reply::status(202, ""),
    })
    .await
}

#[tokio::test]
async fn dropped_stream_fails_pending_requests_and_the_next_request_initializes_again() {
    let server = forgetful(1).await;
    let mut connection = connect(&server).await.unwrap();
    connection.link.reopen_lost_streams();
    send(&connection, INITIALIZE).await;
    assert_eq!(next_text(&mut connection).await, r#"{"id":1,"result":{}}"#);
    send(&connection, INITIALIZED).await;
    send(&connection, r#"{"id":2,"method":"tools/call"}"#).await;
    let error = next_error(&mut connection).await;
    assert!(matches!(error, TransportError::StreamLost), "{error}");
    assert_eq!(
        error.to_string(),
        "the event stream was lost; the server may have carried the request out"
    );
    send(&connection, r#"{"id":3,"method":"tools/call"}"#).await;
    assert_eq!(next_text(&mut connection).await, r#"{"id":3,"result":{}}"#);
    let said: Vec<_> = server.journal().iter().map(Seen::rpc).collect();
    let greeting = ["", "initialize", "notifications/initialized", "tools/call"];
    assert_eq!(said, [greeting, greeting].concat());
}

#[tokio::test]
async fn stream_that_cannot_be_opened_is_tried_three_times_with_growing_delays() {
    let streams = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(move |seen| match seen.method.as_str() {
        "GET" => match streams.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Reply::stream("")
                .events("event: endpoint\ndata: /m\n\n")
                .wait(100)
                .end(),
            _ => Reply::status(503, ""),
        },
        _ => Reply::status(202, ""),
    })
    .await;
    let mut connection = connect(&server).await.unwrap();
    connection.link.reopen_lost_streams();
    send(&connection, r#"{"id":1,"method":"tools/call"}"#).await;
    let error = next_error(&mut connection).await;
    assert!(matches!(error, TransportError::StreamLost), "{error}");
    let started = std::time::Instant::now();
    for id in [2, 3, 4] {
        let request = format!(r#"{{"id":{id},"method":"tools/call"}}"#);
        send(&connection, request).await;
    }
    let mut errors = Vec::new();
    for _ in 0..3 {
        errors.push(next_error(&mut connection).await.to_string());
    }
    errors.sort();
    // One has tried for all of them.
    let lost = "the event stream was lost; the server may have carried the request out";
    assert_eq!(errors, [lost, lost, "the server answered HTTP 503"]);
    assert!(started.elapsed() >= Duration::from_millis(750));
    let opened = server.journal().into_iter();
    assert_eq!(opened.filter(|seen| seen.method == "GET").count(), 4);
}

#[tokio::test]
async fn stream_that_breaks_the_protocol_closes_the_connection_even_with_reopening() {
    let server = server("/m", "data: no message\n\n").await;
    let mut connection = connect(&server).await.unwrap();
    connection.link.reopen_lost_streams();
    let end = next(&mut connection).await;
    assert!(
        matches!(end, Event::Closed(Some(TransportError::Frame(_)))),
        "{end:?}"
    );
}

#[tokio::test]
async fn connect_dropped_at_any_await_leaves_nothing_behind() {
    let server = server("/m", "").await;
    let mut was_done = false;
    for polls in 0..100 {
        was_done = crate::testing::drop_after(polls, connect(&server)).await;
        assert!(connect(&server).await.is_ok(), "after {polls} polls");
        if was_done {
            break;
        }
    }
    assert!(was_done, "it never came to its end");
}

#[tokio::test]
async fn an_answer_that_is_dropped_for_want_of_room_leaves_its_request_waiting() {
    let server = Server::start(|seen| seen.ok()).await;
    let (events, mut received) = queue(1);
    let shared = SseShared {
        server: server.server(),
        events,
        in_flight: InFlight::default(),
        send_queue: SendQueue::new(),
        current: CurrentStream::default(),
    };
    let task = || tokio::spawn(std::future::pending::<()>()).abort_handle();
    let id = RequestId::number(1);
    shared.in_flight.begin(id.clone(), task).unwrap();
    shared.events.try_send(Event::Closed(None)).unwrap();
    // As a sign-out does with the reading task.
    let answer = Bytes::from_static(br#"{"id":1,"result":{}}"#);
    assert!(!drop_after(1, shared.forward(answer.clone())).await);
    assert!(received.recv().await.is_some());
    // The request can still be answered, or be told of the end.
    assert!(drop_after(1, shared.forward(answer)).await);
    assert!(matches!(received.try_recv(), Some(Event::Frame(_))));
    assert!(shared.in_flight.drain().is_empty());
}
