//! Just enough HTTP/1.1: requests in, answers out, one after the other on a connection.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde::Serialize;
use serde_json::Value;
use url::form_urlencoded;

/// A request as it came.
#[derive(Debug, Clone, Serialize)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// What stands after the question mark.
    pub query: String,
    /// All headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Request {
    /// Returns a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a field of the body, if it is a form.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        value_of(&self.body, name)
    }

    /// Returns a parameter of the query.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<String> {
        value_of(&self.query, name)
    }
}

fn value_of(encoded: &str, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(encoded.as_bytes());
    let found = pairs.find(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned())
}

/// What is answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.to_string(),
        }
    }

    pub(super) const fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(super) fn redirect(status: u16, to: &str) -> Self {
        Self::empty(status).with("location", to)
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// Reads the next request; `None` when there is none, or nothing that is one.
pub(super) fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let start = line(reader)?;
    let mut words = start.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = line(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut request = Request {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: String::new(),
    };
    let is_chunked = request.header("transfer-encoding") == Some("chunked");
    let body = if is_chunked {
        chunks(reader)?
    } else {
        let length = request.header("content-length");
        exactly(reader, length.map_or(Some(0), |text| text.parse().ok())?)?
    };
    request.body = String::from_utf8_lossy(&body).into_owned();
    Some(request)
}

/// Writes an answer.
pub(super) fn write(writer: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Rig\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    // Some statuses have no body, and no length either.
    if answer.status != 204 {
        head.push_str(&format!("content-length: {}\r\n", answer.body.len()));
    }
    head.push_str("\r\n");
    head.push_str(&answer.body);
    writer.write_all(head.as_bytes())
}

fn line(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let read = reader.take(MAX_LINE).read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}

fn chunks(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = usize::from_str_radix(line(reader)?.split(';').next()?, 16).ok()?;
        if length == 0 {
            line(reader)?;
            return Some(body);
        }
        body.extend(exactly(reader, length)?);
        line(reader)?;
    }
}

fn exactly(reader: &mut BufReader<TcpStream>, length: usize) -> Option<Vec<u8>> {
    if length > MAX_BODY {
        return None;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

const MAX_LINE: u64 = 64 << 10;
const MAX_BODY: usize = 4 << 20;
