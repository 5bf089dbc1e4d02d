//! The pages beside those of single servers, in a real browser: tokens, a new server, variables,
//! clients and history. On a phone in the dark, at a desk, and without a mouse.

use keyway_testkit::rig::Settings;
use keyway_testkit::{Answer, Canary, Desk, Folder, Upstream, mcp};
use serde_json::{Value, json};

use crate::buttons::tool;
use crate::client::Client;
use crate::house::{Complaints, House, browse, modules};
use crate::is_usable;
use crate::waiting::Waiting;

/// A gateway over a server that takes requests from everyone.
fn open_house() -> (House, Upstream) {
    let upstream = Upstream::start(|request| mcp(request, tool));
    let url = upstream.url("/mcp");
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}", "oauth": false}}}}"#);
    let folder = Folder::new().file("p/.mcp.json", entry);
    (House::over(folder, &[], &[]), upstream)
}

/// Returns the text of the pages that were read.
fn texts(said: &[Value]) -> Vec<&str> {
    let read = said.iter().filter_map(|line| line["text"].as_str());
    read.collect()
}

#[test]
fn a_person_without_a_mouse_makes_a_token_a_client_uses_it_and_it_is_revoked() {
    if modules().is_none() {
        println!("skipped: no browser; `cargo xtask tools --setup` installs it");
        return;
    }
    let (house, _upstream) = open_house();
    let make = json!([
        {"size": [360, 740]}, {"theme": "dark"}, {"go": house.open()}, {"wait": "1 connected"},
        {"reach": "Tokens"}, {"press": "Enter"}, {"wait": "None yet."}, {"axe": true},
        {"type": ["#token-name", "editor"]},
        {"press": ["Tab", "Tab", "Space"]}, {"reach": "Make token"}, {"press": "Enter"},
        {"wait": "It is shown only this once"}, {"axe": true}, {"theme": "light"}, {"axe": true},
        {"read": true}, {"click": "History"}, {"wait": "Since the gateway started"}, {"axe": true},
        {"click": "Tokens"}, {"wait": "editor"}, {"wait": "p:s"}, {"wait": "never"}, {"read": true},
        {"axe": true}, {"size": [1280, 900]}, {"axe": true}, {"theme": "dark"}, {"axe": true},
    ]);
    let said = browse(&[make], Complaints::None);
    is_usable(&said);
    let texts = texts(&said);
    let (_, token) = texts[0].split_once("kwgt_").expect(texts[0]);
    let token = token.split_whitespace().next().unwrap();
    assert!(!texts[1].contains(token), "it is shown once");
    let token = format!("kwgt_{token}");
    let client = Client::greet(&house.gateway, "/mcp/p/s", &token);
    assert!(client.call_here("echo").contains("Echo: hello"));
    let revoke = json!([
        {"go": house.open()}, {"wait": "1 connected"}, {"click": "Tokens"}, {"wait": "editor"},
        {"gone": "never"}, {"reach": "Revoke editor"}, {"press": "Enter"},
        {"wait": "The token of editor was revoked."}, {"wait": "None yet."},
    ]);
    browse(&[revoke], Complaints::None);
    let refused = crate::house::wait_for("a refusal", || {
        let answer = house.gateway.post("/mcp/p/s", Some(&token), "{}");
        answer.starts_with("HTTP/1.1 403 ").then_some(answer)
    });
    assert!(!refused.contains(&token));
}

/// From its address to its tools: it is looked at, added, approved and connected.
#[test]
fn a_server_with_a_key_is_added_by_its_address_and_its_key_is_on_no_page() {
    if modules().is_none() {
        return;
    }
    let key = Canary::hidden("kT7wQ2vX9mLz4Rb7Yc3NpH5d");
    let expected = key.value().to_owned();
    let keyed = Upstream::start(move |request| match request.header("x-key") {
        Some(value) if value == expected => mcp(request, tool),
        _ => Answer::empty(401),
    });
    let (house, _upstream) = open_house();
    let add = json!([
        {"size": [360, 740]}, {"theme": "dark"}, {"go": house.open()}, {"wait": "1 connected"},
        {"reach": "Add a server"}, {"press": "Enter"}, {"wait": "Address of the MCP server"}, {"axe": true},
        {"type": ["#url", keyed.url("/mcp")]}, {"press": "Enter"},
        {"wait": "Give it its key below"}, {"axe": true}, {"theme": "light"}, {"axe": true},
        {"type": ["#name", "keyed"]}, {"type": ["#header", "X-Key"]}, {"type": ["#value", key.value()]},
        {"size": [1280, 900]}, {"axe": true}, {"click": "Add server"},
        {"wait": "It was added to your own plugin."}, {"wait": "Approve what it does"}, {"axe": true},
        {"read": true}, {"click": "#approve"}, {"wait": "Connected"}, {"wait": "Echoes the message"},
        {"read": true}, {"click": "Servers"}, {"wait": "2 connected"}, {"read": true},
        {"click": "History"}, {"wait": "approval answered"}, {"read": true}, {"axe": true},
    ]);
    let said = browse(&[add], Complaints::None);
    is_usable(&said);
    for page in said.iter().filter_map(|line| line["html"].as_str()) {
        assert_eq!(key.leak(page), None);
    }
    // It is one of the person's own, for every command, and the file does not have the key.
    let listed = house.keyway(&["tools", "own:keyed"]);
    assert!(listed.stdout.contains("echo"), "{}", listed.everything());
    let file = house.folder.at("home/data/own/.mcp.json");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("X-Key"), "{text}");
    assert_eq!(key.leak(&text), None);
    assert_eq!(key.leak(&house.said()), None);
}

/// The address of a server that wants a sign-in is all that a person has to know.
#[test]
fn a_server_that_asks_for_a_sign_in_is_added_and_signed_in_to() {
    if modules().is_none() {
        return;
    }
    let place = Waiting::at(Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default()));
    let steps = json!([
        {"go": place.link()}, {"wait": "1 needs you"}, {"click": "Add a server"},
        {"type": ["#url", place.desk.rig.mcp()]}, {"click": "Look at it"},
        {"wait": "It asks you to sign in"}, {"type": ["#name", "added"]}, {"click": "Add server"},
        {"wait": "It was added to your own plugin."}, {"click": "Sign in added"},
        {"tab": {"click": "#consent", "steps": [{"wait": "You are signed in"}]}},
        {"wait": "Connected"}, {"wait": "Echoes the message"},
        {"click": "History"}, {"wait": "signed in"}, {"read": true},
    ]);
    let said = browse(&[steps], Complaints::None);
    let printed = format!("{said:?}{}", place.house.said());
    let leaks = place.desk.leaks(&printed, &[]);
    assert!(leaks.is_empty(), "{leaks:?}");
}

#[test]
fn a_variable_that_is_missing_is_set_on_the_page_and_the_server_connects() {
    if modules().is_none() {
        return;
    }
    let key = Canary::hidden("pZ3wQ8vX1mLk4Rb7Yc9NpH2s");
    let expected = key.value().to_owned();
    let keyed = Upstream::start(move |request| match request.header("x-key") {
        Some(value) if value == expected => mcp(request, tool),
        _ => Answer::empty(401),
    });
    let url = keyed.url("/mcp");
    let entry = format!(
        r#"{{"s": {{"type": "http", "url": "{url}", "headers": {{"X-Key": "${{SEARCH_KEY}}"}}}}}}"#
    );
    let house = House::over(Folder::new().file("p/.mcp.json", entry), &[], &["--trust"]);
    let set = json!([
        {"size": [360, 740]}, {"theme": "dark"}, {"go": house.open()}, {"wait": "live"},
        {"click": "s"}, {"wait": "Your variables"}, {"axe": true}, {"theme": "light"}, {"axe": true},
        {"type": ["#v-SEARCH_KEY", key.value()]}, {"press": "Enter"},
        {"wait": "SEARCH_KEY was stored; it is not shown again."}, {"wait": "Connected"},
        {"wait": "Echoes the message"}, {"wait": "Replace"}, {"read": true}, {"axe": true},
    ]);
    let said = browse(&[set], Complaints::None);
    is_usable(&said);
    for page in said.iter().filter_map(|line| line["html"].as_str()) {
        assert_eq!(key.leak(page), None);
    }
    let listed = house.keyway(&["env", "list"]);
    assert!(
        listed.stdout.contains("SEARCH_KEY"),
        "{}",
        listed.everything()
    );
    // A name that the entry does not refer to is not taken.
    let pass = house.enter(&house.open());
    let mark = house.mark(&pass);
    let body = format!("_mark={mark}&name=PATH_OF_OTHERS&value=x");
    house.post("/s/p/s/variable", &pass, &body);
    let page = house.get("/s/p/s", &pass);
    assert!(page.contains("does not refer to that variable"), "{page}");
    let listed = house.keyway(&["env", "list"]).stdout;
    assert!(!listed.contains("PATH_OF_OTHERS"), "{listed}");
}

/// What is written works: the client starts it and gets the server's tools.
#[test]
fn a_client_is_connected_from_the_page_and_gets_every_byte_back() {
    if modules().is_none() {
        return;
    }
    let upstream = Upstream::start(|request| mcp(request, tool));
    let url = upstream.url("/mcp");
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}", "oauth": false}}}}"#);
    let before = "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {}\n}\n";
    let folder = Folder::new()
        .file("p/.mcp.json", entry)
        .file("person/.cursor/mcp.json", before);
    let home = folder.at("person").to_string_lossy().into_owned();
    let house = House::over(folder, &[("HOME", &home)], &[]);
    let file = house.folder.at("person/.cursor/mcp.json");
    let text = || std::fs::read_to_string(&file).unwrap();
    let connect = json!([
        {"size": [360, 740]}, {"theme": "dark"}, {"go": house.open()}, {"wait": "1 connected"},
        {"reach": "Clients"}, {"press": "Enter"}, {"wait": "not connected"}, {"axe": true},
        {"theme": "light"}, {"axe": true}, {"click": "Cursor not connected"}, {"axe": true},
        {"check": "[name=server]"}, {"click": "Show what is written"},
        {"wait": "This is added to the file"}, {"wait": "\"--server\""}, {"axe": true},
        {"size": [1280, 900]}, {"axe": true}, {"theme": "dark"}, {"axe": true},
        {"reach": "Write it"}, {"press": "Enter"}, {"wait": "Written."}, {"wait": "Remove"},
        {"axe": true},
    ]);
    is_usable(&browse(&[connect], Complaints::None));
    let written: Value = serde_json::from_str(&text()).unwrap();
    let command = &written["mcpServers"]["s"];
    let words = command["args"].as_array().unwrap().iter();
    let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
    assert!(
        command["command"].as_str().unwrap().ends_with("/keyway"),
        "{written}"
    );
    assert_eq!(words[..3], ["run", "--server", "s"], "{written}");
    let undo = json!([
        {"go": house.open()}, {"wait": "1 connected"}, {"click": "Clients"},
        {"click": "Cursor 1 server by Keyway"}, {"click": "Remove s"}, {"wait": "Removed."},
    ]);
    browse(&[undo], Complaints::None);
    assert_eq!(text(), before);
}

/// A call that a rule denies is found again, with its client.
#[test]
fn a_refused_call_stands_in_the_history() {
    let (house, _upstream) = open_house();
    let made = house.keyway(&["token", "new", "--name", "ci"]);
    let token = made.stdout.trim().to_owned();
    let client = Client::greet(&house.gateway, "/mcp", &token);
    let pass = house.enter(&house.open());
    let mark = house.mark(&pass);
    let page = crate::house::wait_for("its tools", || {
        let page = house.get("/s/p/s/tool/echo", &pass);
        page.starts_with("HTTP/1.1 200 ").then_some(page)
    });
    let digest = crate::digest(&page).to_owned();
    let body = format!("_mark={mark}&tool=echo&digest={digest}&rule=deny&client=");
    house.post("/s/p/s/rule", &pass, &body);
    let refused = client.call_here("echo");
    assert!(refused.contains("-32051"), "{refused}");
    let page = house.get("/history", &pass);
    assert!(page.contains("tools/call refused"), "{page}");
    assert!(
        page.contains("<code>echo</code>") && page.contains(">ci<"),
        "{page}"
    );
}
