//! Policies by every way to a server: its own path, all servers together, batches and both eras.

use keyway::settings::{Settings, ToolRule};

use super::*;
use keyway_policy::{Policies, TokenStore};

/// A gateway at which the client `test` may not call `add` of `a:one`.
fn start() -> (Running, Arc<Policies>) {
    let policies = Arc::new(Policies::in_memory(&Settings::default()));
    let rule = Some(ToolRule::Deny);
    let set = policies.set_rule(("a", "one"), (Some("test"), "add"), rule, []);
    set.unwrap();
    let given = Arc::clone(&policies);
    (
        Running::start_with(&[], |gateway| gateway.with_policies(given)),
        policies,
    )
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

fn call(name: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"{name}"}}}}"#)
}

fn calls(running: &Running) -> usize {
    let heard = running.heard();
    heard
        .iter()
        .filter(|it| it.contains("\"tools/call\""))
        .count()
}

#[tokio::test]
async fn a_denied_tool_is_hidden_and_refused_at_the_path_of_its_server() {
    let (running, _) = start();
    let session = running.session("all", "/mcp/a/one").await;
    let ask = async |body: &str| {
        let client = running.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        client.post("/mcp/a/one", body).await.body
    };
    assert!(ask(LIST).await.contains(r#""tools":[]"#));
    let refused = ask(&call("add")).await;
    assert!(refused.contains("-32051"), "{refused}");
    assert!(
        refused.contains("is denied to `test` by a policy"),
        "{refused}"
    );
    assert!(refused.contains("keyway open"), "{refused}");
    assert_eq!(calls(&running), 0);
    // Another server has no rule.
    let other = running.session("all", "/mcp/b/two").await;
    let client = running.client().await.token("all");
    let client = client.with("Mcp-Session-Id", &other);
    assert_eq!(client.post("/mcp/b/two", &call("add")).await.status, 200);
    assert_eq!(calls(&running), 1);
}

#[tokio::test]
async fn a_batch_is_decided_call_by_call() {
    let (running, _) = start();
    let session = running.session("all", "/mcp/a/one").await;
    let client = running.client().await.token("all");
    let client = client.with("Mcp-Session-Id", &session);
    let batch = format!("[{},{}]", call("add"), LIST);
    let answer = client.post("/mcp/a/one", &batch).await;
    assert!(answer.body.contains("-32051"), "{answer:?}");
    assert!(answer.body.contains(r#""tools":[]"#), "{answer:?}");
    assert_eq!(calls(&running), 0);
}

#[tokio::test]
async fn among_all_servers_only_the_denied_tool_of_the_one_is_missing() {
    let (running, _) = start();
    let session = running.session("all", "/mcp").await;
    let ask = async |body: &str| {
        let client = running.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        client.post("/mcp", body).await.body
    };
    let listed = ask(LIST).await;
    assert!(!listed.contains("one__add"), "{listed}");
    assert!(listed.contains("two__add"), "{listed}");
    let refused = ask(&call("one__add")).await;
    assert!(refused.contains("\"error\""), "{refused}");
    assert_eq!(calls(&running), 0);
    assert!(ask(&call("two__add")).await.contains("\"result\""));
    assert_eq!(calls(&running), 1);
}

#[tokio::test]
async fn a_modern_client_is_refused_as_well() {
    let (running, _) = start();
    let client = running.client().await.token("all");
    let client = client.with("MCP-Protocol-Version", "2026-07-28");
    let client = client
        .with("Mcp-Method", "tools/call")
        .with("Mcp-Name", "add");
    let body = modern("tools/call", r#""name":"add","#);
    let answer = client.post("/mcp/a/one", &body).await;
    assert!(answer.body.contains("-32051"), "{answer:?}");
    assert_eq!(calls(&running), 0);
}

/// Of a session that began before there was a rule.
#[tokio::test]
async fn a_rule_that_is_set_later_counts_for_open_sessions() {
    let policies = Arc::new(Policies::in_memory(&Settings::default()));
    let given = Arc::clone(&policies);
    let running = Running::start_with(&[], |gateway| gateway.with_policies(given));
    for (path, name) in [("/mcp/a/one", "add"), ("/mcp", "one__add")] {
        let session = running.session("all", path).await;
        let ask = async |body: &str| {
            let client = running.client().await.token("all");
            let client = client.with("Mcp-Session-Id", &session);
            client.post(path, body).await.body
        };
        let before = calls(&running);
        assert!(ask(&call(name)).await.contains("\"result\""), "{path}");
        assert_eq!(calls(&running), before + 1);
        let rule = Some(ToolRule::Deny);
        policies
            .set_rule(("a", "one"), (None, "*"), rule, [])
            .unwrap();
        running.gateway.apply_policies("a", "one");
        let refused = ask(&call(name)).await;
        assert!(refused.contains("\"error\""), "{path}: {refused}");
        assert_eq!(calls(&running), before + 1, "{path}");
        policies
            .set_rule(("a", "one"), (None, "*"), None, [])
            .unwrap();
        running.gateway.apply_policies("a", "one");
    }
}

#[tokio::test]
async fn a_service_account_reaches_its_server_with_its_account() {
    let running = Running::start(&[]);
    let home = tempfile::tempdir().unwrap();
    let folders = keyway_vault::Folders::below(home.path().join("k"));
    let vault = keyway_vault::Vault::open(&folders, keyway_vault::KeySources::default()).unwrap();
    let store = TokenStore::new(&vault).unwrap();
    let token = store.issue_service("ci", ("a", "one"), "bot", std::time::UNIX_EPOCH);
    let token = token.unwrap();
    let mut known = store.list().unwrap();
    running.capabilities.lock().unwrap().append(&mut known);
    for path in ["/mcp/a/one", "/mcp"] {
        let session = running.session(token.expose(), path).await;
        assert!(!session.is_empty());
        running.until_heard("as bot").await;
        running.heard.lock().unwrap().clear();
    }
    let refused = running.client().await.token(token.expose());
    assert_eq!(refused.post("/mcp/b/two", HELLO).await.status, 403);
}

#[tokio::test]
async fn the_last_use_of_a_token_is_noted() {
    let data = tempfile::tempdir().unwrap();
    let uses = Arc::new(TokenUses::read(data.path()));
    let given = Arc::clone(&uses);
    let running = Running::start_with(&[], |gateway| gateway.with_token_uses(given));
    let (used, unused) = (token("all", None), token("only-a", None));
    assert_eq!(uses.last(&used), None);
    running.session("all", "/mcp/a/one").await;
    assert!(uses.last(&used).is_some() && uses.last(&unused).is_none());
    running.gateway.close().await;
    assert_eq!(TokenUses::read(data.path()).last(&used), uses.last(&used));
}
