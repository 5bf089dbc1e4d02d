//! Waiting for a token request to be due.
//!
//! Before a claim is taken, so that no other process waits for one that only waits itself.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use keyway_secret::Clock;

use super::RefreshTraffic;
use super::ceiling::{Ceiling, Share, Urgency};
use crate::ports::Tasks;
use crate::timeouts::CEILING_MAX_JITTER;

/// A token request that may be sent now; dropping it unsent gives it back.
#[derive(Debug, Default)]
pub(in crate::oauth) struct Slot(Option<Arc<Ceiling>>);

impl Slot {
    /// Counts it as sent.
    pub(in crate::oauth) fn spend(mut self) {
        if let Some(ceiling) = self.0.take() {
            ceiling.sent();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(ceiling) = &self.0 {
            ceiling.give_back();
        }
    }
}

impl RefreshTraffic {
    /// Waits until a token request may be sent to an issuer; at once where there is no ceiling. `wait`
    /// is called if it has to wait.
    pub(in crate::oauth) async fn turn(
        &self,
        issuer: &str,
        urgency: Urgency,
        (clock, tasks): (&dyn Clock, &dyn Tasks),
        wait: impl FnOnce(),
    ) -> Slot {
        let Some(ceiling) = self.ceiling(issuer) else {
            return Slot::default();
        };
        // From now on it has a name in the counts, if there is room for one more.
        let counts = self.of(issuer);
        if ceiling.take_at_once(urgency, self.current_share(), clock.monotonic()) {
            return Slot(Some(ceiling));
        }
        wait();
        let begun = clock.monotonic();
        {
            let _place = Place::new(&ceiling, urgency);
            let _first = match urgency {
                Urgency::CallersWait => ceiling.lines[0].lock().await,
                Urgency::Ahead => ceiling.lines[1].lock().await,
            };
            loop {
                let share = self.current_share();
                match ceiling.take(urgency, share, clock.monotonic()) {
                    Ok(()) => break,
                    Err(wait) => tasks.sleep(wait + jitter(ceiling.interval(share))).await,
                }
            }
        }
        let waited = clock.monotonic().saturating_duration_since(begun);
        counts.waited_for_ceiling(waited);
        Slot(Some(ceiling))
    }

    /// Takes a token request without waiting: what a host that died was renewing is lost if it waits.
    pub(in crate::oauth) fn turn_in_advance(&self, issuer: &str, clock: &dyn Clock) {
        if let Some(ceiling) = self.ceiling(issuer) {
            ceiling.take_in_advance(self.current_share(), clock.monotonic());
        }
    }

    fn current_share(&self) -> Share {
        *self.lock_share()
    }
}

/// A place in a line; dropping it leaves the line.
struct Place<'a>(&'a Ceiling, Urgency);

impl<'a> Place<'a> {
    fn new(ceiling: &'a Ceiling, urgency: Urgency) -> Self {
        ceiling.line_up(urgency);
        Self(ceiling, urgency)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

/// Returns up to half of an interval, so that hosts that began together do not send together.
fn jitter(interval: Duration) -> Duration {
    let random = RandomState::new().hash_one(()) % 1024;
    let random = u32::try_from(random).unwrap_or_default();
    (interval / 2).min(CEILING_MAX_JITTER) * random / 1024
}
