//! A client that keeps its connection, as clients of a gateway do.

use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection to one port; made again if the other side has closed it.
#[derive(Debug)]
pub(crate) struct Client {
    port: u16,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
}

/// An answer that came whole.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    /// Returns a header by its name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

impl Client {
    pub(crate) const fn new(port: u16) -> Self {
        Self {
            port,
            stream: None,
            buffer: Vec::new(),
        }
    }

    /// Posts a message to a path; each of the headers ends with its line.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        headers: &str,
        body: &str,
    ) -> io::Result<Reply> {
        let (port, length) = (self.port, body.len());
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{headers}\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        self.send(&text).await
    }

    /// Gets what is at a path.
    pub(crate) async fn get(&mut self, path: &str, headers: &str) -> io::Result<Reply> {
        let port = self.port;
        let text = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{headers}\r\n");
        self.send(&text).await
    }

    async fn send(&mut self, text: &str) -> io::Result<Reply> {
        let is_kept = self.stream.is_some();
        match self.exchange(text).await {
            // Closed between two requests, which each server may do.
            Err(_) if is_kept => {
                self.stream = None;
                self.exchange(text).await
            }
            other => other,
        }
    }

    async fn exchange(&mut self, text: &str) -> io::Result<Reply> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => TcpStream::connect(("127.0.0.1", self.port)).await?,
        };
        stream.set_nodelay(true)?;
        self.buffer.clear();
        stream.write_all(text.as_bytes()).await?;
        loop {
            if stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(reply) = parse(&self.buffer)? {
                if reply.header("connection") != Some("close") {
                    self.stream = Some(stream);
                }
                return Ok(reply);
            }
        }
    }
}

/// Reads an answer; `None` if it is not whole yet.
fn parse(bytes: &[u8]) -> io::Result<Option<Reply>> {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Ok(None);
    };
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    let status: u16 = status.ok_or(io::ErrorKind::InvalidData)?;
    let length = header(head, "content-length").and_then(|it| it.parse::<usize>().ok());
    let is_chunked = header(head, "transfer-encoding").is_some_and(|it| it.contains("chunked"));
    let is_whole = match length {
        Some(length) => body.len() >= length,
        None if is_chunked => body.ends_with("0\r\n\r\n"),
        None => true,
    };
    let (head, body) = (head.to_owned(), body.to_owned());
    Ok(is_whole.then_some(Reply { status, head, body }))
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.split("\r\n").filter_map(|line| line.split_once(": "));
    let found = lines.find(|(of, _)| of.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

/// The headers and the message of a call by a client of 2026-07-28.
pub(crate) fn call(token: &str) -> (String, String) {
    let headers = format!(
        "authorization: Bearer {token}\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: page\r\n"
    );
    let message = json!({
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {
            "name": "page",
            "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "figures", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    (headers, message.to_string())
}

/// The session of a client of 2025-11-25 or earlier.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    path: String,
    headers: String,
}

impl Session {
    /// Begins a session; `headers` are sent with each message.
    pub(crate) async fn begin(
        mut client: Client,
        path: &str,
        headers: &str,
        version: &str,
    ) -> io::Result<Self> {
        let hello = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": { "name": "figures", "version": "1" },
            },
        });
        let reply = client.post(path, headers, &hello.to_string()).await?;
        let refused = || io::Error::other(format!("{}: {}", reply.status, reply.body));
        if reply.status != 200 {
            return Err(refused());
        }
        let mut headers = format!("{headers}mcp-protocol-version: {version}\r\n");
        // A server may do without one.
        if let Some(id) = reply.header("mcp-session-id") {
            headers += &format!("mcp-session-id: {id}\r\n");
        }
        let mut session = Self {
            client,
            path: path.to_owned(),
            headers,
        };
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        session.send(&told).await?;
        Ok(session)
    }

    pub(crate) async fn send(&mut self, message: &Value) -> io::Result<Reply> {
        let (path, headers) = (&self.path, &self.headers);
        let text = message.to_string();
        self.client.post(path, headers, &text).await
    }

    /// Calls a tool.
    pub(crate) async fn call(&mut self, tool: &str) -> io::Result<Reply> {
        let message = json!({
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": { "name": tool, "arguments": {} },
        });
        self.send(&message).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_all_of_its_body_has_come() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
        assert!(parse(head.as_bytes()).unwrap().is_none());
        let whole = parse(format!("{head}page").as_bytes()).unwrap().unwrap();
        assert_eq!((whole.status, whole.body.as_str()), (200, "page"));
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npage\r\n";
        assert!(parse(head.as_bytes()).unwrap().is_none());
        assert!(
            parse(format!("{head}0\r\n\r\n").as_bytes())
                .unwrap()
                .is_some()
        );
        assert!(parse(b"nonsense\r\n\r\n").is_err());
    }
}
