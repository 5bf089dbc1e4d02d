//! The keys of an issuer, as it publishes them: a JWK Set (RFC 7517).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_auth::PeerDocument;
use keyway_auth::oauth::DocumentError;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::algorithm::{Algorithm, PublicKey};
use crate::verified_tokens::VerifiedTokens;

/// The keys of an issuer that can check signatures; others that it publishes are left out.
pub struct KeySet {
    keys: Vec<Key>,
    /// Access tokens that a verifier found good with them; it alone looks here.
    pub(crate) verified: VerifiedTokens,
}

struct Key {
    id: Option<String>,
    /// The only algorithm that the issuer uses it with, if it says so.
    algorithm: Option<Algorithm>,
    key: PublicKey,
}

impl KeySet {
    /// Reads a document of at most 256 KiB with at most 100 keys.
    ///
    /// A key that is not for signatures, of an unknown kind, too short or damaged is left out
    /// (RFC 7517 section 5).
    ///
    /// # Errors
    ///
    /// Returns which rule the document breaks, or that no key in it can be used.
    pub fn parse(body: &[u8]) -> Result<Self, KeySetError> {
        if body.len() > MAX_BYTES {
            return Err(KeySetError::TooLarge);
        }
        let document = PeerDocument::parse(body)?;
        let keys = document.raw("keys").ok_or(KeySetError::NoKeys)?;
        let keys: Vec<&RawValue> = serde_json::from_str(keys).map_err(|_| KeySetError::NoKeys)?;
        if keys.len() > MAX_KEYS {
            return Err(KeySetError::TooManyKeys);
        }
        let keys = keys.into_iter().filter_map(|key| Key::read(key.get()));
        let keys: Vec<_> = keys.collect();
        if keys.is_empty() {
            return Err(KeySetError::NoUsableKey);
        }
        let verified = VerifiedTokens::default();
        Ok(Self { keys, verified })
    }

    /// Returns the keys that a token may be signed with. One that names no key is signed with the
    /// only one that fits; if several would, none is guessed.
    pub(crate) fn find<'a>(
        &'a self,
        id: Option<&'a str>,
        algorithm: Algorithm,
    ) -> impl Iterator<Item = &'a PublicKey> {
        let fitting = move |key: &&Key| {
            key.key.fits(algorithm) && key.algorithm.is_none_or(|it| it == algorithm)
        };
        let is_clear = id.is_some() || self.keys.iter().filter(fitting).count() == 1;
        let named = move |key: &&Key| id.is_none() || key.id.as_deref() == id;
        let keys = self.keys.iter().filter(fitting).filter(named);
        keys.filter(move |_| is_clear).map(|key| &key.key)
    }
}

/// Only how many: names of keys are the issuer's, and public keys are long.
impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys.len();
        f.debug_struct("KeySet").field("keys", &keys).finish()
    }
}

impl Key {
    /// Reads one key; `None` if it cannot check a signature of ours.
    fn read(text: &str) -> Option<Self> {
        let document = PeerDocument::parse(text.as_bytes()).ok()?;
        let text = |field| document.text(field).ok().flatten();
        if document.has("use") && text("use") != Some("sig") {
            return None;
        }
        if document.has("key_ops") && !document.texts("key_ops").ok()??.contains(&"verify") {
            return None;
        }
        let bytes = |field| BASE64_URL_SAFE_NO_PAD.decode(text(field)?).ok();
        let point = |length| {
            let coordinates = [bytes("x")?, bytes("y")?];
            let fits = coordinates.iter().all(|it| it.len() == length);
            let point = std::iter::once(4).chain(coordinates.into_iter().flatten());
            fits.then(|| point.collect::<Vec<u8>>())
        };
        let key = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let (modulus, exponent) = (unpadded(bytes("n")?), unpadded(bytes("e")?));
                let fits = RSA_BYTES.contains(&modulus.len());
                fits.then_some(PublicKey::Rsa { modulus, exponent })?
            }
            ("EC", Some("P-256")) => PublicKey::P256(point(32)?),
            ("EC", Some("P-384")) => PublicKey::P384(point(48)?),
            ("OKP", Some("Ed25519")) => PublicKey::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
            _ => return None,
        };
        let algorithm = match document.has("alg") {
            true => Some(Algorithm::from_name(text("alg")?).filter(|it| key.fits(*it))?),
            false => None,
        };
        let id = match document.has("kid") {
            true => Some(text("kid")?.to_owned()),
            false => None,
        };
        Some(Self { id, algorithm, key })
    }
}

/// Numbers have no zeros in front (RFC 7518 section 6.3.1.1); some issuers send one.
fn unpadded(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}

/// Which rule a set of keys breaks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeySetError {
    /// It is longer than 256 KiB.
    #[error("it is larger than 256 KiB")]
    TooLarge,
    /// It is not an object of JSON as a peer may send it.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// It has no array `keys`.
    #[error("it has no array `keys`")]
    NoKeys,
    /// It has more than 100 keys.
    #[error("it has more than {MAX_KEYS} keys")]
    TooManyKeys,
    /// Not one of its keys can check a signature.
    #[error("it has no key that can check a signature")]
    NoUsableKey,
}

const MAX_BYTES: usize = 256 * 1024;
const MAX_KEYS: usize = 100;
/// 2048 to 8192 bits.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;
