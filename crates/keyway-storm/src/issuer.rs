//! The issuer that lets people in: one key, and a token for each person.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A key of the storm's own.
pub(crate) struct Issuer {
    pub(crate) name: String,
    audience: String,
    key: EcdsaKeyPair,
}

impl Issuer {
    pub(crate) fn new(name: String, audience: String) -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key");
        Self {
            name,
            audience,
            key,
        }
    }

    /// Returns the token of a person, good for replicas whose clock is wrong by an hour, too.
    pub(crate) fn token(&self, person: usize) -> String {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let hours = |count: u64| Duration::from_secs(count * 3600);
        let header = json!({ "alg": "ES256", "typ": "at+jwt", "kid": "storm" });
        let claims = json!({
            "iss": self.name,
            "sub": subject(person),
            "aud": self.audience,
            "client_id": "storm",
            "scope": "mcp",
            "jti": format!("{person}"),
            "iat": (now - hours(2)).as_secs(),
            "exp": (now + hours(4)).as_secs(),
        });
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.expect("a signature"));
        format!("{signed}.{signature}")
    }

    pub(crate) fn metadata(&self) -> Value {
        json!({
            "issuer": self.name,
            "authorization_endpoint": format!("{}/authorize", self.name),
            "token_endpoint": format!("{}/people-token", self.name),
            "jwks_uri": format!("{}/jwks", self.name),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }

    pub(crate) fn keys(&self) -> Value {
        let point = self.key.public_key().as_ref();
        let part = |range| BASE64_URL_SAFE_NO_PAD.encode(point.get(range).unwrap_or_default());
        json!({ "keys": [{
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "storm",
            "x": part(1..33), "y": part(33..65),
        }]})
    }
}

/// Returns the name of a person at the issuer, which the server's page echoes.
pub(crate) fn subject(person: usize) -> String {
    format!("p{person}")
}
