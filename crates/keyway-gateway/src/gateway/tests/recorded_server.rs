//! Requests to all servers together: which one they went to.

use super::*;

/// Returns the server and the tool of the latest request that is recorded.
async fn latest(running: &Running, count: usize) -> (Option<(String, String)>, Option<String>) {
    let recent = || running.gateway.activity.recent();
    until("it is recorded", || recent().len() == count).await;
    let asked = &recent()[0].request;
    (asked.server.clone(), asked.tool.clone())
}

fn place(plugin: &str, name: &str) -> Option<(String, String)> {
    Some((plugin.to_owned(), name.to_owned()))
}

#[tokio::test]
async fn a_call_to_all_servers_is_recorded_for_the_one_that_it_went_to() {
    let running = Running::start(&[]);
    let session = running.session("all", "/mcp").await;
    let ask = async |body: &str| {
        let client = running.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        assert_eq!(client.post("/mcp", body).await.status, 200);
    };
    let call = |name: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{name}"}}}}"#)
    };
    // The first call finds out whose the tool is.
    ask(&call("two__add")).await;
    let tool = Some("two__add".to_owned());
    assert_eq!(latest(&running, 2).await, (place("b", "two"), tool));
    ask(&call("one__add")).await;
    assert_eq!(latest(&running, 3).await.0, place("a", "one"));
    ask(&call("same__status")).await;
    assert_eq!(latest(&running, 4).await.0, place("b", "same"));
    ask(&call("nobody__add")).await;
    assert_eq!(latest(&running, 5).await.0, None, "it went nowhere");
    ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#).await;
    assert_eq!(latest(&running, 6).await.0, None, "all answered");
}

#[tokio::test]
async fn a_call_of_a_modern_client_is_recorded_for_the_one_that_it_went_to() {
    let running = Running::start(&[]);
    for (at, (name, plugin, server)) in [("one__add", "a", "one"), ("two__add", "b", "two")]
        .into_iter()
        .enumerate()
    {
        let client = running.client().await.token("all");
        let client = client.with("MCP-Protocol-Version", "2026-07-28");
        let client = client
            .with("Mcp-Method", "tools/call")
            .with("Mcp-Name", name);
        let body = modern("tools/call", &format!(r#""name":"{name}","#));
        let answer = client.post("/mcp", &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let found = latest(&running, at + 1).await;
        assert_eq!(found.0, place(plugin, server));
    }
}
