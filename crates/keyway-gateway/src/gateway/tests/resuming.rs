//! Clients whose connection breaks, and that come back.

use super::client::Client;
use super::*;

const LATER: &str = r#"{"jsonrpc":"2.0","id":9,"method":"later"}"#;

async fn client(running: &Running, session: &str, version: &str) -> Client {
    let client = running.client().await.token("all");
    let client = client.with("Mcp-Session-Id", session);
    client.with("MCP-Protocol-Version", version)
}

#[tokio::test]
async fn an_answer_is_not_lost_with_the_connection_it_was_asked_on() {
    let running = Running::start(&[]);
    let id = running.session("all", "/mcp/one").await;
    let asking = client(&running, &id, "2025-11-25").await;
    let asking = asking.with("Accept", "text/event-stream, application/json");
    // The stream begins at once, and the connection ends before there is an answer.
    let text = asking.post_until("/mcp/one", LATER, "data: ").await;
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    assert!(text.contains("id: 1-0\nretry: 1000\ndata: \n"), "{text}");
    assert!(!text.contains("late"), "{text}");
    let coming_back = client(&running, &id, "2025-11-25").await;
    let mut coming_back = coming_back
        .with("Last-Event-ID", "1-0")
        .listen("/mcp/one")
        .await;
    let text = coming_back.read_until("0\r\n\r\n").await;
    assert!(
        text.contains(r#"data: {"jsonrpc":"2.0","id":9,"result":{"late":1}}"#),
        "{text}"
    );
    assert!(text.contains("id: 1-1\n"), "{text}");
}

#[tokio::test]
async fn clients_from_before_empty_events_are_sent_none() {
    for version in ["2025-06-18", "2025-03-26"] {
        let running = Running::start(&[]);
        let id = running.session("all", "/mcp/one").await;
        let asking = client(&running, &id, version).await;
        let asking = asking.with("Accept", "text/event-stream, application/json");
        let text = asking.post_until("/mcp/one", LATER, "late").await;
        assert!(!text.contains("data: \n"), "{version}: {text}");
        assert!(text.contains("id: 1-1\n"), "{version}: {text}");
        let mut listening = client(&running, &id, version)
            .await
            .listen("/mcp/one")
            .await;
        let text = listening.read_until(": \n\n").await;
        assert!(!text.contains("data:"), "{version}: {text}");
    }
}

#[tokio::test]
async fn a_client_that_prefers_one_message_gets_one() {
    let running = Running::start(&[]);
    let id = running.session("all", "/mcp/one").await;
    let answer = client(&running, &id, "2025-11-25").await;
    let answer = answer.post("/mcp/one", LATER).await;
    assert_eq!(answer.header("content-type").unwrap(), "application/json");
}

#[tokio::test]
async fn a_stream_of_another_session_is_not_taken_up() {
    let running = Running::start(&[]);
    let (own, other) = (
        running.session("all", "/mcp/one").await,
        running.session("all", "/mcp/one").await,
    );
    let asking = client(&running, &own, "2025-11-25").await;
    let asking = asking.with("Accept", "text/event-stream, application/json");
    asking.post_until("/mcp/one", LATER, "late").await;
    for (session, last, expected) in [
        (&own, "1-0", 200),
        (&own, "2-0", 400),
        (&own, "nonsense", 400),
        (&other, "1-0", 400),
    ] {
        let back = client(&running, session, "2025-11-25").await;
        let back = back.with("Accept", "text/event-stream");
        let answer = back.with("Last-Event-ID", last);
        let answer = answer.send("GET", "/mcp/one", "").await;
        assert_eq!(answer.status, expected, "{last}: {answer:?}");
    }
}
