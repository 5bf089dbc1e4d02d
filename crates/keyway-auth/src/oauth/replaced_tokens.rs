//! Refresh tokens that a later sign-in replaced.
//!
//! A new sign-in or step-up revokes nothing: another process may still use the earlier token. But
//! the authorization server keeps the replaced refresh token alive, so it is stored until the
//! person signs out, and revoked then.

use std::sync::Arc;
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{Claim, ClaimId, Grant, GrantKey, GrantStore, RecordStore, StoreError};
use serde::{Deserialize, Serialize};

use super::details::Details;
use super::engine::OAuthEngine;
use super::error::OAuthError;
use super::record_name::record_name;
use super::secret_serde;

/// A refresh token that is not in use any more, with what its revocation needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ReplacedToken {
    pub(super) details: Details,
    #[serde(with = "secret_serde")]
    pub(super) refresh: Option<Secret<String>>,
}

impl OAuthEngine {
    /// Returns the replaced tokens of this sign-in, oldest first.
    pub(super) async fn replaced_tokens(&self) -> Vec<ReplacedToken> {
        let (records, name) = (Arc::clone(&self.records), record_name(KIND, &self.key));
        self.blocking(move || read(&*records, &name)).await
    }

    /// Forgets the replaced tokens, because they were revoked.
    pub(super) async fn forget_replaced_tokens(&self) {
        let (records, name) = (Arc::clone(&self.records), record_name(KIND, &self.key));
        self.blocking(move || drop(records.delete(&name))).await;
    }

    /// Remembers a refresh token that is not stored as a sign-in, or not any more.
    pub(super) async fn remember_replaced(&self, details: &Details, refresh: Secret<String>) {
        let (records, name) = (Arc::clone(&self.records), record_name(KIND, &self.key));
        let token = ReplacedToken {
            details: details.clone(),
            refresh: Some(refresh),
        };
        self.blocking(move || add(&*records, &name, token)).await;
    }

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
            let key = self.key.clone();
            let step = self.vault(move |grants| claim_stored(grants, &key)).await?;
            match step {
                ReplaceStep::Claimed(grant, claim, refresh) => {
                    let is_same = new.is_some_and(|new| new.is_same_as(&refresh));
                    let details = Details::decode(grant.details.expose());
                    if let Some(details) = details.filter(|_| !is_same) {
                        self.remember_replaced(&details, refresh).await;
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
            self.tasks.sleep(POLL).await;
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

fn claim_stored(grants: &dyn GrantStore, key: &GrantKey) -> Result<ReplaceStep, StoreError> {
    let Some(grant) = grants.read(key)? else {
        return Ok(ReplaceStep::Nothing);
    };
    Ok(match grants.claim(key, grant.generation, CLAIM)? {
        Claim::Claimed(claimed) => {
            ReplaceStep::Claimed(Arc::new(grant), claimed.id, claimed.refresh)
        }
        Claim::Held { .. } | Claim::Moved { .. } => ReplaceStep::Held,
        _ => ReplaceStep::Nothing,
    })
}

fn read(records: &dyn RecordStore, name: &str) -> Vec<ReplacedToken> {
    let found = records.get(name);
    let tokens = found.and_then(|bytes| serde_json::from_slice(bytes.expose()).ok());
    tokens.unwrap_or_default()
}

fn add(records: &dyn RecordStore, name: &str, token: ReplacedToken) {
    let mut tokens = read(records, name);
    if tokens.len() >= MAX_TOKENS {
        tokens.remove(0);
    }
    tokens.push(token);
    let value = Secret::new(serde_json::to_vec(&tokens).unwrap_or_default());
    // A store that fails here fails at the sign-in too, which is reported.
    drop(records.put(name, value.expose()));
}

const KIND: &str = "replaced-tokens";
/// Enough for years of step-ups; the oldest go first.
const MAX_TOKENS: usize = 100;
/// Longer than storing a sign-in takes.
const CLAIM: Duration = Duration::from_secs(15);
/// How long another process may take to finish its refresh.
const CLAIM_WAIT_TIMEOUT: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(50);
