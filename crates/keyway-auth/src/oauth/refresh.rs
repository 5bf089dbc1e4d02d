//! Renewing a sign-in exactly once, however many processes want to: claim → redeem → commit.
//!
//! ```text
//!            Held: wait, poll the generation           60 s without an answer: answer_lost
//!            ┌───────┐                                 ┌────────────────────────────────▶ error
//!            ▼       │                                 │
//!   renew ─ claim ───┴─ Claimed ─ too late? release ─ exchange ─ refused for good: mark_reauth
//!            │                                         │
//!            └─ Moved: adopt                           └─ issued ─ commit ─ adopt
//! ```
//!
//! Callers wait for at most ten seconds ([`CALLER_TIMEOUT`]); the renewal itself continues, because
//! its answer may be the only copy of a token that the server has issued. Where there is a carrier,
//! it continues even if this process ends ([`carrying`]).

mod carrying;
mod claiming;
mod commit;
mod counting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use keyway_code::Code;
use keyway_secret::Secret;
use keyway_store::{Generation, Grant, Marked};

use self::claiming::{ClaimStep, OwnClaim};
use super::client::Origin;
use super::details::Details;
use super::discovery::{configured, is_issuers_word, resource_metadata, server_metadata};
use super::dpop_binding::DpopBinding;
use super::engine::OAuthEngine;
use super::metadata_cache::CachePolicy;
use super::refresh_traffic::Slot;
use super::renewal_status::RenewalStage;
use super::rotation::{Rotation, SentToken};
use super::scope::Scopes;
use super::settings::{Endpoints, RefreshScope};
use super::sign_in::is_outdated;
use super::token::{ID_TOKEN, Issued, TokenEndpoint};
use super::wire::Form;
use crate::document::DocumentError;
use crate::error::{OAuthError, RejectionCause, RequestTarget, SignInCause, shown};
use crate::observer::{ServerEvent, Topic};
use crate::ports::{CarriedExchange, ExchangeCarrier, HttpFailure};
use crate::timeouts::{
    CALLER_TIMEOUT, CONNECT_ALLOWANCE, EXCHANGE_TIMEOUT, LOST_ANSWER_FIRST_PAUSE,
    LOST_ANSWER_REPEAT_WITHIN, REFRESH_CLAIM_LIFETIME, RETRY_AFTER_MAX, SHORTEST_GRACE,
};

pub(super) use self::carrying::settle;
use self::counting::{count_outcome, issuer_of};

/// Why a sign-in is renewed.
#[derive(Debug)]
pub(super) enum Cause {
    /// Its time is over soon; no caller waits.
    Ahead(Slot),
    /// Its time is over.
    Expiry,
    /// A process died while it was renewing it, or this one has to try again at once.
    Takeover,
    /// The server refused it, and may have said where its metadata is.
    Refused(Option<String>),
}

/// What a renewal came to.
#[derive(Debug)]
pub(super) enum Renewed {
    /// It was renewed and stored.
    Stored(Box<Grant>),
    /// Another process renewed it meanwhile. Its request may be older than what led to this one.
    Adopted(Box<Grant>),
    /// A person has to sign in.
    SignIn(SignInCause),
    /// The refresh token was rejected.
    Rejected {
        issuer: String,
        cause: RejectionCause,
    },
}

/// The answers that one renewal lost.
#[derive(Debug, Default)]
struct LostAnswers {
    /// When the token was claimed that was sent first.
    first: Option<Instant>,
    /// How often it was sent again.
    repeated: u32,
}

/// How often a token is sent again whose answers are lost.
const MOST_REPEATS: u32 = 3;

/// A sign-in whose refresh token this process has claimed.
#[derive(Debug, Clone, Copy)]
struct Claimed<'a> {
    generation: Generation,
    /// What is stored with it.
    before: &'a Details,
    /// The same as it is stored, where that was read.
    stored: Option<&'a Secret<Vec<u8>>>,
    claim: &'a OwnClaim,
    /// When its token was claimed to be sent for the first time, if this process sent it before.
    first: Option<Instant>,
    origin: Origin,
}

impl OAuthEngine {
    /// Renews `seen`, or adopts what another process made of it.
    ///
    /// Runs to its end in a task of its own; callers give up waiting, never the renewal.
    pub(super) async fn renew(&self, seen: &Grant, cause: Cause) -> Result<Renewed, OAuthError> {
        let issuer = issuer_of(seen);
        let renewed = self.renew_at(&issuer, seen, cause).await;
        count_outcome(&self.traffic.of(&issuer), &renewed);
        renewed
    }

    async fn renew_at(
        &self,
        issuer: &str,
        seen: &Grant,
        mut cause: Cause,
    ) -> Result<Renewed, OAuthError> {
        let mut carrier = self.carrier.as_deref();
        let mut lost = LostAnswers::default();
        loop {
            let claim = match self.claim_or_wait(seen, issuer, &mut cause).await? {
                ClaimStep::Ours(claim) => claim,
                ClaimStep::Moved => {
                    let line = "another process renewed the token; taking it over";
                    self.observer.note(Topic::OAuth, || line.to_owned());
                    return self.stored(Renewed::Adopted).await;
                }
                ClaimStep::Absent => return Ok(Renewed::SignIn(SignInCause::Never)),
                ClaimStep::NotRenewable => return self.ended().await,
            };
            self.observer.note(Topic::OAuth, || why(&cause).to_owned());
            let way = (carrier, &mut lost);
            let outcome = self.redeem(seen, &cause, &claim, way).await;
            self.renewal.end();
            match outcome {
                Ok(Some(renewed)) => return Ok(renewed),
                // Whatever kept it from being sent, the next try depends on nothing but us. It does not
                // wait for the ceiling: a token whose answer was lost is taken again for seconds only.
                Ok(None) => {
                    carrier = None;
                    cause = Cause::Takeover;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Says whether a token whose answer was lost just now is worth sending again, and waits until then:
    /// servers with a grace period take it, for seconds. By the next use that may be over; and a server
    /// without one would be sent no other token then.
    async fn may_be_graced(&self, issuer: &str, claim: &OwnClaim, lost: &mut LostAnswers) -> bool {
        let first = *lost.first.get_or_insert(claim.from());
        let age = self.clock.monotonic().saturating_duration_since(first);
        let pause = LOST_ANSWER_FIRST_PAUSE * lost.repeated;
        let is_worth_it = lost.repeated < MOST_REPEATS
            && age + pause <= LOST_ANSWER_REPEAT_WITHIN
            && self.rotations.get(issuer).await != Rotation::Strict;
        if is_worth_it {
            lost.repeated += 1;
            self.tasks.sleep(pause).await;
        }
        is_worth_it
    }

    /// Returns what is stored now, as what this process or another made.
    async fn stored(&self, made: fn(Box<Grant>) -> Renewed) -> Result<Renewed, OAuthError> {
        Ok(match self.grant.read().await? {
            Some(grant) => made(Box::new(grant)),
            None => Renewed::SignIn(SignInCause::Never),
        })
    }

    /// Says why what is stored cannot be renewed: another process may have been refused since it
    /// was read, and have ended before it could tell.
    async fn ended(&self) -> Result<Renewed, OAuthError> {
        let cause = match self.grant.read().await? {
            Some(grant) => SignInCause::of_ended(&grant),
            None => SignInCause::Never,
        };
        Ok(Renewed::SignIn(cause))
    }

    async fn redeem(
        &self,
        seen: &Grant,
        cause: &Cause,
        claim: &OwnClaim,
        way: (Option<&dyn ExchangeCarrier>, &mut LostAnswers),
    ) -> Result<Option<Renewed>, OAuthError> {
        let outcome = self.redeem_claimed(seen, cause, claim, way).await;
        match &outcome {
            Ok(Some(Renewed::SignIn(cause))) => {
                self.traffic.of(&issuer_of(seen)).ended_with(cause);
            }
            Ok(Some(Renewed::Rejected { cause, .. })) => {
                self.traffic.of(&issuer_of(seen)).must_sign_in_again(*cause);
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

    /// Sends the refresh token and stores the answer; `None` if the claim was given back unused,
    /// because the carrier did not take it or not enough of it was left, or if the connection was lost
    /// and the token is worth sending once more.
    async fn redeem_claimed(
        &self,
        seen: &Grant,
        cause: &Cause,
        claim: &OwnClaim,
        (carrier, lost): (Option<&dyn ExchangeCarrier>, &mut LostAnswers),
    ) -> Result<Option<Renewed>, OAuthError> {
        let Some(details) = Details::decode(seen.details.expose()) else {
            self.release(claim).await?;
            return Ok(Some(Renewed::SignIn(SignInCause::Ended)));
        };
        let claimed = Claimed {
            generation: seen.generation,
            before: &details,
            stored: Some(&seen.details),
            claim,
            first: lost.first,
            origin: details.client(&self.settings).origin,
        };
        let carried = match carrier {
            Some(carrier) => match self.carry(&claimed, carrier).await {
                Some(carried) => Some(carried),
                // It may have the claim or not: released, it is of no use to either.
                None => return self.release(claim).await.map(|()| None),
            },
            None => None,
        };
        if let Cause::Refused(hint) = cause
            && self.has_moved(&details, hint.as_deref()).await
        {
            self.release(claim).await?;
            end(carried).await;
            return Ok(Some(Renewed::SignIn(SignInCause::Moved)));
        }
        // Looked at directly before the request: a slow disk, a suspended process or a slow
        // discovery may have used up the claim, and an answer needs its full time.
        if self.clock.monotonic() > last_start(claim) {
            self.release(claim).await?;
            end(carried).await;
            return Ok(None);
        }
        self.renewal.enter(RenewalStage::Exchange {
            host: shown(details.token_endpoint.host_str().unwrap_or_default()),
        });
        let in_flight = self.traffic.of(&details.issuer).begin();
        let (new_details, asked) = self.ask_wherever(&claimed, carried.as_ref()).await;
        drop(in_flight);
        // On an error the carrier is dropped without a word, and settles what could not be settled
        // here.
        let is_cut = asked.as_ref().is_err_and(is_connection_lost);
        let outcome = self.settle(&claimed, &new_details, asked).await?;
        end(carried).await;
        if is_cut && self.may_be_graced(&details.issuer, claim, lost).await {
            let line = "the answer was lost; sending the refresh token once more";
            self.observer.note(Topic::OAuth, || line.to_owned());
            return Ok(None);
        }
        outcome.map(Some)
    }

    /// Ends a claim by what was asked and answered: stores tokens, or records what became of the
    /// refresh token. Fails if the claim could not be ended.
    async fn settle(
        &self,
        claimed: &Claimed<'_>,
        details: &Details,
        asked: Result<Issued, OAuthError>,
    ) -> Result<Result<Renewed, OAuthError>, OAuthError> {
        let (issuer, token) = (&details.issuer, &claimed.claim.fingerprint);
        match asked {
            Ok(issued) => {
                let outcome = self.commit(claimed, details, &issued).await.map(Ok);
                // After the commit, which must not wait for it.
                let sent = SentToken::Accepted;
                self.rotations.note(issuer, token, sent).await;
                outcome
            }
            Err(OAuthError::TokenRefused { refusal, .. })
                if is_final(&refusal.code, claimed.origin) =>
            {
                if refusal.code.ends_with("_client") {
                    // If that fails, the next sign-in is refused once and registers again.
                    let deleted = self
                        .registered_clients
                        .delete_client(&details.issuer, &details.client_id);
                    drop(deleted.await);
                }
                if refusal.code.ends_with("_grant") {
                    let since = |first| self.clock.monotonic().saturating_duration_since(first);
                    let is_repeated_soon = claimed
                        .first
                        .map(since)
                        .is_some_and(|it| it <= SHORTEST_GRACE);
                    let sent = SentToken::Rejected { is_repeated_soon };
                    self.rotations.note(issuer, token, sent).await;
                }
                self.reject(claimed, details).await.map(Ok)
            }
            // Not every provider renews the ID token (OpenID Connect Core section 12.2): the person
            // signs in there again.
            Err(OAuthError::Document {
                error:
                    DocumentError::Missing { field: ID_TOKEN }
                    | DocumentError::Unexpected { field: ID_TOKEN },
                ..
            }) => self.reject(claimed, details).await.map(Ok),
            Err(error) => {
                if matches!(error, OAuthError::Document { .. }) {
                    let sent = SentToken::Answered;
                    self.rotations.note(issuer, token, sent).await;
                }
                self.given_back(claimed.claim, error).await.map(Err)
            }
        }
    }

    /// Ends a claim that brought no tokens, and says what is known of the refresh token.
    async fn given_back(
        &self,
        claim: &OwnClaim,
        error: OAuthError,
    ) -> Result<OAuthError, OAuthError> {
        if is_answer_lost(&error) {
            self.answer_lost(claim).await?;
            return Ok(OAuthError::RefreshUnanswered {
                what: error.to_string(),
            });
        }
        match asked_to_wait(&error) {
            Some(wait) => self.postpone(claim, wait).await?,
            None => self.release(claim).await?,
        }
        Ok(error)
    }

    /// Asks the endpoint that is kept with the sign-in; one that its issuer does not name any more
    /// is exchanged for the one that it names now, once.
    async fn ask_wherever(
        &self,
        claimed: &Claimed<'_>,
        carried: Option<&Arc<dyn CarriedExchange>>,
    ) -> (Details, Result<Issued, OAuthError>) {
        let (claim, details) = (claimed.claim, claimed.before.clone());
        let asked = self.ask(&details, claim, carried).await;
        // What may have arrived is not sent elsewhere.
        let may_ask_elsewhere = |error: &OAuthError| is_outdated(error) && !is_answer_lost(error);
        if !asked.as_ref().is_err_and(may_ask_elsewhere) {
            return (details, asked);
        }
        let deadline = self.tasks.sleep(CALLER_TIMEOUT);
        let late = async {
            deadline.await;
            None
        };
        // Discovery is only read, so giving it up loses nothing; the claim must not run out
        // meanwhile.
        match futures_lite::future::or(self.moved(&details), late).await {
            Some(details) if self.clock.monotonic() <= last_start(claim) => {
                self.traffic.turn_in_advance(&details.issuer, &*self.clock);
                let asked = self.ask(&details, claim, carried).await;
                (details, asked)
            }
            _ => (details, asked),
        }
    }

    /// Returns the sign-in with the endpoints that its issuer names now, if they are others.
    async fn moved(&self, details: &Details) -> Option<Details> {
        let settings = &self.settings;
        let reader = self.metadata.reader(CachePolicy::Bypass);
        let found = match &settings.endpoints {
            Endpoints::Fixed { .. } => return None,
            Endpoints::Metadata(at) => configured(&reader, settings, at).await.ok()?,
            Endpoints::Discovered | Endpoints::Issuer(_) => {
                let found = server_metadata(&reader, settings, &details.issuer).await;
                found.ok()??
            }
        };
        let token_endpoint = found.token_endpoint?;
        if found.issuer != details.issuer || token_endpoint == details.token_endpoint {
            return None;
        }
        let (endpoints, exceptions) = (&settings.endpoints, &settings.issuer_exceptions);
        // A document that the entry chose does not move a refresh token, not even on its origin.
        if !is_issuers_word(endpoints, exceptions, &found.issuer) {
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
        claim: &OwnClaim,
        carried: Option<&Arc<dyn CarriedExchange>>,
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
            keep: details.keep(),
            repeat_until: Some(last_start(claim)),
        };
        let form = Form::new("refresh_token")
            .with_secret("refresh_token", &claim.refresh)
            .with_some("resource", details.resource.as_deref())
            .with_some("scope", self.refresh_scope(details).as_deref());
        let wire = match carried {
            Some(carried) => self.wire.carried_by(Arc::clone(carried), details.encode()),
            None => self.wire.clone(),
        };
        endpoint.ask(&wire, form, self.clock.wall()).await
    }

    /// Returns the scopes to name, where the person said that the provider needs them.
    fn refresh_scope(&self, details: &Details) -> Option<String> {
        if self.settings.refresh_scope == RefreshScope::Omitted {
            return None;
        }
        let scopes = details.scopes.iter().map(String::as_str);
        scopes.collect::<Scopes>().to_parameter()
    }

    async fn reject(
        &self,
        claimed: &Claimed<'_>,
        details: &Details,
    ) -> Result<Renewed, OAuthError> {
        let marked = self
            .mark_rejected(claimed.generation, claimed.claim)
            .await?;
        match marked {
            Marked::Superseded { .. } => self.stored(Renewed::Adopted).await,
            _ => Ok(Renewed::Rejected {
                issuer: shown(&details.issuer),
                cause: claimed.claim.rejection_cause(),
            }),
        }
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

/// Tells a carrier that nothing is left to do.
async fn end(carried: Option<Arc<dyn CarriedExchange>>) {
    if let Some(carried) = carried {
        carried.end().await;
    }
}

/// Returns until when a request may be sent: with the full time for its answer before the claim is
/// overdue.
fn last_start(claim: &OwnClaim) -> Instant {
    claim.from() + (REFRESH_CLAIM_LIFETIME - EXCHANGE_TIMEOUT - CONNECT_ALLOWANCE)
}

const fn why(cause: &Cause) -> &'static str {
    match cause {
        Cause::Ahead(_) | Cause::Expiry => "renewing the token, which expires soon or has expired",
        Cause::Takeover => "renewing the token, which was being renewed before",
        Cause::Refused(_) => "renewing the token, which was refused",
    }
}

/// Says whether a request was sent and the connection lost before its answer, by this process or by
/// another.
const fn is_connection_lost(error: &OAuthError) -> bool {
    match error {
        OAuthError::Http { failure, .. } => {
            matches!(failure, HttpFailure::Unreachable { sent: true, .. })
        }
        _ => false,
    }
}

/// Says whether a request may have been carried out although its answer cannot be used: then the
/// server may have replaced the refresh token.
fn is_answer_lost(error: &OAuthError) -> bool {
    match error {
        OAuthError::Http { failure, .. } => match failure {
            HttpFailure::Unreachable { sent, .. } | HttpFailure::Timeout { sent, .. } => *sent,
            HttpFailure::Protocol { .. } => true,
            HttpFailure::Forbidden { .. } | HttpFailure::Redirect { .. } => false,
        },
        // A proxy that says so has passed the request on.
        OAuthError::Status { status, .. } => matches!(status, 502 | 504),
        OAuthError::Document { .. } => true,
        _ => false,
    }
}

/// Returns how long a server that is asked too much wants to be left alone, if it says so.
fn asked_to_wait(error: &OAuthError) -> Option<Duration> {
    match error {
        OAuthError::Status {
            status: 429 | 503,
            retry_after: Some(seconds),
            ..
        } => Some(Duration::from_secs(*seconds).min(RETRY_AFTER_MAX)),
        _ => None,
    }
}

/// Says whether a refusal will stay one. Of a client that registered itself, `invalid_client` means
/// that the registration is gone, and the refresh token with it; of one that was configured, that
/// its secret should be looked at.
fn is_final(code: &str, client: Origin) -> bool {
    match code {
        // The last two are GitHub's and Slack's words for the first.
        "invalid_grant" | "bad_refresh_token" | "invalid_refresh_token" => true,
        "invalid_client" | "unauthorized_client" => client != Origin::Configured,
        _ => false,
    }
}
