//! Sign-ins in a store of the host's own: claims are counted, and tokens remembered while they count.
//!
//! A store in another process can be away. Its tokens are used until they expire; whatever needs the
//! store itself, above all a renewal, fails with the store's own error.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use keyway_code::Code;
use keyway_secret::{Clock, Secret};
use keyway_store::{
    ChangeFeed, Claim, ClaimId, Commit, Deleted, Fingerprint, Generation, Grant, GrantKey,
    GrantState, GrantStore, GrantSummary, Marked, OrphanedClaim, OwnerId, StoppedUsers, StoreError,
    Tokens, UseMarker,
};

use crate::in_flight::InFlight;

/// A [`GrantStore`] around another one.
pub(super) struct RememberedGrants {
    inner: Arc<dyn GrantStore>,
    in_flight: InFlight,
    clock: Arc<dyn Clock>,
    /// What was read last. Held for one operation on the map, never while the store is asked.
    read: Mutex<HashMap<GrantKey, Remembered>>,
}

struct Remembered {
    grant: Grant,
    at: Instant,
}

impl Remembered {
    /// Returns the sign-in as it would be read now; `None` once its token has expired.
    ///
    /// By the store's clock at the read and by our own since: no other machine's clock counts.
    fn now(&self, now: Instant) -> Option<Grant> {
        let since = now.saturating_duration_since(self.at);
        let mut grant = self.grant.clone();
        grant.now = grant.now.after(since);
        let is_valid = grant.expires_at.is_none_or(|end| end > grant.now);
        (is_valid && grant.state == GrantState::Good).then_some(grant)
    }
}

impl RememberedGrants {
    pub(super) fn new(
        inner: Arc<dyn GrantStore>,
        in_flight: InFlight,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            inner,
            in_flight,
            clock,
            read: Mutex::default(),
        }
    }

    fn remember(&self, key: &GrantKey, grant: Option<&Grant>) {
        let at = self.clock.monotonic();
        let mut read = self.lock();
        let Some(grant) = grant else {
            read.remove(key);
            return;
        };
        if read.len() >= MOST_REMEMBERED && !read.contains_key(key) {
            read.retain(|_, known| known.now(at).is_some());
            // Rare, and costs only what the store would be needed for anyway.
            if read.len() >= MOST_REMEMBERED {
                read.clear();
            }
        }
        let grant = grant.clone();
        read.insert(key.clone(), Remembered { grant, at });
    }

    fn counted(&self, grant: &GrantKey, generation: Generation, claim: Claim) -> Claim {
        if let Claim::Claimed(claimed) = &claim {
            self.in_flight.begin(grant, claimed.id, generation);
        }
        claim
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<GrantKey, Remembered>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GrantStore for RememberedGrants {
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, StoreError> {
        match self.inner.read(grant) {
            Ok(found) => {
                self.remember(grant, found.as_ref());
                Ok(found)
            }
            Err(error) if error.code() == Code::StoreUnreachable => {
                let now = self.clock.monotonic();
                let known = self.lock().get(grant).and_then(|known| known.now(now));
                known.map(Some).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        let claim = self.inner.claim(grant, generation, lifetime)?;
        Ok(self.counted(grant, generation, claim))
    }

    fn take_over(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        let claim = self.inner.take_over(grant, generation, lifetime)?;
        Ok(self.counted(grant, generation, claim))
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, StoreError> {
        let committed = self.inner.commit(grant, generation, tokens)?;
        self.in_flight.end_generation(grant, generation);
        Ok(committed)
    }

    fn commit_and_read(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(Commit, Option<Grant>), StoreError> {
        let (committed, stored) = self.inner.commit_and_read(grant, generation, tokens)?;
        self.in_flight.end_generation(grant, generation);
        if stored.is_some() {
            self.remember(grant, stored.as_ref());
        }
        Ok((committed, stored))
    }

    fn journal(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        self.inner.journal(grant, generation, tokens)?;
        // Safe from here on, whether or not the commit succeeds in this process.
        self.in_flight.end_generation(grant, generation);
        Ok(())
    }

    fn journal_sign_in(
        &self,
        grant: &GrantKey,
        over: Option<Generation>,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        self.inner.journal_sign_in(grant, over, tokens)?;
        if let Some(over) = over {
            self.in_flight.end_generation(grant, over);
        }
        Ok(())
    }

    fn settle_journal(&self, grant: &GrantKey) -> Result<Option<Generation>, StoreError> {
        self.inner.settle_journal(grant)
    }

    fn reserve(&self, grant: &GrantKey) -> Result<(), StoreError> {
        self.inner.reserve(grant)
    }

    fn unreserve(&self, grant: &GrantKey) {
        self.inner.unreserve(grant);
    }

    fn show_unstored(&self, grant: &GrantKey) {
        self.inner.show_unstored(grant);
    }

    fn release(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        let released = self.inner.release(grant, claim);
        // Whether or not that succeeded: a claim that brought nothing ends with the process as well.
        self.in_flight.end_claim(grant, claim);
        released
    }

    fn answer_lost(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        let ended = self.inner.answer_lost(grant, claim);
        self.in_flight.end_claim(grant, claim);
        ended
    }

    fn postpone(
        &self,
        grant: &GrantKey,
        claim: ClaimId,
        wait: Duration,
    ) -> Result<bool, StoreError> {
        let ended = self.inner.postpone(grant, claim, wait);
        self.in_flight.end_claim(grant, claim);
        ended
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, StoreError> {
        let marked = self.inner.mark_reauth(grant, generation, rejected)?;
        self.in_flight.end_generation(grant, generation);
        Ok(marked)
    }

    fn owner(&self) -> Result<OwnerId, StoreError> {
        self.inner.owner()
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.inner.owner_alive(owner)
    }

    fn owner_process(&self, owner: &OwnerId) -> Option<u32> {
        self.inner.owner_process(owner)
    }

    fn orphans(&self) -> Result<Vec<OrphanedClaim>, StoreError> {
        self.inner.orphans()
    }

    fn change_feed(&self) -> Result<Box<dyn ChangeFeed>, StoreError> {
        self.inner.change_feed()
    }

    fn refresh_to_revoke(&self, grant: &GrantKey) -> Result<Option<Secret<String>>, StoreError> {
        self.inner.refresh_to_revoke(grant)
    }

    fn mark_in_use(&self, grant: &GrantKey) -> Result<Option<Box<dyn UseMarker>>, StoreError> {
        self.inner.mark_in_use(grant)
    }

    fn stop_users(&self, grant: &GrantKey, timeout: Duration) -> Result<StoppedUsers, StoreError> {
        self.inner.stop_users(grant, timeout)
    }

    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, StoreError> {
        let generation = self.inner.put(grant, tokens)?;
        // A sign-in over an earlier one claims that first, and storing it ends the claim.
        self.in_flight.end_generation(grant, generation);
        Ok(generation)
    }

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, StoreError> {
        let deleted = self.inner.delete(grant)?;
        self.remember(grant, None);
        // A sign-out claims first, so that no process renews what is revoked.
        self.in_flight.end_all(grant);
        Ok(deleted)
    }

    fn list(&self, profile: &str) -> Result<Vec<GrantSummary>, StoreError> {
        self.inner.list(profile)
    }
}

impl fmt::Debug for RememberedGrants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RememberedGrants").finish_non_exhaustive()
    }
}

/// About 20 MB of tokens.
const MOST_REMEMBERED: usize = 10_000;
