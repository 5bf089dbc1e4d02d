//! The decision: what to do when a token is refused.

use std::sync::Arc;

use keyway_store::{Generation, GrantState};

use super::{Inner, PromptPolicy};
use crate::authorizer::{Challenge, Credential, Verdict};
use crate::challenge::{AuthChallenge, parse_challenges, token_challenge};
use crate::error::{OAuthError, SignInCause};
use crate::oauth::dpop;
use crate::oauth::memory::{HeldToken, Source, is_renewable};
use crate::oauth::metadata_cache::CachePolicy;
use crate::oauth::probe::trigger;
use crate::oauth::refresh::Cause;
use crate::oauth::sign_in::SignInTrigger;
use crate::observer::{ServerEvent, Topic};
use crate::refusal::HttpRefusal;
use crate::timeouts::FRESH_SIGN_IN;

impl Inner {
    /// Decides what to do about a refusal of the credential with this serial number.
    pub(super) async fn decide(
        &self,
        serial: u64,
        challenge: &Challenge,
    ) -> Result<Verdict, OAuthError> {
        if let Some(newer) = self.newer(serial) {
            return Ok(Verdict::Retry(newer));
        }
        let challenges = parse_challenges(&challenge.www_authenticate);
        let told = token_challenge(&challenges);
        self.engine.observer.note(Topic::OAuth, || {
            let error = told.and_then(AuthChallenge::error);
            let error = error.as_deref().unwrap_or("no reason");
            let (status, attempt) = (challenge.status, challenge.attempt);
            format!("refused with HTTP {status}, {error}, attempt {attempt}")
        });
        if let Some(retry) = self.with_nonce(challenge) {
            return Ok(retry);
        }
        if let Some(newer) = self.adopted(self.held_generation()).await? {
            return Ok(Verdict::Retry(newer));
        }
        let held = self.lock().held.clone();
        let mut trigger = trigger(told);
        trigger.wants_dpop |= held.as_ref().is_some_and(|held| held.dpop.is_some());
        trigger.refusal = Some(HttpRefusal::of_challenge(challenge.status, told));
        self.lock().trigger = trigger.clone();
        let lacks_scope =
            told.and_then(AuthChallenge::error).as_deref() == Some("insufficient_scope");
        match (held, challenge.status) {
            (Some(held), _) if lacks_scope => self.step_up(&held, trigger).await,
            (Some(_), 403) => Ok(Verdict::Stand),
            (Some(held), _) => self.replace(&held, trigger, challenge.attempt).await,
            (None, _) => {
                let cause = self.lock().ended.unwrap_or(SignInCause::Never);
                self.sign_in_or_say(cause, &trigger).await
            }
        }
    }

    pub(super) fn held_generation(&self) -> Option<Generation> {
        self.lock().held.as_ref().map(|held| held.grant.generation)
    }

    /// Returns a credential that came into use after the refused one was taken.
    fn newer(&self, serial: u64) -> Option<Arc<Credential>> {
        let memory = self.lock();
        let held = memory.held.as_ref()?;
        (held.credential.generation() > serial).then(|| Arc::clone(&held.credential))
    }

    /// RFC 9449 section 9: the same token, with what the server wants in the proof.
    fn with_nonce(&self, challenge: &Challenge) -> Option<Verdict> {
        let nonce = challenge.dpop_nonce.as_ref()?;
        let memory = self.lock();
        let held = memory.held.as_ref()?;
        let is_new = held
            .dpop
            .as_ref()?
            .learn_value(&self.engine.server.url, nonce);
        let is_new = is_new && dpop::wants_nonce(challenge);
        is_new.then(|| Verdict::Retry(Arc::clone(&held.credential)))
    }

    /// Replaces a token that the server does not accept.
    async fn replace(
        &self,
        held: &HeldToken,
        trigger: SignInTrigger,
        attempt: u32,
    ) -> Result<Verdict, OAuthError> {
        let was_just_renewed = held.source == Source::Renewal && attempt > 1;
        let cause = if was_just_renewed {
            SignInCause::Refused
        } else if held.grant.state == GrantState::NeedsReauth {
            // The authorization server rejected the refresh token: that the access token is refused
            // too is its end, however young it is, and not a loop.
            SignInCause::of_ended(&held.grant)
        } else if is_renewable(&held.grant) {
            self.may_renew()?;
            let cause = Cause::Refused(trigger.metadata.clone());
            match self.renewed(&held.grant, cause).await? {
                Ok(credential) => return Ok(Verdict::Retry(credential)),
                Err(lost) => self.lost(lost).await?,
            }
        } else {
            SignInCause::Refused
        };
        let hint = trigger.metadata.as_deref();
        // Not by the time of day: a clock that was set back would make every sign-in a young one.
        let age = held.details.age(self.engine.clock.boot().as_ref());
        let is_fresh = age.is_some_and(|age| age < FRESH_SIGN_IN) || held.source == Source::SignIn;
        let is_looping = self.lock().is_looping(self.engine.clock.monotonic());
        if cause == SignInCause::Refused
            && (is_fresh || is_looping)
            && !self.engine.has_moved(&held.details, hint).await
        {
            let (now, error) = (self.engine.clock.monotonic(), OAuthError::Loop);
            self.lock().loops.note(now, &error);
            return Err(error);
        }
        self.sign_in_or_say(cause, &trigger).await
    }

    /// Says why it is too early to renew again.
    fn may_renew(&self) -> Result<(), OAuthError> {
        let now = self.engine.clock.monotonic();
        let memory = self.lock();
        match memory.renewals.recent(now).or(memory.loops.recent(now)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Asks for more scopes.
    async fn step_up(
        &self,
        held: &HeldToken,
        mut trigger: SignInTrigger,
    ) -> Result<Verdict, OAuthError> {
        let Some(scopes) = trigger.scopes.clone() else {
            return Ok(Verdict::Stand);
        };
        trigger.before = held.details.scopes.iter().map(String::as_str).collect();
        trigger.must = scopes;
        self.lock().trigger = trigger.clone();
        self.sign_in_or_say(SignInCause::Scope, &trigger).await
    }

    pub(super) async fn sign_in_or_say(
        &self,
        cause: SignInCause,
        trigger: &SignInTrigger,
    ) -> Result<Verdict, OAuthError> {
        if !self.may_sign_in(trigger).await {
            let wanted = trigger.before.union(&trigger.must);
            if cause == SignInCause::Scope {
                self.engine.required_scopes.set(&trigger.must).await;
            }
            let error = OAuthError::SignInRequired {
                cause,
                scopes: wanted.as_slice().to_vec(),
                refusal: trigger.refusal.clone().map(Box::new),
            };
            let code = error.code();
            self.engine.observer.emit(ServerEvent::Required { code });
            return Err(error);
        }
        let (asked, now) = (
            self.engine.person.times_asked(),
            self.engine.clock.monotonic(),
        );
        let tries = {
            let mut memory = self.lock();
            if let Some(error) = memory.refusals.recent(now) {
                return Err(error);
            }
            memory.prompts(now)
        };
        if tries >= MAX_PROMPTS {
            let scopes = trigger.scopes.clone().unwrap_or_default();
            let scopes = scopes.as_slice().to_vec();
            return Err(match cause {
                SignInCause::Scope => OAuthError::ScopeLimit { tries, scopes },
                _ => OAuthError::SignInRequired {
                    cause,
                    scopes,
                    refusal: trigger.refusal.clone().map(Box::new),
                },
            });
        }
        let known = self.held_generation();
        let entered = self
            .sign_in_in_turn(trigger, CachePolicy::UseCached, known)
            .await;
        if self.engine.person.times_asked() != asked {
            let now = self.engine.clock.monotonic();
            self.lock().count_prompt(now);
        }
        entered.map(Verdict::Retry)
    }

    /// Says whether a sign-in may start: a person can be asked here, or by the client.
    pub(super) async fn may_sign_in(&self, trigger: &SignInTrigger) -> bool {
        let engine = &self.engine;
        if !engine.settings.grant.needs_person() {
            return true;
        }
        // Only a request that waits for a while can be answered with a code in the meantime.
        match self.prompt_policy {
            PromptPolicy::Never => false,
            PromptPolicy::WhenNeeded => engine.person.available().is_some(),
            PromptPolicy::AtMost(_) => {
                engine.person.available().is_some() || engine.offers_codes(trigger).await
            }
        }
    }
}

/// How often a person is asked because a server wants it, before that is told no.
const MAX_PROMPTS: u32 = 3;
