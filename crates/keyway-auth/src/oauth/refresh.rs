//! Renewing a sign-in exactly once, however many processes want to: claim → redeem → commit.

use std::time::Instant;

use keyway_code::Code;
use keyway_store::{Claim, Claimed, Commit, Generation, Grant, GrantKey, GrantStore, Marked};

use super::client::Origin;
use super::details::Details;
use super::discovery::{configured, resource_metadata, server_metadata};
use super::dpop_binding::DpopBinding;
use super::engine::OAuthEngine;
use super::metadata_cache::CachePolicy;
use super::settings::Endpoints;
use super::sign_in::{is_outdated, tokens};
use super::token::{Issued, TokenEndpoint};
use super::wire::Form;
use crate::error::{OAuthError, RequestTarget, SignInCause, shown};
use crate::observer::{ServerEvent, Topic};
use crate::timeouts::{
    CLAIM_POLL_INTERVAL, REFRESH_CLAIM_LIFETIME, REFRESH_TIMEOUT, REFRESH_WAIT_TIMEOUT,
};

/// Why a sign-in is renewed.
#[derive(Debug, Clone)]
pub(super) enum Cause {
    /// Its time is over, or nearly.
    Expiry,
    /// The server refused it, and may have said where its metadata is.
    Refused(Option<String>),
}

/// What a renewal came to.
#[derive(Debug)]
pub(super) enum Renewed {
    /// There is a newer sign-in, ours or somebody else's.
    Stored(Box<Grant>),
    /// A person has to sign in.
    SignIn(SignInCause),
    /// The refresh token was rejected.
    Rejected { issuer: String, interrupted: bool },
}

impl OAuthEngine {
    /// Renews `seen`, or adopts what somebody else made of it.
    pub(super) async fn renew(&self, seen: &Grant, cause: &Cause) -> Result<Renewed, OAuthError> {
        let started = self.clock.monotonic();
        let generation = seen.generation;
        loop {
            let claim = move |store: &dyn GrantStore, key: &GrantKey| {
                let claim = store.claim(key, generation, REFRESH_CLAIM_LIFETIME)?;
                Ok(ClaimStep::from(claim))
            };
            let claim = self.grant.with(claim).await?;
            match claim {
                ClaimStep::Ours(claimed) => {
                    self.observer.note(Topic::OAuth, || why(cause).to_owned());
                    return self.redeem(seen, cause, &claimed, started).await;
                }
                ClaimStep::Moved => {
                    let line = "another process renewed the token; taking it over";
                    self.observer.note(Topic::OAuth, || line.to_owned());
                    return self.adopt().await;
                }
                ClaimStep::Absent => return Ok(Renewed::SignIn(SignInCause::Never)),
                ClaimStep::NotRenewable => return Ok(Renewed::SignIn(SignInCause::Ended)),
                ClaimStep::Held => {}
            }
            if self.clock.monotonic().duration_since(started) > REFRESH_WAIT_TIMEOUT {
                return Err(OAuthError::RenewalBusy);
            }
            self.tasks.sleep(CLAIM_POLL_INTERVAL).await;
        }
    }

    /// Returns what is stored now.
    async fn adopt(&self) -> Result<Renewed, OAuthError> {
        Ok(match self.grant.read().await? {
            Some(grant) => Renewed::Stored(Box::new(grant)),
            None => Renewed::SignIn(SignInCause::Never),
        })
    }

    async fn redeem(
        &self,
        seen: &Grant,
        cause: &Cause,
        claimed: &OwnClaim,
        started: Instant,
    ) -> Result<Renewed, OAuthError> {
        let outcome = self.redeem_claimed(seen, cause, claimed, started).await;
        match &outcome {
            Ok(Renewed::Rejected { .. }) => {
                let code = Code::RefreshFailed;
                self.observer.emit(ServerEvent::RefreshFailed { code });
            }
            Ok(_) => {}
            Err(error) => {
                let code = error.code();
                self.observer.emit(ServerEvent::RefreshFailed { code });
            }
        }
        outcome
    }

    async fn redeem_claimed(
        &self,
        seen: &Grant,
        cause: &Cause,
        claimed: &OwnClaim,
        started: Instant,
    ) -> Result<Renewed, OAuthError> {
        let Some(details) = Details::decode(seen.details.expose()) else {
            self.release(claimed).await?;
            return Ok(Renewed::SignIn(SignInCause::Ended));
        };
        if let Cause::Refused(hint) = cause
            && self.has_moved(&details, hint.as_deref()).await
        {
            self.release(claimed).await?;
            return Ok(Renewed::SignIn(SignInCause::Moved));
        }
        let (details, asked) = self.ask_wherever(details, claimed, started).await;
        match asked {
            Ok(issued) => self.commit(seen, &details, &issued).await,
            Err(OAuthError::TokenRefused { refusal, .. })
                if is_final(&refusal.code, details.client(&self.settings).origin) =>
            {
                if refusal.code.ends_with("_client") {
                    self.registered_clients
                        .delete_client(&details.issuer, &details.client_id)
                        .await?;
                }
                self.reject(seen.generation, &details, claimed).await
            }
            Err(error) => {
                self.release(claimed).await?;
                Err(error)
            }
        }
    }

    /// Asks the endpoint that is kept with the sign-in; one that its issuer does not name any more
    /// is exchanged for the one that it names now, once.
    async fn ask_wherever(
        &self,
        details: Details,
        claimed: &OwnClaim,
        started: Instant,
    ) -> (Details, Result<Issued, OAuthError>) {
        let asked = self.ask(&details, claimed, started).await;
        if !asked.as_ref().is_err_and(is_outdated) {
            return (details, asked);
        }
        let used = self.clock.monotonic().duration_since(started);
        let deadline = self.tasks.sleep(REFRESH_TIMEOUT.saturating_sub(used));
        let late = async {
            deadline.await;
            None
        };
        match futures_lite::future::or(self.moved(&details), late).await {
            Some(details) => {
                let asked = self.ask(&details, claimed, started).await;
                (details, asked)
            }
            None => (details, asked),
        }
    }

    /// Returns the sign-in with the endpoints that its issuer names now, if they are others.
    async fn moved(&self, details: &Details) -> Option<Details> {
        let settings = &self.settings;
        let reader = self.metadata.reader(CachePolicy::Bypass);
        let found = match &settings.endpoints {
            Endpoints::Fixed { .. } => return None,
            Endpoints::Metadata(at) => configured(&reader, settings, at).await.ok()?,
            Endpoints::Discovered => {
                let found = server_metadata(&reader, settings, &details.issuer).await;
                found.ok()??
            }
        };
        let token_endpoint = found.token_endpoint?;
        if found.issuer != details.issuer || token_endpoint == details.token_endpoint {
            return None;
        }
        let mut moved = details.clone();
        moved.token_endpoint = token_endpoint;
        moved.revocation_endpoint = found.revocation_endpoint;
        Some(moved)
    }

    async fn ask(
        &self,
        details: &Details,
        claimed: &OwnClaim,
        started: Instant,
    ) -> Result<Issued, OAuthError> {
        let client = details.client(&self.settings);
        let dpop = match details.dpop() {
            Some(key) => Some(DpopBinding::import(&key, &self.nonces)?),
            None => None,
        };
        let endpoint = TokenEndpoint {
            issuer: &details.issuer,
            url: &details.token_endpoint,
            client: &client,
            dpop: dpop.as_ref(),
            what: RequestTarget::Token,
        };
        let form = Form::new("refresh_token")
            .with_secret("refresh_token", &claimed.refresh)
            .with_some("resource", details.resource.as_deref());
        let used = self.clock.monotonic().duration_since(started);
        let deadline = self.tasks.sleep(REFRESH_TIMEOUT.saturating_sub(used));
        let asking = endpoint.ask(&self.wire, form, self.clock.wall());
        let late = async {
            deadline.await;
            Err(OAuthError::Http {
                what: RequestTarget::Token,
                failure: crate::ports::HttpFailure::Timeout {
                    host: shown(details.token_endpoint.host_str().unwrap_or_default()),
                    seconds: REFRESH_TIMEOUT.as_secs(),
                },
            })
        };
        futures_lite::future::or(asking, late).await
    }

    /// Keeps the new tokens before anybody uses them; tries again while others hold the store.
    async fn commit(
        &self,
        seen: &Grant,
        details: &Details,
        issued: &Issued,
    ) -> Result<Renewed, OAuthError> {
        let generation = seen.generation;
        let before = Details::decode(seen.details.expose());
        let has_moved = before.is_some_and(|it| it.token_endpoint != details.token_endpoint);
        let mut new = tokens(issued);
        let lifetime = issued.lifetime.map(|lifetime| lifetime.as_secs());
        let says_more =
            issued.scopes.is_some() || issued.account.is_some() || lifetime != details.lifetime;
        if says_more || issued.kind != details.kind || has_moved {
            let mut details = details.clone();
            details.kind = issued.kind;
            details.lifetime = lifetime;
            if let Some(scopes) = &issued.scopes {
                details.scopes = scopes.as_slice().to_vec();
            }
            // Nobody else comes in by a renewal, whatever the server calls them then.
            if details.account.is_none() {
                details.account.clone_from(&issued.account);
            }
            new = new.with_details(details.encode());
        }
        let mut tries = 0;
        loop {
            let new = new.clone();
            let committed = self
                .grant
                .with(move |store, key| store.commit(key, generation, &new))
                .await;
            match committed {
                // Signed out meanwhile: nothing is stored against a person's will, and nobody else
                // knows the new refresh token, so it is revoked here.
                Ok(Commit::Superseded { current: None }) => {
                    if let Some(refresh) = &issued.refresh {
                        self.revoke_refresh(details, refresh).await;
                    }
                    return Ok(Renewed::SignIn(SignInCause::Never));
                }
                // A new sign-in replaced the one that was renewed; signing out revokes both.
                Ok(Commit::Superseded { .. }) => {
                    if let Some(refresh) = issued.refresh.clone() {
                        self.replaced_tokens.add(details, refresh).await;
                    }
                    return self.adopt().await;
                }
                Ok(_) => {
                    self.observer.emit(ServerEvent::Refreshed);
                    return self.adopt().await;
                }
                Err(error) if tries == COMMIT_TRIES => return Err(error),
                Err(_) => tries += 1,
            }
            self.tasks.sleep(CLAIM_POLL_INTERVAL).await;
        }
    }

    async fn reject(
        &self,
        generation: Generation,
        details: &Details,
        claimed: &OwnClaim,
    ) -> Result<Renewed, OAuthError> {
        let fingerprint = claimed.fingerprint;
        let marked = self
            .grant
            .with(move |store, key| store.mark_reauth(key, generation, &fingerprint))
            .await?;
        match marked {
            Marked::Superseded { .. } => self.adopt().await,
            _ => Ok(Renewed::Rejected {
                issuer: shown(&details.issuer),
                interrupted: claimed.interrupted > 0,
            }),
        }
    }

    async fn release(&self, claimed: &OwnClaim) -> Result<(), OAuthError> {
        let claim = claimed.id;
        self.grant
            .with(move |store, key| store.release(key, claim).map(drop))
            .await
    }

    /// Says whether the server relies on another issuer by now; then the old one's tokens are
    /// refused for good, and the new one must never see them.
    pub(super) async fn has_moved(&self, details: &Details, hint: Option<&str>) -> bool {
        let reader = self.metadata.reader(CachePolicy::Bypass);
        let found = resource_metadata(&reader, &self.server.url, hint).await;
        let Ok(Some(found)) = found else { return false };
        !found.issuers.is_empty() && !found.issuers.contains(&details.issuer)
    }
}

const fn why(cause: &Cause) -> &'static str {
    match cause {
        Cause::Expiry => "renewing the token, which ends soon or has ended",
        Cause::Refused(_) => "renewing the token, which was refused",
    }
}

/// An answer to a claim that can be handed from thread to thread.
#[derive(Debug, Clone)]
enum ClaimStep {
    Ours(OwnClaim),
    Held,
    Moved,
    NotRenewable,
    Absent,
}

#[derive(Debug, Clone)]
struct OwnClaim {
    id: keyway_store::ClaimId,
    refresh: keyway_secret::Secret<String>,
    fingerprint: keyway_store::Fingerprint,
    interrupted: u32,
}

impl From<Claim> for ClaimStep {
    fn from(claim: Claim) -> Self {
        match claim {
            Claim::Claimed(Claimed {
                id,
                refresh,
                fingerprint,
                interrupted,
                ..
            }) => Self::Ours(OwnClaim {
                id,
                refresh,
                fingerprint,
                interrupted,
            }),
            Claim::Held { .. } => Self::Held,
            Claim::Moved { .. } => Self::Moved,
            Claim::Absent => Self::Absent,
            _ => Self::NotRenewable,
        }
    }
}

/// Says whether a refusal will stay one. Of a client that registered itself, `invalid_client` means
/// that the registration is gone, and the refresh token with it; of one that was configured, that
/// somebody should look at its secret.
fn is_final(code: &str, client: Origin) -> bool {
    match code {
        // The last two are GitHub's and Slack's words for the first.
        "invalid_grant" | "bad_refresh_token" | "invalid_refresh_token" => true,
        "invalid_client" | "unauthorized_client" => client != Origin::Configured,
        _ => false,
    }
}

const COMMIT_TRIES: u32 = 5;
