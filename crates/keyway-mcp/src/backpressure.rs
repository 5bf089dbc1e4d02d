//! How many bytes may wait for one client: large messages are weighed, from when the server sent
//! them until they are written or given up.
//!
//! Queues count messages, which is bound enough for small ones. While a client has as much to read
//! as it may, its server is read no further.

use std::sync::{Arc, OnceLock};

use crate::timeouts::CLIENT_READ_TIMEOUT;
use bytes::Bytes;
use keyway_transport::Frame;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// What one client may still be given; made with the first large message.
///
/// Permits are held by the bytes of a message, not by a task: they come back when the last copy of
/// the bytes is dropped. Waiting is first come, first served, so that a large message is not
/// overtaken without end.
#[derive(Debug, Default)]
pub struct ByteBudget(OnceLock<Arc<Semaphore>>);

impl ByteBudget {
    /// Waits until the budget has space for a message, and reserves it for as long as its bytes
    /// live. Returns the message as an error if the client reads nothing for too long.
    ///
    /// Cancel safety: the message is dropped, and room that was assigned to it is given back.
    pub async fn reserve(&self, frame: Frame) -> Result<Frame, Frame> {
        if frame.bytes().len() <= SMALL_FRAME_BYTES {
            return Ok(frame);
        }
        // Boxed because it is rare: otherwise every caller's future would be as large.
        let weighed = Box::pin(self.acquire(&frame)).await;
        weighed.ok_or(frame)
    }

    /// The same without waiting: `None` if the budget has no space now.
    pub fn try_reserve(&self, frame: Frame) -> Option<Frame> {
        if frame.bytes().len() <= SMALL_FRAME_BYTES {
            return Some(frame);
        }
        let permits = Arc::clone(self.permits()).try_acquire_many_owned(units(&frame));
        Some(frame.along_with(permits.ok()?))
    }

    async fn acquire(&self, frame: &Frame) -> Option<Frame> {
        let taking = Arc::clone(self.permits()).acquire_many_owned(units(frame));
        let permits = timeout(CLIENT_READ_TIMEOUT, taking).await.ok()?.ok()?;
        Some(frame.along_with(permits))
    }

    fn permits(&self) -> &Arc<Semaphore> {
        self.0
            .get_or_init(|| Arc::new(Semaphore::new(BUDGET_UNITS)))
    }
}

fn units(frame: &Frame) -> u32 {
    let units = frame.bytes().len().div_ceil(SMALL_FRAME_BYTES);
    u32::try_from(units.min(BUDGET_UNITS)).unwrap_or(u32::MAX)
}

/// Keeps the reservation of a message for text that was made from it.
pub fn with_reservation_of(frame: &Frame, text: Bytes) -> Bytes {
    if frame.bytes().len() <= SMALL_FRAME_BYTES {
        return text;
    }
    with_bytes_of(frame.bytes().clone(), text)
}

/// The same for the bytes of a message.
pub fn with_bytes_of(message: Bytes, text: Bytes) -> Bytes {
    Bytes::from_owner(Derived {
        text,
        _source: message,
    })
}

struct Derived {
    text: Bytes,
    _source: Bytes,
}

impl AsRef<[u8]> for Derived {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// The error in place of an answer beyond the budget.
pub const BUDGET_EXHAUSTED: &str = "too much waits to be read";
/// Up to here a message is not counted; beyond, it is in units of this.
pub const SMALL_FRAME_BYTES: usize = 64 * 1024;
/// 16 MiB; a message that is larger takes all of it.
const BUDGET_UNITS: usize = 256;

#[cfg(test)]
mod tests {
    use keyway_transport::MAX_FRAME_BYTES;

    use super::*;

    fn frame(bytes: usize) -> Frame {
        Frame::new(vec![b'x'; bytes]).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn large_messages_wait_until_the_ones_before_are_read() {
        let budget = ByteBudget::default();
        let first = budget.reserve(frame(10_000_000)).await.unwrap();
        assert!(budget.reserve(frame(10_000_000)).await.is_err());
        assert!(budget.try_reserve(frame(10_000_000)).is_none());
        let small = budget.reserve(frame(1000)).await;
        assert!(small.is_ok(), "small ones are bounded by their number");
        // Text made from it keeps its reservation, and gives it back.
        let event = with_reservation_of(&first, Bytes::from_static(b"data: x"));
        drop(first);
        assert!(budget.reserve(frame(10_000_000)).await.is_err());
        drop(event);
        assert!(budget.reserve(frame(10_000_000)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_largest_message_waits_until_nothing_else_does() {
        let budget = ByteBudget::default();
        let before = budget.reserve(frame(100_000)).await.unwrap();
        assert!(budget.reserve(frame(MAX_FRAME_BYTES)).await.is_err());
        drop(before);
        assert!(budget.reserve(frame(MAX_FRAME_BYTES)).await.is_ok());
    }
}
