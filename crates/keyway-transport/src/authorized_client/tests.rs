//! What a host sends through an authorizer: credentials, challenges, retries, and never elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use keyway_auth::Fixed;

use super::*;
use crate::testing::{
    INITIALIZE, Renewing, Reply, Server, canary_header, client, drop_after, modern, next_error,
    next_text, send,
};

fn authorized(server: &Server, authorizer: Arc<dyn Authorizer>) -> AuthorizedClient {
    AuthorizedClient::new(&client(), &server.url(), authorizer).unwrap()
}

fn request(method: Method, uri: &str, body: &'static str) -> http::Request<Bytes> {
    let builder = http::Request::builder().method(method).uri(uri);
    let builder = builder.header(CONTENT_TYPE, "text/plain");
    // What the host puts here is not sent.
    let builder = builder.header(AUTHORIZATION, "Basic of-the-host");
    builder.body(Bytes::from_static(body.as_bytes())).unwrap()
}

#[test]
fn backoff_grows_and_has_jitter() {
    for (tries, range) in [(1, 100..=200), (2, 200..=400), (3, 400..=800)] {
        let times: Vec<_> = (0..50).map(|_| backoff(tries).as_millis()).collect();
        assert!(times.iter().all(|time| range.contains(time)), "{times:?}");
        assert!(times.iter().any(|time| *time != times[0]), "{times:?}");
    }
}

#[tokio::test]
async fn request_of_a_host_carries_the_credential() {
    let server = Server::start(|_| Reply::json_with(201, "X-A: b\r\n", "made")).await;
    let authorized = authorized(&server, Arc::new(Fixed::new(canary_header())));
    let absolute = format!("http://127.0.0.1:{}/a?b=c", server.port);
    for uri in ["/a?b=c", absolute.as_str()] {
        let made = authorized.send(request(Method::PUT, uri, "body")).await;
        let made = made.unwrap();
        assert_eq!(
            (made.status().as_u16(), &made.headers()["x-a"]),
            (201, &"b".parse().unwrap())
        );
        let body = made.into_body().collect(100).await.unwrap();
        assert_eq!(body, "made");
    }
    for seen in server.journal() {
        assert_eq!(
            (seen.method.as_str(), seen.path.as_str()),
            ("PUT", "/a?b=c")
        );
        assert_eq!(seen.header("authorization"), Some("Bearer CANARY-header"));
        assert_eq!(seen.header("content-type"), Some("text/plain"));
        assert_eq!(seen.body, "body");
    }
}

#[tokio::test]
async fn refused_request_of_a_host_is_sent_again_with_the_new_credential() {
    let server = Server::start(|seen| match seen.header("authorization") {
        Some("CANARY-1") => Reply::json(200, "in"),
        _ => Reply::status(401, "WWW-Authenticate: Bearer\r\n"),
    })
    .await;
    let renewing = Arc::new(Renewing::default());
    let authorized = authorized(&server, Arc::clone(&renewing) as Arc<dyn Authorizer>);
    let response = authorized.send(request(Method::POST, "/x", "once")).await;
    assert_eq!(response.unwrap().status(), 200);
    assert_eq!(*renewing.heard.lock().unwrap(), [1]);
    assert_eq!(server.journal().len(), 2);
    // A fixed header has nothing better.
    let fixed = authorized_fixed(&server);
    let refused = fixed
        .send(request(Method::POST, "/x", ""))
        .await
        .unwrap_err();
    assert!(matches!(
        refused,
        TransportError::Refused { status: 401, .. }
    ));
    assert_eq!(server.journal().len(), 3);
}

fn authorized_fixed(server: &Server) -> AuthorizedClient {
    authorized(server, Arc::new(Fixed::new(canary_header())))
}

#[tokio::test]
async fn request_of_a_host_never_leaves_the_origin() {
    let other = Server::start(|seen| seen.ok()).await;
    let to = format!("Location: http://127.0.0.1:{}/stolen\r\n", other.port);
    let server = Server::start(move |_| Reply::status(307, &to)).await;
    let authorized = authorized_fixed(&server);
    let port = other.port;
    for uri in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{}/", server.port),
        format!("http://localhost:{}/", server.port),
    ] {
        let error = authorized.send(request(Method::GET, &uri, "")).await;
        assert_eq!(error.unwrap_err().code().as_str(), "config-error", "{uri}");
    }
    assert!(server.journal().is_empty());
    let redirected = authorized.send(request(Method::GET, "/", "")).await;
    assert_eq!(
        redirected.unwrap_err().code().as_str(),
        "cross-origin-redirect"
    );
    assert_eq!((server.journal().len(), other.connections()), (1, 0));
}

#[tokio::test]
async fn lost_post_of_a_host_may_have_run_and_a_get_is_tried_three_times() {
    let server = Server::start(|_| Reply::raw("HTTP/1.").close()).await;
    let authorized = authorized_fixed(&server);
    let error = authorized
        .send(request(Method::POST, "/", "x"))
        .await
        .unwrap_err();
    assert!(
        matches!(error, TransportError::ResponseLost { .. }),
        "{error}"
    );
    assert_eq!(server.journal().len(), 1);
    let error = authorized
        .send(request(Method::GET, "/", ""))
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "unreachable");
    assert_eq!(server.journal().len(), 4);
}

#[tokio::test]
async fn lost_call_says_that_it_may_have_run() {
    for reply in [Reply::raw("HTTP/1.").close(), Reply::raw("").close()] {
        let server = Server::start(move |_| reply.clone()).await;
        let mut connection = server.connect();
        send(&connection, modern(1, "tools/call", "")).await;
        let error = next_error(&mut connection).await;
        let text = error.to_string();
        assert!(text.contains("may have carried it out"), "{text}");
        assert!(!text.contains("cannot reach"), "{text}");
        assert_eq!(server.journal().len(), 1);
    }
}

#[tokio::test]
async fn unavailable_server_is_tried_three_times_when_a_connection_opens() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |seen| match count.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => Reply::status(503, ""),
        _ => seen.ok(),
    })
    .await;
    let mut connection = server.connect();
    send(&connection, modern(1, "server/discover", "")).await;
    assert!(next_text(&mut connection).await.contains("result"));
    assert_eq!(server.journal().len(), 3);

    let down = Server::start(|_| Reply::status(503, "")).await;
    for (text, tries) in [
        (modern(1, "server/discover", ""), 3),
        (INITIALIZE.to_owned(), 6),
        (modern(3, "tools/call", ""), 7),
    ] {
        let mut connection = down.connect();
        send(&connection, text).await;
        let error = next_error(&mut connection).await;
        assert!(matches!(error, TransportError::Status { status: 503, .. }));
        assert!(error.is_transient());
        assert_eq!(down.journal().len(), tries);
    }
}

#[tokio::test]
async fn retry_after_is_respected_by_whatever_opens_a_connection() {
    for status in [429, 503] {
        let reply = Reply::status(status, "Retry-After: 7\r\n");
        let server = Server::start(move |_| reply.clone()).await;
        let mut connection = server.connect();
        for text in [modern(1, "server/discover", ""), INITIALIZE.to_owned()] {
            send(&connection, text).await;
            let error = next_error(&mut connection).await;
            let TransportError::Status {
                status: told,
                retry_after,
            } = error
            else {
                panic!("{error:?}");
            };
            assert_eq!(told, status);
            assert!(matches!(retry_after, Some(5..=7)), "{retry_after:?}");
        }
        assert_eq!(server.journal().len(), 1, "the second one was not sent");
    }
}

#[tokio::test]
async fn held_connection_opens_once_the_time_is_over() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |seen| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::status(429, "Retry-After: 1\r\n"),
        _ => seen.ok(),
    })
    .await;
    let mut connection = server.connect();
    send(&connection, modern(1, "server/discover", "")).await;
    next_error(&mut connection).await;
    // The server asked for a second, and sockets do not run on a paused clock.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    send(&connection, modern(2, "server/discover", "")).await;
    assert!(next_text(&mut connection).await.contains("result"));
}

#[tokio::test]
async fn complaint_of_nginx_about_the_client_certificate_is_recognised() {
    for (title, is_missing) in [
        ("400 No required SSL certificate was sent", true),
        ("400 The SSL certificate error", false),
    ] {
        let html = format!("<html><head><title>{title}</title></head></html>");
        let server = Server::start(move |_| Reply::json(400, &html)).await;
        let mut connection = server.connect();
        send(&connection, modern(1, "server/discover", "")).await;
        let error = next_error(&mut connection).await;
        let TransportError::ClientCertificate { is_missing: found } = error else {
            panic!("{error:?}");
        };
        assert_eq!(found, is_missing);
        assert_eq!(
            error.network_cause(),
            Some(crate::network_cause::NetworkCause::ClientCertificate)
        );
    }
}

#[tokio::test]
async fn request_dropped_at_any_await_leaves_the_client_usable() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_| match count.fetch_add(1, Ordering::SeqCst) % 3 {
        0 => Reply::status(401, ""),
        _ => Reply::json(200, "whole").wait(1),
    })
    .await;
    let authorized = authorized(&server, Arc::new(Renewing::default()));
    let mut was_done = false;
    for polls in 0..100 {
        let sending = async {
            let response = authorized.send(request(Method::POST, "/", "x")).await;
            response.unwrap().into_body().collect(100).await.unwrap()
        };
        was_done = drop_after(polls, sending).await;
        let response = authorized.send(request(Method::POST, "/", "x")).await;
        let body = response.unwrap().into_body().collect(100).await;
        assert_eq!(body.unwrap(), "whole", "after {polls} polls");
        if was_done {
            break;
        }
    }
    assert!(was_done, "it never came to its end");
}

#[tokio::test]
async fn send_dropped_at_any_await_leaves_the_connection_usable() {
    let server = Server::start(|seen| seen.ok().wait(1)).await;
    let mut connection = server.connect();
    let mut was_done = false;
    for polls in 0..100 {
        let id = u32::try_from(polls).unwrap();
        let frame = crate::frame::Frame::new(modern(id, "tools/call", "")).unwrap();
        was_done = drop_after(polls, connection.link.send(frame)).await;
        send(&connection, modern(1000 + id, "tools/list", "")).await;
        loop {
            let text = next_text(&mut connection).await;
            if text.contains(&format!("\"id\":{}", 1000 + id)) {
                break;
            }
        }
        if was_done {
            break;
        }
    }
    assert!(was_done, "it never came to its end");
}
