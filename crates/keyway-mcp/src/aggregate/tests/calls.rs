//! Calls, progress, cancellation, prompts, completion, logging.

use super::*;

#[tokio::test(start_paused = true)]
async fn call_goes_to_its_server_with_arguments_as_written_and_comes_back_so() {
    let result = r#"{"n":12345678901234567890123,"b":1.50,"a":{"z":1,"y":2}}"#;
    let one = Fake::new("one").tools(&["t"]);
    let two = Fake::new("two").tools(&["t"]).on("tools/call", result);
    let mut client = Client::of(&[&one, &two]);
    client
        .send(r#"{"id":"x","method":"tools/call","params":{"arguments":{"n":98765432109876543210987},"name":"two__t"}}"#)
        .await;
    let text = client.next_text().await;
    assert_eq!(
        text,
        format!(r#"{{"jsonrpc":"2.0","id":"x","result":{result}}}"#)
    );
    let call = two.seen("tools/call").remove(0);
    assert_eq!(call["params"]["name"], "t");
    let texts = two.texts.lock().unwrap();
    let written = r#""arguments":{"n":98765432109876543210987},"name":"t""#;
    assert!(texts.last().unwrap().contains(written), "{texts:?}");
    assert_eq!(one.connects(), 0);
}

#[tokio::test(start_paused = true)]
async fn error_of_a_server_arrives_as_it_was_and_unknown_names_are_refused() {
    let error = json!({"code": -32050, "message": "no", "data": {"why": [1]}});
    let server = Fake::new("s")
        .tools(&["t"])
        .reply("tools/call", Reply::Error(error.clone()));
    let mut client = Client::of(&[&server]);
    assert_eq!(client.call("s__t").await["error"], error);
    for name in ["s__u", "other__t", "t"] {
        assert_eq!(client.call(name).await["error"]["code"], -32602, "{name}");
    }
    let missing = client.request("tools/call", json!({})).await;
    assert_eq!(missing["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn call_to_a_server_that_cannot_be_reached_says_so_and_is_tried_each_time() {
    let server = Fake::new("s").attempt(0, Err(unreachable())).tools(&["t"]);
    let mut client = Client::of(&[&server]);
    let refused = client.call("s__t").await;
    assert_eq!(refused["error"]["data"]["code"], "timeout");
    assert_eq!(refused["error"]["data"]["state"], "failed");
    assert_eq!(refused["error"]["data"]["server"], "s");
    assert_eq!(client.call("s__t").await["result"]["from"], "s");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_at_once_get_a_thousand_answers_and_one_connection_each() {
    let one = Fake::new("one").tools(&["t"]).attempt(1, Ok(()));
    let two = Fake::new("two").tools(&["t"]);
    let mut client = Client::of(&[&one, &two]);
    for n in 0..1000 {
        let name = if n % 2 == 0 { "one__t" } else { "two__t" };
        client.start("tools/call", json!({ "name": name })).await;
    }
    let mut answered = std::collections::HashSet::new();
    while answered.len() < 1000 {
        let message = client.next().await;
        let id = message["id"].as_u64().unwrap();
        let from = if id % 2 == 1 { "one" } else { "two" };
        assert_eq!(message["result"]["from"], from);
        assert!(answered.insert(id));
    }
    assert_eq!((one.connects(), two.connects()), (1, 1));
    assert_eq!(client.arrived().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn progress_arrives_under_the_token_of_the_client_and_before_the_result() {
    let progress = r#"{"method":"notifications/progress","params":{"progressToken":ID,"progress":0.5,"total":12345678901234567890123}}"#;
    let server = Fake::new("s").tools(&["t"]);
    server.reply(
        "tools/call",
        Reply::After(vec![progress.to_owned()], "{}".to_owned()),
    );
    let mut client = Client::of(&[&server]);
    let params = json!({"name": "s__t", "_meta": {"progressToken": "mine", "other": 1}});
    let id = client.start("tools/call", params).await;
    assert_eq!(
        client.next_text().await,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":0.5,"total":12345678901234567890123}}"#
    );
    assert_eq!(client.answer(id).await["result"], json!({}));
    assert_eq!(server.seen("tools/call")[0]["params"]["_meta"]["other"], 1);
    // A request without a progress token gets no progress.
    client.call("s__t").await;
    assert_eq!(client.arrived().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_is_cancelled_at_its_server_and_gets_no_answer() {
    let server = Fake::new("s")
        .tools(&["t"])
        .reply("tools/call", Reply::Silence);
    let mut client = Client::of(&[&server]);
    client.tools().await;
    let id = client.start("tools/call", json!({"name": "s__t"})).await;
    settle().await;
    let upstream = server.seen("tools/call")[0]["id"].clone();
    client
        .send(json!({"method": "notifications/cancelled", "params": {"requestId": id}}).to_string())
        .await;
    settle().await;
    let told = server.seen("notifications/cancelled");
    assert_eq!(told[0]["params"]["requestId"], upstream);
    assert_eq!(server.abandoned.lock().unwrap().len(), 1);
    let late = format!(r#"{{"id":{upstream},"result":{{}}}}"#);
    server.say(&late).await;
    assert_eq!(client.arrived().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn prompts_and_their_completion_are_mapped_back() {
    let server = Fake::new("s")
        .on(
            "prompts/list",
            r#"{"prompts":[{"name":"p.1","arguments":[]}]}"#,
        )
        .on("prompts/get", r#"{"messages":[]}"#)
        .on("completion/complete", r#"{"completion":{"values":["v"]}}"#);
    let mut client = Client::of(&[&server]);
    assert_eq!(client.names("prompts/list", "prompts").await, ["s__p_1"]);
    let got = client
        .request("prompts/get", json!({"name": "s__p_1"}))
        .await;
    assert_eq!(got["result"]["messages"], json!([]));
    assert_eq!(server.seen("prompts/get")[0]["params"]["name"], "p.1");
    let params = json!({"ref": {"type": "ref/prompt", "name": "s__p_1"}, "argument": {"name": "a", "value": "v"}});
    let completed = client.request("completion/complete", params).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["v"]));
    let asked = &server.seen("completion/complete")[0]["params"];
    assert_eq!(asked["ref"], json!({"type": "ref/prompt", "name": "p.1"}));
    assert_eq!(asked["argument"]["name"], "a");
    let wrong = client
        .request("completion/complete", json!({"ref": {}}))
        .await;
    assert_eq!(wrong["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn log_level_reaches_all_servers_and_messages_say_whose_they_are() {
    let now = Fake::new("now").tools(&["t"]);
    let later = Fake::new("later").tools(&["t"]);
    let mut client = Client::of(&[&now, &later]);
    client.call("now__t").await;
    let set = client
        .request("logging/setLevel", json!({"level": "warning"}))
        .await;
    assert_eq!(set["result"], json!({}));
    client.call("later__t").await;
    settle().await;
    for server in [&now, &later] {
        let told = server.seen("logging/setLevel");
        assert_eq!(told[0]["params"]["level"], "warning");
    }
    now.say(r#"{"method":"notifications/message","params":{"level":"error","data":1}}"#)
        .await;
    now.say(
        r#"{"method":"notifications/message","params":{"level":"error","logger":"db","data":1}}"#,
    )
    .await;
    let loggers: Vec<_> = client
        .arrived()
        .await
        .into_iter()
        .map(|m| m["params"]["logger"].clone())
        .collect();
    assert_eq!(loggers, [json!("now"), json!("now/db")]);
    let wrong = client
        .request("logging/setLevel", json!({"level": "loud"}))
        .await;
    assert_eq!(wrong["error"]["code"], -32602);
}
