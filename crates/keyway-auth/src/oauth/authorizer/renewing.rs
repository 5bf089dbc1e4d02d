//! What is stored comes into use: as it is, or renewed first.

use std::sync::Arc;

use keyway_store::Grant;

use super::Inner;
use crate::authorizer::Credential;
use crate::error::{OAuthError, RejectionCause, SignInCause};
use crate::oauth::details::Details;
use crate::oauth::memory::{Availability, Source, is_renewable, is_usable};
use crate::oauth::refresh::{Cause, Renewed};
use crate::observer::ServerEvent;

impl Inner {
    /// Renews the token in use while it is still valid, in the background.
    pub(super) fn renew_ahead(self: &Arc<Self>) {
        let now = self.engine.clock.monotonic();
        let grant = {
            let mut memory = self.lock();
            if memory.is_renewing || memory.renewals.recent(now).is_some() {
                return;
            }
            let Some(held) = memory
                .held
                .as_ref()
                .filter(|held| is_renewable(&held.grant))
            else {
                return;
            };
            let grant = Arc::clone(&held.grant);
            memory.is_renewing = true;
            grant
        };
        let inner = Arc::clone(self);
        self.engine.tasks.spawn(Box::pin(async move {
            // Before the decision: callers whose token ends meanwhile renew it themselves, and come
            // first.
            let slot = inner.engine.slot_ahead(&grant).await;
            let _turn = inner.deciding.lock_arc().await;
            // What fails here is tried again before the token ends, and told then.
            let renewed = inner.renewed(&grant, Cause::Ahead(slot)).await;
            let mut memory = inner.lock();
            if let Ok(Err(_)) = renewed {
                memory.let_end(&grant);
            }
            memory.is_renewing = false;
        }));
    }

    /// Takes what is stored into use, renewed if its time is over.
    pub(super) async fn load(&self) -> Result<Arc<Credential>, OAuthError> {
        let now = self.engine.clock.monotonic();
        match self.lock().cached(now) {
            Availability::Fresh(credential) | Availability::DueForRenewal(credential) => {
                return Ok(credential);
            }
            Availability::None => {}
        }
        let Some(grant) = self.engine.grant.read().await? else {
            return Ok(self.lock().empty(now, None));
        };
        if is_usable(&grant) {
            let known = self.known(grant)?;
            let ended = || self.lock().empty(now, Some(SignInCause::Ended));
            return Ok(known.unwrap_or_else(ended));
        }
        if !is_renewable(&grant) {
            let ended = SignInCause::of_ended(&grant);
            return Ok(self.lock().empty(now, Some(ended)));
        }
        if let Some(error) = self.lock().renewals.recent(now) {
            return Err(error);
        }
        match self.renewed(&grant, Cause::Expiry).await? {
            Ok(credential) => Ok(credential),
            Err(lost) => {
                let cause = self.lost(lost).await?;
                Ok(self.lock().empty(now, Some(cause)))
            }
        }
    }

    /// Returns why a person is to be asked; if none may be, that is the error.
    pub(super) async fn lost(&self, lost: RenewalFailure) -> Result<SignInCause, OAuthError> {
        let trigger = self.lock().trigger.clone();
        match lost {
            RenewalFailure::SignIn(cause) => Ok(cause),
            RenewalFailure::Rejected { cause, .. } if self.may_sign_in(&trigger).await => {
                Ok(SignInCause::of_rejection(cause))
            }
            RenewalFailure::Rejected { issuer, cause } => {
                let ended = SignInCause::of_rejection(cause);
                let error = OAuthError::GrantRejected { issuer, cause };
                let code = error.code();
                self.engine.observer.emit(ServerEvent::Required { code });
                let now = self.engine.clock.monotonic();
                let _bare = self.lock().empty(now, Some(ended));
                Err(error)
            }
        }
    }

    /// Renews a stored sign-in; tells what is missing if only a person can.
    pub(super) async fn renewed(
        &self,
        grant: &Grant,
        cause: Cause,
    ) -> Result<Result<Arc<Credential>, RenewalFailure>, OAuthError> {
        match self.engine.renew(grant, cause).await {
            Ok(Renewed::Stored(grant)) => self.install(*grant, Source::Renewal).map(Ok),
            Ok(Renewed::Adopted(grant)) => self.install(*grant, Source::Store).map(Ok),
            Ok(Renewed::SignIn(cause)) => Ok(Err(RenewalFailure::SignIn(cause))),
            Ok(Renewed::Rejected { issuer, cause }) => {
                Ok(Err(RenewalFailure::Rejected { issuer, cause }))
            }
            Err(error) => {
                let now = self.engine.clock.monotonic();
                self.lock().renewals.note(now, &error);
                Err(error)
            }
        }
    }

    /// Takes a stored grant into use; `None` if its details cannot be decoded, so that only a new
    /// sign-in helps.
    pub(super) fn known(&self, grant: Grant) -> Result<Option<Arc<Credential>>, OAuthError> {
        match self.install(grant, Source::Store) {
            Ok(credential) => Ok(Some(credential)),
            Err(OAuthError::SignInRequired { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn install(
        &self,
        grant: Grant,
        source: Source,
    ) -> Result<Arc<Credential>, OAuthError> {
        if let Some(account_pin) = &self.engine.account_pin
            && let Some(details) = Details::decode(grant.details.expose())
            && !account_pin.admits(&details)
        {
            return Err(OAuthError::OtherAccount);
        }
        self.lock().install(
            grant,
            source,
            &self.fixed,
            (&self.engine.clock, &self.engine.nonces),
        )
    }
}

/// Why a sign-in cannot renew itself any more.
#[derive(Debug)]
pub(super) enum RenewalFailure {
    SignIn(SignInCause),
    /// Its refresh token was rejected.
    Rejected {
        issuer: String,
        cause: RejectionCause,
    },
}
