//! What failed lately, and how long it is left alone.

use std::time::{Duration, Instant};

use crate::error::OAuthError;
use crate::ports::InteractionError;
use crate::timeouts::{
    BACKOFF_FIRST, BACKOFF_MAX, DECLINED_PAUSE, RETRY_AFTER_MAX, UNANSWERED_PAUSE,
};

/// One kind of thing that can fail; each failure in a row is waited for twice as long.
#[derive(Debug, Default)]
pub(in crate::oauth) struct FailureBackoff(Option<Box<Failure>>);

#[derive(Debug)]
struct Failure {
    error: OAuthError,
    at: Instant,
    step: Duration,
    pause: Duration,
}

impl FailureBackoff {
    /// Returns the failure that it is too early to try again after.
    pub(in crate::oauth) fn recent(&self, now: Instant) -> Option<OAuthError> {
        let failure = self.0.as_ref()?;
        let is_recent = now.duration_since(failure.at) < failure.pause;
        is_recent.then(|| failure.error.clone())
    }

    /// Says whether there was a failure within some time.
    pub(in crate::oauth) fn is_within(&self, now: Instant, time: Duration) -> bool {
        let failure = self.0.as_ref();
        failure.is_some_and(|failure| now.duration_since(failure.at) < time)
    }

    /// Remembers a failure.
    pub(in crate::oauth) fn note(&mut self, now: Instant, error: &OAuthError) {
        let step = match &self.0 {
            Some(before) => (before.step * 2).min(BACKOFF_MAX),
            None => BACKOFF_FIRST,
        };
        self.0 = Some(Box::new(Failure {
            error: error.clone(),
            at: now,
            step,
            pause: step.max(asked_for(error)),
        }));
    }

    /// Forgets it.
    pub(in crate::oauth) fn clear(&mut self) {
        self.0 = None;
    }
}

/// Returns how long the server that failed asks us to wait.
fn asked_for(error: &OAuthError) -> Duration {
    match error {
        OAuthError::Status { retry_after, .. } => {
            Duration::from_secs(retry_after.unwrap_or_default()).min(RETRY_AFTER_MAX)
        }
        OAuthError::RenewalPostponed { seconds } => Duration::from_secs(*seconds),
        OAuthError::AuthorizationRefused { .. }
        | OAuthError::IdentityRefused { .. }
        | OAuthError::DeclinedElsewhere
        | OAuthError::Interaction(InteractionError::Cancelled) => DECLINED_PAUSE,
        OAuthError::Interaction(InteractionError::Timeout { .. }) => UNANSWERED_PAUSE,
        _ => Duration::ZERO,
    }
}
