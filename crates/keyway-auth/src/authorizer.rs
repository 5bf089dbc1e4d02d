//! The seam between connecting and authenticating.

use std::fmt;
use std::sync::Arc;

use http::{HeaderName, HeaderValue, Method};
use url::Url;

use crate::error::AuthError;
use crate::future::BoxFuture;

/// One way of authenticating to one server.
pub trait Authorizer: Send + Sync + fmt::Debug {
    /// Returns the credential if it is at hand; no waiting, no work.
    fn cached(&self) -> Option<Arc<Credential>>;

    /// Obtains the credential for the next request.
    ///
    /// # Errors
    ///
    /// Returns why there is none; then no request is sent.
    ///
    /// Cancel safety: cancel safe; other requests that wait for the same credential still get it.
    /// The work that was started for them continues, or one of them does it again: a helper is
    /// killed and run once more.
    fn obtain(&self) -> BoxFuture<'_, Result<Arc<Credential>, AuthError>>;

    /// Decides what to do about a refusal of a request that carried `used`.
    ///
    /// Many requests may be refused at once; one decision serves them all. A request is sent again
    /// while the answer is [`Verdict::Retry`], a few times at most: an authorizer without a better
    /// credential lets the refusal stand.
    ///
    /// # Errors
    ///
    /// Returns why no better credential could be obtained.
    ///
    /// Cancel safety: cancel safe; as [`Self::obtain`], the other requests still get a decision.
    fn challenged<'a>(
        &'a self,
        used: &'a Credential,
        challenge: Challenge,
    ) -> BoxFuture<'a, Result<Verdict, AuthError>>;
}

/// What a server said when it refused a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Challenge {
    /// 401 or 403.
    pub status: u16,
    /// The values of `WWW-Authenticate`, as sent.
    pub www_authenticate: Vec<HeaderValue>,
    /// The value of `DPoP-Nonce`, as sent (RFC 9449 section 8.2).
    pub dpop_nonce: Option<HeaderValue>,
    /// Which refusal of this same request it is, from 1; above 1 `used` was an answer to the last.
    pub attempt: u32,
}

impl Challenge {
    /// Makes the first refusal of a request, with nothing said beside its status.
    #[must_use]
    pub const fn new(status: u16) -> Self {
        Self {
            status,
            www_authenticate: Vec::new(),
            dpop_nonce: None,
            attempt: 1,
        }
    }
}

/// What to do about a refusal.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Verdict {
    /// Send the request again, with this credential.
    Retry(Arc<Credential>),
    /// Let the refusal stand.
    Stand,
}

/// Headers to add to a request, and which renewal they came from.
pub struct Credential {
    headers: Vec<(HeaderName, HeaderValue)>,
    generation: u64,
    proof: Option<Arc<dyn Proof>>,
}

/// Proves for each request that its credential is ours (RFC 9449).
pub trait Proof: Send + Sync + fmt::Debug {
    /// Returns the header for one request.
    fn header(&self, method: &Method, url: &Url) -> Option<(HeaderName, HeaderValue)>;
}

impl Credential {
    /// Takes headers, all of which count as confidential.
    #[must_use]
    pub fn new(mut headers: Vec<(HeaderName, HeaderValue)>, generation: u64) -> Self {
        for (_, value) in &mut headers {
            value.set_sensitive(true);
        }
        Self {
            headers,
            generation,
            proof: None,
        }
    }

    /// Adds a proof that is made for each request.
    #[must_use]
    pub fn with_proof(mut self, proof: Arc<dyn Proof>) -> Self {
        self.proof = Some(proof);
        self
    }

    /// Says whether each request needs a proof, without which the headers are worth nothing.
    #[must_use]
    pub const fn is_bound(&self) -> bool {
        self.proof.is_some()
    }

    /// Returns the header that goes with one request only.
    #[must_use]
    pub fn proof_for(&self, method: &Method, url: &Url) -> Option<(HeaderName, HeaderValue)> {
        self.proof.as_ref()?.header(method, url)
    }

    /// Returns the headers for the one place that sends them.
    #[must_use]
    pub fn expose(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }

    /// Returns a number that grows with each renewal.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Credential")
            .field("headers", &names)
            .field("generation", &self.generation)
            .finish()
    }
}
