//! Which token is used, and which requests wait for it.
//!
//! ```text
//!             nothing stored                   soft limit            hard limit
//!   unknown ───────────────▶ bare    fresh ───────────▶ due ─────────────▶ unknown
//!      │                      │        ▲   renewed in      │
//!      │ stored, in time      │        │   background ◀────┘
//!      ├──────────────────────┼────────┤
//!      │ stored, expired      │        │
//!      └──▶ renew ────────────┼────────┤ (rejected ──▶ bare, sign-in required)
//!                             │ 401    │
//!                             └▶ sign in ┘   (declined ──▶ bare, with a pause)
//! ```
//!
//! A token that is refused is renewed once, then a person is asked; a refusal of a token that was
//! just issued ends in [`OAuthError::Loop`]. Another process that stores a newer token is always
//! asked first, through the store.

mod decision;
mod deferred;
mod identity;
mod renewing;
mod signing_in;
mod waiting;

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use async_lock::Mutex;
use http::{HeaderName, HeaderValue};
use keyway_store::{Generation, Grant, GrantKey};

use self::renewing::RenewalFailure;
use super::engine::{OAuthEngine, Ports, Server};
use super::memory::{Availability, Memory};
use super::metadata_cache::CachePolicy;
use super::refresh::Cause;
use super::settings::Settings;
use super::sign_in::{CheckedTokens, GivenTokens, SignInPreview, SignInTrigger};
use crate::authorizer::{Authorizer, Challenge, Credential, Verdict};
use crate::error::AuthError;
use crate::error::{OAuthError, SignInCause};
use crate::future::BoxFuture;
use crate::observer::ServerEvent;
use crate::ports::DeviceQuestion;
use crate::timeouts::{PROMPT_WAIT_TICK, SIGN_IN_POLL_INTERVAL};

/// OAuth on demand: nothing is sent until the server asks for it.
#[derive(Debug, Clone)]
pub struct OAuth(Arc<Inner>);

/// Whether a request may wait for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptPolicy {
    /// A request that needs a sign-in starts it and waits.
    WhenNeeded,
    /// A request that needs a sign-in starts it and waits this long; the sign-in continues.
    AtMost(Duration),
    /// A request that needs a sign-in fails; another call starts it.
    Never,
}

#[derive(Debug)]
struct Inner {
    engine: OAuthEngine,
    prompt_policy: PromptPolicy,
    fixed: Vec<(HeaderName, HeaderValue)>,
    /// Held to read or to change what is in memory, also by requests that have a token at hand.
    memory: std::sync::Mutex<Memory>,
    /// Locked while something is decided, so that one decision serves all requests that wait. Taken
    /// before `memory`, never the other way round; `memory` is never locked across an await.
    deciding: Arc<Mutex<()>>,
}

impl OAuth {
    /// Prepares; nothing is read or sent yet. `fixed` are headers that are sent in any case.
    #[must_use]
    pub fn new(
        server: Server,
        settings: Settings,
        ports: Ports,
        prompt_policy: PromptPolicy,
        fixed: Vec<(HeaderName, HeaderValue)>,
    ) -> Self {
        Self(Arc::new(Inner {
            memory: std::sync::Mutex::new(Memory::new(&fixed)),
            engine: OAuthEngine::new(server, settings, ports),
            prompt_policy,
            fixed,
            deciding: Arc::new(Mutex::new(())),
        }))
    }

    /// Signs in now, whatever is stored; returns the account, if the server says who it is.
    ///
    /// # Errors
    ///
    /// Returns why there is no token; an earlier sign-in stays as it was.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn sign_in(&self, scopes: Option<Vec<String>>) -> Result<Option<String>, AuthError> {
        let signed_in = self.0.owned(|inner| async move {
            inner.lock().forgive();
            let trigger = inner.trigger().await.asking_for(scopes);
            // An explicit sign-in uses fresh metadata.
            inner.enter(&trigger, CachePolicy::Bypass).await?;
            Ok(inner
                .lock()
                .held
                .as_ref()
                .and_then(|held| held.details.account.clone()))
        });
        signed_in.await.map_err(AuthError::from)
    }

    /// Signs in because a client needs it: as [`Self::sign_in`], except that a second caller waits
    /// for the window of the first and takes over its result.
    ///
    /// # Errors
    ///
    /// Returns why there is no token.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn enter(&self) -> Result<(), AuthError> {
        let entered = self.0.owned(|inner| async move {
            inner.lock().forgive();
            let known = inner
                .engine
                .grant
                .read()
                .await?
                .map(|grant| grant.generation);
            let trigger = inner.trigger().await;
            let entered = inner
                .sign_in_in_turn(&trigger, CachePolicy::Bypass, known)
                .await;
            entered.map(drop)
        });
        entered.await.map_err(AuthError::from)
    }

    /// Does the part of a sign-in that needs no person: challenge, discovery, and whether there is
    /// a client or one could be registered. Returns what would be asked for, with `scopes` in place
    /// of those that the server names. Registers and keeps nothing.
    ///
    /// # Errors
    ///
    /// Returns what a sign-in would fail with.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn dry_run(&self, scopes: Option<Vec<String>>) -> Result<SignInPreview, AuthError> {
        let checked = self.0.owned(|inner| async move {
            let trigger = inner.trigger().await.asking_for(scopes);
            inner.engine.dry_run(&trigger).await
        });
        checked.await.map_err(AuthError::from)
    }

    /// Compares tokens that another program obtained with the server's issuer and resource. Keeps
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns [`OAuthError::IssuedByOther`] or [`OAuthError::IssuedForOther`], or why the server's
    /// metadata cannot be read.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn check_given(&self, given: GivenTokens) -> Result<CheckedTokens, AuthError> {
        let checked = self.0.owned(|inner| async move {
            let trigger = inner.trigger().await;
            inner.engine.check_given(&trigger, given).await
        });
        checked.await.map_err(AuthError::from)
    }

    /// Stores tokens that were checked, and that the caller has tried.
    ///
    /// # Errors
    ///
    /// Returns why they cannot be stored; an earlier sign-in stays as it was.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn keep_given(&self, checked: &CheckedTokens) -> Result<(), AuthError> {
        let checked = checked.clone();
        let kept = self
            .0
            .owned(|inner| async move { inner.engine.keep_given(&checked).await });
        kept.await.map_err(AuthError::from)
    }

    /// Says whether the server offers a sign-in that could begin; as [`Self::dry_run`], except that
    /// a server without any metadata offers none.
    ///
    /// # Errors
    ///
    /// Returns [`OAuthError::NotOffered`], or what a sign-in would fail with.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn offered(&self) -> Result<(), AuthError> {
        let offered = self.0.owned(|inner| async move {
            let trigger = inner.engine.probe(&inner.fixed).await;
            inner.engine.offered(&trigger).await
        });
        offered.await.map_err(AuthError::from)
    }

    /// Renews the token now.
    ///
    /// # Errors
    ///
    /// Returns why it could not be renewed.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn renew(&self) -> Result<(), AuthError> {
        let renewed = self.0.owned(|inner| async move {
            inner.lock().forgive();
            let Some(grant) = inner.engine.grant.read().await? else {
                return Err(OAuthError::sign_in_required(SignInCause::Never));
            };
            match inner.renewed(&grant, Cause::Refused(None)).await? {
                Ok(_) => Ok(()),
                Err(RenewalFailure::SignIn(cause)) => Err(OAuthError::sign_in_required(cause)),
                Err(RenewalFailure::Rejected { issuer, cause }) => {
                    Err(OAuthError::GrantRejected { issuer, cause })
                }
            }
        });
        let renewed = self.0.unless_renewal_is_slow(renewed).await;
        renewed.map_err(AuthError::from)
    }

    /// Returns under which name the sign-in is stored.
    #[must_use]
    pub fn grant(&self) -> &GrantKey {
        self.0.engine.grant.key()
    }

    /// Renews the token because the process that was renewing this generation has died: the sooner,
    /// the likelier its server still takes the old one. Does nothing if another one has done that.
    ///
    /// # Errors
    ///
    /// Returns why it could not be renewed.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn recover(&self, generation: Generation) -> Result<(), AuthError> {
        let renewed = self.0.owned(move |inner| async move {
            match inner.engine.grant.read().await? {
                Some(grant) if grant.generation == generation => {
                    inner.renewed(&grant, Cause::Takeover).await.map(drop)
                }
                _ => Ok(()),
            }
        });
        renewed.await.map_err(AuthError::from)
    }

    /// Ends the sign-in; says what was done.
    ///
    /// # Errors
    ///
    /// Returns why it is still there.
    ///
    /// Cancel safety: what was started runs to its end in its own task; a dropped future only does not
    /// see the result.
    pub async fn sign_out(&self) -> Result<super::SignedOut, AuthError> {
        let ended = self.0.owned(|inner| async move {
            let ended = inner.engine.sign_out().await?;
            if ended.existed {
                inner.engine.observer.emit(ServerEvent::Cleared);
            }
            let now = inner.engine.clock.monotonic();
            let mut memory = inner.lock();
            memory.forgive();
            memory.trigger = SignInTrigger::default();
            let _bare = memory.empty(now, None);
            drop(memory);
            Ok(ended)
        });
        ended.await.map_err(AuthError::from)
    }

    /// Returns the consent page that a person is being asked on.
    #[must_use]
    pub fn consent_page(&self) -> Option<String> {
        self.0.engine.person.consent_page()
    }

    /// Waits until there is a code that only the client can show to a person (RFC 8628); forever,
    /// where the sign-in under way has none.
    ///
    /// Cancel safety: cancel safe; it only waits.
    pub async fn device_code(&self) -> DeviceQuestion {
        loop {
            if let Some(code) = self.0.engine.person.code_of_client() {
                return code;
            }
            self.0.engine.tasks.sleep(PROMPT_WAIT_TICK).await;
        }
    }

    /// Says whether a sign-in is stored, whatever it is worth.
    ///
    /// # Errors
    ///
    /// Returns why the vault cannot be read.
    ///
    /// Cancel safety: cancel safe; nothing is changed.
    pub async fn is_signed_in(&self) -> Result<bool, AuthError> {
        let stored = self.0.engine.grant.read().await?;
        Ok(stored.is_some())
    }

    /// Waits until a sign-in is stored by another process or call.
    ///
    /// Cancel safety: cancel safe; nothing is changed.
    pub async fn signed_in_elsewhere(&self) {
        let engine = &self.0.engine;
        let generation = |stored: Result<Option<Grant>, OAuthError>| {
            stored.ok().flatten().map(|grant| grant.generation)
        };
        let before = generation(engine.grant.read().await);
        loop {
            engine.tasks.sleep(SIGN_IN_POLL_INTERVAL).await;
            let now = generation(engine.grant.read().await);
            if now.is_some() && now != before {
                return;
            }
        }
    }

    /// Asks the server whether it wants a sign-in, without sending one.
    ///
    /// Cancel safety: cancel safe; nothing is changed.
    pub async fn wants_sign_in(&self) -> bool {
        self.0.engine.is_challenged(&self.0.fixed).await
    }

    /// Says whether no sign-in is needed: the server answers without a credential, and no document
    /// of it offers a sign-in.
    ///
    /// Cancel safety: cancel safe; nothing is changed.
    pub async fn is_unneeded(&self) -> bool {
        let unneeded = self.0.owned(|inner| async move {
            if !inner.engine.is_open(&inner.fixed).await {
                return Ok(false);
            }
            let offered = inner.engine.offered(&SignInTrigger::default()).await;
            Ok(matches!(offered, Err(OAuthError::NotOffered)))
        });
        unneeded.await.unwrap_or_default()
    }

    /// Shows to others that this process uses the sign-in, from the next time that it is read.
    ///
    /// The caller then checks [`is_stop_requested`](Self::is_stop_requested) a few times a second.
    pub fn attend(&self) {
        self.0.engine.grant.mark_in_use();
    }

    /// Says whether another process signs out, and waits for this process to [`leave`](Self::leave).
    #[must_use]
    pub fn is_stop_requested(&self) -> bool {
        self.0.engine.grant.is_stop_requested()
    }

    /// Stops using the sign-in; the next request looks at what is stored then.
    pub fn leave(&self) {
        self.reload();
        self.0.lock().trigger = SignInTrigger::default();
        self.0.engine.grant.unmark();
        if let Some(account_pin) = &self.0.engine.account_pin {
            account_pin.count_sign_out();
        }
    }

    /// Forgets what is in memory, because another process changed what is stored.
    pub fn reload(&self) {
        let mut memory = self.0.lock();
        memory.held = None;
        memory.empty_at = None;
        memory.forgive();
    }
}

impl Authorizer for OAuth {
    fn cached(&self) -> Option<Arc<Credential>> {
        let inner = &self.0;
        let (found, is_held) = {
            let memory = inner.lock();
            let found = memory.cached(inner.engine.clock.monotonic());
            (found, memory.held.is_some())
        };
        if is_held && !matches!(found, Availability::None) {
            inner.engine.traffic.hit();
        }
        match found {
            Availability::Fresh(credential) => Some(credential),
            Availability::DueForRenewal(credential) => {
                inner.renew_ahead();
                Some(credential)
            }
            Availability::None => None,
        }
    }

    fn obtain(&self) -> BoxFuture<'_, Result<Arc<Credential>, AuthError>> {
        Box::pin(async move {
            match self.cached() {
                Some(credential) => Ok(credential),
                None => {
                    self.0.engine.traffic.miss();
                    // Another request may have started a sign-in, which is waited for no longer here
                    // than there.
                    let obtained = self.0.owned(|inner| async move { inner.load().await });
                    let obtained = self.0.unless_renewal_is_slow(obtained);
                    let obtained = self.0.unless_person_is_slow(obtained).await;
                    obtained.map_err(AuthError::from)
                }
            }
        })
    }

    fn challenged<'a>(
        &'a self,
        used: &'a Credential,
        challenge: Challenge,
    ) -> BoxFuture<'a, Result<Verdict, AuthError>> {
        let serial = used.generation();
        Box::pin(async move {
            let decided = self
                .0
                .owned(move |inner| async move { inner.decide(serial, &challenge).await });
            let decided = self.0.unless_renewal_is_slow(decided);
            let decided = self.0.unless_person_is_slow(decided).await;
            decided.map_err(AuthError::from)
        })
    }
}

impl Inner {
    /// Returns what the server wanted when it last refused; if that is unknown, it is asked. The
    /// scopes that an earlier process could not ask for are among them.
    async fn trigger(&self) -> SignInTrigger {
        let mut trigger = self.lock().trigger.clone();
        if trigger.metadata.is_none() && trigger.scopes.is_none() {
            trigger = self.engine.probe(&self.fixed).await;
        }
        let required = self.engine.required_scopes.get().await;
        trigger.must = trigger.must.union(&required);
        trigger
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
