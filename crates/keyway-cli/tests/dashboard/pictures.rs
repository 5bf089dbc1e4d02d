//! The pictures of the documents, made by
//! `cargo test -p keyway-cli --test dashboard -- --ignored pictures`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

use serde_json::json;

use super::approval::nastiest;
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

/// Threat E7: the page on which a person decides about everything that a plugin may try at once. The
/// text on the terminal is that of `e07_the_approval_of_the_nastiest_plugin_hides_nothing`.
#[test]
#[ignore = "writes docs/approval-page.png"]
fn pictures_of_the_approval_of_the_nastiest_plugin() {
    let house = nastiest();
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let picture = docs.join("approval-page.png");
    let steps = json!([
        {"size": [1000, 1880]}, {"theme": "light"}, {"go": house.open()}, {"wait": "3 need you"},
        {"click": "Review all 3 of p"}, {"wait": "LD_PRELOAD"},
        {"wait": "decides which code runs"}, {"axe": true}, {"read": true},
        {"shot": picture.to_string_lossy()},
    ]);
    let said = browse(&[steps], Complaints::None);
    let page = said.iter().find(|line| line.get("text").is_some()).unwrap();
    let text = page["text"].as_str().unwrap();
    for hidden in ['\u{1b}', '\u{200b}', '\u{202e}', '\u{7}'] {
        assert!(!text.contains(hidden), "{hidden:?}");
    }
    let size = std::fs::metadata(&picture).unwrap().len();
    assert!(size < 300_000, "{size}");
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
