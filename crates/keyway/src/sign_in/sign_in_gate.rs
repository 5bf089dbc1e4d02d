//! Sign-in to a server, for the code that serves it to a client.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_auth::BoxFuture;
use keyway_auth::oauth::OAuth;
use keyway_store::RecordStore;
use serde_json::value::RawValue;

use crate::in_flight::InFlight;
use keyway_mcp::aggregate::SignInPort;
use keyway_mcp::states::ServerProblem;

/// A sign-in, and what the server offered during the last sign-in.
pub struct SignInGate {
    oauth: OAuth,
    lists: Arc<dyn RecordStore>,
    in_flight: InFlight,
    name: String,
    /// What is known to be stored, so that it is not stored again.
    /// Held for one comparison.
    kept: Mutex<Option<String>>,
    /// Held while a person is asked, so that callers wait for that answer in place of asking again.
    /// A caller that is dropped releases it, while its sign-in continues; the next one waits for
    /// that sign-in and asks again. Taken before `entered`, which is never held across an await.
    entering: tokio::sync::Mutex<()>,
    /// The number of attempts to sign in, and the result of the last one.
    /// Held for a copy or a replacement.
    entered: Mutex<(u64, Result<(), ServerProblem>)>,
}

impl SignInGate {
    pub(crate) const fn new(
        oauth: OAuth,
        lists: Arc<dyn RecordStore>,
        in_flight: InFlight,
        name: String,
    ) -> Self {
        Self {
            oauth,
            lists,
            in_flight,
            name,
            kept: Mutex::new(None),
            entering: tokio::sync::Mutex::const_new(()),
            entered: Mutex::new((0, Ok(()))),
        }
    }

    fn entered(&self) -> MutexGuard<'_, (u64, Result<(), ServerProblem>)> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SignInGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignInGate").finish_non_exhaustive()
    }
}

impl SignInPort for SignInGate {
    fn sign_in(&self) -> BoxFuture<'_, Result<(), ServerProblem>> {
        Box::pin(async move {
            let before = self.entered().0;
            let _turn = self.entering.lock().await;
            // A caller that waited for another one in this process gets the same answer.
            let (tries, answer) = self.entered().clone();
            if tries != before {
                return answer;
            }
            let answer = self.oauth.enter().await;
            let answer = answer.map_err(|error| ServerProblem::from(&error));
            *self.entered() = (tries + 1, answer.clone());
            answer
        })
    }

    fn consent_page(&self) -> Option<String> {
        self.oauth.consent_page()
    }

    fn signed_in_elsewhere(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.oauth.signed_in_elsewhere())
    }

    fn remembered_tools(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>> {
        Box::pin(async move {
            let (lists, name) = (Arc::clone(&self.lists), self.name.clone());
            let found = tokio::task::spawn_blocking(move || lists.get(&name));
            let record = found.await.ok()??;
            serde_json::from_slice(record.expose()).ok()
        })
    }

    fn remember_tools(&self, tools: &[Box<RawValue>]) {
        let Ok(text) = serde_json::to_string(tools) else {
            return;
        };
        if text.len() > MAX_LIST {
            return;
        }
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.as_deref() == Some(text.as_str()) {
                return;
            }
            *kept = Some(text.clone());
        }
        let (lists, name) = (Arc::clone(&self.lists), self.name.clone());
        store(lists, &self.in_flight, name, text);
    }
}

/// Stores a list in the background; the process waits for it before it exits.
fn store(lists: Arc<dyn RecordStore>, in_flight: &InFlight, name: String, text: String) {
    // Begun here, so that it is known before the thread runs.
    let storing = in_flight.storing();
    drop(tokio::task::spawn_blocking(move || {
        let _storing = storing;
        // Only a convenience: what is not kept is fetched again.
        lists.put(&name, text.as_bytes()).ok()
    }));
}

const MAX_LIST: usize = 512 * 1024;

#[cfg(test)]
#[cfg(feature = "vault")]
mod tests;
