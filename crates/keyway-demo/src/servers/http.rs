//! HTTP as the servers need it: whole requests in, whole answers or streams out, all bounded.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::form_urlencoded;

use super::site::Site;

/// A request, read to its end.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    /// What comes of the connection if the answer is that it changes its protocol.
    pub(super) upgrade: OnUpgrade,
    pub(super) body: String,
    query: String,
}

#[cfg(test)]
impl Request {
    /// Makes a request that says nothing but headers.
    pub(super) fn with_headers(headers: &[(&str, &str)]) -> Self {
        let mut request = hyper::Request::new(());
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        Self {
            upgrade: hyper::upgrade::on(&mut request),
            method: Method::POST,
            path: "/mcp".to_owned(),
            headers: request.into_parts().0.headers,
            body: String::new(),
            query: String::new(),
        }
    }
}

impl Request {
    /// Returns a header that is there once.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let only = values.next().filter(|_| values.next().is_none())?;
        only.to_str().ok()
    }

    /// Returns a parameter of the query, or nothing.
    pub(super) fn parameter(&self, name: &str) -> String {
        value_of(&self.query, name)
    }

    /// Returns a field of the form in the body, or nothing.
    pub(super) fn field(&self, name: &str) -> String {
        value_of(&self.body, name)
    }
}

/// Returns a value that is there once.
fn value_of(encoded: &str, name: &str) -> String {
    let pairs = form_urlencoded::parse(encoded.as_bytes());
    let mut found = pairs.filter(|(key, _)| key == name);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => value.into_owned(),
        _ => String::new(),
    }
}

/// An answer.
pub(super) type Answer = hyper::Response<Payload>;

/// Makes an answer without a body.
pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Answer::new(Payload::Whole(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

/// Makes an answer with a body of some kind.
pub(super) fn whole(status: StatusCode, kind: &'static str, body: String) -> Answer {
    let mut answer = with(empty(status), CONTENT_TYPE, kind);
    *answer.body_mut() = Payload::Whole(body.into());
    answer
}

/// Makes an answer of JSON that nobody keeps.
pub(super) fn json(status: StatusCode, body: &Value) -> Answer {
    let answer = whole(status, "application/json", body.to_string());
    with(answer, hyper::header::CACHE_CONTROL, "no-store")
}

/// Adds a header; a value that fits into none is left out.
pub(super) fn with(mut answer: Answer, name: HeaderName, value: &str) -> Answer {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
    answer
}

/// The body of an answer.
#[derive(Debug)]
pub(super) enum Payload {
    /// All there is.
    Whole(Bytes),
    /// What comes as it comes.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match self.get_mut() {
            Self::Whole(bytes) => Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty()),
            Self::Stream(receiver) => ready!(receiver.poll_recv(context)),
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// Serves a site for as long as nobody drops this.
pub(super) async fn serve(listener: TcpListener, site: Arc<Site>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connections.len() < MOST_CONNECTIONS => {
                    connections.spawn(connection(stream, Arc::clone(&site)));
                }
                Ok(_) => {}
                // Out of descriptors, perhaps: others may be given back meanwhile.
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

async fn connection(stream: TcpStream, site: Arc<Site>) {
    let service = service_fn(|request| {
        let site = Arc::clone(&site);
        async move {
            Ok::<_, Infallible>(match read(request).await {
                Ok(request) => site.answer(request).await,
                Err(status) => empty(status),
            })
        }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // A client that goes away in the middle harms nobody else.
    drop(serving.await);
}

async fn read(mut request: hyper::Request<Incoming>) -> Result<Request, StatusCode> {
    let upgrade = hyper::upgrade::on(&mut request);
    let (head, body) = request.into_parts();
    let body = timeout(PATIENCE, collect(body)).await;
    let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT)??;
    Ok(Request {
        method: head.method,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        upgrade,
        body: String::from_utf8(body).map_err(|_| StatusCode::BAD_REQUEST)?,
    })
}

async fn collect(body: Incoming) -> Result<Vec<u8>, StatusCode> {
    let mut body = pin!(body);
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
        bytes.extend_from_slice(frame.data_ref().map_or(&[], Bytes::as_ref));
        if bytes.len() > MOST_BYTES {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
    }
    Ok(bytes)
}

const MOST_CONNECTIONS: usize = 64;
const MOST_BYTES: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
