//! Tokens that are bound to a key: the key, and what servers want to see in its proofs.

use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use keyway_secret::{Clock, Secret};
use url::Url;

use super::dpop::{DpopKey, HEADER, Nonces, RequestProof, Subject, nonce_in};
use crate::authorizer::Proof;
use crate::error::OAuthError;

/// A key with the nonces of the servers that it is used with.
#[derive(Debug, Clone)]
pub(super) struct DpopBinding {
    key: Arc<DpopKey>,
    nonces: Arc<Nonces>,
}

impl DpopBinding {
    pub(super) fn generate(nonces: &Arc<Nonces>) -> Result<Self, OAuthError> {
        Ok(Self {
            key: Arc::new(DpopKey::generate()?),
            nonces: Arc::clone(nonces),
        })
    }

    /// Reads what [`Self::export`] returned.
    pub(super) fn import(text: &Secret<String>, nonces: &Arc<Nonces>) -> Result<Self, OAuthError> {
        let key = BASE64_STANDARD.decode(text.expose());
        let key = Secret::new(key.map_err(|_| OAuthError::Crypto {
            what: "the key of the sign-in cannot be read",
        })?);
        Ok(Self {
            key: Arc::new(DpopKey::from_pkcs8(key)?),
            nonces: Arc::clone(nonces),
        })
    }

    /// Returns the private key as text, to be sealed.
    pub(super) fn export(&self) -> Secret<String> {
        Secret::new(BASE64_STANDARD.encode(self.key.pkcs8().expose()))
    }

    pub(super) fn algorithm(&self) -> &'static str {
        self.key.algorithm()
    }

    pub(super) fn thumbprint(&self) -> String {
        self.key.thumbprint()
    }

    /// Returns the proof for a request to a token endpoint.
    pub(super) fn token_header(
        &self,
        url: &Url,
        now: SystemTime,
    ) -> Result<(HeaderName, HeaderValue), OAuthError> {
        let nonce = self.nonces.get(url);
        let subject = Subject {
            method: &Method::POST,
            url,
            access_token: None,
            nonce: nonce.as_deref(),
        };
        let proof = self.key.proof(&subject, now)?;
        let mut value = HeaderValue::from_str(proof.expose()).map_err(|_| OAuthError::Crypto {
            what: "the proof cannot be sent in a header",
        })?;
        value.set_sensitive(true);
        Ok((HEADER, value))
    }

    /// Remembers what a server wants to see; says whether that is new.
    pub(super) fn learn(&self, url: &Url, headers: &HeaderMap) -> bool {
        nonce_in(headers).is_some_and(|nonce| self.learn_value(url, nonce))
    }

    /// The same, of a single value.
    pub(super) fn learn_value(&self, url: &Url, nonce: &HeaderValue) -> bool {
        self.nonces.learn(url, nonce)
    }

    /// Returns what proves each request with a token.
    pub(super) fn proof(&self, access: &Secret<String>, clock: &Arc<dyn Clock>) -> Arc<dyn Proof> {
        Arc::new(RequestProof {
            key: Arc::clone(&self.key),
            access_token: access.clone(),
            nonces: Arc::clone(&self.nonces),
            clock: Arc::clone(clock),
        })
    }
}
