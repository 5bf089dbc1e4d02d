//! Where the browser brings the answer of an authorization server: a listener on loopback.
//!
//! It lives for one sign-in. Any page and any program on this machine can talk to it, so a request
//! counts only if it names us as its host, comes from no foreign page and carries the `state` that
//! nobody else knows; everything else is turned away and changes nothing.

mod address;
mod page;
mod redirect;
mod route;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use keyway_auth::ports::{Callback, InteractionError, Redirect};
use keyway_secret::Secret;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use self::address::{CallbackAddress, Sockets};
use self::route::CallbackRoute;
use crate::times::{BROWSER_CLOSE_TIMEOUT, CALLBACK_EVICT_AFTER, REQUEST_HEAD_TIMEOUT};

pub use self::redirect::{RedirectError, read_redirect};

/// A listener that is ready, before the address of the consent page is made.
///
/// ```text
///   bound ──wait──▶ listening ──redirect with the right state──▶ answered, port closed
///     │                ├──timeout──▶ failed, port closed
///     └──dropped───────┴──dropped──▶ port closed, open connections aborted
/// ```
#[derive(Debug)]
pub struct CallbackListener {
    place: CallbackAddress,
    sockets: Sockets,
}

impl CallbackListener {
    /// Takes the port, on both loopback addresses where the machine has both.
    ///
    /// Has to be called inside a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns [`InteractionError::PortBusy`] if a fixed port is taken on either of them, and
    /// [`InteractionError::Listener`] for a redirect address that is not `http` on this machine.
    pub fn bind(redirect: &Redirect) -> Result<Self, InteractionError> {
        let requested = CallbackAddress::requested(redirect)?;
        let (place, sockets) = Sockets::bind(requested)?;
        Ok(Self { place, sockets })
    }

    /// Returns where the answer will be received, exactly as it has to be sent.
    #[must_use]
    pub fn redirect_uri(&self) -> &str {
        &self.place.uri
    }

    /// Waits for the answer that carries `state`, and shows the person a page.
    ///
    /// # Errors
    ///
    /// Returns [`InteractionError::Timeout`] after `timeout_after`.
    ///
    /// Cancel safety: dropping the future closes the port; a redirect that comes later is lost.
    pub async fn wait(
        self,
        state: &Secret<String>,
        timeout_after: Duration,
    ) -> Result<Callback, InteractionError> {
        let route = Arc::new(CallbackRoute::new(&self.place, state.clone()));
        let mut connections = Connections::default();
        let deadline = Instant::now() + timeout_after;
        loop {
            let room = connections.room();
            // In this order: a redirect that came counts even if the time is over by now.
            // What loses is polled again: tasks stay in their set, and `accept` leaves its backlog
            // as it is.
            tokio::select! {
                biased;
                answer = connections.next() => {
                    if let Some(callback) = answer {
                        return Ok(callback);
                    }
                }
                () = sleep_until(deadline) => {
                    let seconds = timeout_after.as_secs();
                    return Err(InteractionError::Timeout { seconds });
                }
                stream = async {
                    sleep_until(room).await;
                    self.sockets.accept().await
                } => connections.admit(stream, &route),
            }
        }
    }
}

/// The connections that are open.
///
/// A browser sends its request at once. So when there are too many, the one that has been silent
/// longest makes room, and nobody can keep the others out by being slow.
#[derive(Debug, Default)]
struct Connections {
    tasks: JoinSet<Option<Callback>>,
    /// Oldest first.
    arrived: VecDeque<(Instant, AbortHandle)>,
}

impl Connections {
    /// Waits for a connection to end; never returns while there is none.
    async fn next(&mut self) -> Option<Callback> {
        if self.tasks.is_empty() {
            return std::future::pending().await;
        }
        let ended = self.tasks.join_next().await;
        self.arrived.retain(|(_, task)| !task.is_finished());
        ended.and_then(Result::ok).flatten()
    }

    /// Returns from when on another connection can be taken.
    fn room(&self) -> Instant {
        let is_full = self.arrived.len() >= MAX_CONNECTIONS;
        let oldest = self.arrived.front().filter(|_| is_full);
        oldest.map_or_else(Instant::now, |(arrived, _)| *arrived + CALLBACK_EVICT_AFTER)
    }

    fn admit(&mut self, stream: TcpStream, route: &Arc<CallbackRoute>) {
        while self.arrived.len() >= MAX_CONNECTIONS {
            if let Some((_, task)) = self.arrived.pop_front() {
                task.abort();
            }
        }
        let task = self.tasks.spawn(serve(stream, Arc::clone(route)));
        self.arrived.push_back((Instant::now(), task));
    }
}

/// Answers one request; returns what it brought, if it was the one.
async fn serve(stream: TcpStream, route: Arc<CallbackRoute>) -> Option<Callback> {
    // A connection that we close first would keep a fixed port busy for a minute.
    stream.set_zero_linger().ok()?;
    // A lock only because the service must be shareable; this task alone uses it.
    let brought = Mutex::new(None);
    let service = service_fn(|request| {
        let (page, callback) = route.handle(&request);
        if callback.is_some() {
            *brought.lock().unwrap_or_else(PoisonError::into_inner) = callback;
        }
        ready(Ok::<_, Infallible>(page.response()))
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .header_read_timeout(None)
        .max_header_size(MAX_HEAD)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .without_shutdown();
    if let Ok(Ok(parts)) = timeout(REQUEST_HEAD_TIMEOUT, connection).await {
        // Let the browser close first: it has read everything then.
        let mut stream = parts.io.into_inner();
        let gone = async { while stream.read(&mut [0; 512]).await.is_ok_and(|read| read > 0) {} };
        drop(timeout(BROWSER_CLOSE_TIMEOUT, gone).await);
    }
    brought.into_inner().unwrap_or_else(PoisonError::into_inner)
}

const MAX_CONNECTIONS: usize = 16;
const MAX_HEAD: usize = 8 * 1024;

#[cfg(test)]
mod tests;
