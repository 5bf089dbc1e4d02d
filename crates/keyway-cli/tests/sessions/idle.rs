//! What a session costs that does nothing: the connection of its client.

use keyway_testkit::rig::Settings;
use keyway_testkit::{Answer, Desk, Folder, Gateway, Upstream, eventually};
use serde_json::json;

use crate::client::Client;
use crate::soak::served_path;
use crate::{Program, SPARE, allow_many_connections, keyway};

#[test]
fn idle_session_costs_no_descriptor_but_those_of_its_client() {
    allow_many_connections();
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    desk.sign_in();
    let token = Gateway::token(desk.without_browser(&[]), &["--name", "n"]);
    let words = [".", "--trust", "--quiet"];
    let gateway = Program::new(Gateway::start(desk.without_browser(&[]), &words));
    let path = served_path(&desk);
    let client = || Client::new(gateway.process.port(), &path, Some(&token));
    // What is needed once, for the first session and its sign-in, is not counted.
    let mut first = client();
    first.begin();
    let before = gateway.descriptors();

    let mut silent: Vec<Client> = (0..SESSIONS).map(|_| client()).collect();
    silent.iter_mut().for_each(Client::initialize);
    eventually("sessions that only began have one descriptor each", || {
        gateway.descriptors() <= before + SESSIONS + SPARE
    });
    let mut used: Vec<Client> = (0..SESSIONS).map(|_| client()).collect();
    used.iter_mut().for_each(Client::begin);
    eventually("those that called and listen have two", || {
        gateway.descriptors() <= before + 3 * SESSIONS + SPARE
    });
    assert!(gateway.descriptors() >= 3 * SESSIONS, "they are open");
}

/// Above [`SPARE`], so that one descriptor more for each is seen.
const SESSIONS: usize = 40;

#[test]
fn sessions_that_only_begin_start_no_program_and_reach_no_server() {
    allow_many_connections();
    let upstream = Upstream::start(|_| Answer::empty(500));
    let folder = Folder::new();
    let log = folder.at("log");
    let script = format!(
        r#"echo "$1" >> {log}
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}' ;;
    *'"tools/list"'*) result='{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}}}}]}}' ;;
    *'"ping"'*) result='{{}}' ;;
    *'"tools/call"'*) result='{{"content":[]}}' ;;
    *'"server/discover"'*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"unknown"}}}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
done
"#,
        log = log.display()
    );
    folder.put("p/server.sh", script);
    let program = |name: &str| {
        let args = ["${CLAUDE_PLUGIN_ROOT}/server.sh", name];
        json!({"command": "sh", "args": args})
    };
    let remote = json!({"type": "http", "url": upstream.url("/mcp")});
    let entries = json!({"one": program("one"), "two": program("two"), "far": remote});
    folder.put("p/.mcp.json", entries.to_string());
    let token = Gateway::token(keyway(&folder), &["--name", "n"]);
    let words = ["p", "--trust", "--quiet"];
    let gateway = Program::new(Gateway::start(keyway(&folder), &words));
    let started = || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let begin = |path: &str| {
        let mut client = Client::new(gateway.process.port(), path, Some(&token));
        client.initialize();
        client
    };
    let mut together: Vec<Client> = (0..ONLY_BEGUN).map(|_| begin("/mcp")).collect();
    together.iter_mut().for_each(Client::ping);
    assert_eq!(started(), [""; 0]);
    assert_eq!(upstream.connections(), 0);
    together[3].call_tool("two__t");
    assert_eq!(started(), ["two"]);
    assert_eq!(upstream.connections(), 0);
    // At the address of one server, the first session asks it what to answer.
    let mut alone: Vec<Client> = (0..ONLY_BEGUN).map(|_| begin("/mcp/p/one")).collect();
    alone.iter_mut().for_each(Client::ping);
    assert_eq!(started(), ["two", "one"]);
    alone[5].call_tool("t");
    assert_eq!(started(), ["two", "one", "one"]);
}

/// As many as a machine of clients that start together.
const ONLY_BEGUN: usize = 200;
