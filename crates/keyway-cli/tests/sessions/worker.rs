//! The plainest gateway, and the server behind both gateways; each a process of its own.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

#[test]
#[ignore = "runs only as a worker of the other test"]
fn works() {
    let role = std::env::var("KEYWAY_SESSION_WORKER").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        println!("http://127.0.0.1:{port}/mcp");
        match role.split_once(' ') {
            Some(("plain", upstream)) => plain(listener, upstream.parse().unwrap()).await,
            _ => upstream(listener).await,
        }
    });
}

/// Passes every request on, on connections that are used again.
async fn plain(listener: TcpListener, upstream: u16) {
    let idle: Idle = Arc::default();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let idle = Arc::clone(&idle);
        drop(tokio::spawn(async move {
            let service = service_fn(move |request| pass_on(request, Arc::clone(&idle), upstream));
            let connection = server::Builder::new().serve_connection(TokioIo::new(stream), service);
            drop(connection.await);
        }));
    }
}

/// Connections to the server that wait for the next request.
type Idle = Arc<Mutex<Vec<client::SendRequest<Incoming>>>>;

async fn pass_on(
    request: Request<Incoming>,
    idle: Idle,
    upstream: u16,
) -> hyper::Result<Response<Incoming>> {
    let waiting = idle.lock().unwrap().pop();
    let mut onward = match waiting.filter(|onward| !onward.is_closed()) {
        Some(onward) => onward,
        None => {
            let stream = TcpStream::connect(("127.0.0.1", upstream)).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (onward, connection) = client::handshake(TokioIo::new(stream)).await?;
            drop(tokio::spawn(connection));
            onward
        }
    };
    let response = onward.send_request(request).await?;
    drop(tokio::spawn(async move {
        if onward.ready().await.is_ok() {
            idle.lock().unwrap().push(onward);
        }
    }));
    Ok(response)
}

/// Accepts every session, lists its one tool, and holds streams open.
async fn upstream(listener: TcpListener) {
    let sessions = Arc::new(AtomicU64::new(0));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let sessions = Arc::clone(&sessions);
        drop(tokio::spawn(async move {
            let service = service_fn(move |request| answer(request, Arc::clone(&sessions)));
            let connection = server::Builder::new().serve_connection(TokioIo::new(stream), service);
            drop(connection.await);
        }));
    }
}

async fn answer(
    request: Request<Incoming>,
    sessions: Arc<AtomicU64>,
) -> Result<Response<Answer>, Infallible> {
    let mut response = match *request.method() {
        Method::GET => {
            let mut response = Response::new(Answer::Held(Some(Bytes::from_static(b": \n\n"))));
            let events = HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert(header::CONTENT_TYPE, events);
            return Ok(response);
        }
        Method::POST => Response::new(Answer::Whole(None)),
        _ => return Ok(Response::new(Answer::Whole(None))),
    };
    let text = collect(request.into_body()).await;
    let message: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let member = |name: &str| message.get(name).cloned().unwrap_or_default();
    let result = match member("method").as_str() {
        Some("initialize") => {
            let id = sessions.fetch_add(1, Ordering::Relaxed).to_string();
            let id = HeaderValue::try_from(id).unwrap();
            response.headers_mut().insert("mcp-session-id", id);
            serde_json::json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "t", "version": "1"},
            })
        }
        Some("tools/list") => {
            serde_json::json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})
        }
        _ => {
            *response.status_mut() = StatusCode::ACCEPTED;
            return Ok(response);
        }
    };
    let id = member("id");
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    let length = HeaderValue::from(text.len());
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, length);
    *response.body_mut() = Answer::Whole(Some(text.into()));
    Ok(response)
}

async fn collect(mut body: Incoming) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(frame) =
        std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        if let Ok(data) = frame.unwrap().into_data() {
            all.extend_from_slice(&data);
        }
    }
    all
}

/// A body that ends, or never does.
enum Answer {
    Whole(Option<Bytes>),
    Held(Option<Bytes>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Held(bytes) => match bytes.take() {
                Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                None => Poll::Pending,
            },
        }
    }
}
