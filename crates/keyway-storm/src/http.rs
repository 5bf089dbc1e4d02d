//! As much of HTTP/1.1 as the storm needs, over sockets that it holds itself: what is to be lost, late
//! or interrupted is decided between two bytes.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A request that was read whole.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// With the query.
    pub(crate) target: String,
    pub(crate) bearer: String,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns a field of the query or of the form.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        let mut pairs = query.split('&').chain(self.body.split('&'));
        pairs.find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            (key == name).then(|| decoded(value))
        })
    }
}

/// One end of a connection, with what was read ahead.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, peer: SocketAddr) -> Self {
        // A request and its answer are one packet each.
        stream.set_nodelay(true).ok();
        Self {
            stream,
            peer,
            buffer: Vec::new(),
        }
    }

    /// Waits for a request and says whether it goes to the token endpoint, without reading it.
    pub(crate) async fn is_token_request(&mut self) -> io::Result<bool> {
        const START: &[u8] = b"POST /token";
        let mut start = [0; START.len()];
        if !self.buffer.is_empty() {
            return Ok(self.buffer.starts_with(START));
        }
        let read = self.stream.peek(&mut start).await?;
        Ok(start.get(..read) == Some(START))
    }

    /// Reads a request; `None` at the end of the connection.
    pub(crate) async fn request(&mut self) -> io::Result<Option<Request>> {
        let end = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end;
            }
            if !self.fill().await? {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let mut request = Request {
            method: first.next().unwrap_or_default().to_owned(),
            target: first.next().unwrap_or_default().to_owned(),
            ..Request::default()
        };
        let mut length = 0;
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().map_err(io::Error::other)?;
            } else if name.eq_ignore_ascii_case("authorization") {
                value
                    .trim_start_matches("Bearer ")
                    .clone_into(&mut request.bearer);
            }
        }
        let whole = end + 4 + length;
        while self.buffer.len() < whole {
            if !self.fill().await? {
                return Ok(None);
            }
        }
        request.body = String::from_utf8_lossy(&self.buffer[end + 4..whole]).into_owned();
        self.buffer.drain(..whole);
        Ok(Some(request))
    }

    /// Writes an answer.
    pub(crate) async fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        let mut text = format!("HTTP/1.1 {} -\r\n", answer.status);
        for (name, value) in &answer.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!(
            "content-length: {}\r\n\r\n{}",
            answer.body.len(),
            answer.body
        );
        self.stream.write_all(text.as_bytes()).await
    }

    async fn fill(&mut self) -> io::Result<bool> {
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.to_string(),
        }
    }

    pub(crate) const fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// What came back for a request: a status and everything after the head, up to the end of the
/// connection. A body that ends too early is an error.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Sends a request and waits for the first byte of its answer.
pub(crate) async fn first_byte(port: u16, request: &str) -> io::Result<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    stream.read_u8().await
}

/// Sends a request over a connection of its own.
pub(crate) async fn exchange(port: u16, head: &str, body: &str) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let length = body.len();
    let text = format!(
        "{head}host: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await?;
    let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, "an answer was cut");
    let end = find(&all, b"\r\n\r\n").ok_or_else(cut)?;
    let head = String::from_utf8_lossy(&all[..end]).to_ascii_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let body = &all[end + 4..];
    let length = head
        .split("\r\n")
        .find_map(|line| line.strip_prefix("content-length: "));
    let is_whole = match length.and_then(|length| length.parse::<usize>().ok()) {
        Some(length) => body.len() == length,
        None => !head.contains("transfer-encoding: chunked") || body.ends_with(b"0\r\n\r\n"),
    };
    if !is_whole {
        return Err(cut());
    }
    Ok(Reply {
        status: status.ok_or_else(cut)?,
        body: String::from_utf8_lossy(body).into_owned(),
    })
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits =
                    [rest.next(), rest.next()].map(|digit| char::from(digit.unwrap_or(b'0')));
                let value = digits.iter().fold(0, |value, digit| {
                    value * 16 + digit.to_digit(16).unwrap_or(0)
                });
                u8::try_from(value).unwrap_or_default()
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
