//! How many bytes may wait for one client: large messages are weighed, from when the server sent
//! them until they are written or given up.
//!
//! Queues count messages, which is bound enough for small ones. While a client has as much to read
//! as it may, its server is read no further.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use keyway_transport::Frame;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// What one client may still be given; made with the first large message.
#[derive(Debug, Default)]
pub struct Weights(OnceLock<Arc<Semaphore>>);

impl Weights {
    /// Waits until there is room for a message, and makes it take that room for as long as anybody
    /// has its bytes; gives it back if the client reads nothing for too long.
    pub async fn weigh(&self, frame: Frame) -> Result<Frame, Frame> {
        if frame.bytes().len() <= LIGHT {
            return Ok(frame);
        }
        // Boxed like everything rare: whoever weighs anything would be as large.
        let weighed = Box::pin(self.take_room(&frame)).await;
        weighed.ok_or(frame)
    }

    /// The same for what nobody waits for: `None` if there is no room now.
    pub fn weigh_now(&self, frame: Frame) -> Option<Frame> {
        if frame.bytes().len() <= LIGHT {
            return Some(frame);
        }
        let room = Arc::clone(self.room()).try_acquire_many_owned(units(&frame));
        Some(frame.along_with(room.ok()?))
    }

    async fn take_room(&self, frame: &Frame) -> Option<Frame> {
        let taking = Arc::clone(self.room()).acquire_many_owned(units(frame));
        let room = timeout(READ_TIME, taking).await.ok()?.ok()?;
        Some(frame.along_with(room))
    }

    fn room(&self) -> &Arc<Semaphore> {
        self.0.get_or_init(|| Arc::new(Semaphore::new(ROOM)))
    }
}

fn units(frame: &Frame) -> u32 {
    let units = frame.bytes().len().div_ceil(LIGHT);
    u32::try_from(units.min(ROOM)).unwrap_or(u32::MAX)
}

/// Lets text that was made of a message take the room of that.
pub fn in_place_of(frame: &Frame, text: Bytes) -> Bytes {
    if frame.bytes().len() <= LIGHT {
        return text;
    }
    made_of(frame.bytes().clone(), text)
}

/// The same for the bytes of a message.
pub fn made_of(message: Bytes, text: Bytes) -> Bytes {
    Bytes::from_owner(Made {
        text,
        _from: message,
    })
}

struct Made {
    text: Bytes,
    _from: Bytes,
}

impl AsRef<[u8]> for Made {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

/// What is said in place of an answer for which there is no room.
pub const TOO_MUCH: &str = "too much waits to be read";
/// Up to here a message is not weighed; beyond, it is in units of this.
pub const LIGHT: usize = 64 * 1024;
/// 16 MiB; a message that is larger takes all of it.
const ROOM: usize = 256;
/// As long as a reader may take who is given something.
const READ_TIME: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use keyway_transport::MAX_FRAME_BYTES;

    use super::*;

    fn frame(bytes: usize) -> Frame {
        Frame::new(vec![b'x'; bytes]).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn large_messages_wait_until_the_ones_before_are_read() {
        let weights = Weights::default();
        let first = weights.weigh(frame(10_000_000)).await.unwrap();
        assert!(weights.weigh(frame(10_000_000)).await.is_err());
        assert!(weights.weigh_now(frame(10_000_000)).is_none());
        let small = weights.weigh(frame(1000)).await;
        assert!(small.is_ok(), "small ones are bounded by their number");
        // What was made of it takes its room, and gives it back.
        let event = in_place_of(&first, Bytes::from_static(b"data: x"));
        drop(first);
        assert!(weights.weigh(frame(10_000_000)).await.is_err());
        drop(event);
        assert!(weights.weigh(frame(10_000_000)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn the_largest_message_waits_until_nothing_else_does() {
        let weights = Weights::default();
        let before = weights.weigh(frame(100_000)).await.unwrap();
        assert!(weights.weigh(frame(MAX_FRAME_BYTES)).await.is_err());
        drop(before);
        assert!(weights.weigh(frame(MAX_FRAME_BYTES)).await.is_ok());
    }
}
