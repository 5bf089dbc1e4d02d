//! What a process must not end in the middle of.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::timeouts::IN_FLIGHT_POLL_INTERVAL;
use keyway_store::{ClaimId, Generation, GrantKey};

/// What a process must not end in the middle of: tokens that are renewed, and what is stored aside.
#[derive(Debug, Clone, Default)]
pub struct InFlight(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// The sign-ins whose refresh token this process has claimed.
    /// Held for one change or one look, on threads of the store as well; no other lock is taken
    /// under it.
    claimed: Mutex<HashMap<GrantKey, (ClaimId, Generation)>>,
    /// How much is being stored that no caller waits for.
    ///
    /// `Relaxed`: the number guards no other data. It is raised before the thread that stores is
    /// started, so a task that starts a store and then waits for zero sees it.
    stores: AtomicUsize,
}

impl InFlight {
    /// Waits until nothing is renewed or stored any more, or for so long; tells whether it is so.
    ///
    /// Only time in which the process runs counts: one that was stopped looks once more.
    ///
    /// A process that ends between the server's answer and our commit takes the only valid token
    /// with it. So a process that is about to end waits here first, inside the runtime.
    ///
    /// Cancel safety: cancel safe; it only waits.
    pub async fn settled(&self, limit: Duration) -> bool {
        let looks = limit.as_millis() / IN_FLIGHT_POLL_INTERVAL.as_millis();
        for _ in 0..looks {
            if self.is_settled() {
                return true;
            }
            tokio::time::sleep(IN_FLIGHT_POLL_INTERVAL).await;
        }
        self.is_settled()
    }

    fn is_settled(&self) -> bool {
        self.0.stores.load(Ordering::Relaxed) == 0 && self.claimed().is_empty()
    }

    /// Begins to store something.
    pub(crate) fn storing(&self) -> Storing {
        self.0.stores.fetch_add(1, Ordering::Relaxed);
        Storing(self.clone())
    }

    fn claimed(&self) -> MutexGuard<'_, HashMap<GrantKey, (ClaimId, Generation)>> {
        self.0
            .claimed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What stores tell of their claims.
impl InFlight {
    /// Counts a claim from here on.
    pub(crate) fn begin(&self, grant: &GrantKey, claim: ClaimId, generation: Generation) {
        self.claimed().insert(grant.clone(), (claim, generation));
    }

    /// Counts a claim no longer. An earlier claim on the same sign-in, ended late, changes nothing.
    pub(crate) fn end_claim(&self, grant: &GrantKey, claim: ClaimId) {
        self.end(grant, |(claimed, _)| *claimed == claim);
    }

    /// Counts the claim on a generation no longer, or on one before it.
    pub(crate) fn end_generation(&self, grant: &GrantKey, generation: Generation) {
        self.end(grant, |(_, claimed)| *claimed <= generation);
    }

    /// Counts every claim on a sign-in no longer: it is gone.
    pub(crate) fn end_all(&self, grant: &GrantKey) {
        self.end(grant, |_| true);
    }

    fn end(&self, grant: &GrantKey, is_meant: impl FnOnce(&(ClaimId, Generation)) -> bool) {
        let mut claimed = self.claimed();
        if claimed.get(grant).is_some_and(is_meant) {
            claimed.remove(grant);
        }
    }
}

/// Something that is being stored, and that a process that is about to end waits for as well.
#[derive(Debug)]
pub(crate) struct Storing(InFlight);

impl Drop for Storing {
    fn drop(&mut self) {
        self.0.0.stores.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_ends_late_does_not_end_the_one_after_it() {
        let in_flight = InFlight::default();
        let grant = GrantKey::new("default").plugin("p").server("s");
        let [first, second] = [1, 2].map(ClaimId::new);
        let [old, new] = [1, 2].map(Generation::new);
        in_flight.begin(&grant, first, old);
        in_flight.begin(&grant, second, new);
        in_flight.end_claim(&grant, first);
        in_flight.end_generation(&grant, old);
        assert!(!in_flight.is_settled());
        in_flight.end_claim(&grant, second);
        assert!(in_flight.is_settled());
        in_flight.begin(&grant, second, new);
        in_flight.end_generation(&grant, new);
        assert!(in_flight.is_settled());
    }
}
