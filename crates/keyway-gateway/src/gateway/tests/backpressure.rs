//! Clients that ask for much and read little.

use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use super::*;

/// How many large messages the server has got rid of, once that does not change any more.
async fn sent(running: &Running) -> usize {
    let count = || running.heard().iter().filter(|it| *it == "sent").count();
    let mut before = count();
    loop {
        // Rest is the absence of events: nothing tells when it has come.
        tokio::time::sleep(Duration::from_millis(500)).await;
        if count() == before && before > 0 {
            return before;
        }
        before = count();
    }
}

/// Thirty messages of 4 MB: a queue of 64 would take them all.
#[tokio::test]
async fn a_server_waits_for_a_client_that_stops_reading() {
    let running = Running::start(&[]);
    let id = running.session("all", "/mcp/a/one").await;
    let client = running.client().await.token("all");
    let client = client.with("Mcp-Session-Id", &id);
    let client = client.with("Accept", "application/json, text/event-stream");
    let ask = r#"{"jsonrpc":"2.0","id":2,"method":"large"}"#;
    let mut stream = client.begin("/mcp/a/one", ask).await;
    // Sixteen of its own wait on the way from the server, and what the socket takes comes on top.
    let most = 16 + 4 + 3;
    let waiting = sent(&running).await;
    assert!(waiting <= most, "{waiting}");
    // A client that reads on misses nothing.
    let (mut bytes, mut piece) = (0, vec![0; 1 << 20]);
    let mut end = Vec::new();
    while !end.windows(9).any(|part| part == br#""large":1"#) {
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0);
        bytes += read;
        end.extend_from_slice(&piece[..read]);
        end.drain(..end.len().saturating_sub(64));
    }
    assert!(bytes > 30 * 4_000_000, "{bytes}");
}
