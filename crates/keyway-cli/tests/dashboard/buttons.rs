//! What buttons do: to the server behind them, and to the clients that use it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Answer, Desk, Folder, Gateway, Keyway, Request, Upstream, mcp, visit};
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::{Complaints, House, browse, modules, wait_for};
use crate::waiting::{Waiting, plugin};

/// A key was exchanged behind the helper's back: its new output reaches the server.
#[test]
fn run_helper_again_runs_it_and_the_server_sees_the_new_header() {
    if modules().is_none() {
        return;
    }
    let upstream = Upstream::start(|request| match request.header("x-key") {
        Some("the-new-key") => mcp(request, tool),
        _ => Answer::empty(401),
    });
    let url = upstream.url("/mcp");
    let entry = format!(
        r#"{{"signed": {{"type": "http", "url": "{url}", "headersHelper": "./helper.sh"}}}}"#
    );
    let helper = "#!/bin/sh\nread -r key < ../key && printf '{\"X-Key\": \"%s\"}' \"$key\"\n";
    let folder = Folder::new()
        .file("p/.mcp.json", entry)
        .file("key", "the-old-key\n")
        .executable("p/helper.sh", helper);
    let house = House::over(folder, &[], &[]);
    let approve = json!([
        {"go": house.open()}, {"wait": "live"}, {"click": "Review and approve signed"}, {"wait": "./helper.sh"},
        {"click": "#approve"}, {"wait": "What is wrong"}, {"wait": "401"}, {"wait": "How to fix it"},
    ]);
    browse(&[approve], Complaints::None);
    let keys = || -> Vec<String> {
        let seen = upstream.seen();
        let keys = seen.iter().map(|it| it.header("x-key").unwrap_or("none"));
        keys.map(str::to_owned).collect()
    };
    assert!(
        keys().iter().all(|key| key == "the-old-key"),
        "{:?}",
        keys()
    );
    house.folder.put("key", "the-new-key\n");
    let again = json!([
        {"go": house.open()}, {"wait": "live"}, {"click": "signed"}, {"wait": "What is wrong"},
        {"click": "Run helper again signed"}, {"wait": "Connected"}, {"gone": "What is wrong"},
        {"wait": "Echoes the message"}, {"read": true},
    ]);
    let said = browse(&[again], Complaints::None);
    assert_eq!(keys().last().unwrap(), "the-new-key");
    let page = said.first().unwrap()["html"].as_str().unwrap();
    assert!(!page.contains("the-new-key") && !page.contains("the-old-key"));
}

/// Sessions of clients continue, over a new connection.
#[test]
fn reconnect_opens_a_new_connection_for_the_person_and_for_every_client() {
    if modules().is_none() {
        return;
    }
    let greeted = AtomicUsize::new(0);
    let upstream = Upstream::start(move |request| {
        let answer = mcp(request, tool);
        if method(request) != "initialize" {
            return answer;
        }
        let session = greeted.fetch_add(1, Ordering::SeqCst);
        answer.with("mcp-session-id", &format!("session-{session}"))
    });
    let url = upstream.url("/mcp");
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}", "oauth": false}}}}"#);
    let house = House::over(Folder::new().file("p/.mcp.json", entry), &[], &[]);
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), house.folder.path());
    let call = call.env("KEYWAY_HOME", house.folder.at("home"));
    let token = Gateway::token(call, &["--name", "n"]);
    let client = Client::greet(&house.gateway, "/mcp", &token);
    // Returns the session that a call went to.
    let used = || {
        let answer = client.call_here("echo");
        assert!(answer.contains("Echo: hello"), "{answer}");
        let seen = upstream.seen();
        let mut calls = seen.iter().filter(|it| method(it) == "tools/call");
        let last = calls.next_back().unwrap();
        last.header("mcp-session-id").unwrap().to_owned()
    };
    let first = used();
    assert_eq!(used(), first, "a connection is kept");
    let steps = json!([
        {"go": house.open()}, {"wait": "1 connected"}, {"click": "s"}, {"wait": "Connected"},
    ]);
    browse(&[steps], Complaints::None);
    assert_eq!(used(), first, "looking changes nothing");
    let before = upstream.seen().len();
    let steps = json!([
        {"go": house.open()}, {"wait": "live"}, {"click": "s"}, {"wait": "Connected"},
        {"click": "Reconnect s"}, {"wait": "Connected"},
    ]);
    browse(&[steps], Complaints::None);
    let ended = |request: &Request| {
        request.method == "DELETE" && request.header("mcp-session-id") == Some(&first)
    };
    wait_for("an end of the old session", || {
        let seen = upstream.seen();
        seen.iter().skip(before).any(ended).then(String::new)
    });
    let since = upstream.seen().into_iter().skip(before);
    let greetings = since.filter(|it| method(it) == "initialize").count();
    assert!(greetings >= 1, "the person's own look is a new connection");
    assert_ne!(used(), first, "the client's next call goes over a new one");
}

/// The code is read on one page, typed on the other, and what comes of it is seen by itself.
#[test]
fn a_code_for_another_device_is_shown_typed_and_then_a_tool_is_called() {
    if modules().is_none() {
        return;
    }
    let desk = desk();
    desk.rig.set(|settings| settings.device = Some(1));
    let grant = format!(
        "[servers.\"{}:s\".oauth]\nsource = \"../../..\"\ngrant = \"device\"\n",
        plugin(&desk)
    );
    desk.folder.put("home/keyway/config/config.toml", grant);
    for folder in ["home/keyway", "home/keyway/config"] {
        let private = Permissions::from_mode(0o700);
        std::fs::set_permissions(desk.folder.at(folder), private).unwrap();
    }
    let place = Waiting::at(desk);
    let steps = json!([
        {"size": [360, 740]}, {"go": place.link()}, {"wait": "1 needs you"},
        {"click": "s"}, {"click": "Sign in s"}, {"wait": "Enter this code:"}, {"wait": "min left"},
        {"axe": true}, {"read": true}, {"copy": ".code"},
        {"tab": {"click": "#consent", "steps": [
            {"paste": "#code"}, {"click": "#agree"}, {"wait": "Your device is connected"},
        ]}},
        {"gone": "Enter this code:"}, {"wait": "Connected"}, {"wait": "Sign out"},
        {"click": "echo Echoes the message"}, {"type": ["#f0", "well done"]},
        {"click": "Call"}, {"wait": "Echo: well done"}, {"read": true},
    ]);
    let said = browse(&[steps], Complaints::None);
    crate::is_usable(&said);
    // Clients have it as well, and the person was not asked in another way.
    let answer = place.client().call("echo");
    assert!(answer.contains("Echo: hello"), "{answer}");
    assert!(place.desk.rig.seen("/authorize").is_empty());
    let printed = format!("{said:?}{}", place.house.said());
    let leaks = place.desk.leaks(&printed, &[]);
    assert!(leaks.is_empty(), "{leaks:?}");
}

/// A stream is a session of its own: it must not outlive the sign-in.
#[test]
fn after_a_sign_out_over_sse_the_next_call_asks_again() {
    if modules().is_none() {
        return;
    }
    let desk = desk();
    let url = desk.rig.sse();
    let entry = format!(r#"{{"s": {{"type": "sse", "url": "{url}"}}}}"#);
    desk.folder.put(".mcp.json", entry);
    let place = Waiting::at(desk);
    let sign_in = json!([
        {"go": place.link()}, {"wait": "1 needs you"}, {"click": "s"},
        {"wait": "HTTP+SSE"}, {"click": "Sign in s"},
        {"tab": {"click": "#consent", "steps": [{"wait": "You are signed in"}]}},
        {"wait": "Connected"}, {"wait": "Echoes the message"},
    ]);
    browse(&[sign_in], Complaints::None);
    let client = place.client();
    let call = || client.call_here("echo");
    assert!(call().contains("Echo: hello"));
    let open = || {
        let streams = place.desk.rig.streams();
        streams.iter().filter(|it| it.closed.is_none()).count()
    };
    wait_for("only the client's stream", || {
        (open() == 1).then(String::new)
    });
    let sign_out = json!([
        {"go": place.link()}, {"wait": "1 connected"}, {"click": "s"}, {"click": "Sign out s"},
        {"wait": "Signed out; the tokens were revoked and deleted"},
        {"wait": "Not signed in"},
    ]);
    browse(&[sign_out], Complaints::None);
    wait_for("the end of every stream", || {
        (open() == 0).then(String::new)
    });
    let (pass, _stream) = place.open();
    std::thread::scope(|scope| {
        let call = scope.spawn(call);
        let page = wait_for("a question, or an answer", || {
            let page = place.page(&pass);
            let asks = page.contains("id=\"consent\"") || call.is_finished();
            asks.then_some(page)
        });
        assert!(!call.is_finished(), "{:?}", call.join());
        let (_, link) = page.split_once("id=\"consent\" href=\"").unwrap();
        let link = link.split_once('"').unwrap().0.replace("&amp;", "&");
        drop(visit(&link));
        let answer = call.join().unwrap();
        assert!(answer.contains("Echo: hello"), "{answer}");
    });
    assert_eq!(place.desk.rig.families().len(), 2, "two sign-ins");
}

fn desk() -> Desk {
    Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default())
}

/// Returns the method of a message.
fn method(request: &Request) -> String {
    let message = serde_json::from_str::<Value>(&request.body).unwrap_or_default();
    let method = message.get("method").and_then(Value::as_str);
    method.unwrap_or_default().to_owned()
}

/// One tool, which says what it is told.
pub(crate) fn tool(method: &str, params: &Value) -> Option<Value> {
    match method {
        "tools/list" => Some(json!({"tools": [{"name": "echo",
            "description": "Echoes the message", "inputSchema": {"type": "object"}}]})),
        "tools/call" => {
            let said = params.pointer("/arguments/message")?.as_str()?;
            Some(json!({"content": [{"type": "text", "text": format!("Echo: {said}")}]}))
        }
        _ => None,
    }
}
