//! Events for readers that take them later: a bounded queue for each.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use super::Event;

/// A bounded stream of events. It ends when no handle of the events is left.
///
/// ```text
/// open ──1024 events wait──▶ open, the oldest is dropped and counted in `lost`
///   └──last handle dropped──▶ closed: what waits is still read, then `None`
/// ```
#[derive(Debug)]
pub struct EventStream {
    queue: Arc<Queue>,
    lost: u64,
}

impl EventStream {
    pub(super) fn new() -> (Self, Arc<Queue>) {
        let queue = Arc::<Queue>::default();
        let stream = Self {
            queue: Arc::clone(&queue),
            lost: 0,
        };
        (stream, queue)
    }

    /// Has ended from the beginning.
    pub(super) fn ended() -> Self {
        let (stream, queue) = Self::new();
        queue.close();
        stream
    }

    /// Waits for the next event; `None` when there will be no more.
    ///
    /// Cancel safety: dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns how many events were dropped before the one that was read last, because they were
    /// not read in time. The numbers of events show where.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

impl Stream for EventStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let queue = Arc::clone(&self.queue);
        let mut state = queue.lock();
        self.lost = state.lost;
        if let Some(event) = state.waiting.pop_front() {
            return Poll::Ready(Some(event));
        }
        if state.is_closed {
            return Poll::Ready(None);
        }
        // Stored under the lock: an event that is pushed from now on wakes this reader.
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

/// What waits for one reader.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Event>,
    lost: u64,
    is_closed: bool,
    reader: Option<Waker>,
}

impl Queue {
    /// Adds an event; never waits for the reader.
    pub(super) fn push(&self, event: Event) {
        let mut state = self.lock();
        if state.waiting.len() == CAPACITY {
            state.waiting.pop_front();
            state.lost = state.lost.saturating_add(1);
        }
        state.waiting.push_back(event);
        state.wake();
    }

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.wake();
    }

    /// Held for a few moves of a pointer, and never while foreign code runs but the waker's.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// How many events may wait for a reader.
pub(super) const CAPACITY: usize = 1024;
