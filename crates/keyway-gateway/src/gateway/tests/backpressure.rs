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

/// What one client sends slowly must not be the memory of all.
#[tokio::test]
async fn large_messages_that_one_client_sends_slowly_do_not_hold_up_those_of_others() {
    use tokio::io::AsyncWriteExt as _;

    const MEGABYTES: usize = 1024 * 1024;
    let running = Running::start(&[]);
    let mut slow = Vec::new();
    let mut writing = Vec::new();
    for _ in 0..9 {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", running.port)).await;
        let (reads, mut writes) = stream.unwrap().into_split();
        slow.push(reads);
        let head = format!(
            "POST /mcp/a/one HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer only-a\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            running.port,
            10 * MEGABYTES
        );
        writing.push(tokio::spawn(async move {
            writes.write_all(head.as_bytes()).await.unwrap();
            // It may be refused before all of it is sent.
            drop(writes.write_all(&vec![b' '; 9 * MEGABYTES]).await);
            writes
        }));
    }
    // As much as they can send in this time, which is more than all have.
    let started = std::time::Instant::now();
    until("two seconds", || started.elapsed().as_secs() >= 2).await;
    let large = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"ping","params":{{"text":"{}"}}}}"#,
        "x".repeat(2 * MEGABYTES)
    );
    let session = running.session("all", "/mcp/a/one").await;
    let client = running.client().await.token("all");
    let client = client.with("Mcp-Session-Id", &session);
    let answer = client.post("/mcp/a/one", &large).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut byte = [0];
    for stream in &slow {
        let read = stream.try_read(&mut byte);
        let waits = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        assert!(read.is_err_and(|error| waits(&error)), "none has given way");
    }
    drop(writing);
}
