//! How long a request waits: for its turn, for a renewal, and for a person.
//!
//! What is waited for is a task of its own, which continues when a request stops waiting.

use std::sync::Arc;
use std::time::Duration;

use async_lock::OnceCell;

use super::{Inner, PromptPolicy};
use crate::error::OAuthError;
use crate::timeouts::{CALLER_TIMEOUT, PROMPT_WAIT_TICK};

impl Inner {
    /// Does something to its end, one at a time, whether or not the caller stays to see it.
    pub(super) async fn owned<T, F, W>(self: &Arc<Self>, work: W) -> Result<T, OAuthError>
    where
        T: Clone + Send + Sync + 'static,
        F: Future<Output = Result<T, OAuthError>> + Send,
        W: FnOnce(Arc<Self>) -> F + Send + 'static,
    {
        // Waiting for the turn may be dropped: nothing has begun. From here on the task holds it,
        // so that a caller that goes away does not let the next decision in too early.
        let turn = self.deciding.lock_arc().await;
        let cell = Arc::new(OnceCell::new());
        let (inner, result) = (Arc::clone(self), Arc::clone(&cell));
        self.engine.tasks.spawn(Box::pin(async move {
            let outcome = work(inner).await;
            drop(turn);
            result.get_or_init(|| async { outcome }).await;
        }));
        cell.wait().await.clone()
    }

    /// Stops waiting for a renewal that takes too long; the renewal itself continues.
    pub(super) async fn unless_renewal_is_slow<T>(
        &self,
        waiting: impl Future<Output = Result<T, OAuthError>>,
    ) -> Result<T, OAuthError> {
        let slow = async {
            self.engine.tasks.sleep(CALLER_TIMEOUT).await;
            loop {
                if let Some(error) = self.engine.renewal.slow(CALLER_TIMEOUT.as_secs()) {
                    return Err(error);
                }
                // Something else is waited for, a person perhaps; that is bounded elsewhere.
                self.engine.tasks.sleep(PROMPT_WAIT_TICK).await;
            }
        };
        // The result first; what is dropped on the other side only waits.
        futures_lite::future::or(waiting, slow).await
    }

    /// Stops waiting for a person after the time that requests may wait; the sign-in continues.
    pub(super) async fn unless_person_is_slow<T>(
        &self,
        waiting: impl Future<Output = Result<T, OAuthError>>,
    ) -> Result<T, OAuthError> {
        match self.prompt_policy {
            // The result first: one that is there counts even if the time is over. What is dropped
            // on the other side continues in its own task.
            PromptPolicy::AtMost(time) => futures_lite::future::or(waiting, self.late(time)).await,
            _ => waiting.await,
        }
    }

    /// Gives up waiting for a person, while the person is still being asked.
    pub(super) async fn late<T>(&self, time: Duration) -> Result<T, OAuthError> {
        let mut waited = Duration::ZERO;
        loop {
            self.engine.tasks.sleep(PROMPT_WAIT_TICK).await;
            // The person sees the code only once this call is answered.
            if let Some(code) = self.engine.person.code_of_client() {
                let (page, code) = (code.page.to_string(), code.code);
                return Err(OAuthError::CodeOfClient { page, code });
            }
            // Only the time that a person takes counts; everything else is bounded already.
            let address = self.engine.person.consent_page();
            if address.is_none() && !self.engine.person.is_queued() {
                continue;
            }
            waited += PROMPT_WAIT_TICK;
            if waited >= time {
                return Err(match address {
                    Some(address) => OAuthError::SignInUnderWay { address },
                    None => OAuthError::AskedElsewhere,
                });
            }
        }
    }
}
