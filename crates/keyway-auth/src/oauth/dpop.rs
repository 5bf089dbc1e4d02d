//! Tokens that are of no use without a key (RFC 9449): proofs, and the nonces that servers want in
//! them.

mod nonce;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use keyway_secret::{Clock, Secret, random};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};
use url::Url;

use crate::jose::assertion::unix;
use crate::jose::{JoseError, SigningKey};
use crate::{Challenge, Proof, parse_challenges};

pub(crate) use self::nonce::Nonces;

/// The scheme of tokens that are bound to a key, as `token_type` and before the token itself.
pub(crate) const SCHEME: &str = "DPoP";

/// The header that carries a proof.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("dpop");

/// The header that carries a nonce.
pub(crate) const NONCE_HEADER: HeaderName = HeaderName::from_static("dpop-nonce");

/// The error by which a server asks for a nonce (section 8).
pub(crate) const USE_NONCE: &str = "use_dpop_nonce";

/// Says whether a refused request only lacks a nonce (section 9).
pub(crate) fn wants_nonce(challenge: &Challenge) -> bool {
    let challenges = parse_challenges(&challenge.www_authenticate);
    let mut ours = challenges.iter().filter(|it| it.is_for_tokens());
    challenge.status == 401 && ours.any(|it| it.get("error") == Some(USE_NONCE))
}

/// Returns the value of `DPoP-Nonce`, of which there must be one alone.
pub(crate) fn nonce_in(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut values = headers.get_all(NONCE_HEADER).iter();
    let value = values.next()?;
    (values.next().is_none() && nonce::read(value).is_some()).then_some(value)
}

/// A key to which tokens are bound.
#[derive(Debug)]
pub(crate) struct DpopKey(SigningKey);

impl DpopKey {
    /// Makes a new key, for ES256.
    ///
    /// # Errors
    ///
    /// Returns that there are no random bytes.
    pub(crate) fn generate() -> Result<Self, JoseError> {
        SigningKey::generate_es256().map(Self)
    }

    /// Reads what [`pkcs8`](Self::pkcs8) returned.
    ///
    /// # Errors
    ///
    /// Returns which rule the key breaks.
    pub(crate) fn from_pkcs8(pkcs8: Secret<Vec<u8>>) -> Result<Self, JoseError> {
        SigningKey::from_pkcs8(pkcs8, None).map(Self)
    }

    /// Returns the private key, to be sealed.
    pub(crate) const fn pkcs8(&self) -> &Secret<Vec<u8>> {
        self.0.pkcs8()
    }

    /// Returns the name of the algorithm, to be looked up in what a server supports.
    pub(crate) const fn algorithm(&self) -> &'static str {
        self.0.algorithm().name()
    }

    /// Returns the value of `dpop_jkt` (section 10).
    pub(crate) fn thumbprint(&self) -> String {
        self.0.thumbprint()
    }

    /// Returns the proof for one request (section 4.2), never the same twice.
    ///
    /// # Errors
    ///
    /// Returns that there are no random bytes, or no signature.
    pub(crate) fn proof(
        &self,
        subject: &Subject<'_>,
        now: SystemTime,
    ) -> Result<Secret<String>, JoseError> {
        let jti = random::token()?;
        let mut claims = Map::new();
        let mut claim = |name: &str, value: Value| claims.insert(name.to_owned(), value);
        claim("jti", jti.expose().as_str().into());
        claim("htm", subject.method.as_str().into());
        claim("htu", target(subject.url).into());
        claim("iat", unix(now).into());
        if let Some(token) = subject.access_token {
            let hash = digest(&SHA256, token.expose().as_bytes());
            claim("ath", BASE64_URL_SAFE_NO_PAD.encode(hash).into());
        }
        if let Some(nonce) = subject.nonce {
            claim("nonce", nonce.into());
        }
        let mut header = Map::new();
        header.insert("typ".to_owned(), "dpop+jwt".into());
        header.insert("jwk".to_owned(), Value::Object(self.0.public_jwk()));
        self.0.sign_jwt(header, claims)
    }
}

/// What a proof is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) method: &'a Method,
    pub(crate) url: &'a Url,
    /// The token that goes with the request; none to the token endpoint.
    pub(crate) access_token: Option<&'a Secret<String>>,
    /// What the server wants to see again.
    pub(crate) nonce: Option<&'a str>,
}

/// Proves for each request to an MCP server that the token is ours.
pub(crate) struct RequestProof {
    pub(crate) key: Arc<DpopKey>,
    pub(crate) access_token: Secret<String>,
    pub(crate) nonces: Arc<Nonces>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Proof for RequestProof {
    /// Returns none if no proof can be made; the server then refuses the token.
    fn header(&self, method: &Method, url: &Url) -> Option<(HeaderName, HeaderValue)> {
        let nonce = self.nonces.get(url);
        let subject = Subject {
            method,
            url,
            access_token: Some(&self.access_token),
            nonce: nonce.as_deref(),
        };
        let proof = self.key.proof(&subject, self.clock.wall()).ok()?;
        let mut value = HeaderValue::from_str(proof.expose()).ok()?;
        value.set_sensitive(true);
        Some((HEADER, value))
    }
}

impl fmt::Debug for RequestProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestProof").finish_non_exhaustive()
    }
}

/// Returns an address without query, fragment and user (section 4.2, `htu`).
fn target(url: &Url) -> String {
    let origin = url.origin().ascii_serialization();
    format!("{origin}{}", url.path())
}

#[cfg(test)]
mod tests;
