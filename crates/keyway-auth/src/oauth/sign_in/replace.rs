//! Storing a new sign-in over an earlier one, without losing the earlier refresh token.

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::{Claim, ClaimId, Grant, GrantKey, GrantStore, StoreError};

use crate::error::OAuthError;
use crate::oauth::details::Details;
use crate::oauth::engine::OAuthEngine;
use crate::timeouts::{CLAIM_POLL_INTERVAL, CLAIM_WAIT_TIMEOUT, REPLACE_CLAIM_LIFETIME};

impl OAuthEngine {
    /// Remembers the stored refresh token, which is about to be replaced by `new`.
    ///
    /// Takes the claim, so that no other process redeems the token meanwhile: what it would get
    /// could not be stored any more. Storing the new sign-in ends the claim; if that fails, the
    /// caller releases it.
    pub(super) async fn remember_before_replacing(
        &self,
        new: Option<&Secret<String>>,
    ) -> Result<Option<ClaimId>, OAuthError> {
        let started = self.clock.monotonic();
        loop {
            match self.grant.with(claim_stored).await? {
                ReplaceStep::Claimed(grant, claim, refresh) => {
                    let is_same = new.is_some_and(|new| new.is_same_as(&refresh));
                    let details = Details::decode(grant.details.expose());
                    if let Some(details) = details.filter(|_| !is_same) {
                        self.replaced_tokens.add(&details, refresh).await;
                    }
                    return Ok(Some(claim));
                }
                ReplaceStep::Held => {}
                ReplaceStep::Nothing => return Ok(None),
            }
            if self.clock.monotonic().duration_since(started) > CLAIM_WAIT_TIMEOUT {
                // The new sign-in must not be lost over a process that does not finish; what that
                // process gets, it remembers itself.
                return Ok(None);
            }
            self.tasks.sleep(CLAIM_POLL_INTERVAL).await;
        }
    }
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
