//! How a token may be signed, and public keys that check it (RFC 7518, RFC 8037).

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// An algorithm by which a token may be signed. All are asymmetric: `none` and the algorithms with
/// a shared secret do not exist here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// ECDSA on P-256.
    Es256,
    /// ECDSA on P-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Rs256,
        Self::Ps256,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// Returns the name as in the header of a token.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Reads a name, which has to be exact.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// A public key of one kind.
#[derive(Debug, Clone)]
pub(crate) enum PublicKey {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// A point: a 4 and two coordinates (SEC 1 section 2.3.3).
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// Says whether the key is of the kind that an algorithm needs.
    pub(crate) const fn fits(&self, algorithm: Algorithm) -> bool {
        matches!(
            (self, algorithm),
            (Self::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
                | (Self::P256(_), Algorithm::Es256)
                | (Self::P384(_), Algorithm::Es384)
                | (Self::Ed25519(_), Algorithm::EdDsa)
        )
    }

    /// Says whether a signature by `algorithm` is of this key; never for another kind of key.
    pub(crate) fn verifies(&self, algorithm: Algorithm, text: &[u8], signature: &[u8]) -> bool {
        if !self.fits(algorithm) {
            return false;
        }
        let check = |how: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(how, key).verify(text, signature)
        };
        let verified = match self {
            Self::Rsa { modulus, exponent } => {
                let padding = match algorithm {
                    Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                let key = RsaPublicKeyComponents {
                    n: modulus,
                    e: exponent,
                };
                key.verify(padding, text, signature)
            }
            Self::P256(point) => check(&ECDSA_P256_SHA256_FIXED, point),
            Self::P384(point) => check(&ECDSA_P384_SHA384_FIXED, point),
            Self::Ed25519(key) => check(&ED25519, key),
        };
        verified.is_ok()
    }
}
