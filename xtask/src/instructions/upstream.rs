//! The server behind what is measured: streamable HTTP that answers every call with 64 bytes.

use std::io::{self, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use super::http::Message;
use crate::error::XtaskError;

/// Starts it on a port of its own; it ends with this process.
pub(super) fn start() -> Result<SocketAddr, XtaskError> {
    let error = || XtaskError::file(Path::new("127.0.0.1:0"));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(error())?;
    let address = listener.local_addr().map_err(error())?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // A client that goes away in the middle is about to be reported elsewhere.
                drop(serve(&stream));
            });
        }
    });
    Ok(address)
}

fn serve(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = Message::read(&mut reader)? {
        let mut writer = stream;
        writer.write_all(answer(&request).as_bytes())?;
    }
    Ok(())
}

fn answer(request: &Message) -> String {
    if !request.first.starts_with("POST") {
        let status = match request.first.starts_with("DELETE") {
            true => "200 OK",
            false => "405 Method Not Allowed",
        };
        return format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
    }
    let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let Some(id) = message.get("id") else {
        return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned();
    };
    let body = match message
        .get("method")
        .and_then(Value::as_str)
        .and_then(result)
    {
        Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        None => json!({"jsonrpc": "2.0", "id": id,
            "error": {"code": -32601, "message": "method not found"}}),
    }
    .to_string();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn result(method: &str) -> Option<Value> {
    match method {
        "initialize" => Some(json!({
            "protocolVersion": super::calls::VERSION,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "upstream", "version": "1"},
        })),
        "tools/list" => {
            Some(json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}))
        }
        "tools/call" => Some(json!({"content": [{"type": "text", "text": "x".repeat(64)}]})),
        _ => None,
    }
}
