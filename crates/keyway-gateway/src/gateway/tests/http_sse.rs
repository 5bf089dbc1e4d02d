//! Clients of 2024-11-05.

use super::client::Client;
use super::*;

const LIST: &str = r#"{"jsonrpc":"2.0","id":"x","method":"tools/list"}"#;

/// Opens a stream and returns it with the address to post to.
pub(super) async fn opened(running: &Running, path: &str) -> (Client, String) {
    let client = running.client().await.token("all");
    let mut stream = client.listen(path).await;
    let text = stream.read_until("\n\n").await;
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    let (_, rest) = text.split_once("event: endpoint\ndata: ").expect(&text);
    let endpoint = rest.lines().next().unwrap().to_owned();
    (stream, endpoint)
}

async fn post(running: &Running, token: &str, path: &str, body: &str) -> u16 {
    let client = running.client().await.token(token);
    client.post(path, body).await.status
}

#[tokio::test]
async fn everything_comes_on_the_one_stream() {
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}"#;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let running = Running::start(&[progress, changed]);
    for path in [
        "/mcp/a/one/sse",
        "/mcp/one/sse",
        "/mcp/b/two/sse",
        "/mcp/sse",
    ] {
        let (mut stream, endpoint) = opened(&running, path).await;
        assert!(
            endpoint.starts_with(&format!("{path}?sessionId=")),
            "{endpoint}"
        );
        assert_eq!(post(&running, "all", &endpoint, LIST).await, 400, "{path}");
        assert_eq!(post(&running, "all", &endpoint, HELLO).await, 202, "{path}");
        let text = stream.read_until("\n\n").await;
        assert!(text.contains(r#""id":1,"result":{"#), "{path}: {text}");
        if path == "/mcp/sse" {
            continue;
        }
        assert_eq!(post(&running, "all", &endpoint, LIST).await, 202, "{path}");
        let text = stream.read_until(r#""method":"tools/list""#).await;
        assert!(text.contains(progress), "{text}");
        assert!(text.contains(changed), "{text}");
        assert!(text.contains(r#"data: {"jsonrpc":"2.0","id":"x","result""#));
    }
}

#[tokio::test]
async fn only_the_token_that_opened_a_stream_may_post_to_it() {
    let running = Running::start(&[]);
    let (_stream, endpoint) = opened(&running, "/mcp/a/one/sse").await;
    let (path, id) = endpoint.split_once("?sessionId=").unwrap();
    assert!(id.len() >= 40, "{}", id.len());
    assert_eq!(post(&running, "only-a", &endpoint, HELLO).await, 404);
    assert_eq!(post(&running, "wrong", &endpoint, HELLO).await, 403);
    let other = format!("/mcp/b/two/sse?sessionId={id}");
    assert_eq!(post(&running, "all", &other, HELLO).await, 404);
    let guessed = format!("{path}?sessionId=guessed");
    assert_eq!(post(&running, "all", &guessed, HELLO).await, 404);
    // A newer client is told to try the older transport.
    assert_eq!(post(&running, "all", path, HELLO).await, 405);
    assert!(running.heard().is_empty(), "{:?}", running.heard());
    // C10: a gateway token opens its own plugin alone, and neither host nor origin may be
    // another's.
    let limited = running.client().await.token("only-a");
    let limited = limited.with("Accept", "text/event-stream");
    let answer = limited.send("GET", "/mcp/b/two/sse", "").await;
    assert_eq!(answer.status, 403);
    for (host, origin) in [("evil.test", None), ("", Some("http://evil.test"))] {
        let mut client = running.client().await.token("all");
        if !host.is_empty() {
            client = client.host(host);
        }
        client = origin
            .into_iter()
            .fold(client, |it, origin| it.with("Origin", origin));
        let client = client.with("Accept", "text/event-stream");
        assert_eq!(client.send("GET", path, "").await.status, 403, "{host}");
    }
}

#[tokio::test]
async fn a_session_ends_with_its_stream_and_with_its_token() {
    let running = Running::start(&[]);
    let gateway = Arc::clone(&running.gateway);
    let tending = tokio::spawn(async move { gateway.run_maintenance().await });
    let (stream, endpoint) = opened(&running, "/mcp/a/one/sse").await;
    assert_eq!(post(&running, "all", &endpoint, HELLO).await, 202);
    drop(stream);
    running.until_heard("closed").await;
    assert_eq!(post(&running, "all", &endpoint, LIST).await, 404);
    let (mut stream, endpoint) = opened(&running, "/mcp/a/one/sse").await;
    assert_eq!(post(&running, "all", &endpoint, HELLO).await, 202);
    running.capabilities.lock().unwrap().clear();
    stream.read_to_end().await;
    tending.abort();
}

#[tokio::test]
async fn calls_under_way_are_answered_when_streams_are_stopped() {
    let running = Running::start(&[]);
    let (mut stream, endpoint) = opened(&running, "/mcp/a/one/sse").await;
    assert_eq!(post(&running, "all", &endpoint, HELLO).await, 202);
    stream.read_until("result").await;
    let later = r#"{"jsonrpc":"2.0","id":7,"method":"later"}"#;
    assert_eq!(post(&running, "all", &endpoint, later).await, 202);
    running.gateway.stop_streams();
    let text = stream.read_until("0\r\n\r\n").await;
    assert!(text.contains(r#""id":7,"result":{"late":1}"#), "{text}");
}

#[tokio::test]
async fn no_more_requests_wait_than_a_session_may_have_under_way() {
    let running = Running::start(&[]);
    let (mut stream, endpoint) = opened(&running, "/mcp/a/one/sse").await;
    assert_eq!(post(&running, "all", &endpoint, HELLO).await, 202);
    stream.read_until("result").await;
    let slow = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"slow"}}"#);
    for id in 10..10 + 1024 {
        assert_eq!(post(&running, "all", &endpoint, &slow(id)).await, 202);
    }
    assert_eq!(post(&running, "all", &endpoint, &slow(10)).await, 400);
    assert_eq!(post(&running, "all", &endpoint, &slow(2000)).await, 503);
    let session = running.session("all", "/mcp/a/one").await;
    let client = running.client().await.token("all");
    let client = client.with("Mcp-Session-Id", &session);
    assert_eq!(client.post("/mcp/a/one", LIST).await.status, 200);
}
