//! Sign-in to a server, for the code that serves it to a client.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_auth::BoxFuture;
use keyway_auth::oauth::OAuth;
use keyway_auth::ports::DeviceQuestion;
use keyway_mcp::aggregate::SignInPort;
use keyway_mcp::states::ServerProblem;

/// The way to sign in to a server; callers that come together share one attempt.
pub struct SignInGate(Arc<SignInAttempts>);

/// The attempts of this process to sign in, one at a time.
///
/// ```text
///            first caller                 answered, also if its caller is gone
///   idle ─────────────────▶ a task asks ───────────────────────────────────────▶ idle
///                             ▲     │
///    others wait for `asking` ┘     └──▶ all get this answer
/// ```
struct SignInAttempts {
    oauth: OAuth,
    /// Held while a person is asked, so that callers wait for that answer in place of asking again.
    /// The task that asks owns it: a caller that is dropped must not let the next one ask too.
    /// Taken before `last`, which is never held across an await.
    asking: Arc<tokio::sync::Mutex<()>>,
    /// The number of attempts, and the result of the last one.
    /// Held for a copy or a replacement.
    last: Mutex<(u64, Result<(), ServerProblem>)>,
}

impl SignInGate {
    pub(crate) fn new(oauth: OAuth) -> Self {
        Self(Arc::new(SignInAttempts {
            oauth,
            asking: Arc::default(),
            last: Mutex::new((0, Ok(()))),
        }))
    }
}

impl SignInAttempts {
    /// Asks a person, or waits for the attempt that is under way and takes over its answer.
    ///
    /// Cancel safety: an attempt that has begun continues in its own task; a dropped future only
    /// does not see the answer, and the next caller gets it.
    async fn join(self: &Arc<Self>) -> Result<(), ServerProblem> {
        let before = self.last().0;
        // Waiting for the turn may be dropped: nothing has begun.
        let turn = Arc::clone(&self.asking).lock_owned().await;
        // A caller that waited for another one in this process gets the same answer.
        let (tries, answer) = self.last().clone();
        if tries != before {
            return answer;
        }
        let attempts = Arc::clone(self);
        let attempt = tokio::spawn(async move {
            let answer = attempts.oauth.enter().await;
            let answer = answer.map_err(|error| ServerProblem::from(&error));
            *attempts.last() = (tries + 1, answer.clone());
            // Last: the caller that gets the turn next finds the answer.
            drop(turn);
            answer
        });
        match attempt.await {
            Ok(answer) => answer,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime shuts down, and this caller with it.
                Err(_) => std::future::pending().await,
            },
        }
    }

    fn last(&self) -> MutexGuard<'_, (u64, Result<(), ServerProblem>)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SignInGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignInGate").finish_non_exhaustive()
    }
}

impl SignInPort for SignInGate {
    fn sign_in(&self) -> BoxFuture<'_, Result<(), ServerProblem>> {
        Box::pin(self.0.join())
    }

    fn consent_page(&self) -> Option<String> {
        self.0.oauth.consent_page()
    }

    fn device_code(&self) -> BoxFuture<'_, DeviceQuestion> {
        Box::pin(self.0.oauth.device_code())
    }

    fn signed_in_elsewhere(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.oauth.signed_in_elsewhere())
    }
}
