//! Sessions that began at another replica, or before a restart.

use keyway::store::seal::Key;

use super::*;

/// Two replicas that share a key, and tokens.
fn replicas() -> (Running, Running) {
    let key = SessionKey::new(Key::random().unwrap());
    let start = || Running::start_with(&[], |gateway| gateway.with_session_key(Some(key.clone())));
    (start(), start())
}

async fn ask(running: &Running, token: &str, path: &str, session: &str) -> client::Answer {
    let client = running.client().await.token(token);
    let client = client.with("Mcp-Session-Id", session);
    client.post(path, LIST).await
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[tokio::test]
async fn another_replica_takes_a_session_over_and_greets_the_server_as_the_client_did() {
    let (first, second) = replicas();
    let session = first.session("all", "/mcp/a/one").await;
    for _ in 0..2 {
        let answer = ask(&second, "all", "/mcp/a/one", &session).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let heard = second.heard();
    let greeted: Vec<&String> = heard
        .iter()
        .filter(|it| it.contains("initialize\""))
        .collect();
    assert_eq!(greeted.len(), 1, "{heard:?}");
    assert_eq!(greeted[0], HELLO);
    let told = heard
        .iter()
        .filter(|it| it.contains("notifications/initialized"));
    assert_eq!(told.count(), 1, "{heard:?}");
    // The first one still has it.
    assert_eq!(ask(&first, "all", "/mcp/a/one", &session).await.status, 200);
}

#[tokio::test]
async fn requests_that_come_together_share_one_session() {
    let (first, second) = replicas();
    let session = first.session("all", "/mcp").await;
    let ask = async |id: u32| {
        let client = second.client().await.token("all");
        let client = client.with("Mcp-Session-Id", &session);
        let list = LIST.replace(r#""id":2"#, &format!(r#""id":{id}"#));
        client.post("/mcp", &list).await
    };
    let asked = (2..10).map(ask);
    for answer in futures_util::future::join_all(asked).await {
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(second.gateway.session_count(), 1);
}

#[tokio::test]
async fn an_id_opens_for_its_owner_and_its_path_alone_and_only_whole() {
    let (first, second) = replicas();
    let session = first.session("only-a", "/mcp/a/one").await;
    let other_path = first.session("all", "/mcp/b/two").await;
    let mut flipped = session.clone().into_bytes();
    let middle = flipped.len() / 2;
    flipped[middle] = if flipped[middle] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).unwrap();
    let cut = &session[..session.len() - 4];
    for (token, id, why) in [
        ("all", session.as_str(), "another principal's"),
        ("all", other_path.as_str(), "for another path"),
        ("only-a", flipped.as_str(), "with a changed character"),
        ("only-a", cut, "cut"),
        ("only-a", "", "empty"),
    ] {
        let answer = ask(&second, token, "/mcp/a/one", id).await;
        assert_eq!(answer.status, 404, "{why}: {answer:?}");
    }
    assert!(second.heard().is_empty(), "{:?}", second.heard());
    // The key of another gateway.
    let (stranger, _) = replicas();
    let answer = ask(&stranger, "only-a", "/mcp/a/one", &session).await;
    assert_eq!(answer.status, 404, "{answer:?}");
    assert_eq!(
        ask(&second, "only-a", "/mcp/a/one", &session).await.status,
        200
    );
}

#[tokio::test]
async fn a_session_that_its_client_ended_is_not_taken_up_again() {
    let (first, _) = replicas();
    let session = first.session("all", "/mcp/a/one").await;
    let client = first.client().await.token("all");
    let client = client.with("Mcp-Session-Id", &session);
    assert_eq!(client.send("DELETE", "/mcp/a/one", "").await.status, 204);
    let answer = ask(&first, "all", "/mcp/a/one", &session).await;
    assert_eq!(answer.status, 404, "{answer:?}");
}

#[tokio::test]
async fn a_session_whose_greeting_is_too_long_for_a_header_has_an_ordinary_id() {
    let (first, second) = replicas();
    let long = HELLO.replace(
        "\"capabilities\":{}",
        &format!(
            r#""capabilities":{{"experimental":{{"x":"{}"}}}}"#,
            "x".repeat(5000)
        ),
    );
    let answer = first
        .client()
        .await
        .token("all")
        .post("/mcp/a/one", &long)
        .await;
    let session = answer.header("mcp-session-id").expect("a session");
    assert!(session.len() < 100, "{session}");
    assert_eq!(ask(&first, "all", "/mcp/a/one", &session).await.status, 200);
    assert_eq!(
        ask(&second, "all", "/mcp/a/one", &session).await.status,
        404
    );
}
