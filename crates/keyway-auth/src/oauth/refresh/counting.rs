//! When a renewal's turn comes, and what is counted of it.

use std::sync::Arc;
use std::time::Instant;

use keyway_secret::Clock;
use keyway_store::Grant;

use super::{Cause, Renewed};
use crate::error::OAuthError;
use crate::oauth::details::Details;
use crate::oauth::engine::OAuthEngine;
use crate::oauth::refresh_traffic::{IssuerTraffic, RefreshOutcome, Slot, Urgency};
use crate::oauth::renewal_status::RenewalStage;

impl OAuthEngine {
    /// Waits until a token request may be sent to the issuer of a sign-in whose token is still good.
    pub(in crate::oauth) async fn slot_ahead(&self, grant: &Grant) -> Slot {
        let ports = (&*self.clock, &*self.tasks);
        let issuer = issuer_of(grant);
        let turn = self.traffic.turn(&issuer, Urgency::Ahead, ports, || {});
        turn.await
    }

    /// Returns a token request that may be sent to an issuer, when its turn has come.
    pub(super) async fn slot(&self, issuer: &str, cause: &mut Cause) -> Slot {
        match cause {
            Cause::Ahead(slot) => {
                let slot = std::mem::take(slot);
                // At another try there may be callers who wait.
                *cause = Cause::Expiry;
                slot
            }
            // Counted once it is claimed.
            Cause::Takeover => Slot::default(),
            Cause::Expiry | Cause::Refused(_) => {
                let ports = (&*self.clock, &*self.tasks);
                let queued = || {
                    let issuer = keyway_secret::printable(issuer);
                    self.renewal.enter(RenewalStage::Queued { issuer });
                };
                let turn = self
                    .traffic
                    .turn(issuer, Urgency::CallersWait, ports, queued);
                let slot = turn.await;
                self.renewal.end();
                slot
            }
        }
    }
}

/// Returns the issuer of a stored sign-in; empty if what is stored cannot be read.
pub(super) fn issuer_of(grant: &Grant) -> String {
    let details = Details::decode(grant.details.expose());
    details.map(|details| details.issuer).unwrap_or_default()
}

/// Counts what a renewal came to.
pub(super) fn count_outcome(traffic: &IssuerTraffic, renewed: &Result<Renewed, OAuthError>) {
    let outcome = match renewed {
        Ok(Renewed::Stored(_)) => RefreshOutcome::Stored,
        Ok(Renewed::Adopted(_)) => RefreshOutcome::Adopted,
        Ok(Renewed::Rejected { .. }) => RefreshOutcome::Rejected,
        // Nothing was there to be renewed.
        Ok(Renewed::SignIn(_)) => return,
        Err(OAuthError::RefreshUnanswered { .. }) => RefreshOutcome::AnswerLost,
        Err(OAuthError::TokenRefused { .. } | OAuthError::Status { .. }) => RefreshOutcome::Refused,
        Err(_) => RefreshOutcome::Failed,
    };
    traffic.ended(outcome);
}

/// The time for which the claim of another process is waited for; counted when it is dropped.
pub(super) struct ClaimWait<'a> {
    clock: &'a Arc<dyn Clock>,
    traffic: Arc<IssuerTraffic>,
    begun: Option<Instant>,
}

impl<'a> ClaimWait<'a> {
    pub(super) const fn new(clock: &'a Arc<dyn Clock>, traffic: Arc<IssuerTraffic>) -> Self {
        Self {
            clock,
            traffic,
            begun: None,
        }
    }

    /// Returns since when one is waited for.
    pub(super) fn begin(&mut self) -> Instant {
        *self.begun.get_or_insert_with(|| self.clock.monotonic())
    }
}

impl Drop for ClaimWait<'_> {
    fn drop(&mut self) {
        if let Some(begun) = self.begun {
            let now = self.clock.monotonic();
            let waited = now.saturating_duration_since(begun);
            self.traffic.waited_for_claim(waited);
        }
    }
}
