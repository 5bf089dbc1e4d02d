//! What one process remembers of a sign-in, so that most requests need nothing else.

mod failure_backoff;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderName};
use keyway_secret::Clock;
use keyway_store::{Grant, GrantState};

use super::details::Details;
use super::dpop::Nonces;
use super::dpop_binding::DpopBinding;
use super::sign_in::SignInTrigger;
use super::token;
use crate::authorizer::Credential;
use crate::error::{OAuthError, SignInCause};

use self::failure_backoff::FailureBackoff;
use crate::timeouts::{EMPTY_LIFETIME, PROMPT_COUNT_WINDOW, REFRESH_SKEW};

/// What one process remembers.
#[derive(Debug)]
pub(super) struct Memory {
    /// Grows with each credential.
    pub(super) serial: u64,
    /// Boxed, as is every failure below: each session has a memory, and most servers need no token.
    pub(super) held: Option<Box<HeldToken>>,
    /// The headers that are sent without a token.
    bare: Arc<Credential>,
    /// When the store last had nothing for us.
    pub(super) empty_at: Option<Instant>,
    /// Why the sign-in in the store cannot be used.
    pub(super) ended: Option<SignInCause>,
    /// What the server said when it last refused.
    pub(super) trigger: SignInTrigger,
    /// Renewals that failed.
    pub(super) renewals: FailureBackoff,
    /// Sign-ins that came to nothing.
    pub(super) refusals: FailureBackoff,
    /// Tokens that were refused as soon as they were issued.
    pub(super) loops: FailureBackoff,
    /// When a person was asked because the server wanted it.
    prompts: Vec<Instant>,
    pub(super) is_renewing: bool,
}

/// A token in use.
#[derive(Debug, Clone)]
pub(super) struct HeldToken {
    pub(super) grant: Arc<Grant>,
    pub(super) details: Details,
    pub(super) credential: Arc<Credential>,
    pub(super) source: Source,
    pub(super) dpop: Option<DpopBinding>,
    /// From then on it is renewed in the background.
    soft: Option<Instant>,
    /// From then on it is not used any more.
    hard: Option<Instant>,
}

/// How a token came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// It was in the store.
    Store,
    /// A person signed in.
    SignIn,
    /// It was renewed.
    Renewal,
}

/// What can be done with the token in use.
#[derive(Debug)]
pub(super) enum Availability {
    /// It is good.
    Fresh(Arc<Credential>),
    /// It is good, but should be renewed.
    DueForRenewal(Arc<Credential>),
    /// There is none.
    None,
}

impl Memory {
    pub(super) fn new(fixed: &[(HeaderName, HeaderValue)]) -> Self {
        Self {
            serial: 0,
            held: None,
            bare: Arc::new(Credential::new(fixed.to_vec(), 0)),
            empty_at: None,
            ended: None,
            trigger: SignInTrigger::default(),
            renewals: FailureBackoff::default(),
            refusals: FailureBackoff::default(),
            loops: FailureBackoff::default(),
            prompts: Vec::new(),
            is_renewing: false,
        }
    }

    /// Says what can be used right now.
    pub(super) fn cached(&self, now: Instant) -> Availability {
        let Some(held) = &self.held else {
            let is_empty = self
                .empty_at
                .is_some_and(|at| now.duration_since(at) < EMPTY_LIFETIME);
            return if is_empty {
                Availability::Fresh(Arc::clone(&self.bare))
            } else {
                Availability::None
            };
        };
        let credential = || Arc::clone(&held.credential);
        if held.hard.is_some_and(|hard| now >= hard) {
            Availability::None
        } else if held.soft.is_some_and(|soft| now >= soft) {
            Availability::DueForRenewal(credential())
        } else {
            Availability::Fresh(credential())
        }
    }

    /// Remembers that there is no usable sign-in.
    pub(super) fn empty(&mut self, now: Instant, ended: Option<SignInCause>) -> Arc<Credential> {
        self.held = None;
        self.empty_at = Some(now);
        self.ended = ended;
        Arc::clone(&self.bare)
    }

    /// Takes a token into use.
    pub(super) fn install(
        &mut self,
        grant: Grant,
        source: Source,
        fixed: &[(HeaderName, HeaderValue)],
        (clock, nonces): (&Arc<dyn Clock>, &Arc<Nonces>),
    ) -> Result<Arc<Credential>, OAuthError> {
        let Some(details) = Details::decode(grant.details.expose()) else {
            return Err(OAuthError::sign_in_required(SignInCause::Ended));
        };
        self.serial += 1;
        let mut headers: Vec<_> = fixed.to_vec();
        headers.push((AUTHORIZATION, token::header(details.kind, &grant.access)?));
        let mut credential = Credential::new(headers, self.serial);
        let mut dpop = None;
        if let Some(key) = details.dpop() {
            let key = DpopBinding::import(&key, nonces)?;
            credential = credential.with_proof(key.proof(&grant.access, clock));
            dpop = Some(key);
        }
        let credential = Arc::new(credential);
        let now = clock.monotonic();
        let left = grant.expires_at.map(|at| at.since(grant.now));
        self.held = Some(Box::new(HeldToken {
            soft: left.map(|left| now + left.saturating_sub(skew(details.lifetime))),
            hard: left.map(|left| now + left),
            grant: Arc::new(grant),
            details,
            credential: Arc::clone(&credential),
            source,
            dpop,
        }));
        self.empty_at = None;
        self.ended = None;
        self.renewals.clear();
        if source != Source::Renewal {
            self.refusals.clear();
        }
        Ok(credential)
    }

    /// Stops renewing a token ahead of its end: it cannot be.
    pub(super) fn let_end(&mut self, grant: &Grant) {
        if let Some(held) = &mut self.held
            && held.grant.generation == grant.generation
        {
            held.soft = None;
        }
    }

    /// Forgets failures: a person wants it tried now.
    pub(super) fn forgive(&mut self) {
        self.renewals.clear();
        self.refusals.clear();
        self.loops.clear();
        self.prompts.clear();
    }

    /// Counts one more time that a person was asked. Asking for other scopes each time does not
    /// avoid the limit.
    pub(super) fn count_prompt(&mut self, now: Instant) {
        self.prompts.push(now);
    }

    /// Returns how often a person was asked of late.
    pub(super) fn prompts(&mut self, now: Instant) -> u32 {
        self.prompts
            .retain(|at| now.duration_since(*at) < PROMPT_COUNT_WINDOW);
        u32::try_from(self.prompts.len()).unwrap_or(u32::MAX)
    }

    /// Says whether the server refused a token right after it was issued, and has not stopped to.
    pub(super) fn is_looping(&self, now: Instant) -> bool {
        self.loops.is_within(now, PROMPT_COUNT_WINDOW)
    }
}

/// Says whether a stored sign-in can be used as it is.
pub(super) fn is_usable(grant: &Grant) -> bool {
    grant.expires_at.is_none_or(|at| at > grant.now)
}

/// Says whether a stored sign-in can renew itself.
pub(super) fn is_renewable(grant: &Grant) -> bool {
    grant.refreshable && grant.state == GrantState::Good
}

/// Returns how long before its end a token is renewed: 30 s, or half of the lifetime that it
/// was issued with, so that a short-lived token is not renewed at every request.
///
/// What is left when a process starts does not matter: a new process renews as early as an old one.
fn skew(lifetime: Option<u64>) -> Duration {
    match lifetime {
        Some(seconds) => REFRESH_SKEW.min(Duration::from_secs(seconds) / 2),
        None => REFRESH_SKEW,
    }
}
