//! An authorizer that always has something newer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use keyway_auth::{AuthError, Authorizer, BoxFuture, Challenge, Credential, HelperFault, Verdict};

/// Counts how often it is asked; each credential carries its number.
#[derive(Debug, Default)]
pub(crate) struct Renewing {
    pub(crate) runs: AtomicU64,
    pub(crate) fails: bool,
    /// Lets the refusal stand from this one on; 0 never does.
    pub(crate) stands_at: u32,
    /// The attempts that it was told of.
    pub(crate) heard: Mutex<Vec<u32>>,
}

impl Renewing {
    fn credential(generation: u64) -> Arc<Credential> {
        let value = http::HeaderValue::from_str(&format!("CANARY-{generation}")).unwrap();
        let headers = vec![(http::header::AUTHORIZATION, value)];
        Arc::new(Credential::new(headers, generation))
    }

    fn next(&self) -> Result<Arc<Credential>, AuthError> {
        let generation = self.runs.fetch_add(1, Ordering::SeqCst);
        if self.fails {
            let fault = HelperFault::Empty;
            return Err(AuthError::Helper {
                fault,
                confined: None,
            });
        }
        Ok(Self::credential(generation))
    }
}

impl Authorizer for Renewing {
    fn cached(&self) -> Option<Arc<Credential>> {
        None
    }

    fn obtain(&self) -> BoxFuture<'_, Result<Arc<Credential>, AuthError>> {
        Box::pin(async { self.next() })
    }

    fn challenged<'a>(
        &'a self,
        _used: &'a Credential,
        challenge: Challenge,
    ) -> BoxFuture<'a, Result<Verdict, AuthError>> {
        assert!(matches!(challenge.status, 401 | 403));
        self.heard.lock().unwrap().push(challenge.attempt);
        Box::pin(async move {
            if challenge.attempt == self.stands_at {
                return Ok(Verdict::Stand);
            }
            self.next().map(Verdict::Retry)
        })
    }
}
