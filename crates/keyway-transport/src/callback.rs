//! Where the browser brings the answer of an authorization server: a listener on loopback.
//!
//! It lives for one sign-in. Any page and any program on this machine can talk to it, so a request
//! counts only if it names us as its host, comes from no foreign page and carries the `state`,
//! which is secret; everything else is turned away and changes nothing.

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
use crate::timeouts::{BROWSER_CLOSE_TIMEOUT, CALLBACK_EVICT_AFTER, REQUEST_HEAD_TIMEOUT};

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
                    let late = InteractionError::Timeout { seconds };
                    return connections.brought().ok_or(late);
                }
                stream = async {
                    sleep_until(room).await;
                    self.sockets.accept().await
                } => connections.admit(stream, &route),
            }
        }
    }
}

/// What a connection brought: the redirect that is waited for, or nothing yet.
///
/// Shared, because a connection that has brought it may still be cut off: by the deadline, or while
/// it waits for the browser to close. The lock is held for a look or a change only.
#[derive(Debug, Clone, Default)]
struct Brought(Arc<Mutex<Option<Callback>>>);

impl Brought {
    fn set(&self, callback: Callback) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(callback);
    }

    fn take(&self) -> Option<Callback> {
        let mut brought = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        brought.take()
    }

    fn is_set(&self) -> bool {
        let brought = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        brought.is_some()
    }
}

#[derive(Debug)]
struct Connection {
    arrived: Instant,
    task: AbortHandle,
    brought: Brought,
}

/// The connections that are open.
///
/// A browser sends its request at once. So when there are too many, the one that has been silent
/// longest is closed, and a slow client cannot keep the others out. A connection that brought the
/// redirect is not silent: it is never the one.
#[derive(Debug, Default)]
struct Connections {
    tasks: JoinSet<()>,
    /// Oldest first.
    open: VecDeque<Connection>,
}

impl Connections {
    /// Waits for a connection to end; never returns while there is none.
    async fn next(&mut self) -> Option<Callback> {
        if self.tasks.is_empty() {
            return std::future::pending().await;
        }
        drop(self.tasks.join_next().await);
        let mut callback = None;
        self.open.retain(|connection| {
            let has_ended = connection.task.is_finished();
            if has_ended {
                callback = callback.take().or_else(|| connection.brought.take());
            }
            !has_ended
        });
        callback
    }

    /// Takes the redirect from a connection that is still open.
    fn brought(&self) -> Option<Callback> {
        let mut open = self.open.iter();
        open.find_map(|connection| connection.brought.take())
    }

    /// Returns from when on another connection can be taken.
    fn room(&self) -> Instant {
        let oldest = self
            .oldest_silent()
            .and_then(|oldest| self.open.get(oldest));
        match oldest {
            Some(oldest) if self.open.len() >= MAX_CONNECTIONS => {
                oldest.arrived + CALLBACK_EVICT_AFTER
            }
            _ => Instant::now(),
        }
    }

    fn admit(&mut self, stream: TcpStream, route: &Arc<CallbackRoute>) {
        while self.open.len() >= MAX_CONNECTIONS {
            let oldest = self
                .oldest_silent()
                .and_then(|oldest| self.open.remove(oldest));
            // None is silent: they all end within moments of their own accord.
            let Some(oldest) = oldest else { break };
            oldest.task.abort();
        }
        let brought = Brought::default();
        let serving = serve(stream, Arc::clone(route), brought.clone());
        self.open.push_back(Connection {
            arrived: Instant::now(),
            task: self.tasks.spawn(serving),
            brought,
        });
    }

    fn oldest_silent(&self) -> Option<usize> {
        let mut open = self.open.iter();
        open.position(|connection| !connection.brought.is_set())
    }
}

/// Answers one request, and keeps what it brought, if it was the one.
async fn serve(stream: TcpStream, route: Arc<CallbackRoute>, brought: Brought) {
    // A connection that we close first would keep a fixed port busy for a minute.
    if stream.set_zero_linger().is_err() {
        return;
    }
    let service = service_fn(|request| {
        let (page, callback) = route.handle(&request);
        if let Some(callback) = callback {
            brought.set(callback);
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
}

const MAX_CONNECTIONS: usize = 16;
const MAX_HEAD: usize = 8 * 1024;

#[cfg(test)]
mod tests;
