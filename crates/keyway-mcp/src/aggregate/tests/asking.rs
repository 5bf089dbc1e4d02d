//! What servers ask the client: sampling, roots, elicitation.

use super::*;

const ALL: &str = r#"{"sampling":{},"roots":{"listChanged":true},"elicitation":{},"tasks":{}}"#;

async fn greeted(fakes: &[&Arc<Fake>], capabilities: &str) -> Client {
    let mut client = Client::of(fakes);
    let capabilities: Value = serde_json::from_str(capabilities).unwrap();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities});
    client.request("initialize", params).await;
    for fake in fakes {
        fake.tools(&["t"]);
        client.call(&format!("{}__t", fake.name)).await;
    }
    client
}

#[tokio::test(start_paused = true)]
async fn questions_of_two_servers_under_one_id_get_their_own_answers() {
    let (one, two) = (Fake::new("one"), Fake::new("two"));
    let mut client = greeted(&[&one, &two], ALL).await;
    let greeting = &one.seen("initialize")[0]["params"]["capabilities"];
    assert_eq!(
        *greeting,
        json!({"sampling": {}, "roots": {"listChanged": true}, "elicitation": {}})
    );
    one.say(r#"{"id":7,"method":"sampling/createMessage","params":{"n":12345678901234567890123}}"#)
        .await;
    two.say(r#"{"id":7,"method":"roots/list"}"#).await;
    let first = client.next_text().await;
    assert!(
        first.contains(r#""params":{"n":12345678901234567890123}"#),
        "{first}"
    );
    let first: Value = serde_json::from_str(&first).unwrap();
    let second = client.next().await;
    assert_eq!(first["method"], "sampling/createMessage");
    assert_eq!(second["method"], "roots/list");
    assert_ne!(first["id"], second["id"]);
    client
        .send(format!(
            r#"{{"id":{},"error":{{"code":-1,"message":"no","data":[1]}}}}"#,
            second["id"]
        ))
        .await;
    client
        .send(format!(
            r#"{{"id":{},"result":{{"role":"user"}}}}"#,
            first["id"]
        ))
        .await;
    settle().await;
    let answer = |server: &Fake| {
        let seen = server.seen.lock().unwrap();
        seen.iter()
            .find(|message| message["id"] == 7 && message.get("method").is_none())
            .cloned()
            .unwrap()
    };
    assert_eq!(answer(&one)["result"], json!({"role": "user"}));
    assert_eq!(
        answer(&two)["error"],
        json!({"code": -1, "message": "no", "data": [1]})
    );
}

#[tokio::test(start_paused = true)]
async fn person_is_told_which_server_asks() {
    let server = Fake::new("shop");
    let mut client = greeted(&[&server], ALL).await;
    server
        .say(r#"{"id":"q","method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{}}}"#)
        .await;
    assert_eq!(
        client.next().await["params"]["message"],
        "[shop] Your name?"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_client_did_not_declare_it_is_not_asked() {
    let server = Fake::new("s");
    let mut client = greeted(&[&server], r#"{"roots":{}}"#).await;
    for method in ["sampling/createMessage", "elicitation/create", "tools/call"] {
        server
            .say(&format!(r#"{{"id":"{method}","method":"{method}"}}"#))
            .await;
        let seen = server.seen.lock().unwrap();
        let answer = seen.iter().find(|message| message["id"] == method).unwrap();
        assert_eq!(answer["error"]["code"], -32601);
    }
    assert_eq!(client.arrived().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn question_that_is_taken_back_or_whose_server_goes_away_is_cancelled() {
    let server = Fake::new("s");
    let mut client = greeted(&[&server], ALL).await;
    server.say(r#"{"id":"q","method":"roots/list"}"#).await;
    let first = client.next().await;
    server
        .say(r#"{"method":"notifications/cancelled","params":{"requestId":"q"}}"#)
        .await;
    let cancelled = client.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], first["id"]);
    server.say(r#"{"id":"r","method":"roots/list"}"#).await;
    let second = client.next().await;
    server.hang_up().await;
    let cancelled = client.next().await;
    assert_eq!(cancelled["params"]["requestId"], second["id"]);
}

#[tokio::test(start_paused = true)]
async fn progress_with_a_question_reaches_the_server_under_its_own_token() {
    let server = Fake::new("s");
    let mut client = greeted(&[&server], ALL).await;
    server
        .say(r#"{"id":"q","method":"sampling/createMessage","params":{"_meta":{"progressToken":"theirs"}}}"#)
        .await;
    let question = client.next().await;
    let token = &question["params"]["_meta"]["progressToken"];
    assert_ne!(token, "theirs");
    let params = json!({"progressToken": token, "progress": 1});
    client
        .send(json!({"method": "notifications/progress", "params": params}).to_string())
        .await;
    settle().await;
    let told = server.seen("notifications/progress");
    assert_eq!(
        told[0]["params"],
        json!({"progressToken": "theirs", "progress": 1})
    );
}

#[tokio::test(start_paused = true)]
async fn change_of_roots_reaches_every_server_that_is_there() {
    let server = Fake::new("s");
    let client = greeted(&[&server], ALL).await;
    client
        .send(r#"{"method":"notifications/roots/list_changed"}"#)
        .await;
    assert_eq!(server.seen("notifications/roots/list_changed").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn question_inside_a_modern_result_is_asked_and_the_call_completed() {
    let found = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
    let offer = OfferedEras::Both {
        probe: Duration::from_secs(1),
    };
    let server = Fake::of("s", offer).on("server/discover", &found.to_string());
    let mut client = greeted(&[&server], ALL).await;
    let ask = json!({"resultType": "input_required", "requestState": "st",
        "inputRequests": {"k": {"method": "elicitation/create", "params": {"message": "?"}}}});
    server.on("tools/call", &ask.to_string());
    let arguments = json!({"a": 1});
    let id = client
        .start(
            "tools/call",
            json!({"name": "s__t", "arguments": arguments}),
        )
        .await;
    let question = client.next().await;
    assert_eq!(question["params"]["message"], "[s] ?");
    server.on("tools/call", r#"{"resultType":"complete","content":[]}"#);
    client
        .send(json!({"id": question["id"], "result": {"action": "accept"}}).to_string())
        .await;
    assert_eq!(client.answer(id).await["result"]["content"], json!([]));
    let last = server.seen("tools/call").pop().unwrap();
    assert_eq!(last["params"]["inputResponses"]["k"]["action"], "accept");
    assert_eq!(last["params"]["requestState"], "st");
    assert_eq!(last["params"]["arguments"], arguments);
}
