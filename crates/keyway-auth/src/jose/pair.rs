//! A key of one of four kinds, and the algorithms that each can sign by (RFC 7518, RFC 8037).

use keyway_secret::Secret;
use keyway_secret::random::NoRandomness;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
};

use super::{JoseError, encode};

/// How a signature is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Es256,
    Es384,
    EdDsa,
    Rs256,
    Ps256,
}

impl Algorithm {
    /// Returns the name as in a JWS header.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
        }
    }

    /// Reads a name, which has to be exact; `none` is not an algorithm.
    pub(crate) fn from_name(name: &str) -> Result<Self, JoseError> {
        let all = [
            Self::Es256,
            Self::Es384,
            Self::EdDsa,
            Self::Rs256,
            Self::Ps256,
        ];
        let found = all.into_iter().find(|algorithm| algorithm.name() == name);
        found.ok_or(JoseError::UnknownAlgorithm)
    }
}

/// Makes a new key on the curve P-256, as PKCS#8.
pub(super) fn generate_p256() -> Result<Secret<Vec<u8>>, NoRandomness> {
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new());
    let document = document.map_err(|_| NoRandomness)?;
    Ok(Secret::new(document.as_ref().to_vec()))
}

/// A key of one kind.
pub(super) enum Pair {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl Pair {
    /// Reads a key of whichever kind, and says by what it signs unless told otherwise.
    pub(super) fn from_pkcs8(pkcs8: &Secret<Vec<u8>>) -> Result<(Self, Algorithm), JoseError> {
        let (der, random) = (pkcs8.expose().as_slice(), SystemRandom::new());
        let ecdsa = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, der, &random);
        if let Ok(pair) = ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING) {
            return Ok((Self::P256(pair), Algorithm::Es256));
        }
        if let Ok(pair) = ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING) {
            return Ok((Self::P384(pair), Algorithm::Es384));
        }
        // What OpenSSL writes has no public half to check; it is computed.
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
            return Ok((Self::Ed25519(pair), Algorithm::EdDsa));
        }
        let pair = RsaKeyPair::from_pkcs8(der).map_err(|_| JoseError::Rejected)?;
        Ok((Self::Rsa(Box::new(pair)), Algorithm::Rs256))
    }

    pub(super) const fn can(&self, algorithm: Algorithm) -> bool {
        matches!(
            (self, algorithm),
            (Self::P256(_), Algorithm::Es256)
                | (Self::P384(_), Algorithm::Es384)
                | (Self::Ed25519(_), Algorithm::EdDsa)
                | (Self::Rsa(_), Algorithm::Rs256 | Algorithm::Ps256)
        )
    }

    /// Returns the required members of the public JWK, in the order of RFC 7638 section 3.3.
    pub(super) fn public_members(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::P256(pair) => curve("P-256", pair.public_key().as_ref()),
            Self::P384(pair) => curve("P-384", pair.public_key().as_ref()),
            Self::Ed25519(pair) => vec![
                ("crv", "Ed25519".to_owned()),
                ("kty", "OKP".to_owned()),
                ("x", encode(pair.public_key())),
            ],
            Self::Rsa(pair) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                vec![
                    ("e", encode(public.e)),
                    ("kty", "RSA".to_owned()),
                    ("n", encode(public.n)),
                ]
            }
        }
    }

    pub(super) fn sign(&self, algorithm: Algorithm, text: &[u8]) -> Result<Vec<u8>, JoseError> {
        let random = SystemRandom::new();
        match self {
            Self::P256(pair) | Self::P384(pair) => {
                let signature = pair.sign(&random, text).map_err(|_| JoseError::Signing)?;
                Ok(signature.as_ref().to_vec())
            }
            Self::Ed25519(pair) => Ok(pair.sign(text).as_ref().to_vec()),
            Self::Rsa(pair) => {
                let padding: &dyn RsaEncoding = match algorithm {
                    Algorithm::Ps256 => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, text, &mut signature)
                    .map_err(|_| JoseError::Signing)?;
                Ok(signature)
            }
        }
    }
}

/// Splits a point, which is a 4 and two coordinates of the same length (SEC 1 section 2.3.3).
fn curve(name: &str, point: &[u8]) -> Vec<(&'static str, String)> {
    let coordinates = point.get(1..).unwrap_or_default();
    let (x, y) = coordinates.split_at(coordinates.len() / 2);
    vec![
        ("crv", name.to_owned()),
        ("kty", "EC".to_owned()),
        ("x", encode(x)),
        ("y", encode(y)),
    ]
}
