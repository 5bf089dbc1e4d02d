//! Storing a new sign-in, over an earlier one perhaps: neither the new tokens nor the earlier refresh
//! token is lost.

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::{Claim, ClaimId, Generation, Grant, GrantKey, GrantStore, StoreError, Tokens};

use crate::error::{OAuthError, SignInCause};
use crate::oauth::details::Details;
use crate::oauth::engine::OAuthEngine;
use crate::oauth::grant_access::GrantHandle;
use crate::ports::CarriedExchange;
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
    ) -> Option<ClaimId> {
        let started = self.clock.monotonic();
        loop {
            match self.grant.with(claim_stored).await {
                Ok(ReplaceStep::Claimed(grant, claim, refresh)) => {
                    let is_same = new.is_some_and(|new| new.is_same_as(&refresh));
                    let details = Details::decode(grant.details.expose());
                    if let Some(details) = details.filter(|_| !is_same) {
                        self.replaced_tokens.add(&details, refresh).await;
                    }
                    return Some(claim);
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

    /// Stores a new sign-in, which ends the claim on an earlier one.
    ///
    /// One that is lost costs a person a second consent, so it is tried until it succeeds:
    ///
    /// ```text
    ///   put ── fails ─▶ put again, a few times ── fails ─▶ journal ─▶ settle the journal ─┐
    ///    │                                                   └ fails: put, journal again ◀┘
    ///    └─▶ stored                        the caller is told after a minute, and it goes on aside
    /// ```
    ///
    /// In the journal the next process finds the tokens, and may have renewed them before this one
    /// can store them: from then on only what lies there is stored, and never put over what is newer.
    pub(super) async fn store_sign_in(
        &self,
        new: &Tokens,
        over: Option<Generation>,
        claim: Option<ClaimId>,
        carried: Option<Arc<dyn CarriedExchange>>,
    ) -> Result<Generation, OAuthError> {
        let started = self.clock.monotonic();
        let mut unstored = UnstoredSignIn::new(self.grant.handle(), new.clone(), over);
        unstored.carried = carried;
        let mut pause = COMMIT_FIRST_PAUSE;
        loop {
            let error = match unstored.store().await {
                Ok(Some(generation)) => return Ok(generation),
                // Signed out meanwhile: nothing is stored against a person's will.
                Ok(None) => return Err(OAuthError::sign_in_required(SignInCause::Never)),
                Err(error) => error,
            };
            if self.clock.monotonic().duration_since(started) > SIGN_IN_STORE_TIMEOUT {
                if let Some(claim) = claim {
                    let release =
                        |store: &dyn GrantStore, key: &GrantKey, claim| store.release(key, claim);
                    self.end_claim(claim, release).await.ok();
                }
                let told = unstored.told(error);
                self.store_aside(unstored);
                return Err(told);
            }
            self.tasks.sleep(pause).await;
            pause = (pause * 2).min(COMMIT_MAX_PAUSE);
        }
    }

    /// The same for a process that has nothing else to do: it tries until that succeeds.
    pub(super) async fn store_sign_in_at_length(&self, new: &Tokens, over: Option<Generation>) {
        let mut unstored = UnstoredSignIn::new(self.grant.handle(), new.clone(), over);
        let mut pause = COMMIT_FIRST_PAUSE;
        while unstored.store().await.is_err() {
            unstored.show().await;
            self.tasks.sleep(pause).await;
            pause = (pause * 2).min(COMMIT_MAX_PAUSE);
        }
    }

    /// Tries to store a sign-in for as long as this process lives.
    fn store_aside(&self, mut unstored: UnstoredSignIn) {
        let tasks = Arc::clone(&self.tasks);
        // What is in the journal may be left to the next process; what is nowhere else may not.
        let mut hold = (!unstored.is_journaled).then(|| tasks.hold());
        self.tasks.spawn(Box::pin(async move {
            unstored.show().await;
            while unstored.store().await.is_err() {
                if unstored.is_journaled {
                    hold = None;
                }
                tasks.sleep(COMMIT_MAX_PAUSE).await;
            }
            drop(hold);
        }));
    }
}

/// A new sign-in on its way to the store.
#[derive(Debug)]
struct UnstoredSignIn {
    grant: GrantHandle,
    tokens: Tokens,
    /// What was stored before the person was asked.
    over: Option<Generation>,
    tries: u32,
    /// Whether the journal has it; from then on it is stored from there alone.
    is_journaled: bool,
    /// What stores it if this process ends before: it is told only once there is nothing left to
    /// do, because two that try at once could put the sign-in over its own successor.
    carried: Option<Arc<dyn CarriedExchange>>,
}

impl UnstoredSignIn {
    const fn new(grant: GrantHandle, tokens: Tokens, over: Option<Generation>) -> Self {
        Self {
            grant,
            tokens,
            over,
            tries: 0,
            is_journaled: false,
            carried: None,
        }
    }

    /// Tries once, and tells the carrier if that succeeded.
    async fn store(&mut self) -> Result<Option<Generation>, OAuthError> {
        let stored = self.store_once().await?;
        if let Some(carried) = self.carried.take() {
            carried.end().await;
        }
        Ok(stored)
    }

    /// Tries once, and puts it into the journal after a few times; `None` if the person has signed
    /// out since it was put there.
    async fn store_once(&mut self) -> Result<Option<Generation>, OAuthError> {
        if self.is_journaled {
            let settle = |store: &dyn GrantStore, key: &GrantKey| store.settle_journal(key);
            return self.grant.with(settle).await;
        }
        let tokens = self.tokens.clone();
        let put = move |store: &dyn GrantStore, key: &GrantKey| store.put(key, &tokens);
        let error = match self.grant.with(put).await {
            Ok(generation) => return Ok(Some(generation)),
            Err(error) => error,
        };
        self.tries = self.tries.saturating_add(1);
        if self.tries >= TRIES_BEFORE_JOURNAL {
            let (tokens, before) = (self.tokens.clone(), self.over);
            let journal = move |store: &dyn GrantStore, key: &GrantKey| {
                // Over what is stored at this moment, as the put would have been. A database that
                // is away cannot say what that is: then over what it held before the consent.
                let over = match store.read(key) {
                    Ok(stored) => stored.map(|stored| stored.generation),
                    Err(error) if error.is_transient() => before,
                    Err(error) => return Err(error),
                };
                store.journal_sign_in(key, over, &tokens)
            };
            self.is_journaled = self.grant.with(journal).await.is_ok();
        }
        Err(error)
    }

    /// Shows to other processes that only this one has it, if that is so.
    async fn show(&self) {
        if self.is_journaled {
            return;
        }
        let show = |store: &dyn GrantStore, key: &GrantKey| {
            store.show_unstored(key);
            Ok(())
        };
        // It is tried to be stored, shown or not.
        self.grant.with(show).await.ok();
    }

    /// Adds to what a store says where the sign-in is meanwhile.
    fn told(&self, error: OAuthError) -> OAuthError {
        let OAuthError::Vault { message, .. } = error else {
            return error;
        };
        let hint = if self.is_journaled {
            "nothing is lost: the sign-in is in the journal of the vault, and the next command that can stores it"
        } else {
            "the sign-in is in the memory of this process, which stores it as soon as it can: free space on the disk of the vault, and do not end the process"
        };
        OAuthError::Vault {
            message: format!("the new sign-in is not stored yet: {message}"),
            hint: Some(hint.to_owned()),
        }
    }
}

/// An answer to a claim that can be handed from thread to thread.
#[derive(Debug, Clone)]
enum ReplaceStep {
    Claimed(Arc<Grant>, ClaimId, Secret<String>),
    /// Another process redeems the token right now, or has just done so.
    Held,
    /// There is no sign-in, or it has no live refresh token.
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
