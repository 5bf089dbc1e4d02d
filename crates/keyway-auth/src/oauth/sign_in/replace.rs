//! Storing a new sign-in, over an earlier one perhaps: neither the new tokens nor the earlier refresh
//! token is lost.

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::{
    Claim, ClaimId, Commit, Generation, Grant, GrantKey, GrantStore, StoreError, Tokens,
};

use crate::error::{OAuthError, SignInCause};
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
    /// sign-in: it is enough to know which generation is replaced.
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
                    return Some(Replaced {
                        claim: Some(claim),
                        generation: grant.generation,
                    });
                }
                Ok(ReplaceStep::Held) => {}
                Ok(ReplaceStep::Ended(generation)) => return Some(Replaced::unclaimed(generation)),
                Ok(ReplaceStep::Nothing) => return None,
                Err(_) => {
                    // What cannot be written may still be read.
                    let stored = self.grant.read().await.ok().flatten()?;
                    return Some(Replaced::unclaimed(stored.generation));
                }
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
    /// Over an earlier sign-in, the tokens also go to the journal after a few tries. There the next
    /// process finds them, and may have renewed them before this one can store them: from then on
    /// they are committed by generation, and never put over what is newer.
    pub(super) async fn store_sign_in(
        &self,
        new: &Tokens,
        replaced: Option<Replaced>,
    ) -> Result<Generation, OAuthError> {
        let started = self.clock.monotonic();
        let (mut tries, mut pause) = (0, COMMIT_FIRST_PAUSE);
        // The generation that the journal has a successor of.
        let mut journaled = None;
        loop {
            let stored = match journaled {
                None => self.put(new).await.map(Some),
                Some(generation) => self.commit_sign_in(generation, new).await,
            };
            let error = match stored {
                Ok(Some(generation)) => return Ok(generation),
                // Signed out meanwhile: nothing is stored against a person's will.
                Ok(None) => return Err(OAuthError::sign_in_required(SignInCause::Never)),
                Err(error) => error,
            };
            tries += 1;
            // Without a refresh token a commit would keep that of the earlier sign-in.
            let is_due = tries >= TRIES_BEFORE_JOURNAL && new.refresh.is_some();
            if let Some(replaced) = replaced.filter(|_| is_due && journaled.is_none())
                && self.journal(replaced.generation, new).await.is_ok()
            {
                journaled = Some(replaced.generation);
            }
            if self.clock.monotonic().duration_since(started) > SIGN_IN_STORE_TIMEOUT {
                if let Some(claim) = replaced.and_then(|replaced| replaced.claim) {
                    let release =
                        |store: &dyn GrantStore, key: &GrantKey, claim| store.release(key, claim);
                    self.end_claim(claim, release).await.ok();
                }
                return Err(error);
            }
            self.tasks.sleep(pause).await;
            pause = (pause * 2).min(COMMIT_MAX_PAUSE);
        }
    }

    async fn put(&self, new: &Tokens) -> Result<Generation, OAuthError> {
        let tokens = new.clone();
        let stored = self.grant.with(move |store, key| store.put(key, &tokens));
        stored.await
    }

    /// Stores a new sign-in over `generation`, unless another process did so from the journal;
    /// `None` if there is none to replace any more.
    async fn commit_sign_in(
        &self,
        generation: Generation,
        new: &Tokens,
    ) -> Result<Option<Generation>, OAuthError> {
        let tokens = new.clone();
        let commit = move |store: &dyn GrantStore, key: &GrantKey| {
            Ok(match store.commit(key, generation, &tokens)? {
                Commit::Committed { generation } => Some(generation),
                Commit::Superseded { current } => current,
                _ => None,
            })
        };
        self.grant.with(commit).await
    }
}

/// The sign-in that a new one replaces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replaced {
    /// The claim of this process on its refresh token, if that is alive.
    claim: Option<ClaimId>,
    generation: Generation,
}

impl Replaced {
    const fn unclaimed(generation: Generation) -> Self {
        Self {
            claim: None,
            generation,
        }
    }
}

/// An answer to a claim that can be handed from thread to thread.
#[derive(Debug, Clone)]
enum ReplaceStep {
    Claimed(Arc<Grant>, ClaimId, Secret<String>),
    /// Another process redeems the token right now, or has just done so.
    Held,
    /// The sign-in has no live refresh token.
    Ended(Generation),
    /// There is no sign-in.
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
            Claim::Absent => ReplaceStep::Nothing,
            _ => ReplaceStep::Ended(grant.generation),
        },
    )
}
