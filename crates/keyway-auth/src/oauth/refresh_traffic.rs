//! The token requests of all renewals of a host: held below a ceiling per issuer, and counted.
//!
//! All sign-ins of a host share one [`RefreshTraffic`]. It knows issuers by name and nothing of
//! people, servers or tokens. Names of issuers come from metadata, so that only the first ones that
//! are seen, and those that settings name, are counted by name.

mod ceiling;
mod counts;
mod turn;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_lock::{Semaphore, SemaphoreGuard};

pub(super) use self::ceiling::Urgency;
use self::ceiling::{Ceiling, Share};
use self::counts::Counters;
pub(super) use self::counts::IssuerTraffic;
pub use self::counts::{IssuerCounts, RefreshCounts, RefreshOutcome};
pub(super) use self::turn::Slot;

/// How many token requests renewals send to one issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefreshLimit {
    /// In a second, at least 1.
    pub per_second: u32,
    /// At once, after a while without any; at least 1.
    pub burst: u32,
}

impl RefreshLimit {
    /// So many in a second, and so many at once.
    #[must_use]
    pub const fn new(per_second: u32, burst: u32) -> Self {
        Self { per_second, burst }
    }
}

/// The ceilings of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefreshLimits {
    /// For every issuer that is not named; `None` for no ceiling.
    pub usual: Option<RefreshLimit>,
    /// For issuers by their names.
    pub issuers: BTreeMap<String, Option<RefreshLimit>>,
}

impl RefreshLimits {
    /// Takes the ceiling of issuers that are not named, and those of issuers that are.
    #[must_use]
    pub const fn new(
        usual: Option<RefreshLimit>,
        issuers: BTreeMap<String, Option<RefreshLimit>>,
    ) -> Self {
        Self { usual, issuers }
    }

    fn of(&self, issuer: &str) -> Option<RefreshLimit> {
        let named = self.issuers.get(issuer).copied();
        named.unwrap_or(self.usual)
    }
}

/// What all sign-ins of a host share about their renewals.
#[derive(Debug)]
pub struct RefreshTraffic {
    limits: RefreshLimits,
    counters: Counters,
    /// Taken for a claim. Where many tokens end at once, all of them would be claimed before one is
    /// stored: claims and commits wait for the same threads and connections, in the order in which
    /// they came. A token that is spent has to be stored first.
    claims: Semaphore,
    /// Held for a copy, and while a new one is set; `ceilings` are locked under it then.
    share: Mutex<Share>,
    /// By issuer. Held for a look-up and the sweep, never while something is waited for.
    ceilings: Mutex<HashMap<String, Arc<Ceiling>>>,
}

impl RefreshTraffic {
    /// Holds renewals below these ceilings.
    #[must_use]
    pub fn new(limits: RefreshLimits) -> Self {
        let counters = Counters::default();
        for issuer in limits.issuers.keys() {
            counters.of(issuer);
        }
        Self {
            limits,
            counters,
            claims: Semaphore::new(CLAIMS_AT_ONCE),
            share: Mutex::default(),
            ceilings: Mutex::default(),
        }
    }

    /// Says that others count towards the same ceilings, so that this host has no more than a share:
    /// at first one request for each issuer, until [`share`](Self::share) says how many there are.
    pub fn share_with_others(&self) {
        *self.lock_share() = Share::unknown();
    }

    /// Says at `now` how many hosts share the ceilings, from `from` on. Unless it is said again, no
    /// more requests become due after `until`.
    pub fn share(&self, hosts: u32, now: Instant, (from, until): (Instant, Instant)) {
        let mut share = self.lock_share();
        // What became due so far did so by the share that there was.
        for ceiling in self.lock_ceilings().values() {
            ceiling.settle(*share, now);
        }
        *share = Share::of(hosts, from, until);
    }

    /// Returns what was counted so far.
    #[must_use]
    pub fn counts(&self) -> RefreshCounts {
        let mut counts = self.counters.read();
        for (issuer, ceiling) in &*self.lock_ceilings() {
            let waiting = ceiling.waiting();
            if waiting > 0 {
                self.counters.add_waiting(&mut counts, issuer, waiting);
            }
        }
        counts
    }

    /// Counts a request for which a token was in memory.
    pub(super) fn hit(&self) {
        self.counters.hit();
    }

    /// Counts a request for which the store was asked.
    pub(super) fn miss(&self) {
        self.counters.miss();
    }

    /// Returns where renewals at an issuer are counted.
    pub(super) fn of(&self, issuer: &str) -> Arc<IssuerTraffic> {
        self.counters.of(issuer)
    }

    /// Waits for a place for a claim; held until the store has answered.
    pub(super) async fn claim_place(&self) -> SemaphoreGuard<'_> {
        self.claims.acquire().await
    }

    fn ceiling(&self, issuer: &str) -> Option<Arc<Ceiling>> {
        let limit = self.limits.of(issuer)?;
        let mut ceilings = self.lock_ceilings();
        if let Some(known) = ceilings.get(issuer) {
            return Some(Arc::clone(known));
        }
        if ceilings.len() >= SWEEP_AT {
            // One that is used now is known elsewhere as well.
            ceilings.retain(|_, ceiling| Arc::strong_count(ceiling) > 1);
        }
        let ceiling = Arc::new(Ceiling::new(limit));
        ceilings.insert(issuer.to_owned(), Arc::clone(&ceiling));
        Some(ceiling)
    }

    fn lock_share(&self) -> std::sync::MutexGuard<'_, Share> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_ceilings(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Ceiling>>> {
        self.ceilings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for RefreshTraffic {
    fn default() -> Self {
        Self::new(RefreshLimits::default())
    }
}

/// Half of the threads on which a host asks its stores.
const CLAIMS_AT_ONCE: usize = 32;
/// At so many issuers those without a renewal under way are forgotten; they start with one again
/// request.
const SWEEP_AT: usize = 4096;
