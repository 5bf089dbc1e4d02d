//! Keeping what was redeemed: in the store, else in its journal, else in memory until it fits.

use keyway_store::{Commit, Generation, Grant, Tokens};

use super::claiming::OwnClaim;
use super::{Claimed, Renewed};
use crate::error::{OAuthError, SignInCause};
use crate::oauth::details::Details;
use crate::oauth::engine::OAuthEngine;
use crate::oauth::renewal_status::RenewalStage;
use crate::oauth::sign_in::tokens;
use crate::oauth::token::Issued;
use crate::observer::ServerEvent;
use crate::timeouts::{
    COMMIT_FIRST_PAUSE, COMMIT_MAX_PAUSE, REFRESH_CLAIM_LIFETIME, TRIES_BEFORE_JOURNAL,
};

impl OAuthEngine {
    /// Keeps the new tokens before anything uses them.
    pub(super) async fn commit(
        &self,
        claimed: &Claimed<'_>,
        details: &Details,
        issued: &Issued,
    ) -> Result<Renewed, OAuthError> {
        let new = renewed_tokens(claimed, details, issued);
        let (committed, stored) = self.store(claimed.generation, &new, claimed.claim).await?;
        if matches!(committed, Commit::Superseded { .. }) {
            self.traffic.of(&details.issuer).superseded();
        }
        match committed {
            // Signed out meanwhile: nothing is stored against a person's will, and no other process
            // knows the new refresh token, so it is revoked here.
            Commit::Superseded { current: None } => {
                if let Some(refresh) = &issued.refresh {
                    self.revoke_or_keep(details, refresh).await;
                }
                Ok(Renewed::SignIn(SignInCause::Never))
            }
            // A new sign-in replaced the one that was renewed; signing out revokes both. Unless it
            // is this very answer, stored from its journal or by the carrier that held a copy.
            Commit::Superseded { .. } => {
                let stored = self.grant.read().await?;
                let is_ours = stored.is_some_and(|grant| grant.access.is_same_as(&issued.access));
                if is_ours {
                    return self.stored(Renewed::Stored).await;
                }
                if let Some(refresh) = issued.refresh.clone() {
                    self.replaced_tokens.add(details, refresh).await;
                }
                self.stored(Renewed::Adopted).await
            }
            _ => {
                self.observer.emit(ServerEvent::Refreshed);
                match stored {
                    Some(grant) => Ok(Renewed::Stored(Box::new(grant))),
                    None => self.stored(Renewed::Stored).await,
                }
            }
        }
    }

    /// Tries until the tokens are stored: these are the only ones that the server still accepts.
    ///
    /// After a few tries they also go to the journal, which survives this process. With them there,
    /// it ends with the claim: the next claim, of any process, commits them first. Without, this
    /// process holds them and its claim for as long as it lives, so that none redeems the old token.
    async fn store(
        &self,
        generation: Generation,
        new: &Tokens,
        claim: &OwnClaim,
    ) -> Result<(Commit, Option<Grant>), OAuthError> {
        let (mut tries, mut pause, mut is_in_journal) = (0, COMMIT_FIRST_PAUSE, false);
        loop {
            let tokens = new.clone();
            let committed = self
                .grant
                .with(move |store, key| store.commit_and_read(key, generation, &tokens))
                .await;
            let error = match committed {
                Ok(committed) => return Ok(committed),
                Err(error) => error,
            };
            tries += 1;
            if tries >= TRIES_BEFORE_JOURNAL && !is_in_journal {
                is_in_journal = self.journal(generation, new).await.is_ok();
            }
            if is_in_journal && self.age(claim) > REFRESH_CLAIM_LIFETIME {
                return Err(error);
            }
            self.renewal.enter(RenewalStage::Commit {
                failure: Box::new(error),
            });
            self.tasks.sleep(pause).await;
            pause = (pause * 2).min(COMMIT_MAX_PAUSE);
        }
    }

    /// Writes tokens to the journal, which survives this process.
    pub(in crate::oauth) async fn journal(
        &self,
        generation: Generation,
        new: &Tokens,
    ) -> Result<(), OAuthError> {
        let tokens = new.clone();
        let journal = self
            .grant
            .with(move |store, key| store.journal(key, generation, &tokens));
        journal.await
    }
}

/// Makes what is stored of an answer. If it says nothing new, the details stay what they are, byte for
/// byte: a newer version may have written what this one does not know.
fn renewed_tokens(claimed: &Claimed<'_>, details: &Details, issued: &Issued) -> Tokens {
    let has_moved = claimed.before.token_endpoint != details.token_endpoint;
    let new = tokens(issued);
    let lifetime = issued.lifetime.map(|lifetime| lifetime.as_secs());
    let rotated = issued.refresh.as_ref();
    let has_rotated = rotated.is_some_and(|refresh| !refresh.is_same_as(&claimed.claim.refresh));
    // Once is enough: a server that rotates now and then is one that rotates.
    let rotates = Some(has_rotated || details.rotates == Some(true));
    let says_more = issued.scopes.is_some()
        || issued.account.is_some()
        || lifetime != details.lifetime
        || rotates != details.rotates;
    if !says_more && issued.kind == details.kind && !has_moved {
        return match claimed.stored {
            // A store that seals them for each generation need not read them again.
            Some(stored) => new.with_details(stored.clone()),
            None => new,
        };
    }
    let mut details = details.clone();
    details.kind = issued.kind;
    details.lifetime = lifetime;
    details.rotates = rotates;
    if let Some(scopes) = &issued.scopes {
        details.scopes = scopes.as_slice().to_vec();
    }
    // A renewal never changes whose sign-in it is, whatever name the server returns then.
    if details.account.is_none() {
        details.account.clone_from(&issued.account);
    }
    new.with_details(details.encode())
}
