//! A server behind a WebSocket: taken for one of another transport, and cut off.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyway_testkit::Folder;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Message, accept_hdr, handshake::server};

use crate::doctor::server::mcp;
use crate::doctor::{assert_fault, assert_works, doctor};

/// Starts a server that speaks MCP over a WebSocket and nothing else; returns its port, and a
/// switch with which it breaks off at the first list.
fn start() -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let breaks_off = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&breaks_off);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let switch = Arc::clone(&switch);
            std::thread::spawn(move || serve(stream, &switch));
        }
    });
    (port, breaks_off)
}

#[expect(
    clippy::result_large_err,
    reason = "the library wants the whole answer of a refusal"
)]
fn serve(mut stream: TcpStream, breaks_off: &AtomicBool) {
    if !wants_upgrade(&stream) {
        let mut head = [0; 8192];
        let _length = stream.read(&mut head).unwrap_or(0);
        let answer = b"HTTP/1.1 426 Upgrade Required\r\nupgrade: websocket\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        drop(stream.write_all(answer));
        return;
    }
    let agree = |request: &server::Request, mut response: server::Response| {
        if let Some(protocol) = request.headers().get("sec-websocket-protocol") {
            let headers = response.headers_mut();
            headers.insert("sec-websocket-protocol", protocol.clone());
        }
        Ok(response)
    };
    let Ok(mut socket) = accept_hdr(stream, agree) else {
        return;
    };
    while let Ok(message) = socket.read() {
        let Message::Text(text) = message else {
            continue;
        };
        if text.contains("\"tools/list\"") && breaks_off.load(Ordering::Relaxed) {
            let frame = CloseFrame {
                code: 1011.into(),
                reason: "CANARY".into(),
            };
            drop(socket.close(Some(frame)));
            continue;
        }
        let reply = mcp(&format!("POST /mcp\n\n{text}")).body;
        if !reply.is_empty() && socket.send(Message::text(reply)).is_err() {
            return;
        }
    }
}

/// Looks at the head of a request without taking it.
fn wants_upgrade(stream: &TcpStream) -> bool {
    let mut head = [0; 8192];
    loop {
        let length = stream.peek(&mut head).unwrap_or(0);
        let text = String::from_utf8_lossy(&head[..length]).to_lowercase();
        if length == 0 || length == head.len() || text.contains("\r\n\r\n") {
            return text.contains("upgrade: websocket");
        }
        // A peek cannot wait for more than it has shown already.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn entry(kind: &str, port: u16) -> String {
    let scheme = if kind == "ws" { "ws" } else { "http" };
    format!(
        r#"{{"mcpServers": {{"s": {{"type": "{kind}", "url": "{scheme}://127.0.0.1:{port}/mcp"}}}}}}"#
    )
}

#[test]
fn a_websocket_that_is_declared_as_http_or_sse_is_recognized() {
    let (port, _) = start();
    for wrong in ["http", "sse"] {
        let folder = Folder::new().file(".mcp.json", entry(wrong, port));
        let fix = r#"change the entry to "type": "ws", and change the scheme of `url` from `http` to `ws`"#;
        let found = assert_fault(&doctor(&folder).run(), "wrong-transport", 1, fix);
        let message = found["message"].as_str().unwrap();
        let says = format!(
            "the entry says `{wrong}`, and the server answers as `ws`, with MCP 2025-06-18 (legacy)"
        );
        assert_eq!(message, says);
        folder.put(".mcp.json", entry("ws", port));
        assert_works(&doctor(&folder).run());
    }
}

#[test]
fn a_connection_that_is_cut_off_is_told_and_the_next_one_works() {
    let (port, breaks_off) = start();
    breaks_off.store(true, Ordering::Relaxed);
    let folder = Folder::new().file(".mcp.json", entry("ws", port));
    let found = assert_fault(&doctor(&folder).run(), "connection-closed", 5, "try again");
    assert_eq!(found["stage"], "connect");
    breaks_off.store(false, Ordering::Relaxed);
    assert_works(&doctor(&folder).run());
}
