//! Connections that are used again, by origin.
//!
//! A connection of HTTP/1.1 is lent to one exchange at a time and comes back when its answer has
//! been read to the end; one of HTTP/2 is shared by all. A request that finds none opens one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use http::HeaderMap;
use http::header::HOST;
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::{Instant, sleep};
use url::{Position, Url};

use super::body::FullBody;
use super::connector::Connector;
use super::failure::{ConnectFailure, SendError};
use super::server_address::ServerAddress;
use super::stream::Stream;
use super::{MAX_HEADER_BYTES, Purpose, Request};
use crate::timeouts::{PING_TIMEOUT, POOL_IDLE_TIMEOUT};

/// The connections of one client.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) connector: Connector,
    pub(super) purpose: Purpose,
    /// Held for a look only. A list, because a client talks to a handful of servers.
    origins: Mutex<Vec<Arc<Origin>>>,
}

/// One server, and the connections to it that wait for work.
///
/// ```text
///   unknown ──first connection──▶ HTTP/2: one shared connection ──closed¹──▶ another is opened
///      │                     └──▶ HTTP/1.1: idle ──lent──▶ in use ──read to the end──▶ idle
///      │ without TLS                  ▲                       └──dropped, or an error──▶ closed
///      └──────────────────────────────┘     idle for POOL_IDLE_TIMEOUT ──▶ closed
/// ```
///
/// ¹ or, where it is not pinged, a request on it that was given up.
#[derive(Debug)]
struct Origin {
    address: ServerAddress,
    /// Held for a look only, never across an await.
    state: Mutex<OriginState>,
    /// Held while it is not known yet what the server speaks, so that one connection finds out.
    /// Across the connect: a request that is dropped meanwhile releases it, and the next connects.
    negotiating: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct OriginState {
    /// The one used last is at the end.
    idle: Vec<Idle>,
    shared: Option<http2::SendRequest<FullBody>>,
    protocol_known: bool,
    is_reaping: bool,
}

#[derive(Debug)]
struct Idle {
    sender: http1::SendRequest<FullBody>,
    since: Instant,
}

/// A connection for one exchange.
enum Sender {
    Http1(http1::SendRequest<FullBody>),
    Http2(http2::SendRequest<FullBody>),
}

/// What the pool has to offer.
enum Available {
    Sender(Sender),
    /// A connection that will be free in a moment.
    Soon,
    Nothing,
}

/// The head of an answer with its body, and the connection to give back behind it.
pub(super) struct Exchange {
    pub(super) response: http::Response<Incoming>,
    pub(super) lease: Option<Lease>,
}

/// A connection to give back once nothing of the answer is left on it.
#[derive(Debug)]
pub(super) struct Lease {
    origin: Arc<Origin>,
    sender: http1::SendRequest<FullBody>,
}

impl Lease {
    /// Gives the connection back.
    pub(super) fn end(self) {
        self.origin.put(self.sender);
    }
}

impl Pool {
    pub(super) const fn new(connector: Connector, purpose: Purpose) -> Self {
        Self {
            connector,
            purpose,
            origins: Mutex::new(Vec::new()),
        }
    }

    /// Sends one request to `url` and waits for the head of its answer.
    pub(super) async fn exchange<H>(
        &self,
        request: &Request<'_, H>,
        url: &Url,
    ) -> Result<Exchange, SendError>
    where
        H: Fn() -> HeaderMap,
    {
        let origin = self.origin(url)?;
        let mut may_wait = true;
        loop {
            let (sender, is_fresh) = match origin.take() {
                Available::Sender(sender) => (sender, false),
                Available::Soon if std::mem::take(&mut may_wait) => {
                    tokio::task::yield_now().await;
                    continue;
                }
                // Boxed because it is rare, and the task of every call would be as large.
                _ => match Box::pin(self.connect(&origin)).await {
                    Ok(sender) => (sender, true),
                    Err(failure) => return Err(SendError::connect(failure, url)),
                },
            };
            let mut message = request.message();
            let (sent, lease) = match sender {
                Sender::Http1(mut sender) => {
                    origin.set_http1_target(&mut message, url);
                    let sent = sender.try_send_request(message).await;
                    (sent, Some(sender))
                }
                Sender::Http2(mut sender) => {
                    origin.set_http2_target(&mut message, url);
                    let unanswered = Unanswered::new(&origin, self.purpose);
                    let sent = sender.try_send_request(message).await;
                    if sent.is_ok() {
                        unanswered.answered();
                    }
                    (sent, None)
                }
            };
            let mut failed = match sent {
                Ok(response) => {
                    let lease = lease.map(|sender| Lease { origin, sender });
                    return Ok(Exchange { response, lease });
                }
                Err(failed) => failed,
            };
            let has_left = failed.take_message().is_none();
            // The connection may have been closed while it waited: then another is taken.
            if has_left || is_fresh {
                return Err(SendError::exchange(failed.into_error(), url, has_left));
            }
        }
    }

    fn origin(&self, url: &Url) -> Result<Arc<Origin>, SendError> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = origins.iter().find(|origin| origin.address.is_of(url)) {
            return Ok(Arc::clone(known));
        }
        let origin = Arc::new(Origin::new(url)?);
        origins.push(Arc::clone(&origin));
        Ok(origin)
    }

    /// Opens a connection, unless another request opened one meanwhile that can be shared.
    async fn connect(&self, origin: &Arc<Origin>) -> Result<Sender, ConnectFailure> {
        let mut negotiating = None;
        if !origin.protocol_known() {
            negotiating = Some(origin.negotiating.lock().await);
        }
        if let Some(shared) = origin.shared() {
            return Ok(Sender::Http2(shared));
        }
        if origin.protocol_known() {
            // Another request found out that connections are not shared here: all connect at once.
            drop(negotiating.take());
        }
        let stream = self.connector.connect(&origin.address).await?;
        let sender = if stream.speaks_h2() {
            let sender = http2_handshake(stream, self.purpose).await?;
            origin.lock().shared = Some(sender.clone());
            Sender::Http2(sender)
        } else {
            Sender::Http1(http1_handshake(stream, self.purpose).await?)
        };
        origin.lock().protocol_known = true;
        Ok(sender)
    }
}

impl Origin {
    fn new(url: &Url) -> Result<Self, SendError> {
        let address = ServerAddress::of(url).ok_or_else(SendError::no_host)?;
        let state = OriginState {
            // Without TLS there is nothing to negotiate.
            protocol_known: !address.is_encrypted(),
            ..OriginState::default()
        };
        Ok(Self {
            address,
            state: Mutex::new(state),
            negotiating: tokio::sync::Mutex::default(),
        })
    }

    fn protocol_known(&self) -> bool {
        self.lock().protocol_known
    }

    fn shared(&self) -> Option<http2::SendRequest<FullBody>> {
        let mut state = self.lock();
        drop(state.shared.take_if(|sender| sender.is_closed()));
        state.shared.clone()
    }

    fn take(&self) -> Available {
        let mut state = self.lock();
        if let Some(shared) = &state.shared {
            if !shared.is_closed() {
                return Available::Sender(Sender::Http2(shared.clone()));
            }
            state.shared = None;
        }
        let now = Instant::now();
        let is_ready = |idle: &Idle| idle.sender.is_ready() && !idle.is_old(now);
        if let Some(place) = state.idle.iter().rposition(is_ready) {
            return Available::Sender(Sender::Http1(state.idle.remove(place).sender));
        }
        state.prune(now);
        match state.idle.is_empty() {
            true => Available::Nothing,
            false => Available::Soon,
        }
    }

    fn put(self: &Arc<Self>, sender: http1::SendRequest<FullBody>) {
        if sender.is_closed() {
            return;
        }
        let mut state = self.lock();
        let since = Instant::now();
        if state.idle.len() >= MAX_IDLE {
            state.prune(since);
        }
        if state.idle.len() < MAX_IDLE {
            state.idle.push(Idle { sender, since });
        }
        if !std::mem::replace(&mut state.is_reaping, true) {
            drop(tokio::spawn(reap(Arc::downgrade(self))));
        }
    }

    /// Addresses a request as HTTP/1.1 has it.
    fn set_http1_target(&self, message: &mut http::Request<FullBody>, url: &Url) {
        *message.uri_mut() = target(url).into();
        let headers = message.headers_mut();
        headers.insert(HOST, self.address.authority().clone());
    }

    /// Addresses a request as HTTP/2 has it.
    fn set_http2_target(&self, message: &mut http::Request<FullBody>, url: &Url) {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(http::uri::Scheme::HTTPS);
        parts.authority = self.address.authority().as_bytes().try_into().ok();
        parts.path_and_query = Some(target(url));
        *message.uri_mut() = parts.try_into().unwrap_or_default();
    }

    fn lock(&self) -> MutexGuard<'_, OriginState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request on a shared connection that is not pinged.
///
/// Dropped without an answer, it takes the connection out of the pool: the server may be gone, and
/// nothing else would find out before the next request has waited as long. Requests that are under
/// way on the connection keep it.
struct Unanswered<'a>(Option<&'a Origin>);

impl<'a> Unanswered<'a> {
    fn new(origin: &'a Origin, purpose: Purpose) -> Self {
        Self(purpose.ping_interval().is_none().then_some(origin))
    }

    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(origin) = self.0 {
            drop(origin.lock().shared.take());
        }
    }
}

impl OriginState {
    fn prune(&mut self, now: Instant) {
        let is_good = |idle: &Idle| !idle.sender.is_closed() && !idle.is_old(now);
        self.idle.retain(is_good);
    }
}

impl Idle {
    fn is_old(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) > POOL_IDLE_TIMEOUT
    }
}

/// Closes connections that were idle for long, until none is left.
async fn reap(origin: Weak<Origin>) {
    loop {
        sleep(POOL_IDLE_TIMEOUT).await;
        let Some(origin) = origin.upgrade() else {
            return;
        };
        let mut state = origin.lock();
        state.prune(Instant::now());
        if state.idle.is_empty() {
            state.is_reaping = false;
            return;
        }
    }
}

/// Returns path and query as they are written.
fn target(url: &Url) -> PathAndQuery {
    let target = PathAndQuery::try_from(&url[Position::BeforePath..Position::AfterQuery]);
    target.unwrap_or_else(|_| PathAndQuery::from_static("/"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the guarded client that all other code uses"
)]
async fn http1_handshake(
    stream: Stream,
    purpose: Purpose,
) -> Result<http1::SendRequest<FullBody>, ConnectFailure> {
    // A number of headers of our own would be set aside on the heap for every answer.
    let (sender, connection) = http1::Builder::new()
        .max_header_size(MAX_HEADER_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| ConnectFailure::Broken(error.into()))?;
    match purpose {
        Purpose::Exchange | Purpose::Authorization => drop(tokio::spawn(connection)),
        #[cfg(feature = "ws")]
        Purpose::Upgrade => drop(tokio::spawn(connection.with_upgrades())),
    }
    Ok(sender)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the guarded client that all other code uses"
)]
async fn http2_handshake(
    stream: Stream,
    purpose: Purpose,
) -> Result<http2::SendRequest<FullBody>, ConnectFailure> {
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .adaptive_window(true)
        .keep_alive_interval(purpose.ping_interval())
        .keep_alive_timeout(PING_TIMEOUT)
        .max_header_list_size(MAX_HEADER_BYTES as u32)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| ConnectFailure::Broken(error.into()))?;
    drop(tokio::spawn(connection));
    Ok(sender)
}

const MAX_IDLE: usize = 128;

#[cfg(test)]
mod tests;
