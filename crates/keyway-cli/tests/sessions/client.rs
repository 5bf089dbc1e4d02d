//! A client that keeps its stream open, and asks on another connection.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

/// A client of 2025-11-25.
pub(crate) struct Client {
    port: u16,
    path: String,
    headers: String,
    stream: Option<TcpStream>,
    asking: Option<TcpStream>,
    asked: u64,
}

impl Client {
    pub(crate) fn new(port: u16, path: &str, token: Option<&str>) -> Self {
        let headers = token.map_or_else(String::new, |token| {
            format!("Authorization: Bearer {token}\r\n")
        });
        Self {
            port,
            path: path.to_owned(),
            headers,
            stream: None,
            asking: None,
            asked: 0,
        }
    }

    /// Begins a session, calls and opens its stream; the connection it was begun on stays open as
    /// well.
    pub(crate) fn begin(&mut self) {
        self.initialize();
        self.call();
        let mut stream = self.connect();
        self.send(&mut stream, "GET", "Accept: text/event-stream\r\n", "");
        let (head, _) = read(&mut stream);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        self.stream = Some(stream);
    }

    /// Begins a session and asks for nothing; its one connection stays open.
    pub(crate) fn initialize(&mut self) {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let (head, _) = self.post(hello);
        let mut lines = head.lines();
        let id = lines.find_map(|line| line.strip_prefix("mcp-session-id: "));
        let id = id.unwrap_or_else(|| panic!("{head}"));
        write!(
            self.headers,
            "Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        )
        .unwrap();
        let (head, _) = self.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert!(head.starts_with("HTTP/1.1 202 "), "{head}");
    }

    /// Asks for a list and waits for the answer.
    pub(crate) fn call(&mut self) {
        self.ask("tools/list", "{}");
    }

    /// Calls a tool and waits for the answer.
    pub(crate) fn call_tool(&mut self, name: &str) {
        self.ask("tools/call", &format!(r#"{{"name":"{name}"}}"#));
    }

    /// Asks for a sign of life and waits for it.
    pub(crate) fn ping(&mut self) {
        self.ask("ping", "{}");
    }

    fn ask(&mut self, method: &str, params: &str) {
        self.asked += 1;
        let id = self.asked;
        let (head, body) = self.post(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let is_answer = body.contains(&format!(r#""id":{id},"#)) && body.contains(r#""result":"#);
        assert!(is_answer, "{head} {body}");
    }

    /// Says whether the stream is still open.
    pub(crate) fn is_listening(&mut self) -> bool {
        let Some(stream) = &mut self.stream else {
            return false;
        };
        stream.set_nonblocking(true).unwrap();
        let mut piece = [0; 4096];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return false,
                // Signs of life.
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    /// Ends the session and everything of it.
    pub(crate) fn end(&mut self) {
        let mut stream = self.connect();
        self.send(&mut stream, "DELETE", "", "");
        let (head, _) = read(&mut stream);
        assert!(head.starts_with("HTTP/1.1 20"), "{head}");
        self.stream = None;
        self.asking = None;
    }

    fn post(&mut self, body: &str) -> (String, String) {
        let mut stream = match self.asking.take() {
            Some(stream) => stream,
            None => self.connect(),
        };
        let kind =
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
        self.send(&mut stream, "POST", kind, body);
        let answer = read(&mut stream);
        self.asking = Some(stream);
        answer
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
            .set_read_timeout(Some(keyway_testkit::PATIENCE))
            .unwrap();
        stream
    }

    fn send(&self, stream: &mut TcpStream, method: &str, headers: &str, body: &str) {
        let (path, own, port, length) = (&self.path, &self.headers, self.port, body.len());
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{own}{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).unwrap();
    }
}

/// Reads the head of an answer, in small letters but for its first line, and as much of its body as
/// it says there is.
fn read(stream: &mut TcpStream) -> (String, String) {
    let mut text = String::new();
    let mut piece = [0; 4096];
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return (head.to_owned(), body.to_owned());
            }
        }
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "the connection ended: {text}");
        let piece = piece.get(..read).unwrap();
        text.push_str(std::str::from_utf8(piece).unwrap());
    }
}
