//! A vault in memory: what a team writes that keeps sign-ins in a database of its own.
//!
//! All handles of one [`MemoryVault`] see the same sign-ins, as all processes of a machine do. A
//! handle that is dropped stands for a process that died: its claims can be taken over at once.
//!
//! ```
//! use example_own_vault::MemoryVault;
//! use keyway_secret::Secret;
//! use keyway_store::{GrantKey, GrantStore as _, StoreError, Tokens};
//!
//! # fn main() -> Result<(), StoreError> {
//! let vault = MemoryVault::default();
//! let grant = GrantKey::new("default").server("search");
//! vault.handle().put(&grant, &Tokens::new(Secret::new("at-1".to_owned())))?;
//! let found = vault.handle().read(&grant)?.expect("it was just stored");
//! assert_eq!(found.access.expose(), "at-1");
//! # Ok(())
//! # }
//! ```

mod observing;
mod records;

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use keyway_secret::Secret;
use keyway_store::{
    BackendFailure, ChangeFeed, Claim, ClaimId, Claimed, Commit, Deleted, Fingerprint, Generation,
    Grant, GrantKey, GrantState, GrantStore, GrantSummary, Marked, OrphanedClaim, OwnerId,
    RejectionCause, StoppedUsers, StoreError, Timestamp, Tokens, UseMarker,
};

use self::observing::{MemoryFeed, MemoryMarker};
pub use self::records::MemoryRecords;

/// A store that lives as long as its handles.
#[derive(Clone, Debug, Default)]
pub struct MemoryVault(Arc<Shared>);

impl MemoryVault {
    /// Moves the store's clock on, by which tokens expire and claims end.
    pub fn advance(&self, by: Duration) {
        let mut state = self.0.lock();
        state.ahead = state.ahead.saturating_add(by);
    }

    /// Opens one more handle, which is an owner of claims of its own.
    #[must_use]
    pub fn handle(&self) -> MemoryHandle {
        let mut state = self.0.lock();
        let owner = OwnerId::new(format!("handle-{}", state.count()));
        state.alive.insert(owner.clone());
        drop(state);
        MemoryHandle {
            shared: Arc::clone(&self.0),
            owner,
        }
    }
}

/// One user of the vault.
#[derive(Debug)]
pub struct MemoryHandle {
    shared: Arc<Shared>,
    owner: OwnerId,
}

impl Drop for MemoryHandle {
    fn drop(&mut self) {
        self.shared.lock().alive.remove(&self.owner);
    }
}

/// What all handles share.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Keys the fingerprints. A store that writes to disk takes a cryptographic MAC instead.
    hasher: RandomState,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No call leaves a half-made change behind if it panics, so the state is sound.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a change that feeds report.
    fn notify(&self, state: &mut State) {
        state.changes += 1;
        self.changed.notify_all();
    }

    fn fingerprint(&self, refresh: &Secret<String>, grant: &GrantKey) -> Fingerprint {
        let mut bytes = [0; 32];
        let hash = self.hasher.hash_one((grant, refresh.expose()));
        for (to, from) in bytes.iter_mut().zip(hash.to_le_bytes()) {
            *to = from;
        }
        Fingerprint::new(bytes)
    }
}

#[derive(Debug, Default)]
struct State {
    /// The last number given out; generations, claims and owners share it, so none repeats.
    counter: i64,
    changes: u64,
    alive: HashSet<OwnerId>,
    rows: BTreeMap<GrantKey, Row>,
    users: Vec<(GrantKey, Weak<AtomicBool>)>,
    /// How far the store's clock was moved on.
    ahead: Duration,
}

impl State {
    fn now(&self) -> Timestamp {
        now().after(self.ahead)
    }

    fn count(&mut self) -> i64 {
        self.counter += 1;
        self.counter
    }

    fn store(&mut self, grant: &GrantKey, tokens: &Tokens) -> Generation {
        let generation = Generation::new(self.count());
        let row = Row {
            generation,
            access: tokens.access.clone(),
            expires_at: tokens.lifetime.map(|lifetime| self.now().after(lifetime)),
            refresh: tokens.refresh.clone(),
            details: tokens.details.clone(),
            state: GrantState::Good,
            claim: None,
            interrupted: 0,
            lost_answers: 0,
            postponed_until: None,
        };
        self.rows.insert(grant.clone(), row);
        generation
    }
}

/// A stored sign-in.
#[derive(Debug)]
struct Row {
    generation: Generation,
    access: Secret<String>,
    expires_at: Option<Timestamp>,
    refresh: Option<Secret<String>>,
    details: Option<Secret<Vec<u8>>>,
    state: GrantState,
    claim: Option<OpenClaim>,
    interrupted: u32,
    lost_answers: u32,
    postponed_until: Option<Timestamp>,
}

/// A claim that was neither committed nor released.
#[derive(Debug)]
struct OpenClaim {
    id: ClaimId,
    owner: OwnerId,
    fingerprint: Fingerprint,
    from: Timestamp,
    until: Timestamp,
}

impl MemoryHandle {
    fn claim_from(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
        replaces_overdue: bool,
    ) -> Result<Claim, StoreError> {
        grant.check()?;
        let mut state = self.shared.lock();
        let id = ClaimId::new(state.count());
        let now = state.now();
        let State { rows, alive, .. } = &mut *state;
        let Some(row) = rows.get_mut(grant) else {
            return Ok(Claim::Absent);
        };
        if row.generation != generation {
            let generation = row.generation;
            return Ok(Claim::Moved { generation });
        }
        if row.state == GrantState::NeedsReauth {
            return Ok(Claim::NeedsReauth);
        }
        if let Some(open) = &row.claim {
            let is_overdue = open.until <= now;
            if alive.contains(&open.owner) && !(is_overdue && replaces_overdue) {
                return Ok(Claim::Held {
                    owner: open.owner.clone(),
                    is_overdue,
                });
            }
            row.interrupted = row.interrupted.saturating_add(1);
        }
        let Some(refresh) = row.refresh.clone() else {
            return Ok(Claim::NotRefreshable);
        };
        let fingerprint = self.shared.fingerprint(&refresh, grant);
        row.claim = Some(OpenClaim {
            id,
            owner: self.owner.clone(),
            fingerprint,
            from: now,
            until: now.after(lifetime),
        });
        let postponed = row.postponed_until.filter(|until| *until > now);
        let postponed = postponed.map(|until| until.since(now));
        let claimed = Claimed::new(id, refresh, fingerprint);
        Ok(Claim::Claimed(
            claimed
                .with_interrupted(row.interrupted)
                .with_lost_answers(row.lost_answers)
                .with_postponed(postponed),
        ))
    }

    /// Ends a claim that is still open, and changes its row.
    fn end_claim(
        &self,
        grant: &GrantKey,
        claim: ClaimId,
        change: impl FnOnce(&mut Row, Timestamp),
    ) -> Result<bool, StoreError> {
        grant.check()?;
        let mut state = self.shared.lock();
        let now = state.now();
        let Some(row) = state.rows.get_mut(grant) else {
            return Ok(false);
        };
        let ended = row.claim.take_if(|open| open.id == claim).is_some();
        if ended {
            change(row, now);
        }
        Ok(ended)
    }
}

impl GrantStore for MemoryHandle {
    fn read(&self, grant: &GrantKey) -> Result<Option<Grant>, StoreError> {
        grant.check()?;
        let state = self.shared.lock();
        Ok(state.rows.get(grant).map(|row| {
            let details = row.details.clone();
            Grant::new(row.generation, row.access.clone(), state.now())
                .with_expiry(row.expires_at)
                .with_state(row.state)
                .with_rejection_cause(RejectionCause::of(row.interrupted, row.lost_answers))
                .with_refreshable(row.refresh.is_some())
                .with_details(details.unwrap_or_else(|| Secret::new(Vec::new())))
        }))
    }

    fn claim(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        self.claim_from(grant, generation, lifetime, false)
    }

    fn take_over(
        &self,
        grant: &GrantKey,
        generation: Generation,
        lifetime: Duration,
    ) -> Result<Claim, StoreError> {
        self.claim_from(grant, generation, lifetime, true)
    }

    fn commit(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<Commit, StoreError> {
        grant.check()?;
        let mut state = self.shared.lock();
        let row = match state.rows.get(grant) {
            Some(row) if row.generation == generation => row,
            other => {
                let current = other.map(|row| row.generation);
                return Ok(Commit::Superseded { current });
            }
        };
        // What a refresh does not return is kept (RFC 6749 section 6).
        let mut tokens = tokens.clone();
        tokens.refresh = tokens.refresh.or_else(|| row.refresh.clone());
        tokens.details = tokens.details.or_else(|| row.details.clone());
        let was_rejected = row.state == GrantState::NeedsReauth;
        let generation = state.store(grant, &tokens);
        if was_rejected {
            self.shared.notify(&mut state);
        }
        Ok(Commit::Committed { generation })
    }

    /// There is no second place: what this store cannot keep, its process loses.
    fn journal(&self, _: &GrantKey, _: Generation, _: &Tokens) -> Result<(), StoreError> {
        Err(BackendFailure::new("this store has no journal").into())
    }

    fn release(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        self.end_claim(grant, claim, |_, _| {})
    }

    fn answer_lost(&self, grant: &GrantKey, claim: ClaimId) -> Result<bool, StoreError> {
        self.end_claim(grant, claim, |row, _| row.lost_answers += 1)
    }

    fn postpone(
        &self,
        grant: &GrantKey,
        claim: ClaimId,
        wait: Duration,
    ) -> Result<bool, StoreError> {
        self.end_claim(grant, claim, |row, now| {
            row.postponed_until = Some(now.after(wait));
        })
    }

    fn mark_reauth(
        &self,
        grant: &GrantKey,
        generation: Generation,
        rejected: &Fingerprint,
    ) -> Result<Marked, StoreError> {
        grant.check()?;
        let mut state = self.shared.lock();
        let Some(row) = state.rows.get_mut(grant) else {
            return Ok(Marked::Superseded { current: None });
        };
        let stored = row.refresh.as_ref();
        let stored = stored.map(|refresh| self.shared.fingerprint(refresh, grant));
        if row.generation != generation || stored.as_ref() != Some(rejected) {
            let current = Some(row.generation);
            return Ok(Marked::Superseded { current });
        }
        row.state = GrantState::NeedsReauth;
        row.claim = None;
        self.shared.notify(&mut state);
        Ok(Marked::Marked)
    }

    fn owner(&self) -> Result<OwnerId, StoreError> {
        Ok(self.owner.clone())
    }

    fn owner_alive(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        Ok(self.shared.lock().alive.contains(owner))
    }

    fn orphans(&self) -> Result<Vec<OrphanedClaim>, StoreError> {
        let state = self.shared.lock();
        let claims = state.rows.iter().filter_map(|(grant, row)| {
            let open = row.claim.as_ref()?;
            (!state.alive.contains(&open.owner)).then(|| {
                OrphanedClaim::new(
                    grant.clone(),
                    row.generation,
                    open.owner.clone(),
                    open.fingerprint,
                    open.from,
                )
            })
        });
        Ok(claims.collect())
    }

    fn change_feed(&self) -> Result<Box<dyn ChangeFeed>, StoreError> {
        Ok(Box::new(MemoryFeed {
            seen: self.shared.lock().changes,
            shared: Arc::clone(&self.shared),
        }))
    }

    fn refresh_to_revoke(&self, grant: &GrantKey) -> Result<Option<Secret<String>>, StoreError> {
        grant.check()?;
        let state = self.shared.lock();
        Ok(state.rows.get(grant).and_then(|row| row.refresh.clone()))
    }

    fn mark_in_use(&self, grant: &GrantKey) -> Result<Option<Box<dyn UseMarker>>, StoreError> {
        grant.check()?;
        let marker = Arc::new(AtomicBool::new(false));
        let mut state = self.shared.lock();
        state.users.retain(|(_, user)| user.strong_count() > 0);
        state.users.push((grant.clone(), Arc::downgrade(&marker)));
        Ok(Some(Box::new(MemoryMarker(marker))))
    }

    fn stop_users(&self, grant: &GrantKey, timeout: Duration) -> Result<StoppedUsers, StoreError> {
        grant.check()?;
        let mut users: Vec<_> = {
            let state = self.shared.lock();
            let users = state.users.iter().filter(|(key, _)| key == grant);
            users.filter_map(|(_, user)| user.upgrade()).collect()
        };
        for user in &users {
            user.store(true, Ordering::Relaxed);
        }
        let asked = users.len();
        let end = Instant::now() + timeout;
        loop {
            // The marker's owner holds one reference, this list the other.
            users.retain(|user| Arc::strong_count(user) > 1);
            if users.is_empty() || Instant::now() >= end {
                break;
            }
            std::thread::sleep(STOP_POLL);
        }
        Ok(StoppedUsers::new(asked - users.len(), users.len()))
    }

    fn put(&self, grant: &GrantKey, tokens: &Tokens) -> Result<Generation, StoreError> {
        grant.check()?;
        let mut state = self.shared.lock();
        let generation = state.store(grant, tokens);
        self.shared.notify(&mut state);
        Ok(generation)
    }

    fn delete(&self, grant: &GrantKey) -> Result<Deleted, StoreError> {
        grant.check()?;
        let mut state = self.shared.lock();
        if state.rows.remove(grant).is_none() {
            return Ok(Deleted::Absent);
        }
        self.shared.notify(&mut state);
        // `Secret` overwrites its memory when it is dropped.
        Ok(Deleted::Wiped)
    }

    fn list(&self, profile: &str) -> Result<Vec<GrantSummary>, StoreError> {
        let state = self.shared.lock();
        let rows = state.rows.iter();
        let rows = rows.filter(|(grant, _)| grant.profile() == profile);
        let summaries = rows.map(|(grant, row)| {
            GrantSummary::new(grant.clone(), row.generation)
                .with_expiry(row.expires_at)
                .with_state(row.state)
                .with_refreshable(row.refresh.is_some())
        });
        Ok(summaries.collect())
    }
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    Timestamp::from_unix_millis(0).after(since.unwrap_or_default())
}

const STOP_POLL: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    impl keyway_store::conformance::Backend for MemoryVault {
        type Store = MemoryHandle;

        fn open(&self) -> MemoryHandle {
            self.handle()
        }

        fn advance(&self, by: Duration) -> bool {
            Self::advance(self, by);
            true
        }
    }

    keyway_store::grant_store_conformance!(MemoryVault::default());
}
