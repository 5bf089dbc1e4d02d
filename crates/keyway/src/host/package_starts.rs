//! Package runners start a few at a time: each may have to fetch and unpack its package first, and
//! twenty at once would all be late.

use std::sync::{Arc, Mutex, PoisonError};

use keyway_mcp::timeouts::PACKAGE_START_TIMEOUT;
use keyway_transport::{Connection, queue};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The places for package runners that start, the same for all copies of a host.
#[derive(Debug, Clone)]
pub(crate) struct PackageStarts {
    places: Arc<Semaphore>,
    /// A place that was waited for ahead, for the next start. Held to put it in or to take it out.
    reserved: Option<Arc<Mutex<Option<Place>>>>,
}

/// A place that a package runner has until it answers.
type Place = OwnedSemaphorePermit;

impl PackageStarts {
    /// Makes as many places as there are processors, and at least [`MIN_PLACES`].
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism();
        Self::with_places(processors.map_or(MIN_PLACES, |it| it.get().max(MIN_PLACES)))
    }

    pub(super) fn with_places(count: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(count)),
            reserved: None,
        }
    }

    /// Waits for a place ahead of a start, so that the wait does not count as part of it.
    ///
    /// Cancel safety: dropping the future leaves the queue.
    #[cfg(all(feature = "callback", feature = "vault"))]
    pub(super) async fn reserve(&self) -> Self {
        let place = self.place().await;
        Self {
            places: Arc::clone(&self.places),
            reserved: Some(Arc::new(Mutex::new(place))),
        }
    }

    /// Waits for a place; those who wait get theirs in the order in which they came.
    ///
    /// Cancel safety: dropping the future leaves the queue, or gives the place back.
    pub(super) async fn place(&self) -> Option<Place> {
        let reserved = self.reserved.as_ref().and_then(|reserved| {
            let mut reserved = reserved.lock().unwrap_or_else(PoisonError::into_inner);
            reserved.take()
        });
        match reserved {
            Some(place) => Some(place),
            // The semaphore is never closed.
            None => Arc::clone(&self.places).acquire_owned().await.ok(),
        }
    }
}

/// Keeps a place until the program says something or ends, and for [`PACKAGE_START_TIMEOUT`] at the
/// longest: a program that hangs must not hold up the others.
pub(super) fn until_first_answer(connection: Connection, place: Place) -> Connection {
    let Connection {
        link,
        mut events,
        watch,
        ..
    } = connection;
    let (client, outer) = queue(QUEUE);
    drop(tokio::spawn(async move {
        // `recv` is cancel safe: the event comes to the next call.
        let first = timeout(PACKAGE_START_TIMEOUT, events.recv()).await;
        drop(place);
        let mut next = match first {
            Ok(first) => first,
            Err(_) => events.recv().await,
        };
        while let Some(event) = next {
            if !client.deliver(event).await {
                return;
            }
            next = events.recv().await;
        }
    }));
    let mut connection = Connection::new(link, outer);
    connection.watch = watch;
    connection
}

/// How many may start at once on a machine with one processor: most of a start is waiting for the
/// network.
const MIN_PLACES: usize = 2;
/// How many events wait for a slow reader, beside those of the transport itself.
const QUEUE: usize = 16;

#[cfg(test)]
mod tests {
    use keyway_transport::{Event, Frame, Link, RequestId, TransportError};

    use super::*;

    #[derive(Debug)]
    struct Silent;

    impl Link for Silent {
        fn send(&self, _: Frame) -> keyway_auth::BoxFuture<'_, Result<(), TransportError>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn abandon(&self, _: &RequestId) {}

        fn close(&self) -> keyway_auth::BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_free_again_after_the_first_answer_the_end_or_two_minutes() {
        let starts = PackageStarts::with_places(1);
        let started = tokio::time::Instant::now();
        for case in ["answer", "end", "silence"] {
            let place = starts.place().await.unwrap();
            let (program, events) = queue(4);
            let connection = Connection::new(Arc::new(Silent), events);
            let mut connection = until_first_answer(connection, place);
            assert_eq!(starts.places.available_permits(), 0, "{case}");
            match case {
                "answer" => {
                    let frame = Frame::new(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap();
                    assert!(program.deliver(Event::Frame(frame)).await);
                    let answer = connection.events.recv().await;
                    assert!(matches!(answer, Some(Event::Frame(_))), "{answer:?}");
                }
                "end" => {
                    assert!(program.deliver(Event::Closed(None)).await);
                }
                _ => {}
            }
            drop(starts.place().await);
            let is_late = started.elapsed() >= PACKAGE_START_TIMEOUT;
            assert_eq!(is_late, case == "silence", "{case}");
        }
    }

    #[cfg(all(feature = "callback", feature = "vault"))]
    #[tokio::test]
    async fn a_place_that_was_waited_for_ahead_serves_one_start() {
        let starts = PackageStarts::with_places(1);
        let reserved = starts.reserve().await;
        assert_eq!(starts.places.available_permits(), 0);
        let place = reserved.place().await;
        assert!(place.is_some());
        drop(place);
        assert_eq!(starts.places.available_permits(), 1);
        drop(reserved.place().await);
        let unused = starts.reserve().await;
        drop(unused);
        assert_eq!(starts.places.available_permits(), 1);
    }
}
