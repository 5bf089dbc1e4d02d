//! How much memory the large messages of this process may take together.
//!
//! A message counts from its first MiB on, while it is still being read, until its last reader has
//! dropped its bytes. If the memory is used up, its sender is not read any further: a pipe or a
//! socket holds the rest.
//!
//! ```text
//!  small ──first MiB──▶ in the pool ──more──▶ in the pool
//!                            │ the pool is empty
//!                            ▼
//!                         waiting ──permits come back──▶ in the pool
//!                            ├──nothing else is beyond the pool──▶ the one beyond the pool
//!                            └──after `ROOM_TIMEOUT`──▶ refused (`busy`)
//! ```
//!
//! One message may grow beyond the pool. Without it, messages that are each half read could hold
//! all of the pool, and none would come to its end.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::frame::FrameError;
use crate::timeouts::ROOM_TIMEOUT;

/// The memory for large messages.
#[derive(Debug, Clone)]
pub(crate) struct MessageMemory {
    /// In units of [`UNIT_BYTES`].
    /// Permits are held by reservations, and after `attach` by the bytes themselves.
    pool: Arc<Semaphore>,
    /// One permit, for the one message that may grow beyond the pool.
    beyond: Arc<Semaphore>,
}

impl MessageMemory {
    fn new(bytes: usize) -> Self {
        Self {
            pool: Arc::new(Semaphore::new(bytes / UNIT_BYTES)),
            beyond: Arc::new(Semaphore::new(1)),
        }
    }
}

/// What one message takes of that memory. It is given back when this is dropped.
#[derive(Debug)]
pub struct MemoryReservation {
    memory: MessageMemory,
    /// All that was taken of the pool.
    permits: Option<OwnedSemaphorePermit>,
    /// Held by the one message that may grow beyond the pool.
    beyond: Option<OwnedSemaphorePermit>,
}

impl Default for MemoryReservation {
    /// Takes nothing yet of the memory of this process.
    fn default() -> Self {
        Self::of(&PROCESS)
    }
}

impl MemoryReservation {
    fn of(memory: &MessageMemory) -> Self {
        Self {
            memory: memory.clone(),
            permits: None,
            beyond: None,
        }
    }

    /// Reserves memory for a message of so many bytes, waiting while there is none.
    ///
    /// # Errors
    ///
    /// Returns [`FrameError::NoRoom`] if none comes for half a minute.
    ///
    /// Cancel safety: cancel safe; what was taken before is kept.
    pub async fn grow_to(&mut self, bytes: usize) -> Result<(), FrameError> {
        let Some(missing) = self.missing(bytes) else {
            return Ok(());
        };
        if let Ok(more) = Arc::clone(&self.memory.pool).try_acquire_many_owned(missing) {
            self.add(more);
            return Ok(());
        }
        // Boxed like everything rare: every task that reads would be as large.
        Box::pin(self.wait_for(missing)).await
    }

    /// Attaches the reservation to bytes, for as long as any part of them is used.
    #[must_use]
    pub fn attach(&mut self, bytes: Bytes) -> Bytes {
        if self.permits.is_none() && self.beyond.is_none() {
            return bytes;
        }
        let reservation = std::mem::replace(self, Self::of(&self.memory));
        Bytes::from_owner(Reserved {
            bytes,
            _reservation: reservation,
        })
    }

    /// Returns how many units are missing for so many bytes, if any.
    fn missing(&self, bytes: usize) -> Option<u32> {
        let held = self.permits.as_ref().map_or(0, |it| it.num_permits());
        let missing = (bytes / UNIT_BYTES).saturating_sub(held);
        if missing == 0 || self.beyond.is_some() {
            return None;
        }
        Some(u32::try_from(missing).unwrap_or(u32::MAX))
    }

    async fn wait_for(&mut self, missing: u32) -> Result<(), FrameError> {
        let pool = Arc::clone(&self.memory.pool).acquire_many_owned(missing);
        let beyond = Arc::clone(&self.memory.beyond).acquire_owned();
        let waiting = async {
            // The pool first: the one place beyond it is for when nothing comes back. Whichever is
            // dropped gives back what it had been assigned.
            tokio::select! {
                biased;
                more = pool => Ok(more),
                one = beyond => Err(one),
            }
        };
        match timeout(ROOM_TIMEOUT, waiting).await {
            Ok(Ok(Ok(more))) => self.add(more),
            Ok(Err(Ok(one))) => self.beyond = Some(one),
            _ => return Err(FrameError::NoRoom),
        }
        Ok(())
    }

    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.permits {
            Some(permits) => permits.merge(more),
            None => self.permits = Some(more),
        }
    }
}

struct Reserved {
    bytes: Bytes,
    _reservation: MemoryReservation,
}

impl AsRef<[u8]> for Reserved {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// One pool for the whole process, across all connections.
static PROCESS: LazyLock<MessageMemory> = LazyLock::new(|| MessageMemory::new(POOL_BYTES));
/// Twice this is the most, together with the one message beyond it.
const POOL_BYTES: usize = crate::frame::MAX_FRAME_BYTES;
/// Less is not counted: queues bound the number of small messages.
const UNIT_BYTES: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTES: usize = 10 * 1024 * 1024;

    fn is_free(memory: &MessageMemory) -> bool {
        memory.pool.available_permits() == POOL_BYTES / UNIT_BYTES
            && memory.beyond.available_permits() == 1
    }

    /// Reads a message in pieces, as a transport does.
    async fn read(memory: MessageMemory, bytes: usize) -> Result<Bytes, FrameError> {
        let mut reservation = MemoryReservation::of(&memory);
        for so_far in (0..=bytes).step_by(64 * 1024) {
            reservation.grow_to(so_far).await?;
            tokio::task::yield_now().await;
        }
        Ok(reservation.attach(Bytes::from(vec![0; bytes])))
    }

    #[tokio::test(start_paused = true)]
    async fn forty_messages_that_are_not_taken_hold_no_more_than_the_limit() {
        let memory = MessageMemory::new(POOL_BYTES);
        let reading: Vec<_> = (0..40)
            .map(|_| tokio::spawn(read(memory.clone(), MEGABYTES)))
            .collect();
        let (mut held, mut refused) = (Vec::new(), 0);
        for task in reading {
            match task.await.unwrap() {
                Ok(bytes) => held.push(bytes),
                Err(error) => {
                    assert_eq!(error, FrameError::NoRoom);
                    refused += 1;
                }
            }
        }
        let bytes: usize = held.iter().map(Bytes::len).sum();
        assert!((MEGABYTES..=2 * POOL_BYTES).contains(&bytes), "{bytes}");
        assert_eq!(held.len() + refused, 40);
        // A part of a message holds its reservation as all of it does.
        let part = held.pop().map(|bytes| bytes.slice(1..2));
        held.clear();
        assert!(!is_free(&memory));
        drop(part);
        assert!(is_free(&memory), "all is given back");
        assert!(read(memory, MEGABYTES).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn forty_messages_that_are_taken_all_come_to_their_end() {
        let memory = MessageMemory::new(POOL_BYTES);
        let reading: Vec<_> = (0..40)
            .map(|_| {
                let memory = memory.clone();
                tokio::spawn(async move { read(memory, MEGABYTES).await.map(|it| it.len()) })
            })
            .collect();
        for task in reading {
            assert_eq!(task.await.unwrap(), Ok(MEGABYTES));
        }
        assert!(is_free(&memory));
    }

    #[tokio::test]
    async fn small_messages_and_the_largest_one_need_no_waiting() {
        let memory = MessageMemory::new(POOL_BYTES);
        let small = read(memory.clone(), UNIT_BYTES - 1).await.unwrap();
        assert!(is_free(&memory));
        let largest = read(memory.clone(), POOL_BYTES).await.unwrap();
        assert_eq!(memory.pool.available_permits(), 0);
        drop((small, largest));
        assert!(is_free(&memory));
    }
}
