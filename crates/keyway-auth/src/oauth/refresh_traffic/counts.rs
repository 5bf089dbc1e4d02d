//! What is counted of renewals.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{RejectionCause, SignInCause};

/// What a renewal came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RefreshOutcome {
    /// Its tokens are stored.
    Stored,
    /// Another process renewed the sign-in meanwhile.
    Adopted,
    /// The authorization server rejected the refresh token for good.
    Rejected,
    /// The refresh token was sent, and what became of it is not known.
    AnswerLost,
    /// The authorization server answered, and gave no token for now.
    Refused,
    /// It could not be asked, or nothing could be claimed or stored.
    Failed,
}

impl RefreshOutcome {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Stored,
        Self::Adopted,
        Self::Rejected,
        Self::AnswerLost,
        Self::Refused,
        Self::Failed,
    ];

    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Adopted => "adopted",
            Self::Rejected => "rejected",
            Self::AnswerLost => "answer-lost",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// What was counted since the host began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefreshCounts {
    /// By the name of the issuer; `other` for those beyond the first.
    pub issuers: BTreeMap<String, IssuerCounts>,
    /// How often the claim of another process was waited for.
    pub claim_waits: u64,
    /// For how long altogether.
    pub claim_wait_time: Duration,
    /// Commits whose generation had been replaced.
    pub superseded_commits: u64,
    /// Sign-ins that a person has to repeat, by the word for the cause.
    pub reauthorizations: BTreeMap<&'static str, u64>,
    /// Requests for which the token was in memory.
    pub token_hits: u64,
    /// Requests for which the store was asked.
    pub token_misses: u64,
}

/// What was counted of one issuer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IssuerCounts {
    outcomes: [u64; RefreshOutcome::ALL.len()],
    /// Token requests whose answer is awaited now.
    pub in_flight: u64,
    /// Token requests that were begun.
    pub exchanges: u64,
    /// Renewals that wait for the ceiling now.
    pub waiting: u64,
    /// How often one waited for the ceiling.
    pub ceiling_waits: u64,
    /// For how long altogether.
    pub ceiling_wait_time: Duration,
}

impl IssuerCounts {
    /// Returns how many renewals came to this.
    #[must_use]
    pub fn outcome(&self, outcome: RefreshOutcome) -> u64 {
        let found = self.outcomes.get(outcome.index());
        found.copied().unwrap_or_default()
    }
}

/// All counters of a host.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Held for a look-up.
    issuers: Mutex<BTreeMap<String, Arc<IssuerTraffic>>>,
    shared: Arc<Shared>,
}

/// What is counted of all issuers together.
///
/// Relaxed: numbers to show, which guard no other data.
#[derive(Debug, Default)]
struct Shared {
    claim_waits: AtomicU64,
    claim_wait_micros: AtomicU64,
    superseded: AtomicU64,
    reauthorizations: [AtomicU64; CAUSES.len()],
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Counts the renewals at one issuer.
///
/// Relaxed: numbers to show, which guard no other data.
#[derive(Debug, Default)]
pub(in crate::oauth) struct IssuerTraffic {
    outcomes: [AtomicU64; RefreshOutcome::ALL.len()],
    in_flight: AtomicU64,
    exchanges: AtomicU64,
    ceiling_waits: AtomicU64,
    ceiling_wait_micros: AtomicU64,
    shared: Arc<Shared>,
}

/// A token request under way; dropping it ends that.
#[derive(Debug)]
pub(in crate::oauth) struct InFlight(Arc<IssuerTraffic>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl IssuerTraffic {
    /// Counts a token request, under way until the result is dropped.
    pub(in crate::oauth) fn begin(self: &Arc<Self>) -> InFlight {
        add(&self.exchanges, 1);
        add(&self.in_flight, 1);
        InFlight(Arc::clone(self))
    }

    pub(in crate::oauth) fn ended(&self, outcome: RefreshOutcome) {
        if let Some(count) = self.outcomes.get(outcome.index()) {
            add(count, 1);
        }
    }

    pub(in crate::oauth) fn waited_for_claim(&self, waited: Duration) {
        add(&self.shared.claim_waits, 1);
        add(&self.shared.claim_wait_micros, micros(waited));
    }

    pub(super) fn waited_for_ceiling(&self, waited: Duration) {
        add(&self.ceiling_waits, 1);
        add(&self.ceiling_wait_micros, micros(waited));
    }

    pub(in crate::oauth) fn superseded(&self) {
        add(&self.shared.superseded, 1);
    }

    /// Counts a sign-in whose refresh token was rejected.
    pub(in crate::oauth) fn must_sign_in_again(&self, cause: RejectionCause) {
        self.count_cause(match cause {
            RejectionCause::AnswerLost => "answer-lost",
            RejectionCause::ProcessDied => "replica-died",
            RejectionCause::Restored => "restored",
            _ => "server",
        });
    }

    /// Counts a sign-in that ended in another way.
    pub(in crate::oauth) fn ended_with(&self, cause: &SignInCause) {
        match cause {
            SignInCause::Moved => self.count_cause("moved"),
            SignInCause::Ended => self.count_cause("unusable"),
            // Signed out, or counted by the process that was refused.
            _ => {}
        }
    }

    fn count_cause(&self, word: &str) {
        let found = CAUSES.iter().position(|cause| *cause == word);
        if let Some(count) = found.and_then(|at| self.shared.reauthorizations.get(at)) {
            add(count, 1);
        }
    }

    fn read(&self) -> IssuerCounts {
        let mut outcomes = [0; RefreshOutcome::ALL.len()];
        for (copy, count) in outcomes.iter_mut().zip(&self.outcomes) {
            *copy = load(count);
        }
        IssuerCounts {
            outcomes,
            in_flight: load(&self.in_flight),
            exchanges: load(&self.exchanges),
            waiting: 0,
            ceiling_waits: load(&self.ceiling_waits),
            ceiling_wait_time: Duration::from_micros(load(&self.ceiling_wait_micros)),
        }
    }
}

impl Counters {
    pub(super) fn hit(&self) {
        add(&self.shared.hits, 1);
    }

    pub(super) fn miss(&self) {
        add(&self.shared.misses, 1);
    }

    /// Returns the counters of an issuer; those beyond the first share one.
    pub(super) fn of(&self, issuer: &str) -> Arc<IssuerTraffic> {
        let mut issuers = self.issuers.lock().unwrap_or_else(PoisonError::into_inner);
        let name = match issuers.len() {
            _ if issuers.contains_key(issuer) => issuer,
            0..MOST_ISSUERS if issuer.len() <= LONGEST_NAME && !issuer.is_empty() => issuer,
            _ => OTHER,
        };
        let new = || {
            Arc::new(IssuerTraffic {
                shared: Arc::clone(&self.shared),
                ..IssuerTraffic::default()
            })
        };
        Arc::clone(issuers.entry(name.to_owned()).or_insert_with(new))
    }

    pub(super) fn add_waiting(&self, counts: &mut RefreshCounts, issuer: &str, waiting: usize) {
        let name = if counts.issuers.contains_key(issuer) {
            issuer
        } else {
            OTHER
        };
        let counted = counts.issuers.entry(name.to_owned()).or_default();
        counted.waiting += u64::try_from(waiting).unwrap_or(u64::MAX);
    }

    pub(super) fn read(&self) -> RefreshCounts {
        let issuers = self.issuers.lock().unwrap_or_else(PoisonError::into_inner);
        let issuers = issuers.iter().map(|(name, it)| (name.clone(), it.read()));
        let shared = &self.shared;
        let causes = CAUSES.into_iter().zip(&shared.reauthorizations);
        RefreshCounts {
            issuers: issuers.collect(),
            claim_waits: load(&shared.claim_waits),
            claim_wait_time: Duration::from_micros(load(&shared.claim_wait_micros)),
            superseded_commits: load(&shared.superseded),
            reauthorizations: causes.map(|(cause, count)| (cause, load(count))).collect(),
            token_hits: load(&shared.hits),
            token_misses: load(&shared.misses),
        }
    }
}

fn add(count: &AtomicU64, more: u64) {
    // Relaxed: as all counters here.
    count.fetch_add(more, Ordering::Relaxed);
}

fn load(count: &AtomicU64) -> u64 {
    // Relaxed: as all counters here.
    count.load(Ordering::Relaxed)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Why a person has to sign in again.
const CAUSES: [&str; 6] = [
    "server",
    "answer-lost",
    "replica-died",
    "restored",
    "moved",
    "unusable",
];
/// How many issuers are counted by name.
const MOST_ISSUERS: usize = 64;
/// A longer name is no name that a person would look for.
const LONGEST_NAME: usize = 256;
const OTHER: &str = "other";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_beyond_the_first_are_counted_together() {
        let counters = Counters::default();
        for number in 0..1000 {
            let issuer = counters.of(&format!("https://as{number}.example"));
            issuer.ended(RefreshOutcome::Stored);
        }
        counters.of(&"x".repeat(300)).ended(RefreshOutcome::Stored);
        let counts = counters.read();
        assert_eq!(counts.issuers.len(), MOST_ISSUERS + 1);
        let of = |name: &str| counts.issuers[name].outcome(RefreshOutcome::Stored);
        assert_eq!(of("https://as0.example"), 1);
        assert_eq!(of(OTHER), 1001 - u64::try_from(MOST_ISSUERS).unwrap());
    }

    #[test]
    fn what_is_under_way_is_counted_until_it_is_dropped() {
        let counters = Counters::default();
        let issuer = counters.of("https://as.example");
        let flights = [issuer.begin(), issuer.begin()];
        let in_flight = || counters.read().issuers["https://as.example"].in_flight;
        assert_eq!(in_flight(), 2);
        drop(flights);
        assert_eq!(in_flight(), 0);
        assert_eq!(counters.read().issuers["https://as.example"].exchanges, 2);
    }
}
