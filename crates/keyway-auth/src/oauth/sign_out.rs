//! Signing out: delete, then revoke where that is possible (RFC 7009).
//!
//! The store comes first: a sign-out that it refuses leaves the sign-in as it was, here and at the
//! server. A refresh token that the server could not be told of, because it is away or our process
//! died, is not forgotten: it stays sealed beside the sign-in, where no session uses it, and the next
//! sign-out revokes it.

use std::sync::Arc;
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{Claim, ClaimId, Grant, GrantKey, GrantStore, StoppedUsers, StoreError};

use super::details::Details;
use super::engine::OAuthEngine;
use super::replaced_tokens::ReplacedToken;
use super::wire::Form;
use crate::error::{OAuthError, RequestTarget};
use crate::timeouts::{
    CLAIM_POLL_INTERVAL, CLAIM_WAIT_TIMEOUT, SIGN_OUT_CLAIM_LIFETIME, STOP_USERS_TIMEOUT,
};

/// What signing out did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedOut {
    /// Whether there was a sign-in, which then is gone from this machine.
    pub existed: bool,
    /// What became of the tokens at the authorization server.
    pub revoked: Revoked,
    /// How many refresh tokens were revoked that later sign-ins and step-ups had replaced.
    pub replaced: usize,
    /// How many refresh tokens count until the next sign-out revokes them: the server could not be
    /// told.
    pub pending: usize,
    /// What became of other processes that used it.
    pub users: StoppedUsers,
}

/// What became of tokens at the authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Revoked {
    /// They do not count any more.
    Done,
    /// The server takes no revocations; they count until they end.
    NotOffered,
    /// The server could not be told; they count until that succeeds, or until they end.
    Failed,
    /// Another process renews them and did not end in time; what it gets counts until it has that
    /// revoked, or until the next sign-out does.
    Renewing,
    /// The server was told and refused, or they could not be read; they count until they end.
    Refused,
    /// The server was not told, because the client could not authenticate; the tokens stay valid
    /// until they expire.
    NoProof,
    /// There were none.
    Nothing,
}

impl OAuthEngine {
    /// Revokes and deletes.
    pub(super) async fn sign_out(&self) -> Result<SignedOut, OAuthError> {
        let replaced = self.replaced_tokens.list().await;
        let ending = match self.claim_for_sign_out().await? {
            StoredGrant::Absent => {
                let Revocation {
                    revoked,
                    count,
                    live,
                } = match replaced.as_slice() {
                    [] => Revocation::of(Revoked::Nothing),
                    some => self.revoke_replaced(some).await,
                };
                self.replaced_tokens.set(live.clone()).await;
                return Ok(SignedOut {
                    existed: false,
                    revoked,
                    replaced: count,
                    pending: live.len(),
                    users: StoppedUsers::default(),
                });
            }
            ending => ending,
        };
        // Their sessions end with a token that still counts.
        let mut users = self.stop_users(STOP_USERS_TIMEOUT).await;
        self.delete_signed_out(&ending, &replaced).await?;
        let ended = self.revoke_signed_out(&ending).await;
        let ended = ended.and(self.revoke_replaced(&replaced).await);
        self.replaced_tokens.set(ended.live.clone()).await;
        self.required_scopes.clear().await;
        // A process that started in between has read what is deleted now.
        let late = self.stop_users(Duration::ZERO).await;
        users.remaining += late.remaining;
        users.stopped += late.stopped;
        self.metadata.clear().await;
        Ok(SignedOut {
            existed: true,
            revoked: ended.revoked,
            replaced: ended.count,
            pending: ended.live.len(),
            users,
        })
    }

    /// Deletes the grant. Its refresh token is stored with the replaced ones before, so that it can be
    /// revoked by the next sign-out if this process dies before it has told the server.
    async fn delete_signed_out(
        &self,
        ending: &StoredGrant,
        replaced: &[ReplacedToken],
    ) -> Result<(), OAuthError> {
        if let Some(token) = ending.token_to_revoke() {
            let tokens = replaced.iter().cloned().chain([token]).collect();
            self.replaced_tokens.set(tokens).await;
        }
        let deleted = self.grant.with(|store, key| store.delete(key).map(drop));
        let Err(error) = deleted.await else {
            return Ok(());
        };
        self.replaced_tokens.set(replaced.to_vec()).await;
        if let Some(claim) = ending.claim() {
            // What is still there must not keep other processes waiting.
            let release = |store: &dyn GrantStore, key: &GrantKey, claim| store.release(key, claim);
            self.end_claim(claim, release).await.ok();
        }
        Err(error)
    }

    /// Tells the server that the tokens of a grant, which is deleted by now, do not count any more.
    async fn revoke_signed_out(&self, ending: &StoredGrant) -> Revocation {
        let (StoredGrant::Known(grant, _) | StoredGrant::Renewing(grant, _)) = ending else {
            // What cannot be read can at least be got rid of.
            return Revocation::of(Revoked::Refused);
        };
        let Some(details) = Details::decode(grant.details.expose()) else {
            return Revocation::of(Revoked::Refused);
        };
        let refresh = ending.refresh_token();
        match ending {
            StoredGrant::Renewing(..) => {
                self.revoke_renewing(&details, refresh, &grant.access).await
            }
            _ => self.revoke(&details, refresh, &grant.access).await,
        }
    }

    /// Asks all processes that use the sign-in to stop. One that cannot be asked finds out later.
    async fn stop_users(&self, timeout: Duration) -> StoppedUsers {
        let stopped = self
            .grant
            .with(move |store, key| store.stop_users(key, timeout));
        stopped.await.unwrap_or_default()
    }

    /// Claims what is about to end, so that no other process renews it. Waits for a renewal under
    /// way, since its tokens would stay valid.
    async fn claim_for_sign_out(&self) -> Result<StoredGrant, OAuthError> {
        let started = self.clock.monotonic();
        loop {
            let step = self.grant.with(next_step).await?;
            let is_late = self.clock.monotonic().duration_since(started) > CLAIM_WAIT_TIMEOUT;
            match step {
                SignOutStep::Over(ending) => return Ok(ending),
                SignOutStep::Held(grant) if is_late => {
                    let refresh =
                        |store: &dyn GrantStore, key: &GrantKey| store.refresh_to_revoke(key);
                    let refresh = self.grant.with(refresh).await?;
                    return Ok(StoredGrant::Renewing(grant, refresh));
                }
                SignOutStep::Held(_) => self.tasks.sleep(CLAIM_POLL_INTERVAL).await,
            }
        }
    }

    async fn revoke(
        &self,
        details: &Details,
        refresh: Option<&Secret<String>>,
        access: &Secret<String>,
    ) -> Revocation {
        if details.revocation_endpoint.is_none() {
            return Revocation::of(Revoked::NotOffered);
        }
        if let Some(refresh) = refresh
            && let Err(error) = self.revoke_one(details, refresh, "refresh_token").await
        {
            // What stands in the way of one stands in the way of both; the access token ends soon.
            let revoked = revoked_after(&error);
            let live = (revoked == Revoked::Failed).then(|| ReplacedToken {
                details: details.clone(),
                refresh: Some(refresh.clone()),
            });
            return Revocation {
                live: live.into_iter().collect(),
                ..Revocation::of(revoked)
            };
        }
        let access = self.revoke_one(details, access, "access_token").await;
        Revocation::of(access.map_or_else(|error| revoked_after(&error), |()| Revoked::Done))
    }

    /// Revokes tokens that another process is renewing. Its exchange may have been carried out
    /// already: then the server has issued a token that only that process will know. It revokes that
    /// when it finds the sign-in gone; if it dies before, the next sign-out tells the server once
    /// more, which at many of them ends everything that came of the first token.
    async fn revoke_renewing(
        &self,
        details: &Details,
        refresh: Option<&Secret<String>>,
        access: &Secret<String>,
    ) -> Revocation {
        let revoked = self.revoke(details, refresh, access).await.revoked;
        if matches!(revoked, Revoked::NotOffered | Revoked::NoProof) {
            return Revocation::of(revoked);
        }
        let again = refresh.map(|refresh| ReplacedToken {
            details: details.clone(),
            refresh: Some(refresh.clone()),
        });
        Revocation {
            live: again.into_iter().collect(),
            ..Revocation::of(Revoked::Renewing)
        }
    }

    /// Revokes the refresh tokens that later sign-ins replaced.
    async fn revoke_replaced(&self, replaced: &[ReplacedToken]) -> Revocation {
        let mut outcome = Revocation::of(Revoked::Done);
        for token in replaced {
            let Some(refresh) = &token.refresh else {
                continue;
            };
            if token.details.revocation_endpoint.is_none() {
                outcome.revoked = Revoked::NotOffered;
                continue;
            }
            if !outcome.live.is_empty() {
                // A server that cannot be told is not waited for again.
                outcome.live.push(token.clone());
                continue;
            }
            let revoked = self.revoke_one(&token.details, refresh, "refresh_token");
            match revoked.await.map_err(|error| revoked_after(&error)) {
                Ok(()) => outcome.count += 1,
                Err(revoked) => {
                    outcome.revoked = revoked;
                    if revoked == Revoked::Failed {
                        outcome.live.push(token.clone());
                    }
                }
            }
        }
        outcome
    }

    /// Revokes a refresh token that is not stored; if the server cannot be told, the next sign-out
    /// does.
    pub(super) async fn revoke_or_keep(&self, details: &Details, refresh: &Secret<String>) {
        let revoked = self.revoke_one(details, refresh, "refresh_token").await;
        if revoked.is_err_and(|error| revoked_after(&error) == Revoked::Failed) {
            self.replaced_tokens.add(details, refresh.clone()).await;
        }
    }

    async fn revoke_one(
        &self,
        details: &Details,
        token: &Secret<String>,
        hint: &str,
    ) -> Result<(), OAuthError> {
        let Some(url) = &details.revocation_endpoint else {
            return Ok(());
        };
        let form = Form::default()
            .with_secret("token", token)
            .with("token_type_hint", hint);
        let client = details.client(&self.settings);
        let form = client
            .sign(form, &details.issuer, self.clock.wall())
            .await?;
        let what = RequestTarget::Revocation;
        let response = self.wire.form(what, url, form).await?;
        match response.status {
            // RFC 7009 section 2.2: also for a token that did not count any more.
            200..=299 => Ok(()),
            status => Err(OAuthError::Status {
                what,
                status,
                retry_after: None,
            }),
        }
    }
}

/// What revoking came to.
#[derive(Debug)]
struct Revocation {
    revoked: Revoked,
    /// How many replaced refresh tokens were revoked.
    count: usize,
    /// Refresh tokens that the next sign-out can revoke.
    live: Vec<ReplacedToken>,
}

impl Revocation {
    const fn of(revoked: Revoked) -> Self {
        Self {
            revoked,
            count: 0,
            live: Vec::new(),
        }
    }

    /// Adds what became of the replaced tokens, which counts if it is not as good.
    fn and(mut self, replaced: Self) -> Self {
        if replaced.revoked != Revoked::Done {
            self.revoked = replaced.revoked;
        }
        self.count += replaced.count;
        self.live.extend(replaced.live);
        self
    }
}

/// Says what became of a token that was not revoked.
fn revoked_after(error: &OAuthError) -> Revoked {
    match error {
        OAuthError::ClientAuthentication { .. } | OAuthError::NoAssertion { .. } => {
            Revoked::NoProof
        }
        // It would refuse again; what it is busy with, or a time-out, may be over.
        OAuthError::Status { status, .. } if !matches!(status, 408 | 429 | 500..) => {
            Revoked::Refused
        }
        _ => Revoked::Failed,
    }
}

/// What there is to be ended.
#[derive(Debug, Clone)]
enum StoredGrant {
    Absent,
    Unreadable,
    /// With its refresh token, if there is one that counts.
    Known(Arc<Grant>, Option<ClaimedToken>),
    /// Claimed by another process, which lives. With its refresh token, which that process may have
    /// redeemed by now.
    Renewing(Arc<Grant>, Option<Secret<String>>),
}

impl StoredGrant {
    const fn claim(&self) -> Option<ClaimId> {
        match self {
            Self::Known(_, Some(claimed)) => Some(claimed.claim),
            _ => None,
        }
    }

    const fn refresh_token(&self) -> Option<&Secret<String>> {
        match self {
            Self::Known(_, Some(claimed)) => Some(&claimed.refresh),
            Self::Renewing(_, Some(refresh)) => Some(refresh),
            _ => None,
        }
    }

    /// Returns its refresh token with what a revocation needs, if the server takes revocations.
    fn token_to_revoke(&self) -> Option<ReplacedToken> {
        let refresh = self.refresh_token()?;
        let (Self::Known(grant, _) | Self::Renewing(grant, _)) = self else {
            return None;
        };
        let details = Details::decode(grant.details.expose())?;
        details.revocation_endpoint.as_ref()?;
        Some(ReplacedToken {
            details,
            refresh: Some(refresh.clone()),
        })
    }
}

#[derive(Debug, Clone)]
struct ClaimedToken {
    claim: ClaimId,
    refresh: Secret<String>,
}

#[derive(Debug, Clone)]
enum SignOutStep {
    Over(StoredGrant),
    /// Another process renews it right now.
    Held(Arc<Grant>),
}

fn next_step(grants: &dyn GrantStore, key: &GrantKey) -> Result<SignOutStep, StoreError> {
    let grant = match grants.read(key) {
        Ok(Some(grant)) => Arc::new(grant),
        Ok(None) => return Ok(SignOutStep::Over(StoredGrant::Absent)),
        Err(StoreError::Corrupt { .. }) => return Ok(SignOutStep::Over(StoredGrant::Unreadable)),
        Err(error) => return Err(error),
    };
    Ok(
        match grants.claim(key, grant.generation, SIGN_OUT_CLAIM_LIFETIME)? {
            Claim::Claimed(claimed) => {
                let claimed = ClaimedToken {
                    claim: claimed.id,
                    refresh: claimed.refresh,
                };
                SignOutStep::Over(StoredGrant::Known(grant, Some(claimed)))
            }
            Claim::Held { .. } | Claim::Moved { .. } => SignOutStep::Held(grant),
            Claim::Absent => SignOutStep::Over(StoredGrant::Absent),
            _ => SignOutStep::Over(StoredGrant::Known(grant, None)),
        },
    )
}
