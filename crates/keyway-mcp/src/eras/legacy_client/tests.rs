use keyway_transport::TransportError;
use serde_json::{Value, json};

use super::super::testing::{Bench, Server as Scripted};
use super::super::{ClientEra, translate};
use super::*;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{},"sampling":{},"tasks":{},"x":12345678901234567890123},"clientInfo":{"name":"c","version":"1"}}}"#;

const FOUND: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},"instructions":"Be kind","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}}"#;

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"x":12345678901234567890123}"#;

async fn bench() -> Bench {
    Bench::attached(ClientEra::Legacy, HELLO, FOUND).await
}

/// Opens a call and lets the server ask; returns the id of the call upstream.
async fn call(bench: &mut Bench) -> Value {
    let call = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","arguments":{"n":1.50}}}"#;
    bench.send(call).await;
    bench.server.next_json().await["id"].clone()
}

async fn input_required(bench: &Bench, id: &Value, rest: &str) {
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required"{rest}}}}}"#
    );
    bench.server.says(&answer).await;
}

const TWO_QUESTIONS: &str = r#","inputRequests":{"b":{"method":"elicitation/create","params":{"message":"\u00e9","requestedSchema":{"z":1,"a":2}}},"a":{"method":"sampling/createMessage","params":{"maxTokens":1.0}}},"requestState":"s\u00e9\/=""#;

#[tokio::test(start_paused = true)]
async fn server_that_does_not_discover_keeps_its_connection_and_its_events() {
    for answer in [
        r#"{"id":"keyway:discover","error":{"code":-32601,"message":"no"}}"#,
        r#"{"id":"keyway:discover","result":{}}"#,
        r#"{"id":"keyway:discover","result":{"supportedVersions":["2027-01-01"],"capabilities":{}}}"#,
        // Nothing at all.
        r#"{"method":"notifications/late"}"#,
    ] {
        let (mut server, connection) = Scripted::new();
        server.says(r#"{"method":"notifications/early"}"#).await;
        server.says(answer).await;
        let first = Frame::new(HELLO).unwrap();
        let mut back = translate(connection, ClientEra::Legacy, &first)
            .await
            .unwrap_err();
        assert_eq!(server.next_json().await["method"], "server/discover");
        let Some(Event::Frame(early)) = back.events.recv().await else {
            panic!("{answer}");
        };
        assert_eq!(
            early.bytes(),
            r#"{"method":"notifications/early"}"#.as_bytes()
        );
        if !answer.contains("keyway:discover") {
            assert_eq!(server.next().await, "abandon \"keyway:discover\"");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_says_before_it_is_known_reaches_the_client() {
    let (server, connection) = Scripted::new();
    server.says(r#"{"method":"notifications/early"}"#).await;
    server
        .says(&format!(r#"{{"id":"keyway:discover","result":{FOUND}}}"#))
        .await;
    let first = Frame::new(HELLO).unwrap();
    let client = translate(connection, ClientEra::Legacy, &first)
        .await
        .unwrap();
    let mut bench = Bench { client, server };
    assert_eq!(bench.next().await, r#"{"method":"notifications/early"}"#);
}

#[tokio::test(start_paused = true)]
async fn handshake_is_answered_from_what_the_server_declares() {
    let mut bench = bench().await;
    bench.send(HELLO).await;
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}},"serverInfo":{"name":"s","version":"2"},"instructions":"Be kind"}}"#
    );
    bench.send(&HELLO.replace("2025-06-18", "2099-01-01")).await;
    assert_eq!(
        bench.next_json().await["result"]["protocolVersion"],
        "2025-11-25"
    );
    bench.send(r#"{"id":"p","method":"ping"}"#).await;
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","id":"p","result":{}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn requests_get_the_metadata_and_keep_every_byte_of_their_own() {
    let mut bench = bench().await;
    let odd = r#"{"params":{"arguments":{"n":12345678901234567890123, "b":1.50,"a":"\u00e9"},"_meta":{"progressToken":7},"name":"t"},"id":"x","method":"tools/call","extra":[1 ]}"#;
    bench.send(odd).await;
    let expected = format!(
        r#"{{"params":{{"arguments":{{"n":12345678901234567890123, "b":1.50,"a":"\u00e9"}},"_meta":{{"progressToken":7,{META}}},"name":"t"}},"id":"x","method":"tools/call","extra":[1 ]}}"#
    );
    assert_eq!(bench.server.next().await, expected);
    let answer =
        r#"{"id":"x","result":{"resultType":"complete","n":12345678901234567890123,"c":[ 1.50]}}"#;
    bench.server.says(answer).await;
    assert_eq!(bench.next().await, answer);
    bench.send(r#"{"id":1,"method":"vendor/thing"}"#).await;
    assert_eq!(
        bench.server.next().await,
        format!(r#"{{"id":1,"method":"vendor/thing","params":{{"_meta":{{{META}}}}}}}"#)
    );
    bench
        .send(r#"{"id":2,"method":"vendor/list","params":[1]}"#)
        .await;
    assert_eq!(
        bench.server.next().await,
        r#"{"id":2,"method":"vendor/list","params":[1]}"#
    );
}

#[tokio::test(start_paused = true)]
async fn log_level_goes_with_every_later_request() {
    let mut bench = bench().await;
    bench
        .send(r#"{"id":1,"method":"logging/setLevel","params":{"level":"loud"}}"#)
        .await;
    assert_eq!(bench.next_json().await["error"]["code"], -32602);
    bench
        .send(r#"{"id":2,"method":"logging/setLevel","params":{"level":"debug"}}"#)
        .await;
    assert_eq!(bench.next_json().await["result"], json!({}));
    bench.send(r#"{"id":3,"method":"tools/list"}"#).await;
    let meta = bench.server.next_json().await["params"]["_meta"].clone();
    assert_eq!(meta["io.modelcontextprotocol/logLevel"], "debug");
    let line = r#"{"method":"notifications/message","params":{"level":"info","data":1}}"#;
    bench.server.says(line).await;
    assert_eq!(bench.next().await, line);
}

#[tokio::test(start_paused = true)]
async fn questions_are_put_to_the_client_and_the_call_is_repeated_with_the_answers() {
    let mut bench = bench().await;
    let id = call(&mut bench).await;
    input_required(&bench, &id, TWO_QUESTIONS).await;
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","id":"keyway:ask:1","method":"elicitation/create","params":{"message":"\u00e9","requestedSchema":{"z":1,"a":2}}}"#
    );
    assert_eq!(bench.next_json().await["method"], "sampling/createMessage");
    bench
        .send(r#"{"id":"keyway:ask:2","result":{"role":"assistant","n":1.0}}"#)
        .await;
    bench
        .send(r#"{"id":"keyway:ask:1","result":{"action":"accept","content":{"z":"\u00e9"}}}"#)
        .await;
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":"keyway:1","method":"tools/call","params":{{"name":"t","arguments":{{"n":1.50}},"_meta":{{{META}}},"inputResponses":{{"b":{{"action":"accept","content":{{"z":"\u00e9"}}}},"a":{{"role":"assistant","n":1.0}}}},"requestState":"s\u00e9\/="}}}}"#
    );
    assert_eq!(bench.server.next().await, expected);
    // A second round has only what belongs to it.
    input_required(&bench, &json!("keyway:1"), r#","requestState":"second""#).await;
    let again = bench.server.next_json().await;
    assert_eq!(again["params"]["requestState"], "second");
    assert!(again["params"].get("inputResponses").is_none());
    let last = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}}"#,
        again["id"]
    );
    bench.server.says(&last).await;
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","id":5,"result":{"content":[]}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_client_answers_the_call_and_voids_the_other_questions() {
    let mut bench = bench().await;
    let id = call(&mut bench).await;
    input_required(&bench, &id, TWO_QUESTIONS).await;
    bench.next().await;
    bench.next().await;
    bench
        .send(r#"{"id":"keyway:ask:2","error":{"code":-1,"message":"no","data":[1.0]}}"#)
        .await;
    let void = bench.next_json().await;
    assert_eq!(void["method"], "notifications/cancelled");
    assert_eq!(void["params"]["requestId"], "keyway:ask:1");
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"no","data":[1.0]}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn input_requests_that_the_client_cannot_answer_end_the_call() {
    for question in [
        r#","inputRequests":{"a":{"method":"roots/list"}}"#,
        r#","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url"}}}"#,
        r#","inputRequests":{"a":{"method":"tools/call"}}"#,
        r#","inputRequests":{"a":{}}"#,
        r#","inputRequests":[]"#,
    ] {
        let mut bench = bench().await;
        let id = call(&mut bench).await;
        input_required(&bench, &id, question).await;
        let answer = bench.next_json().await;
        assert_eq!(answer["id"], 5, "{question}");
        assert_eq!(
            answer["error"]["data"]["code"], "protocol-error",
            "{question}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_browser_question_gets_the_name_that_the_older_era_requires() {
    let hello = HELLO.replace(r#""elicitation":{}"#, r#""elicitation":{"url":{}}"#);
    let mut bench = Bench::attached(ClientEra::Legacy, &hello, FOUND).await;
    let id = call(&mut bench).await;
    let question = r#","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example"}}}"#;
    input_required(&bench, &id, question).await;
    let asked = bench.next_json().await;
    assert_eq!(asked["params"]["url"], "https://a.example");
    assert!(asked["params"]["elicitationId"].is_string());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_back_again_and_again_is_given_up() {
    let mut bench = bench().await;
    let mut id = call(&mut bench).await;
    for _ in 0..10 {
        input_required(&bench, &id, r#","requestState":"s""#).await;
        id = bench.server.next_json().await["id"].clone();
    }
    input_required(&bench, &id, r#","requestState":"s""#).await;
    let answer = bench.next_json().await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("again and again")
    );
    let id = call(&mut bench).await;
    let odd = format!(r#"{{"id":{id},"result":{{"resultType":"other"}}}}"#);
    bench.server.says(&odd).await;
    assert_eq!(bench.next_json().await["error"]["code"], -32050);
}

#[tokio::test(start_paused = true)]
async fn cancellation_reaches_the_request_that_the_server_works_on() {
    let mut bench = bench().await;
    call(&mut bench).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"x"}}"#;
    bench.send(cancel).await;
    assert_eq!(bench.server.next().await, "abandon 5");
    assert_eq!(bench.server.next().await, cancel);
    // While the client is asked, only the question is void.
    let id = call(&mut bench).await;
    input_required(&bench, &id, TWO_QUESTIONS).await;
    bench.next().await;
    bench.next().await;
    bench.send(cancel).await;
    let first = bench.next_json().await;
    assert_eq!(first["method"], "notifications/cancelled");
    bench.next().await;
    // After a repetition, the id is the one that the server knows.
    let id = call(&mut bench).await;
    input_required(&bench, &id, r#","requestState":"s""#).await;
    let id = bench.server.next_json().await["id"].clone();
    bench.send(cancel).await;
    assert_eq!(bench.server.next().await, format!("abandon {id}"));
    assert_eq!(
        bench.server.next_json().await["params"],
        json!({"requestId": id, "reason": "x"})
    );
}

#[tokio::test(start_paused = true)]
async fn one_stream_brings_list_changes_and_is_replaced_without_a_gap() {
    let mut bench = bench().await;
    bench
        .send(r#"{"method":"notifications/initialized"}"#)
        .await;
    let first = bench.server.next_json().await;
    assert_eq!(first["method"], "subscriptions/listen");
    assert_eq!(
        first["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    assert_eq!(
        first["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    acknowledge(&bench, &first["id"]).await;
    let changed = r#"{"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"keyway:1"}}}"#;
    bench.server.says(changed).await;
    assert_eq!(bench.next().await, changed);

    bench
        .send(r#"{"id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}"#)
        .await;
    let second = bench.server.next_json().await;
    let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]});
    assert_eq!(second["params"]["notifications"], wanted);
    acknowledge(&bench, &second["id"]).await;
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#
    );
    assert_eq!(
        bench.server.next().await,
        format!("abandon {}", first["id"])
    );
    assert_eq!(
        bench.server.next_json().await["params"]["requestId"],
        first["id"]
    );

    bench
        .send(r#"{"id":2,"method":"resources/unsubscribe","params":{"uri":"a:b"}}"#)
        .await;
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#
    );
    let third = bench.server.next_json().await;
    assert_eq!(
        third["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
}

async fn acknowledge(bench: &Bench, id: &Value) {
    let text = json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": { "_meta": { SUBSCRIPTION_ID: id }, "notifications": {} },
    });
    bench.server.says(&text.to_string()).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_is_opened_again_and_one_that_is_refused_is_not() {
    let mut bench = bench().await;
    bench
        .send(r#"{"method":"notifications/initialized"}"#)
        .await;
    let mut id = bench.server.next_json().await["id"].clone();
    acknowledge(&bench, &id).await;
    bench
        .server
        .fails(&id.to_string(), TransportError::Closed)
        .await;
    id = bench.server.next_json().await["id"].clone();
    bench
        .server
        .says(&format!(r#"{{"id":{id},"result":{{}}}}"#))
        .await;
    id = bench.server.next_json().await["id"].clone();
    let over = format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
    bench.server.says(&over).await;
    id = bench.server.next_json().await["id"].clone();
    bench
        .server
        .says(&format!(r#"{{"id":{id},"error":{{"code":-32601}}}}"#))
        .await;
    bench
        .send(r#"{"id":9,"method":"resources/subscribe","params":{"uri":"a:b"}}"#)
        .await;
    id = bench.server.next_json().await["id"].clone();
    bench
        .server
        .says(&format!(r#"{{"id":{id},"error":{{"code":-32601}}}}"#))
        .await;
    assert_eq!(
        bench.next().await,
        r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32601}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn failures_come_under_the_clients_own_id_and_the_end_is_passed_on() {
    let mut bench = bench().await;
    let id = call(&mut bench).await;
    input_required(&bench, &id, r#","requestState":"s""#).await;
    let id = bench.server.next_json().await["id"].clone();
    bench
        .server
        .fails(
            &id.to_string(),
            TransportError::Redirect { to: String::new() },
        )
        .await;
    assert!(matches!(bench.event().await, Event::Failed { id, .. } if id.as_json() == "5"));
    bench
        .send(r#"{"id":6,"method":"tools/call","params":{"name":"UNSENDABLE"}}"#)
        .await;
    assert!(matches!(bench.event().await, Event::Failed { id, .. } if id.as_json() == "6"));
    let id = call(&mut bench).await;
    input_required(&bench, &id, TWO_QUESTIONS).await;
    bench.next().await;
    bench.next().await;
    bench.server.events.send(Event::Closed(None)).await.unwrap();
    assert!(matches!(bench.event().await, Event::Failed { id, .. } if id.as_json() == "5"));
    assert!(matches!(bench.event().await, Event::Closed(None)));
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
