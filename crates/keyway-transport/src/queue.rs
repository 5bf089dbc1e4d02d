//! Bounded queues between tasks: bounded in items, and for large items in bytes as well.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use thiserror::Error;
use tokio::sync::mpsc;

/// Makes a queue for `capacity` items, at least one.
#[must_use]
pub fn queue<T>(capacity: usize) -> (QueueSender<T>, QueueReceiver<T>) {
    let (sender, receiver) = mpsc::channel(capacity.max(1));
    (QueueSender(sender), QueueReceiver(receiver))
}

/// The sending side of a queue; several can share it.
pub struct QueueSender<T>(mpsc::Sender<T>);

/// The receiving side of a queue.
pub struct QueueReceiver<T>(mpsc::Receiver<T>);

/// Nothing reads the queue any more.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the queue is closed")]
pub struct QueueClosed;

/// Why an item was not put into a queue at once.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueueRefusal {
    /// The queue has no free place.
    #[error("the queue is full")]
    Full,
    /// Nothing reads it any more.
    #[error("the queue is closed")]
    Closed,
}

impl<T> QueueSender<T> {
    /// Waits for a free place and puts an item into the queue.
    ///
    /// # Errors
    ///
    /// Returns [`QueueClosed`] if the receiver is gone.
    ///
    /// Cancel safety: dropping the future drops the item.
    pub async fn send(&self, item: T) -> Result<(), QueueClosed> {
        self.0.send(item).await.map_err(|_| QueueClosed)
    }

    /// Puts an item of so many bytes into the queue. A large one goes in when nothing else waits,
    /// so that what waits is bounded in bytes as well.
    ///
    /// # Errors
    ///
    /// Returns [`QueueClosed`] if the receiver is gone.
    ///
    /// Cancel safety: dropping the future drops the item.
    pub async fn send_sized(&self, item: T, bytes: usize) -> Result<(), QueueClosed> {
        self.reserve_sized(bytes).await?.send(item);
        Ok(())
    }

    /// Waits for room for an item of so many bytes, as [`Self::send_sized`] does.
    ///
    /// For who must not take an item out of where it is before there is room for it.
    pub(crate) async fn reserve_sized(
        &self,
        bytes: usize,
    ) -> Result<mpsc::Permit<'_, T>, QueueClosed> {
        if bytes <= LARGE {
            return self.0.reserve().await.map_err(|_| QueueClosed);
        }
        let whole = self.0.reserve_many(self.0.max_capacity()).await;
        let place = whole.ok().and_then(|mut places| places.next());
        place.ok_or(QueueClosed)
    }

    /// Puts an item into the queue if there is a free place.
    ///
    /// # Errors
    ///
    /// Returns why not; the item is dropped.
    pub fn try_send(&self, item: T) -> Result<(), QueueRefusal> {
        self.0.try_send(item).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => QueueRefusal::Full,
            mpsc::error::TrySendError::Closed(_) => QueueRefusal::Closed,
        })
    }

    /// Waits for a free place, and reserves it for as long as the result lives.
    #[cfg(feature = "ws")]
    pub(crate) async fn reserve(&self) -> Result<mpsc::Permit<'_, T>, QueueClosed> {
        self.0.reserve().await.map_err(|_| QueueClosed)
    }

    /// Returns how many items wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.max_capacity().saturating_sub(self.0.capacity())
    }

    /// Says whether the receiver is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Waits until the receiver is gone.
    ///
    /// Cancel safety: cancel safe.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}

impl<T> QueueReceiver<T> {
    /// Waits for the next item; `None` once all came and no sender is left.
    ///
    /// Cancel safety: cancel safe; no item is lost.
    pub async fn recv(&mut self) -> Option<T> {
        self.0.recv().await
    }

    /// Returns the next item if it is there already.
    pub fn try_recv(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }

    /// Lets senders put nothing more into the queue; what is in it can still be received.
    pub fn close(&mut self) {
        self.0.close();
    }

    /// Returns how many items wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Says whether no item waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Stream for QueueReceiver<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_recv(context)
    }
}

impl<T> Clone for QueueSender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Without the items, which may be secret.
impl<T> fmt::Debug for QueueSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueSender").finish_non_exhaustive()
    }
}

/// Without the items, which may be secret.
impl<T> fmt::Debug for QueueReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueReceiver").finish_non_exhaustive()
    }
}

/// Beyond this, an item waits alone: so much waits at most, besides as many small ones.
const LARGE: usize = 128 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_messages_wait_one_at_a_time_and_in_their_order() {
        let (sender, mut events) = queue(256);
        let sending = tokio::spawn(async move {
            for bytes in [1, 1_000_000, 2_000_000, 2] {
                assert!(sender.send_sized(bytes, bytes).await.is_ok());
            }
        });
        let mut seen = Vec::new();
        for _ in 0..4 {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            assert!(events.len() <= 1 || seen.len() == 2, "{}", events.len());
            seen.push(events.recv().await.expect("a message"));
        }
        sending.await.unwrap();
        assert_eq!(seen, [1, 1_000_000, 2_000_000, 2]);
    }

    #[tokio::test]
    async fn a_sender_learns_that_the_queue_is_full_or_closed() {
        let (sender, receiver) = queue(1);
        assert_eq!(sender.try_send(1), Ok(()));
        assert_eq!(sender.try_send(2), Err(QueueRefusal::Full));
        drop(receiver);
        assert!(sender.is_closed());
        sender.closed().await;
        assert_eq!(sender.try_send(3), Err(QueueRefusal::Closed));
        assert_eq!(sender.send(4).await, Err(QueueClosed));
        assert_eq!(sender.send_sized(5, 1_000_000).await, Err(QueueClosed));
    }
}
