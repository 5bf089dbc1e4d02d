use keyway_transport::TransportError;
use serde_json::{Value, json};

use super::super::testing::{Bench, Server as Scripted};
use super::super::{ClientEra, translate};
use super::*;

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"roots":{}}"#;

const SESSION: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{},"tasks":{},"x":1.50},"serverInfo":{"name":"s","version":"2"},"instructions":"Be kind"}"#;

fn discover() -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{{"_meta":{{{META}}}}}}}"#
    )
}

async fn bench() -> Bench {
    let mut bench = Bench::attached(ClientEra::Modern, &discover(), SESSION).await;
    assert_eq!(
        bench.server.next_json().await["method"],
        "notifications/initialized"
    );
    bench
}

/// Sends a call and returns the id that the server gets it under.
async fn call(bench: &mut Bench, id: i32, rest: &str) -> Value {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":{id},{META}}}{rest}}}}}"#
    );
    bench.send(&text).await;
    if rest.contains("requestState") {
        return Value::Null;
    }
    bench.server.next_json().await["id"].clone()
}

const QUESTION: &str = r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"\u00e9","requestedSchema":{"z":1.0,"a":2}}}"#;

/// Takes an `input_required` and returns its state and the keys of its questions.
async fn questions(bench: &mut Bench, id: i32) -> (String, Vec<String>) {
    let answer = bench.next_json().await;
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["resultType"], "input_required");
    let keys = answer["result"]["inputRequests"]
        .as_object()
        .unwrap()
        .keys();
    let state = answer["result"]["requestState"].as_str().unwrap();
    assert!(state.len() >= 32);
    (state.to_owned(), keys.cloned().collect())
}

fn answers(state: &str, keys: &[String]) -> String {
    let answers: Vec<_> = keys
        .iter()
        .map(|key| format!(r#""{key}":{{"action":"accept","n":1.50}}"#))
        .collect();
    format!(
        r#","inputResponses":{{{}}},"requestState":"{state}""#,
        answers.join(",")
    )
}

#[tokio::test(start_paused = true)]
async fn session_is_opened_in_the_clients_name() {
    let (mut server, connection) = Scripted::new();
    let first = Frame::new(discover()).unwrap();
    let answer = format!(r#"{{"id":"keyway:initialize","result":{SESSION}}}"#);
    server.says(&answer).await;
    let translated = translate(connection, ClientEra::Modern, &first).await;
    drop(translated.unwrap());
    assert_eq!(
        server.next().await,
        r#"{"jsonrpc":"2.0","id":"keyway:initialize","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn server_that_opens_no_session_keeps_its_connection_and_its_events() {
    for answer in [
        r#"{"id":"keyway:initialize","error":{"code":-32601,"message":"no"}}"#,
        r#"{"id":"keyway:initialize","result":{}}"#,
        r#"{"id":"keyway:initialize","result":{"protocolVersion":"1999-01-01"}}"#,
        r#"{"method":"notifications/late"}"#,
    ] {
        let (server, connection) = Scripted::new();
        server.says(r#"{"method":"notifications/early"}"#).await;
        server.says(answer).await;
        let first = Frame::new(discover()).unwrap();
        let back = translate(connection, ClientEra::Modern, &first).await;
        let event = back.unwrap_err().events.recv().await;
        assert!(matches!(event, Some(Event::Frame(_))), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn discovery_is_answered_from_the_handshake() {
    let mut bench = bench().await;
    bench.send(&discover()).await;
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","id":"d","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{},"x":1.50},"instructions":"Be kind","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}}}"#
    );
    bench
        .send(&discover().replace("2026-07-28", "2027-01-01"))
        .await;
    let error = bench.next_json().await["error"].clone();
    assert_eq!(error["code"], -32022);
    assert_eq!(
        error["data"],
        json!({"supported": ["2026-07-28"], "requested": "2027-01-01"})
    );
}

#[tokio::test(start_paused = true)]
async fn requests_lose_the_metadata_and_keep_every_byte_of_their_own() {
    let mut bench = bench().await;
    let odd = format!(
        r#"{{"params":{{"arguments":{{"n":12345678901234567890123, "b":1.50,"a":"\u00e9"}},"_meta":{{"progressToken":7,{META},"traceparent":"t"}},"name":"t"}},"id":"x","method":"tools/call","extra":[1 ]}}"#
    );
    bench.send(&odd).await;
    assert_eq!(
        bench.server.next().await,
        r#"{"params":{"arguments":{"n":12345678901234567890123, "b":1.50,"a":"\u00e9"},"_meta":{"progressToken":7,"traceparent":"t"},"name":"t"},"id":"keyway:1","method":"tools/call","extra":[1 ]}"#
    );
    bench
        .server
        .says(r#"{"extra":1,"id":"keyway:1","result":{"n":12345678901234567890123,"\u0063":[ 1.50]}}"#)
        .await;
    assert_eq!(
        bench.next().await,
        r#"{"extra":1,"id":"x","result":{"n":12345678901234567890123,"\u0063":[ 1.50],"resultType":"complete"}}"#
    );
    bench
        .send(&format!(
            r#"{{"id":1,"method":"vendor/x","params":{{"_meta":{{{META}}}}}}}"#
        ))
        .await;
    assert_eq!(
        bench.server.next().await,
        r#"{"id":"keyway:2","method":"vendor/x","params":{}}"#
    );
    bench
        .server
        .says(r#"{"id":"keyway:2","error":{"code":-32601,"message":"no"}}"#)
        .await;
    assert_eq!(
        bench.next().await,
        r#"{"id":1,"error":{"code":-32601,"message":"no"}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn lists_and_reads_say_that_they_may_not_be_kept() {
    for method in results::CACHEABLE {
        let mut bench = bench().await;
        bench
            .send(&format!(
                r#"{{"id":1,"method":"{method}","params":{{"_meta":{{{META}}}}}}}"#
            ))
            .await;
        bench.server.next().await;
        bench
            .server
            .says(r#"{"id":"keyway:1","result":{"a":[]}}"#)
            .await;
        assert_eq!(
            bench.next().await,
            r#"{"id":1,"result":{"a":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}"#
        );
    }
}

#[tokio::test(start_paused = true)]
async fn codes_that_the_modern_era_gave_up_are_replaced() {
    for (legacy, modern) in [
        ("-32002", "-32602"),
        ("-32042", "-32603"),
        ("-32000", "-32000"),
    ] {
        let mut bench = bench().await;
        let id = call(&mut bench, 1, "").await;
        let error = r#""message":"m","data":{"uri":"a:b","n":1.0}}"#;
        bench
            .server
            .says(&format!(
                r#"{{"id":{id},"error":{{"code":{legacy},{error}}}"#
            ))
            .await;
        assert_eq!(
            bench.next().await,
            format!(r#"{{"id":1,"error":{{"code":{modern},{error}}}"#)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_level_is_sent_once_and_lines_go_only_to_requests_that_asked() {
    let mut bench = bench().await;
    let line = r#"{"method":"notifications/message","params":{"level":"info","data":1}}"#;
    call(&mut bench, 1, "").await;
    bench.server.says(line).await;
    let leveled = format!(
        r#"{{"id":2,"method":"tools/list","params":{{"_meta":{{{META},"io.modelcontextprotocol/logLevel":"info"}}}}}}"#
    );
    bench.send(&leveled).await;
    let notified = bench.server.next_json().await;
    assert_eq!(notified["method"], "logging/setLevel");
    assert_eq!(notified["params"], json!({"level": "info"}));
    bench
        .server
        .says(&format!(r#"{{"id":{},"result":{{}}}}"#, notified["id"]))
        .await;
    assert_eq!(bench.server.next_json().await["params"], json!({}));
    bench.server.says(line).await;
    assert_eq!(bench.next().await, line);
    bench.send(&leveled.replace("\"id\":2", "\"id\":3")).await;
    assert_eq!(bench.server.next_json().await["method"], "tools/list");
    bench.send(&leveled.replace("\"info\"", "\"loud\"")).await;
    assert_eq!(bench.next_json().await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_question_answers_the_call_and_the_retry_brings_the_answer_to_the_server() {
    let mut bench = bench().await;
    let upstream = call(&mut bench, 5, "").await;
    bench.server.says(QUESTION).await;
    let text = bench.next().await;
    assert!(text.contains(
        r#":{"method":"elicitation/create","params":{"message":"\u00e9","requestedSchema":{"z":1.0,"a":2}}}},"requestState":"#
    ), "{text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    let state = answer["result"]["requestState"]
        .as_str()
        .unwrap()
        .to_owned();
    let keys: Vec<String> = answer["result"]["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    // Progress of a call that no request waits for is dropped.
    bench
        .server
        .says(r#"{"method":"notifications/progress","params":{"progressToken":5,"progress":1}}"#)
        .await;
    call(&mut bench, 6, &answers(&state, &keys)).await;
    assert_eq!(
        bench.server.next().await,
        r#"{"jsonrpc":"2.0","id":"e1","result":{"action":"accept","n":1.50}}"#
    );
    bench
        .server
        .says(r#"{"method":"notifications/progress","params":{"progressToken":5,"progress":2.0}}"#)
        .await;
    assert_eq!(
        bench.next().await,
        r#"{"method":"notifications/progress","params":{"progressToken":6,"progress":2.0}}"#
    );
    bench
        .server
        .says(&format!(r#"{{"id":{upstream},"result":{{}}}}"#))
        .await;
    assert_eq!(
        bench.next().await,
        r#"{"id":6,"result":{"resultType":"complete"}}"#
    );
    // A state is good for one retry.
    call(&mut bench, 7, &answers(&state, &keys)).await;
    assert_eq!(bench.next_json().await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn questions_at_once_and_in_sequence_all_reach_the_client() {
    let mut bench = bench().await;
    let upstream = call(&mut bench, 1, "").await;
    bench.server.says(QUESTION).await;
    bench
        .server
        .says(r#"{"id":"r1","method":"roots/list"}"#)
        .await;
    bench.server.says(&QUESTION.replace("e1", "e2")).await;
    let (state, first) = questions(&mut bench, 1).await;
    assert_eq!(first.len(), 1);
    call(&mut bench, 2, &answers(&state, &first)).await;
    assert_eq!(bench.server.next_json().await["id"], "e1");
    let (state, mut rest) = questions(&mut bench, 2).await;
    assert_eq!(rest.len(), 2);
    // What is left out is asked again.
    let left = rest.pop().unwrap();
    call(&mut bench, 3, &answers(&state, &rest)).await;
    bench.server.next().await;
    let (state, again) = questions(&mut bench, 3).await;
    assert_eq!(again, [left]);
    // The server may finish before the client comes back.
    bench
        .server
        .says(&format!(r#"{{"id":{upstream},"result":{{"a":1.0}}}}"#))
        .await;
    call(&mut bench, 4, &answers(&state, &again)).await;
    assert_eq!(
        bench.next().await,
        r#"{"id":4,"result":{"a":1.0,"resultType":"complete"}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_that_no_call_can_carry_is_refused() {
    let mut bench = bench().await;
    bench.server.says(r#"{"id":1,"method":"ping"}"#).await;
    assert_eq!(
        bench.server.next().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#
    );
    bench.server.says(QUESTION).await;
    assert_eq!(bench.server.next_json().await["error"]["code"], -32601);
    bench
        .send(&format!(
            r#"{{"id":1,"method":"tools/list","params":{{"_meta":{{{META}}}}}}}"#
        ))
        .await;
    bench.server.next().await;
    bench.server.says(QUESTION).await;
    assert_eq!(bench.server.next_json().await["error"]["code"], -32601);
    call(&mut bench, 2, "").await;
    bench
        .server
        .says(r#"{"id":9,"method":"sampling/createMessage","params":{}}"#)
        .await;
    assert_eq!(bench.server.next_json().await["id"], 9);
}

#[tokio::test(start_paused = true)]
async fn a_parked_call_without_a_retry_is_cancelled() {
    let mut bench = bench().await;
    let upstream = call(&mut bench, 1, "").await;
    bench.server.says(QUESTION).await;
    let (state, keys) = questions(&mut bench, 1).await;
    let began = Instant::now();
    assert_eq!(bench.server.next_json().await["id"], "e1");
    assert_eq!(began.elapsed().as_secs(), 600);
    assert_eq!(bench.server.next().await, format!("abandon {upstream}"));
    assert_eq!(
        bench.server.next_json().await["params"],
        json!({"requestId": upstream})
    );
    call(&mut bench, 2, &answers(&state, &keys)).await;
    assert_eq!(bench.next_json().await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_another_method_or_state_is_refused_and_harms_nothing() {
    let mut bench = bench().await;
    call(&mut bench, 1, "").await;
    bench.server.says(QUESTION).await;
    let (state, keys) = questions(&mut bench, 1).await;
    call(&mut bench, 2, &answers("guess", &keys)).await;
    assert_eq!(bench.next_json().await["error"]["code"], -32602);
    let other =
        format!(r#"{{"id":3,"method":"prompts/get","params":{{"requestState":"{state}"}}}}"#);
    bench.send(&other).await;
    assert_eq!(bench.next_json().await["error"]["code"], -32602);
    call(&mut bench, 4, &answers(&state, &keys)).await;
    assert_eq!(bench.server.next_json().await["id"], "e1");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_server_takes_back_is_not_answered() {
    let mut bench = bench().await;
    let upstream = call(&mut bench, 1, "").await;
    bench.server.says(QUESTION).await;
    let (state, keys) = questions(&mut bench, 1).await;
    bench
        .server
        .says(r#"{"method":"notifications/cancelled","params":{"requestId":"e1"}}"#)
        .await;
    bench.server.says(r#"{"id":1,"method":"ping"}"#).await;
    bench.server.next().await;
    call(&mut bench, 2, &answers(&state, &keys)).await;
    bench
        .server
        .says(&format!(r#"{{"id":{upstream},"result":{{}}}}"#))
        .await;
    assert_eq!(bench.next_json().await["id"], 2);
    bench.server.says(r#"{"id":2,"method":"ping"}"#).await;
    assert_eq!(bench.server.next_json().await["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_visit_in_the_browser_is_asked_for_and_the_call_starts_again() {
    let mut bench = bench().await;
    let upstream = call(&mut bench, 1, "").await;
    let error = r#"{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","url":"https://a.example","elicitationId":"1","message":"m"}]}}"#;
    bench
        .server
        .says(&format!(r#"{{"id":{upstream},"error":{error}}}"#))
        .await;
    let (state, keys) = questions(&mut bench, 1).await;
    call(&mut bench, 2, &answers(&state, &keys)).await;
    let again = bench.server.next_json().await;
    assert_ne!(again["id"], upstream);
    assert_eq!(
        again["params"],
        json!({"name": "t", "_meta": {"progressToken": 1}})
    );
    bench
        .server
        .says(&format!(r#"{{"id":{},"result":{{}}}}"#, again["id"]))
        .await;
    assert_eq!(bench.next_json().await["id"], 2);
}

/// Claude Code without a person answers every round by itself, and gives up after ten.
#[tokio::test(start_paused = true)]
async fn a_visit_that_was_asked_for_in_vain_is_told_as_text() {
    let mut bench = bench().await;
    let upstream = call(&mut bench, 1, "").await;
    let error = r#"{"code":-32042,"message":"open \"it\"","data":{"elicitations":[{"mode":"url","url":"https://a.example","elicitationId":"1","message":"m"}]}}"#;
    bench
        .server
        .says(&format!(r#"{{"id":{upstream},"error":{error}}}"#))
        .await;
    let (state, keys) = questions(&mut bench, 1).await;
    call(&mut bench, 2, &answers(&state, &keys)).await;
    let again = bench.server.next_json().await;
    bench
        .server
        .says(&format!(r#"{{"id":{},"error":{error}}}"#, again["id"]))
        .await;
    let told = bench.next_json().await;
    assert_eq!(told["id"], 2);
    assert_eq!(told["result"]["isError"], true, "{told}");
    assert_eq!(told["result"]["resultType"], "complete", "{told}");
    assert_eq!(
        told["result"]["content"][0]["text"], "open \"it\"",
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn cancellation_and_failures_find_the_right_request() {
    let mut bench = bench().await;
    let upstream = call(&mut bench, 1, "").await;
    let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}"#;
    bench.send(cancel).await;
    assert_eq!(bench.server.next().await, format!("abandon {upstream}"));
    let notified = bench.server.next_json().await;
    assert_eq!(
        notified["params"],
        json!({"requestId": upstream, "reason": "x"})
    );
    let upstream = call(&mut bench, 2, "").await.to_string();
    bench
        .server
        .fails(&upstream, TransportError::Redirect { to: String::new() })
        .await;
    assert!(matches!(bench.event().await, Event::Failed { id, .. } if id.as_json() == "2"));
    bench.send(r#"{"id":3,"method":"UNSENDABLE"}"#).await;
    assert!(matches!(bench.event().await, Event::Failed { id, .. } if id.as_json() == "3"));
    bench.server.events.send(Event::Closed(None)).await.unwrap();
    assert!(matches!(bench.event().await, Event::Closed(None)));
}

fn listen(id: i32, filter: &Value) -> String {
    format!(
        r#"{{"id":{id},"method":"subscriptions/listen","params":{{"_meta":{{{META}}},"notifications":{filter}}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn each_subscription_gets_its_own_copy_of_what_it_asked_for() {
    let mut bench = bench().await;
    let all = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": false});
    bench.send(&listen(1, &all)).await;
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"toolsListChanged":true}}}"#
    );
    bench
        .send(&listen(2, &json!({"toolsListChanged": true})))
        .await;
    bench.next().await;
    bench
        .server
        .says(r#"{"method":"notifications/resources/list_changed"}"#)
        .await;
    bench
        .server
        .says(
            r#"{"method":"notifications/tools/list_changed","params":{"x":1.0,"_meta":{"y":[ ]}}}"#,
        )
        .await;
    for id in [1, 2] {
        assert_eq!(
            bench.next().await,
            format!(
                r#"{{"method":"notifications/tools/list_changed","params":{{"x":1.0,"_meta":{{"y":[ ],"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            )
        );
    }
    bench
        .send(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    bench.send(&listen(3, &json!({}))).await;
    bench.next().await;
    bench
        .server
        .says(r#"{"method":"notifications/tools/list_changed"}"#)
        .await;
    let notified = bench.next_json().await;
    assert_eq!(
        notified["params"]["_meta"],
        json!({"io.modelcontextprotocol/subscriptionId": 2})
    );
    bench
        .send(r#"{"id":4,"method":"subscriptions/listen"}"#)
        .await;
    assert_eq!(bench.next_json().await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_subscribed_to_once_and_unsubscribed_with_the_last_subscriber() {
    let mut bench = bench().await;
    bench
        .send(&listen(
            1,
            &json!({"resourceSubscriptions": ["a:b", "a:bad"]}),
        ))
        .await;
    let good = bench.server.next_json().await;
    assert_eq!(good["method"], "resources/subscribe");
    assert_eq!(good["params"], json!({"uri": "a:b"}));
    let bad = bench.server.next_json().await;
    bench
        .server
        .says(&format!(r#"{{"id":{},"result":{{}}}}"#, good["id"]))
        .await;
    bench
        .server
        .says(&format!(r#"{{"id":{},"error":{{"code":-1}}}}"#, bad["id"]))
        .await;
    let notified = bench.next_json().await;
    assert_eq!(
        notified["params"]["notifications"],
        json!({"resourceSubscriptions": ["a:b"]})
    );
    bench
        .send(&listen(2, &json!({"resourceSubscriptions": ["a:b"]})))
        .await;
    bench.next().await;
    for (uri, is_told) in [
        ("a:bc", false),
        ("a:b/c", true),
        ("a:bad", false),
        ("a:b", true),
    ] {
        let changed =
            format!(r#"{{"method":"notifications/resources/updated","params":{{"uri":"{uri}"}}}}"#);
        bench.server.says(&changed).await;
        if is_told {
            assert_eq!(bench.next_json().await["params"]["uri"], uri);
            bench.next().await;
        }
    }
    bench
        .send(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    bench
        .send(r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#)
        .await;
    let given_up = bench.server.next_json().await;
    assert_eq!(given_up["method"], "resources/unsubscribe");
    assert_eq!(given_up["params"], json!({"uri": "a:b"}));
}

#[tokio::test(start_paused = true)]
async fn more_calls_than_can_be_remembered_are_refused() {
    let mut bench = bench().await;
    for id in 0..=MAX_PENDING {
        bench
            .send(&format!(r#"{{"id":{id},"method":"tools/list"}}"#))
            .await;
    }
    let answer = bench.next_json().await;
    assert_eq!(answer["id"], MAX_PENDING);
    assert_eq!(answer["error"]["data"]["code"], "busy");
}
