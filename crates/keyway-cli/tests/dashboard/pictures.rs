//! The pictures of the documents, made by
//! `cargo test -p keyway-cli --test dashboard -- --ignored pictures`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

use serde_json::json;

use super::house::{Complaints, Demo, browse};

#[test]
#[ignore = "writes docs/dashboard-*.png"]
fn pictures_of_both_themes_and_of_a_phone() {
    let demo = Demo::start();
    let origin = demo.origin();
    traffic(&demo, &origin);
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let file = |name: &str| docs.join(name).to_string_lossy().into_owned();
    let steps = json!([
        {"size": [1200, 1010]}, {"theme": "light"}, {"go": demo.link()}, {"wait": "5 connected"},
        {"click": "docs"}, {"click": "Sign in docs"},
        {"tab": {"click": "#consent", "steps": [
            {"wait": "Allow"}, {"click": "Allow"}, {"wait": "You are signed in"},
        ]}},
        {"wait": "renews automatically"},
        {"go": format!("{origin}/")}, {"wait": "6 connected"}, {"wait": "live"},
        {"shot": file("dashboard-light.png")},
        {"theme": "dark"}, {"shot": file("dashboard-dark.png")},
        {"size": [375, 780]}, {"theme": "light"}, {"shot": file("dashboard-phone.png")},
    ]);
    // The plain address is refused before the script finds the way back.
    browse(&[steps], Complaints::Known(1));
    for name in [
        "dashboard-light.png",
        "dashboard-dark.png",
        "dashboard-phone.png",
    ] {
        let size = std::fs::metadata(docs.join(name)).unwrap().len();
        assert!(size < 200_000, "{name}: {size}");
    }
}

/// Lets two clients call tools, so that there is something to see.
fn traffic(demo: &Demo, origin: &str) {
    let address = origin.strip_prefix("http://").unwrap();
    for (name, servers, calls) in [
        ("claude-code", ["search", "signed", "live"], 24),
        ("cursor", ["tenant", "search", "events"], 14),
    ] {
        let made = demo.keyway(&["token", "new", "--name", name]);
        let token = made.stdout.trim().to_owned();
        for server in servers {
            let post = |session: &str, body: &str| -> String {
                let mut stream = TcpStream::connect(address).unwrap();
                let text = format!(
                    "POST /mcp/demo/{server} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
                     content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
                     {session}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(text.as_bytes()).unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                answer
            };
            let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"0"}}}"#;
            let welcome = post("", hello);
            let id = welcome
                .lines()
                .find_map(|it| it.strip_prefix("mcp-session-id: "));
            let session = format!("mcp-session-id: {}\r\n", id.expect(&welcome));
            post(
                &session,
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            );
            for call in 0..calls {
                let tool = if call % 3 == 0 {
                    r#"{"name":"echo","arguments":{"text":"hello"}}"#
                } else {
                    r#"{"name":"add","arguments":{"a":1,"b":2}}"#
                };
                let body = format!(
                    r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{tool}}}"#,
                    call + 2
                );
                post(&session, &body);
            }
        }
    }
}
