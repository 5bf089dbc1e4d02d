//! A server for tests that says exactly what it is told, honest or not, and remembers what it heard.

mod authority;
mod renewing;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue};
use keyway_auth::{Authorizer, Fixed};
use keyway_secret::Secret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{Barrier, watch};
use tokio_rustls::TlsAcceptor;

pub(crate) use self::authority::Authority;
pub(crate) use self::renewing::Renewing;
use crate::authorized_client::AuthorizedClient;
use crate::connection::{Connection, Event};
use crate::error::TransportError;
use crate::frame::Frame;
use crate::http_client::{HttpClient, HttpSettings};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) at: Instant,
}

impl Seen {
    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{}:", name.to_ascii_lowercase());
        let line = self
            .head
            .lines()
            .find(|line| line.to_ascii_lowercase().starts_with(&prefix))?;
        Some(line[prefix.len()..].trim())
    }

    /// Returns the `id` of the message as written, or `null`.
    pub(crate) fn id(&self) -> String {
        let value: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        value["id"].to_string()
    }

    /// Returns the method of the message.
    pub(crate) fn rpc(&self) -> String {
        let value: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        value["method"].as_str().unwrap_or_default().to_owned()
    }

    /// Answers with an empty result.
    pub(crate) fn ok(&self) -> Reply {
        self.result("{}")
    }

    /// Answers with a result.
    pub(crate) fn result(&self, result: &str) -> Reply {
        Reply::json(200, &self.answer(result))
    }

    /// Returns the answer as text.
    pub(crate) fn answer(&self, result: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#,
            self.id()
        )
    }
}

/// What to do about a request.
#[derive(Debug, Clone)]
pub(crate) struct Reply(Vec<Step>);

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<u8>),
    Wait(Duration),
    /// Write this over and over until the server has enough.
    Flood(Vec<u8>),
    /// Continues when all expected connections have come.
    Meet(Arc<Barrier>),
    Close,
    Hang,
}

impl Reply {
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self(vec![Step::Write(bytes.into())])
    }

    pub(crate) fn status(status: u16, headers: &str) -> Self {
        Self::raw(format!(
            "HTTP/1.1 {status} x\r\n{headers}Content-Length: 0\r\n\r\n"
        ))
    }

    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::json_with(status, "", body)
    }

    pub(crate) fn json_with(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::raw(format!(
            "HTTP/1.1 {status} x\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// Begins an event stream in chunks; more follows by [`Self::events`].
    pub(crate) fn stream(headers: &str) -> Self {
        Self::raw(format!(
            "HTTP/1.1 200 OK\r\n{headers}Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        ))
    }

    pub(crate) fn events(self, text: &str) -> Self {
        self.then(format!("{:x}\r\n{text}\r\n", text.len()))
    }

    /// Ends an event stream cleanly.
    pub(crate) fn end(self) -> Self {
        self.then("0\r\n\r\n")
    }

    pub(crate) fn then(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.push(Step::Write(bytes.into()));
        self
    }

    pub(crate) fn wait(mut self, milliseconds: u64) -> Self {
        self.0.push(Step::Wait(Duration::from_millis(milliseconds)));
        self
    }

    /// Goes on when as many others wait as `all` says, which tells what happens at the same time from
    /// what happens one after the other, however fast.
    pub(crate) fn meet(mut self, all: &Arc<Barrier>) -> Self {
        self.0.push(Step::Meet(Arc::clone(all)));
        self
    }

    pub(crate) fn flood(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.push(Step::Flood(bytes.into()));
        self
    }

    pub(crate) fn close(mut self) -> Self {
        self.0.push(Step::Close);
        self
    }

    pub(crate) fn hang(mut self) -> Self {
        self.0.push(Step::Hang);
        self
    }
}

/// A server on loopback.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) port: u16,
    journal: watch::Sender<Vec<Seen>>,
    accepted: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start<F>(script: F) -> Self
    where
        F: Fn(&Seen) -> Reply + Send + Sync + 'static,
    {
        Self::start_with(None, script).await
    }

    /// Starts a server that speaks TLS, if it is told how.
    pub(crate) async fn start_with<F>(tls: Option<TlsAcceptor>, script: F) -> Self
    where
        F: Fn(&Seen) -> Reply + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let journal = watch::Sender::default();
        let script: Arc<dyn Fn(&Seen) -> Reply + Send + Sync> = Arc::new(script);
        let seen = journal.clone();
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let (script, seen, tls) = (Arc::clone(&script), seen.clone(), tls.clone());
                drop(tokio::spawn(async move {
                    stream.set_nodelay(true).unwrap();
                    match tls {
                        None => serve(stream, script, seen).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, script, seen).await;
                            }
                        }
                    }
                }));
            }
        });
        Self {
            port,
            journal,
            accepted,
            task,
        }
    }

    /// Ends it, and returns when nothing listens any more.
    pub(crate) async fn stop(mut self) {
        self.task.abort();
        // The listener is closed with the task; an aborted task ends with an error.
        drop((&mut self.task).await);
    }

    pub(crate) fn url(&self) -> Secret<String> {
        Secret::new(format!("http://127.0.0.1:{}/mcp?q=CANARY-query", self.port))
    }

    pub(crate) fn journal(&self) -> Vec<Seen> {
        self.journal.borrow().clone()
    }

    /// Returns how many connections were made.
    pub(crate) fn connections(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Waits until so many requests have arrived.
    pub(crate) async fn heard(&self, count: usize) -> Vec<Seen> {
        self.heard_of(count, |_| true).await
    }

    /// Waits until so many requests of a kind have arrived, and returns those.
    pub(crate) async fn heard_of(&self, count: usize, kind: fn(&Seen) -> bool) -> Vec<Seen> {
        let of_kind = |all: &[Seen]| all.iter().filter(|seen| kind(seen)).count();
        let mut arrivals = self.journal.subscribe();
        let arrived = arrivals.wait_for(|all| of_kind(all) >= count);
        let is_in_time = tokio::time::timeout(DEADLINE, arrived).await.is_ok();
        let mut journal = self.journal();
        journal.retain(kind);
        let heard = journal.len();
        assert!(is_in_time, "heard {heard} of {count}");
        journal
    }

    /// Connects with a fixed header.
    pub(crate) fn connect(&self) -> Connection {
        self.connect_as(Arc::new(Fixed::new(canary_header())))
    }

    pub(crate) fn server(&self) -> AuthorizedClient {
        let client = client();
        let url = client.endpoint(&self.url()).unwrap();
        AuthorizedClient::for_url(client, url, Arc::new(Fixed::new(canary_header())))
    }

    pub(crate) fn connect_as(&self, authorizer: Arc<dyn Authorizer>) -> Connection {
        crate::streamable::connect_http(&self.url(), authorizer, &client()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    script: Arc<dyn Fn(&Seen) -> Reply + Send + Sync>,
    journal: watch::Sender<Vec<Seen>>,
) {
    let mut buffer = Vec::new();
    while let Some(seen) = read(&mut stream, &mut buffer).await {
        journal.send_modify(|all| all.push(seen.clone()));
        for step in script(&seen).0 {
            match step {
                Step::Write(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                // Slow on command.
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Flood(bytes) => while stream.write_all(&bytes).await.is_ok() {},
                Step::Meet(all) => {
                    all.wait().await;
                }
                Step::Close => return,
                Step::Hang => std::future::pending().await,
            }
        }
    }
}

async fn read<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut Vec<u8>) -> Option<Seen> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
    let mut seen = Seen {
        method: head.split(' ').next()?.to_owned(),
        path: head.split(' ').nth(1)?.to_owned(),
        head,
        body: String::new(),
        at: Instant::now(),
    };
    let length: usize = seen
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while buffer.len() < length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    seen.body = String::from_utf8(buffer.drain(..length).collect()).unwrap();
    Some(seen)
}

pub(crate) fn client() -> HttpClient {
    HttpClient::new(HttpSettings::default()).unwrap()
}

pub(crate) fn canary_header() -> Vec<(HeaderName, HeaderValue)> {
    let value = HeaderValue::from_static("Bearer CANARY-header");
    vec![(http::header::AUTHORIZATION, value)]
}

/// Sends a message and expects it to leave.
pub(crate) async fn send(connection: &Connection, text: impl Into<String>) {
    let frame = Frame::new(text.into()).unwrap();
    connection.link.send(frame).await.unwrap();
}

/// Polls a future so many times, each time it is woken, then drops it; says whether it came to its
/// end.
pub(crate) async fn drop_after<F: Future>(polls: usize, future: F) -> bool {
    let (mut future, mut left) = (std::pin::pin!(future), polls);
    std::future::poll_fn(|context| {
        let is_done = left > 0 && future.as_mut().poll(context).is_ready();
        left = left.saturating_sub(1);
        match is_done || left == 0 {
            true => Poll::Ready(is_done),
            false => Poll::Pending,
        }
    })
    .await
}

/// Waits for the next event.
pub(crate) async fn next(connection: &mut Connection) -> Event {
    let event = tokio::time::timeout(DEADLINE, connection.events.recv()).await;
    event.expect("an event in time").expect("an event")
}

/// Waits for a message and returns its text.
pub(crate) async fn next_text(connection: &mut Connection) -> String {
    match next(connection).await {
        Event::Frame(frame) => String::from_utf8(frame.bytes().to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Waits for a failure; nothing confidential may be in it.
pub(crate) async fn next_error(connection: &mut Connection) -> TransportError {
    match next(connection).await {
        Event::Failed { error, .. } => {
            let mut shown = format!("{error:?} {error}");
            let mut source = std::error::Error::source(&error);
            while let Some(error) = source {
                shown.push_str(&format!(" {error:?} {error}"));
                source = error.source();
            }
            assert!(!shown.contains("CANARY"), "{shown}");
            error
        }
        other => panic!("{other:?}"),
    }
}

/// A request of the modern era.
pub(crate) fn modern(id: u32, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"t","version":"1"}},"progressToken":7}}}}}}"#
    )
}

pub(crate) const INITIALIZE: &str =
    r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// How long what must happen is waited for: only what hangs takes longer, on any machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
