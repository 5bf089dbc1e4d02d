//! The real vault, whose clock follows the hand, and which can be told to be locked.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{
    BackendFailure, ChangeFeed, Claim, ClaimId, Commit, Damage, Deleted, Fingerprint, Generation,
    Grant, GrantKey, GrantStore, GrantSummary, Marked, OrphanedClaim, OwnerId, StoppedUsers,
    StoreError, Tokens, UseMarker,
};
use keyway_vault::{Namespace, Vault};

use super::ManualClock;
use crate::ports::{DocumentCache, RecordStore};

/// One process's handle to the vault.
pub(crate) struct TestVault {
    vault: Vault,
    clock: Arc<ManualClock>,
    locked: AtomicU32,
    locked_at_delete: AtomicU32,
    rows_locked: AtomicBool,
    is_away: AtomicBool,
    spoilt: AtomicBool,
    is_full: AtomicBool,
    claims: Arc<Door>,
    marks: Arc<Door>,
}

/// Keeps requests to the store waiting, and counts them.
#[derive(Default)]
pub(crate) struct Door {
    /// Held to count and to wait: `changed` releases it while it waits.
    state: Mutex<DoorState>,
    changed: Condvar,
}

#[derive(Default)]
struct DoorState {
    is_closed: bool,
    waiting: usize,
    most: usize,
}

impl Door {
    pub(crate) fn close(&self) {
        self.state.lock().unwrap().is_closed = true;
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().is_closed = false;
        self.changed.notify_all();
    }

    /// Returns how many were there at once, so far.
    pub(crate) fn most(&self) -> usize {
        self.state.lock().unwrap().most
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        state.most = state.most.max(state.waiting);
        let passed = self.changed.wait_while(state, |state| state.is_closed);
        passed.unwrap().waiting -= 1;
    }
}

impl TestVault {
    pub(crate) fn claims(&self) -> Arc<Door> {
        Arc::clone(&self.claims)
    }

    pub(crate) fn marks(&self) -> Arc<Door> {
        Arc::clone(&self.marks)
    }

    pub(crate) fn new(vault: Vault, clock: Arc<ManualClock>) -> Self {
        Self {
            vault,
            clock,
            locked: AtomicU32::new(0),
            locked_at_delete: AtomicU32::new(0),
            rows_locked: AtomicBool::new(false),
            is_away: AtomicBool::new(false),
            spoilt: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            claims: Arc::default(),
            marks: Arc::default(),
        }
    }

    /// Answers the next writes as a store does that others keep locked.
    pub(crate) fn lock(&self, writes: u32) {
        self.locked.store(writes, Ordering::SeqCst);
    }

    /// Is locked from the next deletion of a grant on, for so many writes.
    pub(crate) fn lock_at_delete(&self, writes: u32) {
        self.locked_at_delete.store(writes, Ordering::SeqCst);
    }

    /// Lets nothing be written but the journal, or all again.
    pub(crate) fn lock_rows(&self, is_locked: bool) {
        self.rows_locked.store(is_locked, Ordering::SeqCst);
    }

    /// Lets nothing be read either, as a database does that is away; the journal is beside it.
    pub(crate) fn go_away(&self) {
        self.is_away.store(true, Ordering::SeqCst);
        self.lock_rows(true);
    }

    /// Has no room for anything new.
    pub(crate) fn fill(&self) {
        self.is_full.store(true, Ordering::SeqCst);
    }

    /// Says which process has a sign-in that is stored nowhere.
    pub(crate) fn unstored(&self, grant: &GrantKey) -> Option<Option<u32>> {
        self.vault.unstored_sign_in(grant)
    }

    /// Commits the journal, as every process does at its start.
    pub(crate) fn commit_journaled(&self) {
        self.vault.commit_journaled();
    }

    /// Answers each reading as a store does whose rows were tampered with.
    pub(crate) fn spoil(&self) {
        self.spoilt.store(true, Ordering::SeqCst);
    }

    pub(crate) fn repair(&self) {
        self.spoilt.store(false, Ordering::SeqCst);
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.rows_locked.load(Ordering::SeqCst) {
            return Err(StoreError::Busy);
        }
        self.check_journal()
    }

    fn check_journal(&self) -> Result<(), StoreError> {
        let take = |left: u32| left.checked_sub(1);
        let taken = self
            .locked
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        if taken.is_ok() {
            return Err(StoreError::Busy);
        }
        Ok(())
    }
}

impl GrantStore for TestVault {
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, StoreError> {
        if self.spoilt.load(Ordering::SeqCst) {
            return Err(StoreError::Corrupt {
                what: "a sign-in".to_owned(),
                how: Damage::Altered,
            });
        }
        if self.is_away.load(Ordering::SeqCst) {
            return Err(StoreError::Busy);
        }
        let mut found = self.vault.read(grant)?;
        if let Some(found) = &mut found {
            found.now = found.now.after(self.clock.passed());
        }
        Ok(found)
    }

    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        self.check()?;
        self.claims.pass();
        Ok(self.sooner(self.vault.claim(grant, generation, lifetime)?))
    }

    fn take_over(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        self.check()?;
        Ok(self.sooner(self.vault.take_over(grant, generation, lifetime)?))
    }

    fn journal(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        self.check_journal()?;
        self.vault.journal(grant, generation, &self.later(tokens))
    }

    fn journal_sign_in(
        &self,
        grant: &GrantKey,
        over: Option<Generation>,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        self.check_journal()?;
        self.vault.journal_sign_in(grant, over, &self.later(tokens))
    }

    fn settle_journal(&self, grant: &GrantKey) -> Result<Option<Generation>, StoreError> {
        self.check()?;
        self.vault.settle_journal(grant)
    }

    fn reserve(&self, grant: &GrantKey) -> Result<(), StoreError> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err(BackendFailure::new("the disk is full").into());
        }
        self.vault.reserve(grant)
    }

    fn unreserve(&self, grant: &GrantKey) {
        self.vault.unreserve(grant);
    }

    fn show_unstored(&self, grant: &GrantKey) {
        self.vault.show_unstored(grant);
    }

    fn answer_lost(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        self.check()?;
        self.vault.answer_lost(grant, claim)
    }

    fn postpone(
        &self,
        grant: &GrantKey,
        claim: ClaimId,
        wait: Duration,
    ) -> Result<bool, StoreError> {
        self.check()?;
        let wait = wait + self.clock.passed();
        self.vault.postpone(grant, claim, wait)
    }

    fn owner_process(&self, owner: &OwnerId) -> Option<u32> {
        self.vault.owner_process(owner)
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, StoreError> {
        self.check()?;
        self.vault.commit(grant, generation, &self.later(tokens))
    }

    fn release(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        self.check()?;
        self.vault.release(grant, claim)
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, StoreError> {
        self.check()?;
        self.vault.mark_reauth(grant, generation, rejected)
    }

    fn owner(&self) -> Result<OwnerId, StoreError> {
        self.vault.owner()
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.vault.owner_alive(owner)
    }

    fn orphans(&self) -> Result<Vec<OrphanedClaim>, StoreError> {
        self.vault.orphans()
    }

    fn refresh_to_revoke(&self, grant: &GrantKey) -> Result<Option<Secret<String>>, StoreError> {
        self.vault.refresh_to_revoke(grant)
    }

    fn change_feed(&self) -> Result<Box<dyn ChangeFeed>, StoreError> {
        self.vault.change_feed()
    }

    fn mark_in_use(&self, grant: &GrantKey) -> Result<Option<Box<dyn UseMarker>>, StoreError> {
        self.marks.pass();
        self.vault.mark_in_use(grant)
    }

    fn stop_users(&self, grant: &GrantKey, timeout: Duration) -> Result<StoppedUsers, StoreError> {
        self.vault.stop_users(grant, timeout)
    }

    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, StoreError> {
        self.check()?;
        self.vault.put(grant, &self.later(tokens))
    }

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, StoreError> {
        let writes = self.locked_at_delete.swap(0, Ordering::SeqCst);
        if writes > 0 {
            self.lock(writes);
        }
        self.check()?;
        self.vault.delete(grant)
    }

    fn list(&self, profile: &str) -> Result<Vec<GrantSummary>, StoreError> {
        self.vault.list(profile)
    }
}

impl TestVault {
    /// What is waited for on the vault's own clock ends earlier on the hand's.
    fn sooner(&self, claim: Claim) -> Claim {
        let Claim::Claimed(claimed) = claim else {
            return claim;
        };
        let wait = claimed
            .postponed
            .map(|wait| wait.saturating_sub(self.clock.passed()));
        let wait = wait.filter(|wait| !wait.is_zero());
        Claim::Claimed(claimed.with_postponed(wait))
    }

    /// The vault's own clock is behind by what the hand has moved.
    fn later(&self, tokens: &Tokens) -> Tokens {
        let mut tokens = tokens.clone();
        let passed = self.clock.passed();
        tokens.lifetime = tokens.lifetime.map(|lifetime| lifetime + passed);
        tokens
    }
}

impl RecordStore for TestVault {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let records = self.vault.sealed(Namespace::new(NAMESPACE).unwrap());
        Some(records.get(name).unwrap()?.value)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let records = self.vault.sealed(Namespace::new(NAMESPACE)?);
        records.put(name, value)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let records = self.vault.sealed(Namespace::new(NAMESPACE)?);
        records.delete(name)?;
        Ok(())
    }
}

/// The vault's own clock never reaches the end of a document; the hand's does.
impl DocumentCache for TestVault {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let records = self.vault.sealed(Namespace::new(DISCOVERY).unwrap());
        Some(records.get(name).unwrap()?.value)
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        let records = self.vault.sealed(Namespace::new(DISCOVERY)?);
        records.put_for(name, value, lifetime)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let records = self.vault.sealed(Namespace::new(DISCOVERY)?);
        records.delete(name)?;
        Ok(())
    }
}

impl fmt::Debug for TestVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

const NAMESPACE: &str = "registrations";
const DISCOVERY: &str = "discovery";
