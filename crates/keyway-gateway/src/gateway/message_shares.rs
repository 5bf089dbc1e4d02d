//! How much of the memory for large messages one client may hold, so that those of others find room.
//!
//! The memory itself is the transport's. A message takes its part of its client's share before any of it
//! is read, as a whole: of two that were half read, neither could come to its end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use keyway_transport::MAX_BODY_BYTES;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::principal::PrincipalId;
use crate::timeouts::LARGE_MESSAGE_TIMEOUT;

/// The shares of the clients that hold some.
#[derive(Debug)]
pub(super) struct MessageShares {
    /// In units of [`UNIT_BYTES`].
    of_each: u32,
    /// Held for a look-up. A share lives as long as something is taken of it, or waited for.
    shares: Mutex<HashMap<PrincipalId, Weak<Semaphore>>>,
}

/// What one message takes of its client's share; given back when this is dropped. Nothing for a small
/// message.
#[derive(Debug, Default)]
pub(super) struct MessageShare(Option<OwnedSemaphorePermit>);

/// A client has too much under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShareTaken;

impl Default for MessageShares {
    fn default() -> Self {
        let half = MAX_BODY_BYTES / UNIT_BYTES / 2;
        Self {
            of_each: u32::try_from(half).unwrap_or(u32::MAX),
            shares: Mutex::default(),
        }
    }
}

impl MessageShares {
    /// Takes what a message needs, and waits a while for it. One that is larger than the share takes all
    /// of it, and so does one that does not say how large it is.
    ///
    /// Cancel safety: cancel safe; what was assigned is given back.
    pub(super) async fn take(
        &self,
        id: PrincipalId,
        headers: &HeaderMap,
    ) -> Result<MessageShare, ShareTaken> {
        // The person of this machine, by a socket that is theirs alone.
        if id == PrincipalId::SameUser {
            return Ok(MessageShare::default());
        }
        let told = headers.get(CONTENT_LENGTH);
        let told = told.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        let units = told.map_or(self.of_each, |bytes| {
            let units = u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX);
            units.min(self.of_each)
        });
        if units == 0 {
            return Ok(MessageShare::default());
        }
        let taking = self.share(id).acquire_many_owned(units);
        match timeout(LARGE_MESSAGE_TIMEOUT, taking).await {
            Ok(Ok(taken)) => Ok(MessageShare(Some(taken))),
            _ => Err(ShareTaken),
        }
    }

    fn share(&self, id: PrincipalId) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(&id).and_then(Weak::upgrade) {
            return share;
        }
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(usize::try_from(self.of_each).unwrap_or(1)));
        shares.insert(id, Arc::downgrade(&share));
        share
    }
}

impl MessageShare {
    /// Gives everything back if a message of so many bytes needs none, as it turned out.
    pub(super) fn keep_for(&mut self, bytes: usize) {
        if bytes < UNIT_BYTES {
            self.0 = None;
        }
    }
}

/// As the transport counts: what is smaller takes none of the memory for large messages.
const UNIT_BYTES: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: PrincipalId = PrincipalId::Person([1; 32]);
    const BOB: PrincipalId = PrincipalId::Person([2; 32]);

    fn length(bytes: Option<usize>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(bytes) = bytes {
            headers.insert(CONTENT_LENGTH, bytes.into());
        }
        headers
    }

    #[tokio::test(start_paused = true)]
    async fn one_client_has_its_share_and_no_other_waits_for_it() {
        let shares = MessageShares::default();
        let take = async |id, bytes| shares.take(id, &length(bytes)).await;
        let first = take(ADA, Some(20 * UNIT_BYTES)).await.unwrap();
        assert!(take(ADA, Some(20 * UNIT_BYTES)).await.is_err());
        assert!(take(ADA, None).await.is_err());
        for id in [ADA, PrincipalId::SameUser] {
            assert!(take(id, Some(UNIT_BYTES - 1)).await.is_ok());
        }
        let beside = take(ADA, Some(12 * UNIT_BYTES)).await.unwrap();
        assert!(take(BOB, Some(20 * UNIT_BYTES)).await.is_ok());
        drop((first, beside));
        // The largest one takes all, and leaves its client nothing beside it.
        let mut largest = take(ADA, Some(MAX_BODY_BYTES)).await.unwrap();
        assert!(take(ADA, Some(UNIT_BYTES)).await.is_err());
        largest.keep_for(UNIT_BYTES - 1);
        assert!(take(ADA, None).await.is_ok());
        drop(take(BOB, Some(UNIT_BYTES)).await);
        assert_eq!(
            shares.shares.lock().unwrap().len(),
            1,
            "others are forgotten"
        );
    }
}
