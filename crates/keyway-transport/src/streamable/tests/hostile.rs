//! Servers that mean harm: other origins, two lengths, bombs, and connections that break.

use super::*;
use crate::frame::FrameError;
use std::time::Duration;

async fn error_for(reply: Reply) -> (TransportError, Server) {
    let server = Server::start(move |_| reply.clone()).await;
    let mut connection = server.connect();
    send(&connection, modern(1, "tools/call", "")).await;
    let error = next_error(&mut connection).await;
    (error, server)
}

#[tokio::test]
async fn a4_redirect_to_another_origin_is_refused_and_never_contacted() {
    let other = Server::start(|seen| seen.ok()).await;
    let port = other.port;
    for status in [301, 302, 303, 307, 308] {
        for target in [
            format!("http://127.0.0.1:{port}/mcp"),
            format!("//127.0.0.1:{port}/mcp"),
            format!("http://localhost:{port}/mcp"),
            "https://127.0.0.1/mcp".to_owned(),
            "http://x@127.0.0.1/".to_owned(),
        ] {
            let reply = Reply::status(status, &format!("Location: {target}\r\n"));
            let (error, server) = error_for(reply).await;
            assert!(
                matches!(error, TransportError::Redirect { .. }),
                "{status} {target}: {error}"
            );
            assert_eq!(server.journal().len(), 1);
        }
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a4_redirect_of_the_get_stream_is_refused() {
    let other = Server::start(|seen| seen.ok()).await;
    let port = other.port;
    let server = Server::start(move |seen| match seen.method.as_str() {
        "GET" => Reply::status(302, &format!("Location: http://127.0.0.1:{port}/\r\n")),
        _ => legacy(seen),
    })
    .await;
    let connection = server.connect();
    for text in [INITIALIZE, INITIALIZED] {
        send(&connection, text).await;
    }
    server.heard(3).await;
    connection.link.close().await;
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn redirect_inside_the_origin_keeps_method_body_and_headers_or_is_not_followed() {
    for (status, follows) in [
        (307, true),
        (308, true),
        (301, false),
        (302, false),
        (303, false),
    ] {
        let server = Server::start(move |seen| match seen.path.as_str() {
            "/mcp/" => seen.ok(),
            _ => Reply::status(status, "Location: /mcp/\r\n"),
        })
        .await;
        let mut connection = server.connect();
        send(&connection, modern(1, "tools/call", "")).await;
        if follows {
            next_text(&mut connection).await;
            let journal = server.journal();
            assert_eq!(journal[1].method, "POST");
            assert_eq!(journal[1].body, journal[0].body);
            assert_eq!(
                journal[1].header("authorization"),
                Some("Bearer CANARY-header")
            );
        } else {
            let error = next_error(&mut connection).await;
            assert!(matches!(error, TransportError::Status { .. }), "{error}");
            assert_eq!(server.journal().len(), 1);
        }
    }
}

#[tokio::test]
async fn redirect_loop_ends() {
    let (error, server) = error_for(Reply::status(307, "Location: /mcp\r\n")).await;
    assert!(matches!(error, TransportError::Protocol { .. }), "{error}");
    assert_eq!(server.journal().len(), 11);
}

#[tokio::test]
async fn c12_answers_that_two_readers_would_read_differently_are_refused() {
    let body = r#"{"id":1,"result":{}}"#;
    let length = body.len();
    let chunked = format!("{length:x}\r\n{body}\r\n0\r\n\r\n");
    for head in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        format!("Content-Length: {length}\r\nContent-Length: 5\r\n"),
        "Transfer-Encoding: chunked\r\nX-Folded: a\r\n b\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\nX-Space : a\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\nX-Nul: a\0b\r\n".to_owned(),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
    ] {
        let reply =
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{head}\r\n{chunked}");
        let (error, server) = error_for(Reply::raw(reply).close()).await;
        assert!(
            !matches!(error, TransportError::Status { .. }),
            "{head}: {error}"
        );
        assert_eq!(server.journal().len(), 1, "{head}");
    }
}

#[tokio::test]
async fn c11_compressed_answer_is_refused_unread() {
    for encoding in ["gzip", "br", "deflate", "zstd", "gzip, identity"] {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: {encoding}\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        let (error, _server) = error_for(Reply::raw(head).flood("1\r\n\x1f\r\n")).await;
        assert!(matches!(error, TransportError::Protocol { .. }), "{error}");
    }
}

#[tokio::test]
async fn c11_endless_bodies_end_at_the_limit() {
    let megabyte = "x".repeat(1 << 20);
    let piece = format!("100000\r\n{megabyte}\r\n");
    let json =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (error, _server) = error_for(Reply::raw(json).flood(piece.clone())).await;
    assert!(
        matches!(error, TransportError::Frame(FrameError::TooLarge { .. })),
        "{error}"
    );

    let (error, _server) = error_for(Reply::stream("").events("data: ").flood(piece.clone())).await;
    assert!(
        matches!(error, TransportError::Frame(FrameError::TooLarge { .. })),
        "{error}"
    );

    let announced =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n";
    let (error, _server) = error_for(Reply::raw(announced).hang()).await;
    assert!(
        matches!(error, TransportError::Frame(FrameError::TooLarge { .. })),
        "{error}"
    );

    let failed = "HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (error, _server) = error_for(Reply::raw(failed).flood(piece)).await;
    assert!(
        matches!(error, TransportError::Status { status: 500, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn c11_endless_headers_end() {
    for flood in [
        "X-A: b\r\n".to_owned(),
        format!("X: {}\r\n", "y".repeat(100_000)),
    ] {
        let (error, _server) = error_for(Reply::raw("HTTP/1.1 200 OK\r\n").flood(flood)).await;
        assert!(!matches!(error, TransportError::Status { .. }), "{error}");
    }
    let large = format!("X-Large: {}\r\n", "y".repeat(70_000));
    let (error, _server) = error_for(Reply::status(200, &large)).await;
    assert!(matches!(error, TransportError::Protocol { .. }), "{error}");
}

#[tokio::test]
async fn invalid_responses_fail_the_call() {
    for reply in [
        Reply::status(202, ""),
        Reply::status(204, ""),
        Reply::json(200, ""),
        Reply::json(200, "[]"),
        Reply::json(200, "{}"),
        Reply::json(200, r#"{"id":2,"result":{}}"#),
        Reply::json(200, r#"{"method":"x"}"#),
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\n{}"),
        Reply::stream("").events("data: no json\n\n").hang(),
        Reply::raw("SMTP ready\r\n").close(),
    ] {
        let (error, _server) = error_for(reply.clone()).await;
        assert_eq!(
            error.code().fixer(),
            match error {
                TransportError::Unreachable { .. } => keyway_code::Fixer::Network,
                _ => keyway_code::Fixer::ServerOperator,
            }
        );
    }
}

#[tokio::test]
async fn lost_call_is_not_resent_but_a_list_is() {
    let server = Server::start(|_| Reply::raw("HTTP/1.").close()).await;
    let mut connection = server.connect();
    send(&connection, modern(1, "tools/call", "")).await;
    next_error(&mut connection).await;
    assert_eq!(server.journal().len(), 1);
    send(&connection, modern(2, "tools/list", "")).await;
    next_error(&mut connection).await;
    assert_eq!(server.journal().len(), 4, "three tries");
}

#[tokio::test]
async fn refused_connection_is_tried_three_times_and_named_without_path() {
    let server = Server::start(|seen| seen.ok()).await;
    let mut connection = server.connect();
    server.stop().await;
    let began = std::time::Instant::now();
    send(&connection, modern(1, "tools/call", "")).await;
    let error = next_error(&mut connection).await;
    assert!(
        matches!(&error, TransportError::Unreachable { host, .. } if host == "127.0.0.1"),
        "{error}"
    );
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn slow_response_does_not_block_others() {
    let server = Server::start(|seen| {
        let answer = seen.answer("{}");
        match seen.rpc().as_str() {
            "slow" => {
                let mut reply = Reply::raw(format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    answer.len()
                ));
                for byte in answer.bytes() {
                    reply = reply.then([byte]).wait(10);
                }
                reply
            }
            _ => seen.ok(),
        }
    })
    .await;
    let mut connection = server.connect();
    send(&connection, modern(1, "slow", "")).await;
    send(&connection, modern(2, "fast", "")).await;
    assert!(next_text(&mut connection).await.contains("\"id\":2"));
    assert!(next_text(&mut connection).await.contains("\"id\":1"));
}

#[tokio::test]
async fn addresses_that_may_not_be_reached_are_refused_before_anything_is_sent() {
    for (url, code) in [
        ("https://169.254.169.254/latest", "forbidden-address"),
        ("https://[fe80::1]/", "forbidden-address"),
        ("https://metadata.google.internal/", "forbidden-address"),
        ("https://0.0.0.0/", "forbidden-address"),
        ("http://10.0.0.1/", "config-error"),
        ("http://localhost.evil.example/", "config-error"),
        ("ftp://localhost/", "config-error"),
        ("CANARY", "config-error"),
    ] {
        let authorizer = Arc::new(keyway_auth::Fixed::new(canary_header()));
        let error = connect_http(&Secret::new(url.to_owned()), authorizer, &client()).unwrap_err();
        assert_eq!(error.code().as_str(), code, "{url}");
        assert!(!format!("{error:?}").contains("CANARY"));
    }
}

/// Keeps everything that dependencies log.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{} {}\n", record.target(), record.args());
        self.0.lock().unwrap().push_str(&line);
    }

    fn flush(&self) {}
}

#[tokio::test]
async fn c9_dependencies_log_neither_header_nor_query_at_the_finest_level() {
    let lines = Log::default();
    log::set_boxed_logger(Box::new(lines.clone())).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let server = Server::start(|seen| match seen.path.as_str() {
        "/mcp/?t=CANARY" => legacy(seen),
        _ => Reply::status(307, "Location: /mcp/?t=CANARY\r\n"),
    })
    .await;
    let mut connection = server.connect();
    for text in [INITIALIZE, INITIALIZED] {
        send(&connection, text).await;
    }
    next_text(&mut connection).await;
    server.heard(4).await;
    connection.link.close().await;
    let url = Secret::new(server.url().expose().replace("http:", "ws:"));
    let authorizer = Arc::new(keyway_auth::Fixed::new(canary_header()));
    assert!(
        crate::connect_ws(&url, authorizer, &client())
            .await
            .is_err()
    );
    log::trace!("what a dependency says");
    let lines = lines.0.lock().unwrap();
    assert!(
        lines.contains("what a dependency says"),
        "nothing was logged"
    );
    assert!(!lines.contains("CANARY"), "{lines}");
}
