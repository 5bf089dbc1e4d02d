//! Servers that come, change and go while clients are connected.

use super::*;

impl Running {
    /// Serves these servers from now on: plugin, name, and what tells it apart.
    fn serve_instead(&self, servers: &[(&str, &str, u8)]) {
        let made = servers
            .iter()
            .map(|(plugin, name, digest)| served(plugin, name, [*digest; 32], &self.heard, &[]));
        self.gateway.replace(made.collect());
    }

    /// Says whether a session is still there.
    async fn has(&self, path: &str, id: &str) -> bool {
        let client = self.client().await.token("all").with("Mcp-Session-Id", id);
        let list = r#"{"jsonrpc":"2.0","id":"x","method":"tools/list"}"#;
        client.post(path, list).await.status == 200
    }

    async fn modern(&self, path: &str) -> String {
        let client = self.client().await.token("all");
        let client = client.with("MCP-Protocol-Version", "2026-07-28");
        let ask = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        let client = client.with("Mcp-Method", "tools/list");
        client.post(path, ask).await.body
    }

    /// How many connections have been closed.
    fn closed(&self) -> usize {
        let heard = self.heard();
        heard.iter().filter(|it| *it == "closed").count()
    }

    async fn until_closed(&self, count: usize) {
        until(&format!("{count} closed"), || self.closed() == count).await;
    }
}

#[tokio::test]
async fn a_server_that_stays_the_same_keeps_its_session_and_others_lose_theirs() {
    let running = Running::start(&[]);
    let sessions = running.session("all", "/mcp/one").await;
    let changes = running.session("all", "/mcp/two").await;
    let goes = running.session("all", "/mcp/same").await;
    running.serve_instead(&[("a", "one", 0), ("b", "two", 1), ("b", "new", 0)]);
    assert!(running.has("/mcp/one", &sessions).await);
    assert!(!running.has("/mcp/two", &changes).await);
    assert!(!running.has("/mcp/same", &goes).await);
    running.until_closed(2).await;
    let again = running.session("all", "/mcp/two").await;
    assert!(running.has("/mcp/two", &again).await);
    running.session("all", "/mcp/new").await;
    let gone = running.client().await.token("all");
    assert_eq!(gone.post("/mcp/same", HELLO).await.status, 404);
}

#[tokio::test]
async fn a_call_under_way_gets_its_time_when_its_server_goes() {
    let running = Running::start(&[]);
    let id = running.session("all", "/mcp/one").await;
    let client = running.client().await.token("all");
    let client = client.with("Mcp-Session-Id", &id);
    let slow = r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#;
    let _waiting = client.begin("/mcp/one", slow).await;
    while !running.heard().iter().any(|it| it == slow) {
        tokio::task::yield_now().await;
    }
    running.serve_instead(&[("b", "two", 0)]);
    // Time to close it too early, which may not happen.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(running.closed(), 0, "the call is still under way");
    assert!(!running.has("/mcp/one", &id).await, "but nothing new");
}

#[tokio::test]
async fn a_stream_ends_with_its_session_when_the_server_goes() {
    let running = Running::start(&[]);
    let id = running.session("all", "/mcp/one").await;
    let client = running.client().await.token("all");
    let mut stream = client.with("Mcp-Session-Id", &id).listen("/mcp/one").await;
    stream.read_until("HTTP/1.1 200 ").await;
    running.serve_instead(&[("b", "two", 0)]);
    stream.read_to_end().await;
    running.until_closed(1).await;
}

#[tokio::test]
async fn the_connections_of_modern_clients_are_replaced_only_with_their_server() {
    let running = Running::start(&[]);
    for path in ["/mcp/one", "/mcp/two"] {
        assert!(running.modern(path).await.contains("result"));
    }
    running.serve_instead(&[("a", "one", 0), ("b", "two", 1)]);
    running.until_closed(1).await;
    for path in ["/mcp/one", "/mcp/two"] {
        assert!(running.modern(path).await.contains("result"));
    }
    assert_eq!(running.closed(), 1);
}

#[tokio::test]
async fn a_session_of_the_combined_endpoint_ends_when_a_second_server_appears() {
    let running = Running::start(&[]);
    running.serve_instead(&[("a", "one", 0)]);
    let id = running.session("all", "/mcp").await;
    assert!(running.has("/mcp", &id).await);
    running.serve_instead(&[("a", "one", 0), ("b", "two", 0)]);
    assert!(!running.has("/mcp", &id).await);
    running.until_closed(1).await;
}

#[tokio::test]
async fn a_combined_session_continues_and_announces_a_new_server() {
    let running = Running::start(&[]);
    let client = running.client().await.token("all");
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let id = client.post("/mcp", hello).await;
    let id = id.header("mcp-session-id").unwrap();
    assert!(running.has("/mcp", &id).await, "it lists");
    running.serve_instead(&[("a", "one", 0)]);
    let client = running.client().await.token("all");
    let event = client.with("Mcp-Session-Id", &id).first_event("/mcp").await;
    assert!(event.contains("tools/list_changed"), "{event}");
    assert!(running.has("/mcp", &id).await, "the session goes on");
    running.serve_instead(&[("a", "one", 0), ("b", "two", 3)]);
    assert!(running.has("/mcp", &id).await, "the session goes on");
}
