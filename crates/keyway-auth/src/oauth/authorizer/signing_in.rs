//! Asking a person, in turn with all other processes that would ask the same.

use std::sync::Arc;

use keyway_store::Generation;

use super::Inner;
use crate::authorizer::Credential;
use crate::error::{OAuthError, SignInCause};
use crate::future::BoxFuture;
use crate::oauth::memory::{Source, is_usable};
use crate::oauth::metadata_cache::CachePolicy;
use crate::oauth::sign_in::SignInTrigger;
use crate::observer::ServerEvent;
use crate::ports::{Declined, InteractionError, Turn};
use crate::timeouts::CONSENT_TIMEOUT;

impl Inner {
    /// Signs in, unless another process asked the same person first: its answer counts here too, a
    /// refusal included. `known` is the sign-in that does not help.
    pub(super) async fn sign_in_in_turn(
        &self,
        trigger: &SignInTrigger,
        policy: CachePolicy,
        known: Option<Generation>,
    ) -> Result<Arc<Credential>, OAuthError> {
        let turn = self.turn().await;
        if let Some(newer) = self.adopted(known).await? {
            return Ok(newer);
        }
        if let Some(how) = turn.as_ref().and_then(|turn| turn.declined()) {
            return self.failed(elsewhere(how));
        }
        let entered = self.enter(trigger, policy).await;
        if let (Some(turn), Err(error)) = (&turn, &entered)
            && let Some(how) = declined(error)
        {
            turn.decline(how);
        }
        entered
    }

    async fn turn(&self) -> Option<Box<dyn Turn>> {
        let person = self.engine.person.available()?;
        if !self.engine.settings.grant.needs_person() {
            return None;
        }
        let turn = person.turn(self.engine.grant.key());
        self.engine.person.queue(turn).await
    }

    /// Takes over what another process stored since.
    pub(super) async fn adopted(
        &self,
        known: Option<Generation>,
    ) -> Result<Option<Arc<Credential>>, OAuthError> {
        match self.engine.grant.read().await? {
            Some(grant) if known != Some(grant.generation) && is_usable(&grant) => {
                self.known(grant)
            }
            Some(_) => Ok(None),
            None => {
                // Signed out elsewhere.
                self.lock().held = None;
                Ok(None)
            }
        }
    }

    /// Signs in and takes the result into use.
    pub(super) async fn enter(
        &self,
        trigger: &SignInTrigger,
        policy: CachePolicy,
    ) -> Result<Arc<Credential>, OAuthError> {
        let signing_in = self.engine.sign_in(trigger, policy);
        self.enter_by(Box::pin(signing_in)).await
    }

    /// Takes the result of a sign-in into use.
    pub(super) async fn enter_by(
        &self,
        signing_in: BoxFuture<'_, Result<Generation, OAuthError>>,
    ) -> Result<Arc<Credential>, OAuthError> {
        let entered = async {
            signing_in.await?;
            let stored = self.engine.grant.read().await?;
            stored.ok_or_else(|| OAuthError::sign_in_required(SignInCause::Never))
        };
        let observer = &self.engine.observer;
        observer.emit(ServerEvent::Started);
        match entered.await {
            Ok(grant) => {
                observer.emit(ServerEvent::Completed);
                self.install(grant, Source::SignIn)
            }
            Err(error) => self.failed(error),
        }
    }

    /// Remembers that the sign-in failed, so that the person is not asked again at once.
    fn failed<T>(&self, error: OAuthError) -> Result<T, OAuthError> {
        let code = error.code();
        self.engine.observer.emit(ServerEvent::Failed { code });
        // A person who is still being asked, at the identity provider, has not failed.
        if !matches!(
            error,
            OAuthError::SignInUnderWay { .. } | OAuthError::AskedElsewhere
        ) {
            let now = self.engine.clock.monotonic();
            self.lock().refusals.note(now, &error);
        }
        Err(error)
    }
}

/// Says whether an error is the person's own answer, which counts for every process that waits for
/// one. Cancelling in one process does not: another may still want to sign in.
fn declined(error: &OAuthError) -> Option<Declined> {
    match error {
        OAuthError::AuthorizationRefused { refusal, .. }
        | OAuthError::TokenRefused { refusal, .. } => {
            // The second is how it is said of a code for another device (RFC 8628 section 3.5).
            (refusal.code == "access_denied").then_some(Declined::Refused)
        }
        OAuthError::Interaction(InteractionError::Timeout { .. }) => Some(Declined::NoAnswer),
        _ => None,
    }
}

const fn elsewhere(how: Declined) -> OAuthError {
    match how {
        Declined::Refused => OAuthError::DeclinedElsewhere,
        Declined::NoAnswer => OAuthError::Interaction(InteractionError::Timeout {
            seconds: CONSENT_TIMEOUT.as_secs(),
        }),
    }
}
