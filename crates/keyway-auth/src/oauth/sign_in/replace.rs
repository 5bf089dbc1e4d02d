//! Storing a new sign-in, over an earlier one perhaps: neither the new tokens nor the earlier refresh
//! token is lost.

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::{Claim, ClaimId, Generation, Grant, GrantKey, GrantStore, StoreError, Tokens};

use crate::error::OAuthError;
use crate::oauth::details::Details;
use crate::oauth::engine::OAuthEngine;
use crate::timeouts::{
    CLAIM_POLL_INTERVAL, CLAIM_WAIT_TIMEOUT, COMMIT_FIRST_PAUSE, COMMIT_MAX_PAUSE,
    REPLACE_CLAIM_LIFETIME, SIGN_IN_STORE_TIMEOUT, TRIES_BEFORE_JOURNAL,
};

impl OAuthEngine {
    /// Remembers the stored refresh token, which is about to be replaced by `new`.
    ///
    /// Takes the claim, so that no other process redeems the token meanwhile: what it would get
    /// could not be stored any more. Storing the new sign-in ends the claim.
    ///
    /// A store that fails here costs the revocation of the old token at the most, and never the new
    /// sign-in.
    pub(super) async fn remember_before_replacing(
        &self,
        new: Option<&Secret<String>>,
    ) -> Option<Replaced> {
        let started = self.clock.monotonic();
        loop {
            match self.grant.with(claim_stored).await {
                Ok(ReplaceStep::Claimed(grant, claim, refresh)) => {
                    let is_same = new.is_some_and(|new| new.is_same_as(&refresh));
                    let details = Details::decode(grant.details.expose());
                    if let Some(details) = details.filter(|_| !is_same) {
                        self.replaced_tokens.add(&details, refresh).await;
                    }
                    let generation = grant.generation;
                    return Some(Replaced { claim, generation });
                }
                Ok(ReplaceStep::Held) => {}
                Ok(ReplaceStep::Nothing) | Err(_) => return None,
            }
            if self.clock.monotonic().duration_since(started) > CLAIM_WAIT_TIMEOUT {
                // The new sign-in must not be lost over a process that does not finish; what that
                // process gets, it remembers itself.
                return None;
            }
            self.tasks.sleep(CLAIM_POLL_INTERVAL).await;
        }
    }

    /// Stores a new sign-in; tries for a while, because a person would have to sign in once more.
    ///
    /// Where an earlier sign-in was claimed, the tokens go to the journal after a few tries: there
    /// the next claim finds them, of any process.
    pub(super) async fn store_sign_in(
        &self,
        new: &Tokens,
        replaced: Option<Replaced>,
    ) -> Result<Generation, OAuthError> {
        let started = self.clock.monotonic();
        let (mut tries, mut pause) = (0, COMMIT_FIRST_PAUSE);
        loop {
            let tokens = new.clone();
            let stored = self.grant.with(move |store, key| store.put(key, &tokens));
            let error = match stored.await {
                Ok(generation) => return Ok(generation),
                Err(error) => error,
            };
            tries += 1;
            if let Some(replaced) = replaced.filter(|_| tries == TRIES_BEFORE_JOURNAL) {
                // Failing leaves what is in memory, and that is tried on.
                self.journal(replaced.generation, new).await.ok();
            }
            if self.clock.monotonic().duration_since(started) > SIGN_IN_STORE_TIMEOUT {
                if let Some(replaced) = replaced {
                    let release =
                        |store: &dyn GrantStore, key: &GrantKey, claim| store.release(key, claim);
                    self.end_claim(replaced.claim, release).await.ok();
                }
                return Err(error);
            }
            self.tasks.sleep(pause).await;
            pause = (pause * 2).min(COMMIT_MAX_PAUSE);
        }
    }
}

/// The sign-in that a new one replaces, which this process has claimed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replaced {
    claim: ClaimId,
    generation: Generation,
}

/// An answer to a claim that can be handed from thread to thread.
#[derive(Debug, Clone)]
enum ReplaceStep {
    Claimed(Arc<Grant>, ClaimId, Secret<String>),
    /// Another process redeems the token right now, or has just done so.
    Held,
    /// There is no live refresh token.
    Nothing,
}

fn claim_stored(store: &dyn GrantStore, key: &GrantKey) -> Result<ReplaceStep, StoreError> {
    let Some(grant) = store.read(key)? else {
        return Ok(ReplaceStep::Nothing);
    };
    Ok(
        match store.claim(key, grant.generation, REPLACE_CLAIM_LIFETIME)? {
            Claim::Claimed(claimed) => {
                ReplaceStep::Claimed(Arc::new(grant), claimed.id, claimed.refresh)
            }
            Claim::Held { .. } | Claim::Moved { .. } => ReplaceStep::Held,
            _ => ReplaceStep::Nothing,
        },
    )
}
