//! Headers that the entry itself fills in, and servers that need none.

use std::sync::Arc;

use http::{HeaderName, HeaderValue};

use crate::authorizer::{Authorizer, Challenge, Credential, Verdict};
use crate::error::AuthError;
use crate::future::BoxFuture;

/// The same headers on every request; a refusal stands, and never starts OAuth.
#[derive(Debug, Clone)]
pub struct Fixed(Arc<Credential>);

impl Fixed {
    /// Takes the headers, which may be none.
    #[must_use]
    pub fn new(headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        Self(Arc::new(Credential::new(headers, 0)))
    }
}

impl Authorizer for Fixed {
    fn cached(&self) -> Option<Arc<Credential>> {
        Some(Arc::clone(&self.0))
    }

    fn obtain(&self) -> BoxFuture<'_, Result<Arc<Credential>, AuthError>> {
        Box::pin(std::future::ready(Ok(Arc::clone(&self.0))))
    }

    fn challenged<'a>(
        &'a self,
        _used: &'a Credential,
        _challenge: Challenge,
    ) -> BoxFuture<'a, Result<Verdict, AuthError>> {
        Box::pin(std::future::ready(Ok(Verdict::Stand)))
    }
}
