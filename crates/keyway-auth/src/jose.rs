//! Keys that sign, and what they sign: compact JWS (RFC 7515) over claims (RFC 7519).
//!
//! Used to authenticate a client ([`assertion`]) and to prove that a token is ours
//! (`dpop`). Nothing is verified or encrypted here.

pub(crate) mod assertion;
mod pair;

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_secret::Secret;
use keyway_secret::random::NoRandomness;
use ring::digest::{SHA256, digest};
use rustls_pki_types::pem::{PemObject, SectionKind};
use serde_json::{Map, Value};
use thiserror::Error;

use self::pair::Pair;

pub(crate) use self::pair::Algorithm;

/// A private key with the algorithm that it signs by.
pub struct SigningKey {
    pair: Pair,
    algorithm: Algorithm,
    pkcs8: Secret<Vec<u8>>,
    id: Option<String>,
}

impl SigningKey {
    /// Makes a new key on the curve P-256.
    pub(crate) fn generate_es256() -> Result<Self, JoseError> {
        let pkcs8 = pair::generate_p256()?;
        Self::from_pkcs8(pkcs8, Some("ES256"))
    }

    /// Reads a key from PEM: one section `PRIVATE KEY`, which is PKCS#8 without a password.
    ///
    /// Without `algorithm`, a key on an elliptic curve determines it and an RSA key signs by RS256.
    ///
    /// # Errors
    ///
    /// Returns which rule the text breaks, and nothing of the text.
    pub fn from_pem(pem: &Secret<String>, algorithm: Option<&str>) -> Result<Self, JoseError> {
        if pem.expose().len() > MAX_PEM {
            return Err(JoseError::TooLong);
        }
        let mut pkcs8 = None;
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.expose().as_bytes()) {
            let (kind, der) = section.map_err(|_| JoseError::NotPem)?;
            let der = Secret::new(der);
            match kind {
                SectionKind::PrivateKey if pkcs8.is_none() => pkcs8 = Some(der),
                SectionKind::PrivateKey => return Err(JoseError::SeveralKeys),
                SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey => {
                    return Err(JoseError::NotPkcs8);
                }
                // Certificates and parameters often stand beside a key.
                _ => {}
            }
        }
        match pkcs8 {
            Some(pkcs8) => Self::from_pkcs8(pkcs8, algorithm),
            None if pem.expose().contains("ENCRYPTED PRIVATE KEY") => Err(JoseError::Encrypted),
            None => Err(JoseError::NotPem),
        }
    }

    /// Reads a key from PKCS#8, such as [`pkcs8`](Self::pkcs8) returns.
    ///
    /// # Errors
    ///
    /// Returns which rule the key breaks.
    pub(crate) fn from_pkcs8(
        pkcs8: Secret<Vec<u8>>,
        algorithm: Option<&str>,
    ) -> Result<Self, JoseError> {
        let wanted = algorithm.map(Algorithm::from_name).transpose()?;
        let (pair, native) = Pair::from_pkcs8(&pkcs8)?;
        let algorithm = wanted.unwrap_or(native);
        if !pair.can(algorithm) {
            return Err(JoseError::OtherKind {
                algorithm: algorithm.name(),
            });
        }
        Ok(Self {
            pair,
            algorithm,
            pkcs8,
            id: None,
        })
    }

    /// Gives the key the name by which the other side knows it (`kid`).
    #[must_use]
    pub fn with_id(mut self, id: String) -> Self {
        self.id = Some(id);
        self
    }

    /// Returns the private key, to be sealed.
    pub(crate) const fn pkcs8(&self) -> &Secret<Vec<u8>> {
        &self.pkcs8
    }

    /// Returns the algorithm.
    pub(crate) const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the public key as a JWK (RFC 7517), with its required members only.
    pub(crate) fn public_jwk(&self) -> Map<String, Value> {
        let members = self.pair.public_members().into_iter();
        members
            .map(|(name, value)| (name.to_owned(), Value::String(value)))
            .collect()
    }

    /// Returns the thumbprint of the public key (RFC 7638), in base64url.
    pub(crate) fn thumbprint(&self) -> String {
        // In order, without blanks, and of values that need no escapes: section 3.3.
        let members = self.pair.public_members().into_iter();
        let members: Vec<_> = members
            .map(|(name, value)| format!("\"{name}\":\"{value}\""))
            .collect();
        let text = format!("{{{}}}", members.join(","));
        encode(digest(&SHA256, text.as_bytes()))
    }

    /// Signs claims; the header gets `alg`, and `kid` if the key has a name.
    ///
    /// # Errors
    ///
    /// Returns that the signature could not be made.
    pub(crate) fn sign_jwt(
        &self,
        mut header: Map<String, Value>,
        claims: Map<String, Value>,
    ) -> Result<Secret<String>, JoseError> {
        header.insert("alg".to_owned(), self.algorithm.name().into());
        if let Some(id) = &self.id {
            header.insert("kid".to_owned(), id.as_str().into());
        }
        let part = |part| encode(Value::Object(part).to_string());
        let input = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(self.algorithm, input.as_bytes())?;
        Ok(Secret::new(format!("{input}.{}", encode(signature))))
    }
}

/// Nothing of the key, not even its public half.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// Why a key cannot be used. Never holds anything of the key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JoseError {
    /// It is longer than any key.
    #[error("the key is longer than 64 KiB")]
    TooLong,
    /// There is no private key in it.
    #[error("the key is not a `PRIVATE KEY` in PEM")]
    NotPem,
    /// There are several private keys in it.
    #[error("there is more than one private key")]
    SeveralKeys,
    /// It is a private key in an older format.
    #[error("the key is not in PKCS#8; `openssl pkcs8 -topk8 -nocrypt` converts it")]
    NotPkcs8,
    /// It is protected by a password.
    #[error("the key is encrypted")]
    Encrypted,
    /// It is damaged, too short, or of a kind that we do not sign with.
    #[error("the key is damaged or of an unknown kind")]
    Rejected,
    /// We do not sign by this algorithm.
    #[error("the algorithm is not one of ES256, ES384, EdDSA, RS256, PS256")]
    UnknownAlgorithm,
    /// The key cannot sign by this algorithm.
    #[error("the key cannot be used with {algorithm}")]
    OtherKind {
        /// By which.
        algorithm: &'static str,
    },
    /// The signature could not be made.
    #[error("the signature could not be made")]
    Signing,
    /// There are no random bytes.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

const MAX_PEM: usize = 64 * 1024;

#[cfg(test)]
mod tests;
