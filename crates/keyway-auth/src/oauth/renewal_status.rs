//! What a renewal is waiting for, so that a caller that gives up waiting can be told.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::OAuthError;

/// The renewal that one process has under way for a server, if there is one.
#[derive(Debug, Default)]
pub(super) struct RenewalStatus(Mutex<Option<RenewalStage>>);

/// How far a renewal is.
///
/// ```text
///   (none) ── Queued ── request sent ──▶ Exchange ── answer ──▶ Commit ── stored ──▶ (none)
/// ```
#[derive(Debug, Clone)]
pub(super) enum RenewalStage {
    /// Its turn has not come: more renewals are due than the issuer is asked for at once.
    Queued { issuer: String },
    /// The refresh token was sent, and its answer is awaited.
    Exchange { host: String },
    /// The answer is there, and the store does not take it yet.
    Commit { failure: Box<OAuthError> },
}

impl RenewalStatus {
    pub(super) fn enter(&self, stage: RenewalStage) {
        *self.lock() = Some(stage);
    }

    pub(super) fn end(&self) {
        *self.lock() = None;
    }

    /// Returns what to tell a caller that has waited long enough; `None` if nothing is under way.
    pub(super) fn slow(&self, seconds: u64) -> Option<OAuthError> {
        Some(match self.lock().clone()? {
            RenewalStage::Queued { issuer } => OAuthError::RenewalQueued { issuer, seconds },
            RenewalStage::Exchange { host } => OAuthError::RenewalSlow { host, seconds },
            RenewalStage::Commit { failure } => *failure,
        })
    }

    /// Held for a copy only, never across a wait.
    fn lock(&self) -> MutexGuard<'_, Option<RenewalStage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
