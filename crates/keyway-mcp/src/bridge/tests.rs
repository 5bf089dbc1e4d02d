mod eras;

use std::sync::{Arc, Mutex};

use keyway_auth::BoxFuture;
use keyway_transport::{EventSender, Link, RequestId, TransportError, queue};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::testing::memory_pipe;
use super::*;
use keyway_transport::Frame;

/// Echoes the parameters of every request as its result; `fail` fails, `gone` was never sent.
#[derive(Debug)]
struct Echo {
    events: EventSender,
    seen: Mutex<Vec<Vec<u8>>>,
}

impl Link for Echo {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            self.seen.lock().unwrap().push(frame.bytes().to_vec());
            let envelope = frame.envelope()?;
            let Some(id) = envelope.id() else {
                return Ok(());
            };
            let event = match envelope.method.as_deref() {
                Some("gone") => return Err(TransportError::Closed),
                Some("fail") => Event::Failed {
                    id,
                    error: TransportError::Redirect { to: String::new() },
                },
                _ => {
                    let params = envelope.params.map_or("{}", |params| params.get());
                    let text = format!(
                        r#"{{"jsonrpc":"2.0","id":{},"result":{params}}}"#,
                        id.as_json()
                    );
                    Event::Frame(Frame::new(text)?)
                }
            };
            self.events.send(event).await.unwrap();
            Ok(())
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Runs a client's whole input through a bridge and returns what it was written, line by line.
async fn through(input: &str) -> (Vec<String>, Arc<Echo>) {
    let (events, receiver) = queue(16);
    let echo = Arc::new(Echo {
        events,
        seen: Mutex::default(),
    });
    let connection = Connection::new(Arc::clone(&echo) as Arc<dyn Link>, receiver);
    let expected = input.lines().filter(|line| line.contains("\"id\"")).count();
    let (mut client, read, write) = memory_pipe(1 << 20);
    let bridged = tokio::spawn(bridge(read, write, connection));
    client.write_all(input.as_bytes()).await.unwrap();
    let mut written = Vec::new();
    while written.iter().filter(|byte| **byte == b'\n').count() < expected {
        assert_ne!(client.read_buf(&mut written).await.unwrap(), 0);
    }
    drop(client);
    bridged.await.unwrap().unwrap();
    (
        String::from_utf8(written)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
        echo,
    )
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;

#[tokio::test]
async fn bytes_pass_unchanged_in_both_directions() {
    let odd = r#"{ "params" : {"n":12345678901234567890123,"b":1.50,"a":"\u00e9"}, "id":"x","method":"tools/call","extra":[1] }"#;
    let (lines, echo) = through(&format!("{HELLO}\n\r\n{odd}\r\n")).await;
    assert_eq!(echo.seen.lock().unwrap()[1], odd.as_bytes());
    assert_eq!(
        lines[1],
        r#"{"jsonrpc":"2.0","id":"x","result":{"n":12345678901234567890123,"b":1.50,"a":"\u00e9"}}"#
    );
}

#[tokio::test]
async fn a_request_that_fails_gets_an_error_with_code_and_hint_under_its_own_id() {
    let input = format!(
        "{HELLO}\n{}\n{}\n",
        r#"{"id":"a","method":"fail"}"#, r#"{"id":1.0,"method":"gone"}"#
    );
    let (lines, _) = through(&input).await;
    let errors: Vec<Value> = lines[1..]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let find = |id: Value| errors.iter().find(|error| error["id"] == id).unwrap();
    assert_eq!(
        find(json!("a"))["error"]["data"]["code"],
        "cross-origin-redirect"
    );
    assert!(
        find(json!("a"))["error"]["data"]["hint"]
            .as_str()
            .unwrap()
            .contains("`url`")
    );
    assert_eq!(
        find(json!(1.0))["error"]["data"]["code"],
        "connection-closed"
    );
}

#[tokio::test]
async fn a_thousand_requests_at_once_get_a_thousand_answers() {
    let mut input = format!("{HELLO}\n");
    for id in 1..=1000 {
        input.push_str(&format!(
            "{{\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"n\":{id}}}}}\n"
        ));
    }
    let (lines, _) = through(&input).await;
    assert_eq!(lines.len(), 1001);
}

#[tokio::test]
async fn a_batch_and_a_line_that_is_not_json_are_answered() {
    // The lines are counted by their ids, which the answers to refused lines have as well.
    let input = format!("{HELLO}\n[{{\"id\":7,\"method\":\"a\"}}]\nnonsense with \"id\"\n");
    let (lines, echo) = through(&input).await;
    let codes: Vec<Value> = lines[1..]
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|answer| json!([answer["id"], answer["error"]["code"]]))
        .collect();
    assert_eq!(codes, [json!([null, -32600]), json!([null, -32700])]);
    assert_eq!(echo.seen.lock().unwrap().len(), 1);
    let hello = HELLO.replace("{}", r#"{"protocolVersion":"2025-03-26"}"#);
    let batch = r#"[{"id":7,"method":"a"},{"id":8,"method":"b"}]"#;
    let (_, echo) = through(&format!("{hello}\n{batch}\n{{\"id\":9}}\n")).await;
    let seen = echo.seen.lock().unwrap();
    assert_eq!(
        seen[1..3],
        [br#"{"id":7,"method":"a"}"#, br#"{"id":8,"method":"b"}"#]
    );
}

/// Fails every request.
#[derive(Debug)]
struct Down(EventSender);

impl Link for Down {
    fn send(&self, frame: Frame) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            if let Some(id) = frame.envelope()?.id() {
                let error = TransportError::Status {
                    status: 502,
                    retry_after: None,
                };
                let _gone = self.0.send(Event::Failed { id, error }).await;
            }
            Ok(())
        })
    }

    fn abandon(&self, _: &RequestId) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn initialize_of_a_server_that_is_down_is_answered_by_its_fallback() {
    let later = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":1}}"#;
    let text = through_fallback(&[HELLO, later]).await;
    assert!(!text.contains("error"), "{text}");
    assert!(text.contains(r#""id":1,"result":{"a":1}"#), "{text}");
}

/// Since 2026-07-28 there is no `initialize`. A list may be asked for twice, a call may not: it may
/// have been carried out.
#[tokio::test]
async fn first_request_without_initialize_goes_to_the_fallback_unless_it_is_a_call() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let first = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"a":1,{meta}}}}}"#)
    };
    for method in ["server/discover", "tools/list"] {
        let text = through_fallback(&[&first(method)]).await;
        assert!(text.contains(r#""id":7,"result""#), "{method}: {text}");
    }
    let text = through_fallback(&[&first("tools/call")]).await;
    assert!(text.contains(r#""id":7,"error""#), "{text}");
}

/// Sends lines to a server that is down, with an echo as its fallback; returns as many answers.
async fn through_fallback(lines: &[&str]) -> String {
    let (sender, events) = queue(4);
    let down = Connection::new(Arc::new(Down(sender)), events);
    let fallback = Box::new(|| {
        let (events, receiver) = queue(16);
        let echo = Arc::new(Echo {
            events,
            seen: Mutex::default(),
        });
        Connection::new(echo, receiver)
    });
    let (mut client, read, write) = memory_pipe(1 << 20);
    let explainer: Explainer = Arc::new(crate::explain::explain);
    let bridged = tokio::spawn(bridge_explained(
        read,
        write,
        BridgedServer::new(down, explainer, fallback),
    ));
    let input = lines.join("\n") + "\n";
    client.write_all(input.as_bytes()).await.unwrap();
    let mut written = Vec::new();
    while written.iter().filter(|byte| **byte == b'\n').count() < lines.len() {
        assert_ne!(client.read_buf(&mut written).await.unwrap(), 0);
    }
    drop(client);
    bridged.await.unwrap().unwrap();
    String::from_utf8(written).unwrap()
}
