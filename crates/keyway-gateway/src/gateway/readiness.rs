//! Whether requests should be sent here: not while the gateway ends, and not without its store.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::CONNECTION;
use http::{HeaderValue, StatusCode};
use keyway_transport::Reply;

use super::reply;

/// What `/readyz` answers from.
#[derive(Default)]
pub(super) struct Readiness {
    /// Tells whether the store can be reached; `None` where it is a file of this machine.
    pub(super) store: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    /// Only ever set. Relaxed: it guards no other data.
    is_draining: AtomicBool,
}

impl Readiness {
    /// Says from now on that this gateway ends.
    pub(super) fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Ends a connection with its answer, while this gateway ends. Over HTTP/2 that is left out, where
    /// the end of the listener says the same.
    pub(super) fn while_draining(&self, reply: Reply) -> Reply {
        match self.is_draining() {
            true => reply.header(CONNECTION, HeaderValue::from_static("close")),
            false => reply,
        }
    }

    pub(super) fn reply(&self) -> Reply {
        if self.is_draining() {
            return reply::plain(StatusCode::SERVICE_UNAVAILABLE, "draining\n");
        }
        match &self.store {
            Some(is_there) if !is_there() => reply::try_later(reply::plain(
                StatusCode::SERVICE_UNAVAILABLE,
                "the store cannot be reached\n",
            )),
            _ => reply::plain(StatusCode::OK, "ready\n"),
        }
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness")
            .field("is_draining", &self.is_draining)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_is_ready_until_it_ends_or_its_store_is_away() {
        let mut readiness = Readiness::default();
        assert_eq!(readiness.reply().status(), StatusCode::OK);
        readiness.store = Some(Box::new(|| true));
        assert_eq!(readiness.reply().status(), StatusCode::OK);
        readiness.store = Some(Box::new(|| false));
        let away = readiness.reply();
        assert_eq!(away.status(), StatusCode::SERVICE_UNAVAILABLE);
        readiness.store = Some(Box::new(|| true));
        readiness.drain();
        assert_eq!(readiness.reply().status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
