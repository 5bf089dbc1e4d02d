//! What an untrusted document cannot make us do, on loopback.

mod addresses;

use std::time::Instant;

use keyway_auth::ports::HttpClient as _;

use super::*;
use crate::http_client::HttpSettings;
use crate::testing::{Authority, Reply, Server, client};

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn at(server: &Server, path: &str) -> Url {
    url(&format!("http://127.0.0.1:{}{path}", server.port))
}

fn oauth(server: &Server) -> OAuthHttp {
    OAuthHttp::new(&client(), &at(server, "/mcp"))
}

fn post(url: Url) -> HttpRequest {
    let body = Secret::new(b"client_secret=CANARY-body".to_vec());
    let mut request = HttpRequest::post(url, body);
    let value = HeaderValue::from_static("Basic CANARY-header");
    request.headers.insert(http::header::AUTHORIZATION, value);
    request
}

/// Asks a server that gives the same answer to everything.
async fn failure_of(reply: Reply) -> HttpFailure {
    let server = Server::start(move |_| reply.clone()).await;
    let got = oauth(&server)
        .send(HttpRequest::get(at(&server, "/doc")))
        .await;
    got.unwrap_err()
}

#[tokio::test]
async fn response_of_any_status_is_returned_whole() {
    let server = Server::start(|seen| match seen.method.as_str() {
        "POST" => Reply::json_with(400, "DPoP-Nonce: n\r\n", r#"{"error":"invalid_grant"}"#),
        _ => Reply::json(200, "{}"),
    })
    .await;
    let client = oauth(&server);
    let answer = client.send(post(at(&server, "/token"))).await.unwrap();
    assert_eq!(answer.status, 400);
    assert_eq!(answer.headers.get("dpop-nonce").unwrap(), "n");
    assert_eq!(answer.body.expose(), br#"{"error":"invalid_grant"}"#);
    assert!(!format!("{answer:?}").contains("invalid_grant"));
    let mut get = HttpRequest::get(at(&server, "/doc"));
    let accept = HeaderValue::from_static("application/json");
    get.headers.insert(http::header::ACCEPT, accept);
    client.send(get).await.unwrap();
    let journal = server.journal();
    assert_eq!(journal[0].body, "client_secret=CANARY-body");
    assert_eq!(
        journal[0].header("authorization"),
        Some("Basic CANARY-header")
    );
    assert_eq!(journal[1].header("accept"), Some("application/json"));
    for seen in journal.iter() {
        assert_eq!(seen.header("accept-encoding"), Some("identity"));
        assert_eq!(
            (seen.header("cookie"), seen.header("referer")),
            (None, None)
        );
    }
    assert_eq!(journal[1].header("authorization"), None);
}

#[tokio::test]
async fn a4_document_that_moved_to_another_origin_is_not_fetched() {
    let other = Server::start(|_| Reply::json(200, "{}")).await;
    for status in [301, 302, 303, 307, 308] {
        for host in ["127.0.0.1", "localhost", "x@127.0.0.1"] {
            let location = format!("Location: http://{host}:{}/doc\r\n", other.port);
            let failure = failure_of(Reply::status(status, &location)).await;
            assert!(
                matches!(&failure, HttpFailure::Redirect { host } if host == "127.0.0.1"),
                "{status}: {failure}"
            );
        }
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a4_secret_is_never_posted_to_a_redirect_target() {
    let other = Server::start(|_| Reply::json(200, "{}")).await;
    for status in [301, 302, 303, 307, 308] {
        for target in [
            format!("http://127.0.0.1:{}/token", other.port),
            "/elsewhere".to_owned(),
        ] {
            let reply = Reply::status(status, &format!("Location: {target}\r\n"));
            let server = Server::start(move |_| reply.clone()).await;
            for redirects in [Redirects::None, Redirects::SameOrigin] {
                let mut request = post(at(&server, "/token"));
                request.redirects = redirects;
                let answer = oauth(&server).send(request).await.unwrap();
                assert_eq!(answer.status, status);
            }
            let paths: Vec<_> = server
                .journal()
                .iter()
                .map(|seen| seen.path.clone())
                .collect();
            assert_eq!(paths, ["/token", "/token"], "{status} {target}");
        }
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a4_document_may_move_ten_times_inside_its_origin() {
    for (moves, fetched) in [(10, true), (11, false)] {
        let server = Server::start(move |seen| {
            let number: u32 = seen.path.trim_start_matches('/').parse().unwrap();
            match number < moves {
                true => Reply::status(302, &format!("Location: /{}\r\n", number + 1)),
                false => Reply::json(200, "{}"),
            }
        })
        .await;
        let got = oauth(&server)
            .send(HttpRequest::get(at(&server, "/0")))
            .await;
        match got {
            Ok(answer) => assert!(fetched && answer.status == 200),
            Err(failure) => assert!(
                !fetched && matches!(failure, HttpFailure::Protocol { .. }),
                "{failure}"
            ),
        }
        assert_eq!(server.journal().len(), 11);
    }
}

#[tokio::test]
async fn a4_redirect_is_returned_where_none_is_followed() {
    let server = Server::start(|_| Reply::status(302, "Location: /x\r\n")).await;
    let mut request = HttpRequest::get(at(&server, "/doc"));
    request.redirects = Redirects::None;
    assert_eq!(oauth(&server).send(request).await.unwrap().status, 302);
    assert_eq!(server.journal().len(), 1);
}

#[tokio::test]
async fn a10_body_ends_at_one_mebibyte() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let piece = format!("10000\r\n{}\r\n", "x".repeat(1 << 16));
    for (reply, is_too_large) in
        [
            (
                // Far more than 2 GiB, if the client read on.
                Reply::raw(format!("{head}Transfer-Encoding: chunked\r\n\r\n")).flood(piece),
                true,
            ),
            (
                Reply::raw(format!("{head}Content-Length: 2147483648\r\n\r\n")).hang(),
                true,
            ),
            (
                Reply::raw(format!("{head}Content-Length: {}\r\n\r\n", MAX_BODY + 1))
                    .then(vec![b'x'; MAX_BODY + 1]),
                true,
            ),
            (
                Reply::raw(format!("{head}Content-Length: {MAX_BODY}\r\n\r\n"))
                    .then(vec![b'x'; MAX_BODY]),
                false,
            ),
        ]
    {
        let server = Server::start(move |_| reply.clone()).await;
        let got = oauth(&server)
            .send(HttpRequest::get(at(&server, "/doc")))
            .await;
        match got {
            Ok(answer) => assert!(!is_too_large && answer.body.expose().len() == MAX_BODY),
            Err(failure) => assert!(
                is_too_large && matches!(failure, HttpFailure::Protocol { .. }),
                "{failure}"
            ),
        }
    }
}

#[tokio::test]
async fn a10_response_head_is_bounded() {
    for reply in [
        Reply::status(200, &format!("X: {}\r\n", "y".repeat(70_000))),
        Reply::raw("HTTP/1.1 200 OK\r\n").flood("X-A: b\r\n"),
        Reply::raw("HTTP/1.1 200 OK\r\n").flood(format!("X: {}\r\n", "y".repeat(100_000))),
    ] {
        let failure = failure_of(reply).await;
        assert!(matches!(failure, HttpFailure::Protocol { .. }), "{failure}");
    }
}

#[tokio::test]
async fn a10_compressed_and_ambiguous_responses_are_refused_unread() {
    let chunked = "Transfer-Encoding: chunked\r\n";
    for head in [
        format!("Content-Encoding: gzip\r\n{chunked}"),
        format!("Content-Length: 2\r\n{chunked}"),
        format!("X-Folded: a\r\n b\r\n{chunked}"),
    ] {
        let reply = Reply::raw(format!("HTTP/1.1 200 OK\r\n{head}\r\n"));
        let failure = failure_of(reply.flood("1\r\n\x1f\r\n")).await;
        assert!(matches!(failure, HttpFailure::Protocol { .. }), "{failure}");
    }
    let failure = failure_of(Reply::raw("SMTP ready\r\n").close()).await;
    assert!(matches!(failure, HttpFailure::Protocol { .. }), "{failure}");
}

/// One byte a second, for a minute.
fn drip(head: &str) -> Reply {
    (0..60).fold(Reply::raw(head), |reply, _| reply.then("x").wait(1000))
}

#[tokio::test]
async fn a10_document_takes_five_seconds_and_a_post_ten() {
    let body = drip("HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n");
    let head = drip("HTTP/1.1 200 OK\r\nX: ");
    let moving = "HTTP/1.1 302 x\r\nLocation: /moving\r\nContent-Length: 0\r\n\r\n";
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/head" => head.clone(),
        "/moving" => Reply::raw("").wait(900).then(moving),
        "/silent" => Reply::raw("").hang(),
        _ => body.clone(),
    })
    .await;
    let client = oauth(&server);
    let timed = async |request: HttpRequest, limit: u64| {
        let began = Instant::now();
        let failure = client.send(request).await.unwrap_err();
        assert!(
            matches!(failure, HttpFailure::Timeout { seconds, .. } if seconds == limit),
            "{failure}"
        );
        let seconds = began.elapsed().as_secs_f64();
        assert!(
            seconds >= limit as f64 && seconds < 10.0 * limit as f64,
            "{seconds}"
        );
    };
    let get = |path| HttpRequest::get(at(&server, path));
    tokio::join!(
        timed(get("/body"), 5),
        timed(get("/head"), 5),
        timed(get("/moving"), 5),
        timed(get("/silent"), 5),
        timed(post(at(&server, "/body")), 10),
    );
}

#[tokio::test]
async fn failure_says_whether_the_request_may_have_arrived() {
    let sent = |failure: &HttpFailure| match failure {
        HttpFailure::Unreachable { sent, .. } => Some(*sent),
        _ => None,
    };
    for reply in [
        Reply::raw("").close(),
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx").close(),
    ] {
        let failure = failure_of(reply).await;
        assert_eq!(sent(&failure), Some(true), "{failure}");
        assert!(failure.is_transient());
    }
    let server = Server::start(|_| Reply::json(200, "{}")).await;
    let (address, client) = (at(&server, "/token"), oauth(&server));
    server.stop().await;
    let failure = client.send(post(address)).await.unwrap_err();
    assert_eq!(sent(&failure), Some(false));
    let displayable = failure.to_string();
    assert_eq!(
        displayable,
        "`127.0.0.1` cannot be reached: connection refused"
    );
}

#[tokio::test]
async fn roots_and_the_client_certificate_are_those_of_the_connection() {
    let authority = Authority::new();
    let acceptor = authority.acceptor(true);
    let server = Server::start_with(Some(acceptor), |_| Reply::json(200, "{}")).await;
    let address = url(&format!("https://localhost:{}/mcp", server.port));
    let settings = HttpSettings {
        root_certificates: authority.root_certificates(),
        identity: Some(authority.issue("us")),
        ..HttpSettings::default()
    };
    let ours = HttpClient::new(settings).unwrap();
    let client = OAuthHttp::new(&ours, &address);
    let answer = client.send(HttpRequest::get(address.clone())).await;
    assert_eq!(answer.unwrap().status, 200);

    let other = Authority::new();
    let settings = HttpSettings {
        root_certificates: other.root_certificates(),
        ..HttpSettings::default()
    };
    let stranger = HttpClient::new(settings).unwrap();
    let client = OAuthHttp::new(&stranger, &address);
    let failure = client.send(post(address)).await.unwrap_err();
    assert_eq!(
        failure.to_string(),
        "`localhost` cannot be reached: TLS handshake failed"
    );
    assert!(matches!(
        failure,
        HttpFailure::Unreachable { sent: false, .. }
    ));
    assert_eq!(server.journal().len(), 1);
}

#[tokio::test]
async fn sign_ins_of_many_sessions_share_their_connections() {
    let server = Server::start(|_| Reply::json(200, "{}")).await;
    let client = client();
    for _ in 0..3 {
        let session = OAuthHttp::new(&client, &at(&server, "/mcp"));
        let asked = session.send(HttpRequest::get(at(&server, "/doc")));
        assert_eq!(asked.await.unwrap().status, 200);
    }
    assert_eq!(server.connections(), 1);
    // What the person allowed for one server is another policy, and has connections of its own.
    let allowed = OAuthHttp::dangerous_private(&client, &at(&server, "/mcp")).unwrap();
    let asked = allowed.send(HttpRequest::get(at(&server, "/doc")));
    assert_eq!(asked.await.unwrap().status, 200);
    assert_eq!(server.connections(), 2);
}
