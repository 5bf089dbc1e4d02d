//! The listening side of HTTP: sockets of this machine, and requests handed to a [`Service`].
//!
//! Nothing here knows what is served. What arrives is bounded in size, number and time, so that a
//! slow or greedy peer does not harm the others; the service decides which requests to accept.

mod body;
mod peer_user;
mod protocol;
mod request;
mod request_head;
mod sockets;
mod timeout_stream;
mod upgraded;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service as HttpService, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use keyway_auth::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::body::ResponseBody;
use self::protocol::{HttpVersion, PeekedStream};
use self::sockets::Accepted;
use self::timeout_stream::{ActivityClock, TimeoutStream};
use crate::timeouts::SHUTDOWN_TIMEOUT;

pub use self::request::{BodyError, Inbound, MAX_BODY_BYTES, Reply, Upgrade};
pub use self::sockets::{ListenError, Listener, Peer, RemoteConnections};
pub use self::upgraded::UpgradedStream;

/// The addresses of both ends of a connection, theirs first.
type SocketPair = (SocketAddr, SocketAddr);

/// Answers requests.
pub trait Service: Send + Sync + 'static {
    /// Answers one request; dropping the future means that the peer went away.
    ///
    /// Cancel safety: also dropped when the server stops for good. What must be finished then has
    /// to run in a task of its own.
    fn answer(self: Arc<Self>, request: Inbound) -> BoxFuture<'static, Reply>;
}

/// Serves until `stop` is done, and then until the requests in flight have been answered, for
/// [`SHUTDOWN_TIMEOUT`] at most.
///
/// Cancel safety: dropping the future closes all connections at once.
pub async fn serve(
    listeners: Vec<Listener>,
    service: Arc<dyn Service>,
    stop: impl Future<Output = ()>,
) {
    serve_at_most(MAX_CONNECTIONS, listeners, service, stop).await;
}

/// The same for `most` connections at once; further ones wait.
async fn serve_at_most(
    most: usize,
    listeners: Vec<Listener>,
    service: Arc<dyn Service>,
    stop: impl Future<Output = ()>,
) {
    let (stopping, stopped) = watch::channel(false);
    // A permit is taken before a connection is accepted, so that what is above the limit waits in
    // the backlog; each connection holds its own.
    let room = Arc::new(Semaphore::new(most));
    let mut acceptors = JoinSet::new();
    for listener in listeners {
        let (service, room, stopped) = (Arc::clone(&service), Arc::clone(&room), stopped.clone());
        acceptors.spawn(accept(listener, service, room, stopped));
    }
    stop.await;
    stopping.send_replace(true);
    while acceptors.join_next().await.is_some() {}
}

/// Accepts connections until the end, and waits for those that are open.
async fn accept(
    listener: Listener,
    service: Arc<dyn Service>,
    room: Arc<Semaphore>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut open = JoinSet::new();
    let last = stopped.clone();
    let accepting = async {
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let accepted = listener.accept().await;
            while open.try_join_next().is_some() {}
            let (service, last) = (Arc::clone(&service), last.clone());
            let addresses = match &accepted {
                Accepted::Tcp(stream, _) => stream.peer_addr().ok().zip(stream.local_addr().ok()),
                Accepted::Unix(..) => None,
            };
            let (from, end) = ((accepted.peer(), addresses), (place, last));
            match accepted {
                Accepted::Tcp(stream, _) => {
                    open.spawn(serve_connection(stream, from, service, end))
                }
                Accepted::Unix(stream, _) => {
                    open.spawn(serve_connection(stream, from, service, end))
                }
            };
        }
    };
    // Dropping `accepting` loses at most a connection that was accepted and not begun.
    // Those that are open stay in `open`. Not biased: both branches end the same way.
    tokio::select! {
        () = accepting => {}
        () = stopped_signal(&mut stopped) => {}
    }
    drop(listener);
    let finished = timeout(SHUTDOWN_TIMEOUT, async {
        while open.join_next().await.is_some() {}
    });
    drop(finished.await);
}

/// Serves one connection.
///
/// What a connection needs before its first request and what it needs afterwards are boxed apart:
/// this task lives as long as the connection, and most of them are idle.
fn serve_connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    from: (Peer, Option<SocketPair>),
    service: Arc<dyn Service>,
    (place, stopped): (OwnedSemaphorePermit, watch::Receiver<bool>),
) -> impl Future<Output = ()> + Send {
    let opening = Box::pin(open_connection(stream, from, service, stopped));
    async move {
        // A peer that broke off has no one to report to.
        if let Some(serving) = opening.await {
            serving.await;
        }
        drop(place);
    }
}

/// Reads the first bytes of a connection; returns what serves it in the version that they speak.
async fn open_connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    from: (Peer, Option<SocketPair>),
    service: Arc<dyn Service>,
    mut stopped: watch::Receiver<bool>,
) -> Option<BoxFuture<'static, ()>> {
    let clock = Arc::new(ActivityClock::default());
    let stream = TimeoutStream::new(stream, Arc::clone(&clock));
    // Before the first byte there is nothing to finish: stopping may drop the connection.
    let peeked = tokio::select! {
        peeked = PeekedStream::of(stream) => peeked,
        () = stopped_signal(&mut stopped) => return None,
    };
    let (stream, version) = peeked.ok()?;
    let stream = TokioIo::new(stream);
    let answering = service_fn(move |request: Request<Incoming>| {
        let busy = clock.begin(request.version());
        let lengths = clock.take_head();
        // HTTP/2 has frames, and no such header.
        let is_refused = request.version() != Version::HTTP_2
            && request.headers().contains_key(TRANSFER_ENCODING)
            && !lengths.allows_transfer_encoding();
        let answer = match is_refused {
            true => None,
            false => Some(Arc::clone(&service).answer(Inbound::new(from, request))),
        };
        async move {
            let reply = match answer {
                Some(answer) => answer.await,
                None => two_lengths(),
            };
            Ok::<_, Infallible>(reply.into_response(busy))
        }
    });
    Some(match version {
        HttpVersion::Http1 => Box::pin(serve_http1(stream, answering, stopped)),
        HttpVersion::Http2 => Box::pin(serve_http2(stream, answering, stopped)),
    })
}

/// Refuses a request whose end two readers may see at two places, and closes its connection.
fn two_lengths() -> Reply {
    Reply::new(StatusCode::BAD_REQUEST)
        .header(CONNECTION, HeaderValue::from_static("close"))
        .body("bad request: both Content-Length and Transfer-Encoding\n")
}

/// Serves a connection on which requests come one after the other.
fn serve_http1<S, A>(
    stream: S,
    answering: A,
    mut stopped: watch::Receiver<bool>,
) -> impl Future<Output = ()> + Send
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    A: HttpService<Request<Incoming>, Response = Response<ResponseBody>, Error = Infallible>
        + Send
        + 'static,
    A::Future: Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.header_read_timeout(None).max_buf_size(MAX_HEAD);
    let connection = builder.serve_connection(stream, answering);
    let mut connection = connection.with_upgrades();
    async move {
        // Stopping lets the request in flight finish and closes after its response. The connection
        // is polled where it is: moved, it would take its place in memory twice.
        tokio::select! {
            ended = &mut connection => drop(ended),
            () = stopped_signal(&mut stopped) => {
                std::pin::Pin::new(&mut connection).graceful_shutdown();
                drop((&mut connection).await);
            }
        }
    }
}

/// Serves a connection on which requests come side by side.
async fn serve_http2<S, A>(stream: S, answering: A, mut stopped: watch::Receiver<bool>)
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    A: HttpService<Request<Incoming>, Response = Response<ResponseBody>, Error = Infallible>,
    A::Future: Send + 'static,
{
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .max_header_list_size(MAX_HEAD_H2)
        .max_concurrent_streams(MAX_STREAMS);
    let connection = builder.serve_connection(stream, answering);
    tokio::pin!(connection);
    // Stopping sends GOAWAY and lets the streams that are open finish.
    tokio::select! {
        ended = connection.as_mut() => drop(ended),
        () = stopped_signal(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
    }
}

/// Waits for the signal to stop, or until its sender is dropped.
async fn stopped_signal(stopped: &mut watch::Receiver<bool>) {
    drop(stopped.wait_for(|stopped| *stopped).await);
}

/// How many connections may be open at once.
const MAX_CONNECTIONS: usize = 8192;
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEAD_H2: u32 = 64 * 1024;
const MAX_STREAMS: u32 = 128;

#[cfg(test)]
mod tests;
