//! `keyway logout` while another process uses the sign-in: its session ends, and then the tokens.

use keyway_testkit::rig::{Consent, Seen, Settings};
use keyway_testkit::{Client, Desk, Gateway, Outcome};
use serde_json::{Value, json};

use crate::unsigned::{KEYWAY, beside};

/// A server with sessions and without the protocol of 2026, and a sign-in to it.
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
    // The stream for what the server has to say is opened beside everything else.
    let own = journal.iter().filter(|seen| seen.request.method != "GET");
    own.map(told).collect()
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
fn among_several_servers_the_others_continue() {
    let desk = desk();
    let _other = beside(&desk);
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
    let token = Gateway::token(desk.keyway(&[]), &["--name", "n"]);
    let gateway = Gateway::start(desk.keyway(&[]), &["--trust", "--quiet"]);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let welcome = gateway.post("/mcp", Some(&token), &hello.to_string());
    let session = welcome.split("mcp-session-id: ").nth(1);
    let session = session.and_then(|rest| rest.split("\r\n").next()).unwrap();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let shown = format!("{token}\r\nmcp-session-id: {session}");
    let listed = gateway.post("/mcp", Some(&shown), &list.to_string());
    assert!(listed.contains("echo"), "{listed}");
    let outcome = logout(&desk);
    assert!(
        outcome.stdout.contains("ended its session"),
        "{}",
        outcome.stdout
    );
    assert_eq!(order(&desk)[0], "DELETE /mcp 200");
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
fn a_sign_out_without_running_processes_does_not_mention_sessions() {
    let desk = desk();
    assert_eq!(desk.call().run().code, 0);
    let outcome = logout(&desk);
    assert_eq!(
        outcome.stdout,
        "`s`: signed out; the tokens were revoked and deleted.\n"
    );
    assert_eq!(order(&desk), ["POST /revoke 200", "POST /revoke 200"]);
}

/// The same server over HTTP with SSE, whose stream is the session.
pub(crate) fn desk_over_sse() -> Desk {
    let mut settings = Settings::default();
    settings.modern = false;
    let desk = Desk::new(KEYWAY, settings);
    write_sse_entry(&desk);
    desk.sign_in();
    desk
}

fn write_sse_entry(desk: &Desk) {
    let entries = json!({ "s": { "type": "sse", "url": desk.rig.sse() } });
    desk.folder.put(".mcp.json", entries.to_string());
}

#[test]
fn over_sse_the_stream_closes_before_the_tokens_end_and_the_next_use_asks_again() {
    let desk = desk_over_sse();
    let mut client = Client::start(&desk.keyway(&["run", "--server", "s"]));
    assert_eq!(client.tools(), ["echo"]);
    let open = desk.rig.streams();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].closed, None);
    let outcome = logout(&desk);
    assert_eq!(
        outcome.stdout,
        "`s`: signed out; the tokens were revoked and deleted; one process that used them ended its session.\n"
    );
    assert_eq!(order(&desk), ["POST /revoke 200", "POST /revoke 200"]);
    let closed = desk.rig.streams()[0].closed.unwrap();
    let revoked = desk.rig.seen("/revoke")[0].at;
    assert!(closed <= revoked, "{closed:?} {revoked:?}");
    // The next call asks a person, and then works on a stream of its own.
    desk.rig.forget();
    let person = desk.person();
    let answer = client.call("echo");
    drop(person);
    assert_eq!(
        answer["result"]["content"][0]["text"], "Echo: hello",
        "{answer}"
    );
    assert_eq!(desk.windows().len(), 2);
    let first = &desk.rig.seen("/sse")[0];
    assert_eq!(first.request.header("authorization"), None, "no old token");
    assert_eq!(desk.rig.streams().len(), 2);
    assert_eq!(client.leave(), "");
    assert!(desk.rig.streams()[1].closed.is_some());
}

#[test]
fn over_sse_a_declined_sign_in_does_not_bring_the_old_stream_back() {
    let desk = desk_over_sse();
    let mut client = Client::start(&desk.keyway(&["run", "--server", "s"]));
    assert_eq!(client.tools(), ["echo"]);
    logout(&desk);
    desk.rig.set(|settings| settings.consent = Consent::Denies);
    let person = desk.person();
    let answer = client.call("echo");
    assert!(answer["error"].is_object(), "{answer}");
    assert_eq!(desk.rig.streams().len(), 1);
    // A later sign-in continues in the same process.
    desk.rig
        .set(|settings| settings.consent = Consent::Approves);
    let signed_in = desk.keyway(&["login", "s"]).run();
    assert_eq!(signed_in.code, 0, "{}", signed_in.everything());
    drop(person);
    let answer = client.call("echo");
    assert_eq!(
        answer["result"]["content"][0]["text"], "Echo: hello",
        "{answer}"
    );
}

#[test]
fn over_sse_among_several_servers_the_others_continue() {
    let desk = desk_over_sse();
    let other = Desk::new(KEYWAY, Settings::default());
    let entries = json!({
        "s": { "type": "sse", "url": desk.rig.sse() },
        "t": { "type": "http", "url": other.rig.mcp() },
    });
    desk.folder.put(".mcp.json", entries.to_string());
    let person = desk.person();
    let signed_in = desk.keyway(&["login", "t"]).run();
    assert_eq!(signed_in.code, 0, "{}", signed_in.everything());
    drop(person);
    let mut client = Client::start(&desk.keyway(&["run"]));
    assert_eq!(client.tools(), ["s__echo", "t__echo"]);
    logout(&desk);
    assert!(desk.rig.streams()[0].closed.is_some());
    let answer = client.call("t__echo");
    assert_eq!(answer["result"]["content"][0]["text"], "Echo: hello");
    let _person = desk.person();
    let answer = client.call("s__echo");
    assert_eq!(
        answer["result"]["content"][0]["text"], "Echo: hello",
        "{answer}"
    );
}
