//! `keyway logout` while another process uses the sign-in: its session ends, and then the tokens.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use keyway_testkit::rig::{Seen, Settings};
use keyway_testkit::{Desk, Outcome};
use serde_json::{Value, json};

use crate::client::Client;
use crate::{KEYWAY, keyway_file};

/// A server that knows no protocol of 2026 and keeps sessions, and somebody who is signed in to it.
fn desk() -> Desk {
    let mut settings = Settings::default();
    settings.modern = false;
    let desk = Desk::new(KEYWAY, settings);
    desk.sign_in();
    desk
}

fn logout(desk: &Desk) -> Outcome {
    desk.rig.forget();
    let outcome = desk.keyway(&["logout", "s"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    outcome
}

/// What the journal says of the end: which requests, in which order.
fn order(desk: &Desk) -> Vec<String> {
    let journal = desk.rig.journal();
    let told = |seen: &Seen| {
        format!(
            "{} {} {}",
            seen.request.method, seen.request.path, seen.status
        )
    };
    journal.iter().map(told).collect()
}

/// The next call asks a person, and then works in a session of its own.
fn is_asked_again(desk: &Desk, client: &mut Client, tool: &str) {
    desk.rig.forget();
    let windows = desk.windows().len();
    let _person = desk.person();
    let answer = client.call(tool);
    assert_eq!(
        answer["result"]["content"][0]["text"], "Echo: hello",
        "{answer}"
    );
    assert_eq!(desk.windows().len(), windows + 1);
    let first = &desk.rig.seen("/mcp")[0];
    assert_eq!(first.request.header("authorization"), None, "no old token");
    assert_eq!(
        first.request.header("mcp-session-id"),
        None,
        "no old session"
    );
}

#[test]
fn a_session_ends_before_the_tokens_do_and_the_next_use_asks_again() {
    let desk = desk();
    let mut client = Client::start(&desk.keyway(&["run", "--server", "s"]));
    assert_eq!(client.tools(), ["echo"]);
    let outcome = logout(&desk);
    assert!(
        outcome
            .stdout
            .contains("one process that used them ended its session"),
        "{}",
        outcome.stdout
    );
    assert_eq!(
        order(&desk),
        ["DELETE /mcp 200", "POST /revoke 200", "POST /revoke 200"]
    );
    is_asked_again(&desk, &mut client, "echo");
    assert_eq!(client.leave(), "");
}

#[test]
fn every_process_is_told_and_all_are_counted() {
    let desk = desk();
    let mut clients: Vec<Client> = (0..3)
        .map(|_| Client::start(&desk.keyway(&["run", "--server", "s"])))
        .collect();
    for client in &mut clients {
        assert_eq!(client.tools(), ["echo"]);
    }
    desk.rig.forget();
    let outcome = desk.keyway(&["logout", "s", "--format", "json"]).run();
    let told: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        told["servers"][0]["sessions"],
        json!({ "ended": 3, "left": 0 })
    );
    let order = order(&desk);
    let ended = order.iter().filter(|line| *line == "DELETE /mcp 200");
    assert_eq!(ended.count(), 3, "{order:?}");
    assert!(order[3..].iter().all(|line| line == "POST /revoke 200"));
}

#[test]
fn among_several_servers_the_others_go_on() {
    let desk = desk();
    let other = Desk::new(KEYWAY, Settings::default());
    let entries = json!({
        "s": { "type": "http", "url": desk.rig.mcp() },
        "t": { "type": "http", "url": other.rig.mcp() },
    });
    std::fs::remove_file(desk.folder.at(".mcp.json")).unwrap();
    keyway_file(&desk, &entries);
    let person = desk.person();
    let signed_in = desk.keyway(&["login", "t"]).run();
    assert_eq!(signed_in.code, 0, "{}", signed_in.everything());
    drop(person);
    let mut client = Client::start(&desk.keyway(&["run"]));
    assert_eq!(client.tools(), ["s__echo", "t__echo"]);
    logout(&desk);
    assert_eq!(order(&desk)[0], "DELETE /mcp 200");
    let answer = client.call("t__echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
    is_asked_again(&desk, &mut client, "s__echo");
}

#[test]
fn the_gateway_ends_its_session_too() {
    let desk = desk();
    let made = desk.keyway(&["token", "new", "--name", "n"]).run();
    let token = made.stdout.trim().to_owned();
    let serve = ["serve", "--trust", "--listen", "127.0.0.1:0", "--quiet"];
    let mut running = desk.keyway(&serve).start();
    let mut lines = BufReader::new(running.child.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap();
    let host = address.strip_prefix("http://").unwrap();
    let host = host.strip_suffix("/mcp").unwrap();
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let welcome = post(host, &token, None, &hello);
    let session = welcome.split("mcp-session-id: ").nth(1);
    let session = session.and_then(|rest| rest.split("\r\n").next()).unwrap();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let listed = post(host, &token, Some(session), &list);
    assert!(listed.contains("echo"), "{listed}");
    let outcome = logout(&desk);
    assert!(
        outcome.stdout.contains("ended its session"),
        "{}",
        outcome.stdout
    );
    assert_eq!(order(&desk)[0], "DELETE /mcp 200");
    running.child.kill().unwrap();
    running.child.wait().unwrap();
}

/// Posts one message to the gateway and returns the whole answer.
fn post(host: &str, token: &str, session: Option<&str>, message: &Value) -> String {
    let session = session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\n"));
    let body = message.to_string();
    let length = body.len();
    let text = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{session}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_server_without_sessions_gets_no_token_any_more() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let mut client = Client::start(&desk.keyway(&["run", "--server", "s"]));
    assert_eq!(client.tools(), ["echo"]);
    logout(&desk);
    is_asked_again(&desk, &mut client, "echo");
}

#[test]
fn where_nobody_uses_it_nothing_is_said_of_sessions() {
    let desk = desk();
    assert_eq!(desk.call().run().code, 0);
    let outcome = logout(&desk);
    assert_eq!(
        outcome.stdout,
        "`s`: signed out; the tokens were revoked and deleted.\n"
    );
    assert_eq!(order(&desk), ["POST /revoke 200", "POST /revoke 200"]);
}
