//! Just enough HTTP/1.1: requests in, answers out, one after the other on a connection.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Writes the request as it came, but for the letters of header names.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.query.is_empty() { "" } else { "?" };
        let (method, path, query) = (&self.method, &self.path, &self.query);
        write!(f, "{method} {path}{mark}{query} HTTP/1.1\r\n")?;
        for (name, value) in &self.headers {
            write!(f, "{name}: {value}\r\n")?;
        }
        write!(f, "\r\n{}", self.body)
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// All headers but the length.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// Makes an answer of JSON.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.to_string(),
        }
    }

    /// Makes a page that a person can look at.
    #[must_use]
    pub fn page(status: u16, body: &str) -> Self {
        // Without one of its own a browser would ask for an icon.
        let head = "<!doctype html><html lang=en><title>Rig</title><link rel=icon href=\"data:,\">";
        Self {
            status,
            headers: vec![("content-type", "text/html".to_owned())],
            body: format!("{head}{body}"),
        }
    }

    /// Makes an answer without a body.
    #[must_use]
    pub const fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// Makes an answer that leads elsewhere.
    #[must_use]
    pub fn redirect(status: u16, to: &str) -> Self {
        Self::empty(status).with("location", to)
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// What becomes of a request.
pub(crate) enum Reply {
    /// It is answered, and the next may come.
    Answer(Answer),
    /// Its connection is taken, and answered in another way.
    Taken(Box<dyn FnOnce(TcpStream)>),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// Answers every connection on a thread of its own, as long as the process lives; returns the
/// number of connections.
pub(crate) fn serve<R: Into<Reply>>(
    listener: TcpListener,
    answer: impl Fn(Request) -> R + Send + Sync + 'static,
) -> Arc<AtomicUsize> {
    let answer = Arc::new(answer);
    let accepted: Arc<AtomicUsize> = Arc::default();
    let count = Arc::clone(&accepted);
    drop(std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let answer = Arc::clone(&answer);
            drop(std::thread::spawn(move || attend(stream, &*answer)));
        }
    }));
    accepted
}

fn attend<R: Into<Reply>>(stream: TcpStream, answer: impl Fn(Request) -> R) {
    let Ok(reading) = stream.try_clone() else {
        return;
    };
    let mut reader = BufReader::new(reading);
    let mut writer = stream;
    while let Some(request) = read(&mut reader) {
        let is_last = request.header("connection") == Some("close");
        match answer(request).into() {
            Reply::Taken(take) => return take(writer),
            Reply::Answer(answer) => {
                if write(&mut writer, &answer).is_err() || is_last {
                    return;
                }
            }
        }
    }
}

/// Reads the next request; `None` when there is none, or nothing that is one.
pub(crate) fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
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
fn write(writer: &mut TcpStream, answer: &Answer) -> io::Result<()> {
    writer.write_all(&bytes(answer))
}

/// Returns an answer as it is written.
pub(crate) fn bytes(answer: &Answer) -> Vec<u8> {
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
    head.into_bytes()
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
const MAX_BODY: usize = 16 << 20;
