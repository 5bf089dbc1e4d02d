//! Rules for tools: set on the page of a tool, and asked about while a call waits.

use keyway_testkit::{Folder, Gateway, Keyway, Upstream, mcp};
use serde_json::json;

use crate::buttons::tool;
use crate::client::Client;
use crate::house::{Complaints, House, browse, modules};
use crate::is_usable;

/// On a phone in the dark, and then at a desk; the client keeps its session all the time.
#[test]
fn a_person_without_a_mouse_denies_a_tool_and_then_allows_one_call() {
    if modules().is_none() {
        println!("skipped: no browser; `cargo xtask tools --setup` installs it");
        return;
    }
    let upstream = Upstream::start(|request| mcp(request, tool));
    let url = upstream.url("/mcp");
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}", "oauth": false}}}}"#);
    let house = House::over(Folder::new().file("p/.mcp.json", entry), &[], &[]);
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), house.folder.path());
    let call = call.env("KEYWAY_HOME", house.folder.at("home"));
    let token = Gateway::token(call, &["--name", "n"]);
    let client = Client::greet(&house.gateway, "/mcp", &token);
    assert!(client.call_here("echo").contains("Echo: hello"));
    let deny = json!([
        {"size": [360, 740]}, {"theme": "dark"}, {"go": house.open()}, {"wait": "1 connected"},
        {"reach": "s"}, {"press": "Enter"}, {"wait": "Authenticates by"},
        {"reach": "echo Echoes the message"}, {"press": "Enter"},
        {"wait": "Which clients may call it"}, {"wait": "No rule"}, {"axe": true},
        {"reach": "allowaskdenyno rule"}, {"press": ["ArrowDown", "ArrowDown"]},
        {"reach": "Set rule"}, {"press": "Enter"}, {"wait": "The rule was set."},
        {"wait": "deny for all clients"}, {"axe": true}, {"theme": "light"}, {"axe": true},
        {"size": [1280, 900]}, {"axe": true}, {"click": "s"}, {"wait": "denied"}, {"axe": true},
    ]);
    is_usable(&browse(&[deny], Complaints::None));
    let refused = client.call_here("echo");
    assert!(refused.contains("-32051"), "{refused}");
    assert!(refused.contains("keyway open"), "{refused}");
    let ask = json!([
        {"go": house.open()}, {"wait": "1 connected"}, {"click": "s"},
        {"click": "echo Echoes the message"}, {"choose": ["#policy-rule", "ask"]},
        {"click": "#set-rule"}, {"wait": "ask for all clients"},
    ]);
    browse(&[ask], Complaints::None);
    let answer = json!([
        {"size": [360, 740]}, {"theme": "dark"}, {"go": house.open()},
        {"wait": "A call waits for you"}, {"wait": "{\"message\":\"hello\"}"}, {"axe": true},
        {"theme": "light"}, {"axe": true}, {"reach": "Allow this call"}, {"press": "Enter"},
        {"wait": "The call was allowed."}, {"gone": "A call waits for you"},
    ]);
    let (called, said) = std::thread::scope(|scope| {
        let calling = scope.spawn(|| client.call_here("echo"));
        let said = browse(&[answer], Complaints::None);
        (calling.join().unwrap(), said)
    });
    is_usable(&said);
    assert!(called.contains("Echo: hello"), "{called}");
}
