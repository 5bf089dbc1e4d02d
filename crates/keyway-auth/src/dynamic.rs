//! Headers that a helper prints: run when connecting, and once more when the server refuses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_lock::Mutex;
use http::{HeaderName, HeaderValue};
use keyway_secret::Clock;

use crate::authorizer::{Authorizer, Challenge, Credential, Verdict};
use crate::error::AuthError;
use crate::future::BoxFuture;
use crate::helper_output::parse;
use crate::ports::HelperRunner;

/// Headers from a helper, over static ones of the same name.
///
/// ```text
///   none ──helper ran──▶ fresh ──time over, or a refusal──▶ stale ──helper ran──▶ fresh
///     └──helper failed──▶ none, the error                     └──helper failed──▶ stale, the error
/// ```
#[derive(Debug)]
pub struct Dynamic<R, C> {
    runner: R,
    clock: C,
    renewal: Renewal,
    timeout: Duration,
    fixed: Vec<(HeaderName, HeaderValue)>,
    /// Held for a copy or a replacement, never across an await; taken under `running` or alone.
    current: std::sync::Mutex<Option<Current>>,
    /// Held while the helper runs, so that one run serves all waiting requests.
    /// A request that is dropped meanwhile kills the helper and releases the lock; the next that
    /// waits runs it again.
    running: Mutex<()>,
}

/// How long the output of a helper stays good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Renewal {
    /// For the connection.
    Connection,
    /// For one request: time-based signatures.
    Request,
    /// For a time.
    After(Duration),
}

#[derive(Debug, Clone)]
struct Current {
    credential: Arc<Credential>,
    obtained: Instant,
}

impl<R: HelperRunner, C: Clock> Dynamic<R, C> {
    /// Prepares to run `runner`; nothing runs yet.
    #[must_use]
    pub const fn new(
        runner: R,
        clock: C,
        renewal: Renewal,
        timeout: Duration,
        fixed: Vec<(HeaderName, HeaderValue)>,
    ) -> Self {
        let current = std::sync::Mutex::new(None);
        Self {
            runner,
            clock,
            renewal,
            timeout,
            fixed,
            current,
            running: Mutex::new(()),
        }
    }

    /// Runs the helper unless another call has run it since `seen`.
    async fn renew(&self, seen: Option<u64>) -> Result<Arc<Credential>, AuthError> {
        let _running = self.running.lock().await;
        let current = self.peek();
        let usable = current.as_ref().filter(|current| {
            let is_newer = seen.is_none_or(|seen| current.credential.generation() > seen);
            is_newer && self.is_fresh(current)
        });
        if let Some(current) = usable {
            return Ok(Arc::clone(&current.credential));
        }
        let output = self.runner.run(self.timeout).await;
        let headers = output.and_then(|output| parse(output.expose()));
        let headers = headers.map_err(|fault| AuthError::Helper {
            fault,
            confined: self.runner.confinement().map(Box::new),
        })?;
        let generation = current.map_or(1, |current| current.credential.generation() + 1);
        let credential = Arc::new(Credential::new(self.merge(headers), generation));
        let fresh = Current {
            credential: Arc::clone(&credential),
            obtained: self.clock.monotonic(),
        };
        *self.lock() = Some(fresh);
        Ok(credential)
    }

    fn merge(&self, printed: Vec<(HeaderName, HeaderValue)>) -> Vec<(HeaderName, HeaderValue)> {
        let kept = self
            .fixed
            .iter()
            .filter(|(name, _)| printed.iter().all(|(other, _)| other != name));
        kept.cloned().chain(printed.iter().cloned()).collect()
    }

    fn is_fresh(&self, current: &Current) -> bool {
        match self.renewal {
            Renewal::Connection => true,
            Renewal::Request => false,
            Renewal::After(time) => {
                self.clock
                    .monotonic()
                    .saturating_duration_since(current.obtained)
                    < time
            }
        }
    }

    fn peek(&self) -> Option<Current> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Current>> {
        self.current
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl<R: HelperRunner, C: Clock> Authorizer for Dynamic<R, C> {
    fn cached(&self) -> Option<Arc<Credential>> {
        self.peek()
            .filter(|current| self.is_fresh(current))
            .map(|current| current.credential)
    }

    fn obtain(&self) -> BoxFuture<'_, Result<Arc<Credential>, AuthError>> {
        Box::pin(async move {
            match self.cached() {
                Some(credential) => Ok(credential),
                None => self.renew(None).await,
            }
        })
    }

    fn challenged<'a>(
        &'a self,
        used: &'a Credential,
        challenge: Challenge,
    ) -> BoxFuture<'a, Result<Verdict, AuthError>> {
        Box::pin(async move {
            // The helper has run for this request; it would say the same again.
            if challenge.attempt > 1 {
                return Ok(Verdict::Stand);
            }
            self.renew(Some(used.generation()))
                .await
                .map(Verdict::Retry)
        })
    }
}

#[cfg(test)]
mod tests;
