//! Getting the right to redeem a refresh token, or waiting for the process that has it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use keyway_secret::Secret;
use keyway_store::{
    Claim, ClaimId, Fingerprint, Generation, Grant, GrantKey, GrantStore, Marked, OwnerId,
    StoreError,
};

use crate::error::{OAuthError, RejectionCause};
use crate::oauth::details::Details;
use crate::oauth::engine::OAuthEngine;
use crate::oauth::refresh::Cause;
use crate::oauth::refresh::counting::ClaimWait;
use crate::oauth::rotation::Rotation;
use crate::timeouts::{
    CALLER_TIMEOUT, CLAIM_POLL_INTERVAL, COMMIT_MAX_PAUSE, REFRESH_CLAIM_LIFETIME,
};

/// What came of wanting to renew.
#[derive(Debug)]
pub(super) enum ClaimStep {
    Ours(OwnClaim),
    /// Another process was faster.
    Moved,
    NotRenewable,
    Absent,
}

/// The right to redeem a refresh token, which is on disk.
#[derive(Debug, Clone)]
pub(super) struct OwnClaim {
    id: ClaimId,
    pub(super) refresh: Secret<String>,
    pub(super) fingerprint: Fingerprint,
    interrupted: u32,
    lost_answers: u32,
    postponed: Option<Duration>,
    /// Taken before the claim was made, so that it never lasts longer than others believe.
    from: Instant,
}

impl OwnClaim {
    /// A claim that another process made, from the moment at which this one took it over.
    pub(super) const fn carried(
        id: ClaimId,
        refresh: Secret<String>,
        fingerprint: Fingerprint,
        from: Instant,
    ) -> Self {
        Self {
            id,
            refresh,
            fingerprint,
            interrupted: 0,
            lost_answers: 0,
            postponed: None,
            from,
        }
    }

    pub(super) const fn id(&self) -> ClaimId {
        self.id
    }

    /// Returns when the claim was made, or a little before.
    pub(super) const fn from(&self) -> Instant {
        self.from
    }

    /// Says what a rejection of this token probably comes from.
    pub(super) const fn rejection_cause(&self) -> RejectionCause {
        RejectionCause::of(self.interrupted, self.lost_answers)
    }
}

/// What becomes of an overdue claim whose owner lives.
#[derive(Debug, Clone, Copy)]
enum OverdueClaim {
    Stays,
    IsReplaced,
}

impl OAuthEngine {
    /// Claims the generation that was seen, when a token request to its issuer is due; while another
    /// process holds it, waits for what that process stores.
    pub(super) async fn claim_or_wait(
        &self,
        seen: &Grant,
        issuer: &str,
        cause: &mut Cause,
    ) -> Result<ClaimStep, OAuthError> {
        let mut wait = ClaimWait::new(&self.clock, self.traffic.of(issuer));
        loop {
            let slot = self.slot(issuer, cause).await;
            let (owner, is_overdue) = match self.claim(seen).await? {
                ClaimAnswer::Ours(claim) => {
                    let step = self.unless_postponed(claim).await?;
                    slot.spend();
                    if matches!(cause, Cause::Takeover) {
                        self.traffic.turn_in_advance(issuer, &*self.clock);
                    }
                    return Ok(step);
                }
                ClaimAnswer::Moved => return Ok(ClaimStep::Moved),
                ClaimAnswer::NotRenewable => return Ok(ClaimStep::NotRenewable),
                ClaimAnswer::Absent => return Ok(ClaimStep::Absent),
                ClaimAnswer::Held { owner, is_overdue } => (owner, is_overdue),
            };
            // It is for a request that will perhaps not be sent.
            drop(slot);
            let started = wait.begin();
            // A dead owner is noticed by claiming again; what a living one stores, by reading.
            for _ in 0..READS_PER_CLAIM {
                if self.clock.monotonic().duration_since(started) > CALLER_TIMEOUT {
                    let process = self
                        .grant
                        .with(move |store, _| Ok(store.owner_process(&owner)))
                        .await?;
                    return Err(OAuthError::RenewalBusy {
                        process,
                        is_overdue,
                    });
                }
                self.tasks.sleep(CLAIM_POLL_INTERVAL).await;
                let stored = self.grant.read().await?;
                if stored.is_none_or(|grant| grant.generation != seen.generation) {
                    return Ok(ClaimStep::Moved);
                }
            }
        }
    }

    /// Respects what the server told any process of ours.
    async fn unless_postponed(&self, claim: OwnClaim) -> Result<ClaimStep, OAuthError> {
        let Some(wait) = claim.postponed else {
            return Ok(ClaimStep::Ours(claim));
        };
        self.release(&claim).await?;
        // A fraction counts as a second, so that the next try is not too early again.
        let seconds = wait.as_secs().saturating_add(1);
        Err(OAuthError::RenewalPostponed { seconds })
    }

    async fn claim(&self, seen: &Grant) -> Result<ClaimAnswer, OAuthError> {
        let answer = self.claim_once(seen, OverdueClaim::Stays).await?;
        // What is known of the issuer is looked up only where it decides something.
        let is_overdue = matches!(
            answer,
            ClaimAnswer::Held {
                is_overdue: true,
                ..
            }
        );
        if is_overdue && self.may_take_over(seen).await {
            return self.claim_once(seen, OverdueClaim::IsReplaced).await;
        }
        Ok(answer)
    }

    /// Says whether redeeming a refresh token twice does no harm: it stays the same, or one that was
    /// replaced is known to be accepted once more.
    async fn may_take_over(&self, seen: &Grant) -> bool {
        match Details::decode(seen.details.expose()) {
            Some(details) if details.rotates == Some(false) => true,
            Some(details) => self.rotations.get(&details.issuer).await == Rotation::Grace,
            None => false,
        }
    }

    async fn claim_once(
        &self,
        seen: &Grant,
        overdue: OverdueClaim,
    ) -> Result<ClaimAnswer, OAuthError> {
        let generation = seen.generation;
        let _place = self.traffic.claim_place().await;
        let from = self.clock.monotonic();
        let claim = move |store: &dyn GrantStore, key: &GrantKey| {
            let claim = match overdue {
                OverdueClaim::Stays => store.claim(key, generation, REFRESH_CLAIM_LIFETIME)?,
                OverdueClaim::IsReplaced => {
                    store.take_over(key, generation, REFRESH_CLAIM_LIFETIME)?
                }
            };
            Ok(ClaimAnswer::new(claim, from))
        };
        self.grant.with(claim).await
    }

    /// Returns how long ago a claim was made, counted by this process.
    pub(super) fn age(&self, claim: &OwnClaim) -> Duration {
        self.clock.monotonic().saturating_duration_since(claim.from)
    }

    /// Gives a claim back for which nothing was sent.
    pub(super) async fn release(&self, claim: &OwnClaim) -> Result<(), OAuthError> {
        self.end_claim(claim.id, |store, key, claim| store.release(key, claim))
            .await
    }

    pub(super) async fn answer_lost(&self, claim: &OwnClaim) -> Result<(), OAuthError> {
        self.end_claim(claim.id, |store, key, claim| store.answer_lost(key, claim))
            .await
    }

    pub(super) async fn postpone(
        &self,
        claim: &OwnClaim,
        wait: Duration,
    ) -> Result<(), OAuthError> {
        self.end_claim(claim.id, move |store, key, claim| {
            store.postpone(key, claim, wait)
        })
        .await
    }

    /// Records that the server rejected the token, which ends the claim; where that cannot be
    /// stored, the claim is given back, so that it keeps no process waiting.
    pub(super) async fn mark_rejected(
        &self,
        generation: Generation,
        claim: &OwnClaim,
    ) -> Result<Marked, OAuthError> {
        let fingerprint = claim.fingerprint;
        for _ in 0..END_TRIES {
            let marked = self
                .grant
                .with(move |store, key| store.mark_reauth(key, generation, &fingerprint))
                .await;
            if marked.is_ok() {
                return marked;
            }
            self.tasks.sleep(CLAIM_POLL_INTERVAL).await;
        }
        self.release(claim).await?;
        let marked = self
            .grant
            .with(move |store, key| store.mark_reauth(key, generation, &fingerprint));
        marked.await
    }

    /// Tries a few times, and then aside for as long as this process lives: a claim that stays keeps
    /// all processes waiting until then.
    pub(in crate::oauth) async fn end_claim(
        &self,
        claim: ClaimId,
        end: impl Fn(&dyn GrantStore, &GrantKey, ClaimId) -> Result<bool, StoreError>
        + Clone
        + Send
        + Sync
        + 'static,
    ) -> Result<(), OAuthError> {
        let mut tries = 0;
        let error = loop {
            let end = end.clone();
            let ended = self.grant.with(move |store, key| end(store, key, claim));
            match ended.await {
                Ok(_) => return Ok(()),
                Err(error) if tries == END_TRIES => break error,
                Err(_) => tries += 1,
            }
            self.tasks.sleep(CLAIM_POLL_INTERVAL).await;
        };
        let (grant, tasks) = (self.grant.handle(), Arc::clone(&self.tasks));
        self.tasks.spawn(Box::pin(async move {
            loop {
                tasks.sleep(COMMIT_MAX_PAUSE).await;
                let end = end.clone();
                let ended = grant.with(move |store, key| end(store, key, claim));
                if ended.await.is_ok() {
                    return;
                }
            }
        }));
        Err(error)
    }
}

/// An answer to a claim that can be handed from thread to thread.
#[derive(Debug, Clone)]
enum ClaimAnswer {
    Ours(OwnClaim),
    Held { owner: OwnerId, is_overdue: bool },
    Moved,
    NotRenewable,
    Absent,
}

impl ClaimAnswer {
    fn new(claim: Claim, from: Instant) -> Self {
        match claim {
            Claim::Claimed(claimed) => Self::Ours(OwnClaim {
                id: claimed.id,
                refresh: claimed.refresh,
                fingerprint: claimed.fingerprint,
                interrupted: claimed.interrupted,
                lost_answers: claimed.lost_answers,
                postponed: claimed.postponed,
                from,
            }),
            Claim::Held { owner, is_overdue } => Self::Held { owner, is_overdue },
            Claim::Moved { .. } => Self::Moved,
            Claim::Absent => Self::Absent,
            _ => Self::NotRenewable,
        }
    }
}

const READS_PER_CLAIM: u32 = 10;
const END_TRIES: u32 = 5;
