//! Without a browser anywhere, as over SSH: a person signs in by the code in the text that the
//! client shows.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use keyway_testkit::rig::Settings;
use keyway_testkit::{Client, Desk, Gateway, eventually, submit};
use serde_json::{Value, json};

use crate::unsigned::KEYWAY;

/// A server whose authorization server gives out codes, asked for every second.
fn desk() -> Desk {
    let mut settings = Settings::default();
    settings.device = Some(1);
    Desk::new(KEYWAY, settings)
}

/// Does what the text says, as a person with a phone does: opens the page and types the code.
fn type_code(text: &str) {
    let mut words = text.split([' ', ',']);
    let page = words.find(|word| word.starts_with("http://")).unwrap();
    let code = words.skip_while(|word| *word != "code").nth(1).unwrap();
    let code = code.trim_end_matches('.');
    let answer = submit(page, &format!("user_code={code}")).unwrap();
    assert_eq!(answer.status, 200, "{text}");
}

fn text(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

#[test]
fn a_call_is_answered_with_a_code_and_the_client_is_told_once_it_was_typed() {
    let desk = desk();
    let mut client = Client::start(&desk.without_browser(&["run", "--server", "s"]));
    assert_eq!(client.tools(), ["sign_in"]);
    let answer = client.call("sign_in");
    let shown = text(&answer).to_owned();
    // A second call shows the same code: the first one is still good.
    assert_eq!(text(&client.call("sign_in")), shown);
    type_code(&shown);
    client.wait_for("notifications/tools/list_changed");
    assert_eq!(client.tools(), ["echo"]);
    let answer = client.call("echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
    assert_eq!(desk.windows().len(), 0);
    let printed = client.leave();
    assert_eq!(printed, "");
    let leaks = desk.leaks(&format!("{shown}{printed}"), &[]);
    assert!(leaks.is_empty(), "{leaks:?}");
}

#[test]
fn a_sign_in_that_ends_in_the_middle_of_a_session_is_made_again_by_a_code() {
    let desk = desk();
    desk.sign_in();
    let mut client = Client::start(&desk.without_browser(&["run", "--server", "s"]));
    let answer = client.call("echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
    assert_eq!(desk.keyway(&["logout", "s"]).run().code, 0);
    let answer = client.call("echo");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("enter the code"), "{answer}");
    type_code(message);
    eventually("the call works", || {
        let answer = client.call("echo");
        answer["result"]["content"][0]["text"] == "Echo: hello"
    });
}

#[test]
fn a_client_of_the_gateway_signs_in_by_code_as_well() {
    let desk = desk();
    let token = Gateway::token(desk.without_browser(&[]), &["--name", "n"]);
    let gateway = Gateway::start(desk.without_browser(&[]), &["--trust", "--quiet"]);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let welcome = gateway.post("/mcp", Some(&token), &hello.to_string());
    let session = welcome.split("mcp-session-id: ").nth(1);
    let session = session.and_then(|rest| rest.split("\r\n").next()).unwrap();
    let shown = format!("{token}\r\nmcp-session-id: {session}");
    let call = |tool: &str| {
        let params = json!({ "name": tool, "arguments": { "message": "hello" } });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        gateway.post("/mcp", Some(&shown), &call.to_string())
    };
    let answer = call("sign_in");
    let begin = answer.find(r#"{"jsonrpc""#).unwrap();
    let mut answers = serde_json::Deserializer::from_str(&answer[begin..]).into_iter::<Value>();
    type_code(text(&answers.next().unwrap().unwrap()));
    eventually("the call works", || call("echo").contains("Echo: hello"));
}
