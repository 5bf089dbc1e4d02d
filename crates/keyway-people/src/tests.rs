//! Tokens, good and bad, against issuers that answer, change and go away.

mod browsers;
mod issuers;
mod keys;
mod tokens;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_secret::{Clock, Secret};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

use crate::*;

const ISSUER: &str = "https://idp.example/tenant";
const AUDIENCE: &str = "https://gateway.example";
/// The time that all tests begin at.
const NOW: u64 = 1_800_000_000;

/// A key of each kind, as an issuer has them.
enum SigningKey {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    fn p256() -> Self {
        let (how, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(how, pkcs8.as_ref(), &random).unwrap())
    }

    fn p384() -> Self {
        let (how, random) = (&ECDSA_P384_SHA384_FIXED_SIGNING, SystemRandom::new());
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        Self::P384(EcdsaKeyPair::from_pkcs8(how, pkcs8.as_ref(), &random).unwrap())
    }

    fn ed25519() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap())
    }

    fn rsa() -> Self {
        let pem = include_str!("../../keyway-auth/src/jose/tests/keys/rsa-2048.pem");
        let lines = pem.lines().filter(|line| !line.starts_with('-'));
        let text: String = lines.collect();
        let der = base64::prelude::BASE64_STANDARD.decode(text).unwrap();
        Self::Rsa(RsaKeyPair::from_pkcs8(&der).unwrap())
    }

    fn jwk(&self, id: &str) -> Value {
        let point = |crv: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at(point.len() / 2);
            json!({"kty": "EC", "crv": crv, "kid": id, "x": encode(x), "y": encode(y)})
        };
        match self {
            Self::P256(key) => point("P-256", key.public_key().as_ref()),
            Self::P384(key) => point("P-384", key.public_key().as_ref()),
            Self::Ed25519(key) => {
                let x = encode(key.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": x})
            }
            Self::Rsa(key) => {
                let public = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "kid": id, "n": encode(public.n), "e": encode(public.e)})
            }
        }
    }

    fn sign(&self, algorithm: &str, text: &str) -> Vec<u8> {
        let (text, random) = (text.as_bytes(), SystemRandom::new());
        match self {
            Self::P256(key) | Self::P384(key) => key.sign(&random, text).unwrap().as_ref().into(),
            Self::Ed25519(key) => key.sign(text).as_ref().into(),
            Self::Rsa(key) => {
                let padding: &dyn ring::signature::RsaEncoding = match algorithm {
                    "PS256" => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(padding, &random, text, &mut signature).unwrap();
                signature
            }
        }
    }

    /// Signs a header and claims that are written as they are.
    fn token(&self, header: &str, claims: &str) -> String {
        let algorithm = serde_json::from_str::<Value>(header).unwrap_or_default();
        let text = format!("{}.{}", encode(header), encode(claims));
        let algorithm = algorithm["alg"].as_str().unwrap_or_default();
        let signature = self.sign(algorithm, &text);
        format!("{text}.{}", encode(signature))
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn header(algorithm: &str, id: &str) -> Value {
    json!({"typ": "at+jwt", "alg": algorithm, "kid": id})
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "client_id": "c", "jti": "1",
        "iat": NOW - 5, "exp": NOW + 300,
    })
}

/// Returns `base` with some members set, or taken out by `null`.
fn with(mut base: Value, changes: Value) -> String {
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(base.as_object_mut().unwrap().remove(name)),
            value => base[name] = value.clone(),
        }
    }
    base.to_string()
}

fn key_set(keys: &[Value]) -> KeySet {
    KeySet::parse(json!({"keys": keys}).to_string().as_bytes()).unwrap()
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW)
}

fn secret(token: &str) -> Secret<String> {
    Secret::new(token.to_owned())
}

/// A clock that goes on when it is told to.
#[derive(Debug)]
struct TestClock {
    begin: Instant,
    passed: std::sync::Mutex<Duration>,
}

impl TestClock {
    fn new() -> Arc<Self> {
        let begin = Instant::now();
        let passed = std::sync::Mutex::default();
        Arc::new(Self { begin, passed })
    }

    fn pass(&self, seconds: u64) {
        *self.passed.lock().unwrap() += Duration::from_secs(seconds);
    }
}

impl Clock for TestClock {
    fn monotonic(&self) -> Instant {
        self.begin + *self.passed.lock().unwrap()
    }

    fn wall(&self) -> SystemTime {
        now() + *self.passed.lock().unwrap()
    }
}
