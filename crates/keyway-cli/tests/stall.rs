//! One server sends a line of 60 MB while clients of another continue: through `keyway serve`,
//! whose runtime has one thread.
//!
//! `KEYWAY_STALL=1` compares times as well, and prints them: the slowest hundredth of the other
//! server's calls may take three times what it takes when all is quiet, in the same run.

#![expect(
    clippy::disallowed_methods,
    reason = "tests stop where they cannot go on, and their length is set from outside"
)]

use std::time::{Duration, Instant};

use keyway_testkit::{Folder, Gateway, Keyway};

#[test]
fn calls_of_another_server_continue_while_one_sends_sixty_megabytes() {
    let is_measured = std::env::var_os("KEYWAY_STALL").is_some();
    let folder = Folder::new()
        .file("p/.mcp.json", ENTRIES)
        .file("p/server.sh", SERVER);
    let keyway = || {
        Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
            .env("KEYWAY_HOME", folder.at("home"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
    };
    let token = Gateway::token(keyway(), &["--name", "n"]);
    let gateway = Gateway::start(keyway(), &["p", "--trust", "--quiet"]);
    let small = session(&gateway, &token, "/mcp/small");
    let large = session(&gateway, &token, "/mcp/large");
    let call = |path, headers: &str, name: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{name}"}}}}"#
        );
        let begin = Instant::now();
        let answer = gateway.request("POST", path, headers, &text);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer:.300}");
        (begin.elapsed(), answer.len())
    };
    let small_call = || call("/mcp/small", &small, "echo").0;
    let quiet: Vec<Duration> = (0..CALLS).map(|_| small_call()).collect();
    let (mut stalled, lines) = (Vec::new(), if is_measured { 10 } else { 2 });
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || {
            for _ in 0..lines {
                let (_, bytes) = call("/mcp/large", &large, "line");
                assert!(bytes > LINE_BYTES, "{bytes}");
            }
        });
        while !sending.is_finished() {
            stalled.push(small_call());
        }
        sending.join().expect("the large answers");
    });
    let counts = (stalled.len(), lines * CALLS_PER_LINE);
    assert!(counts.0 >= counts.1, "{} calls in {lines} lines", counts.0);
    if is_measured {
        let (before, during) = (slowest_hundredth(quiet), slowest_hundredth(stalled));
        println!(
            "p99 {before:?} when quiet, {during:?} in {lines} lines with {} calls",
            counts.0
        );
        assert!(
            during <= before * 3,
            "{during:?} is more than 3 × {before:?}"
        );
    }
}

/// Begins a session and returns the headers of its requests.
fn session(gateway: &Gateway, token: &str, path: &str) -> String {
    let welcome = gateway.post(path, Some(token), HELLO);
    let found = welcome.split_once("mcp-session-id: ");
    let (_, rest) = found.unwrap_or_else(|| panic!("{welcome}"));
    let id = rest.lines().next().unwrap_or_default();
    format!(
        "authorization: Bearer {token}\r\nmcp-session-id: {id}\r\ncontent-type: application/json\r\naccept: application/json\r\n"
    )
}

fn slowest_hundredth(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let at = times.len() * 99 / 100;
    times.get(at).copied().unwrap_or_default()
}

const ENTRIES: &str = r#"{
    "small": {"command": "sh", "args": ["${HOST_PLUGIN_ROOT}/server.sh"]},
    "large": {"command": "sh", "args": ["${HOST_PLUGIN_ROOT}/server.sh"]}
}"#;
/// Answers every request; `line` with [`LINE_BYTES`] and more.
const SERVER: &str = r#"
while read -r line; do
    case $line in *'"id":'*) ;; *) continue ;; esac
    id=${line#*'"id":'}; id=${id%%,*}; id=${id%%'}'*}
    case $line in
    *'"initialize"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"line"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
        head -c 60000000 /dev/zero | tr '\0' x
        printf '"}]}}\n' ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' "$id" ;;
    esac
done
"#;
const LINE_BYTES: usize = 60_000_000;
const CALLS: usize = 300;
/// What goes through while a line does, at least; without turns for others it is one or none.
const CALLS_PER_LINE: usize = 10;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
