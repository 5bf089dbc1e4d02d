//! A stand-in for Transit, the engine of Vault and OpenBao that holds the wrapping key, and that can be
//! away. It encrypts really, and notes which replica asks for which key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use keyway_postgres::{KeyWrapper, WrapError, wrapper_name};
use keyway_secret::Secret;
use keyway_store::seal::KeyId;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Value, json};

use crate::http::{Answer, Request};

/// The engine, with one key.
pub(crate) struct Transit {
    key: LessSafeKey,
    /// Held for moments.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    absence: Option<Absence>,
    /// By process: when each wrapped key was handed out first.
    unwrapped: HashMap<u32, HashMap<String, Duration>>,
    repeated: Vec<Repeated>,
    refused: usize,
}

/// A key that a process got more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) process: u32,
    pub(crate) first: Duration,
    pub(crate) again: Duration,
}

/// How the engine is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// It answers that it is sealed.
    Sealed,
    /// It accepts connections and does not answer.
    Silent,
}

impl Transit {
    pub(crate) fn new() -> Self {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).expect("randomness");
        let key = UnboundKey::new(&AES_256_GCM, &bytes).expect("a key");
        Self {
            key: LessSafeKey::new(key),
            state: Mutex::default(),
        }
    }

    pub(crate) fn set_absence(&self, absence: Option<Absence>) {
        self.lock().absence = absence;
    }

    /// Returns the keys that a process got more than once, and how many requests were refused because
    /// the engine was away.
    pub(crate) fn found(&self) -> (Vec<Repeated>, usize) {
        let state = self.lock();
        (state.repeated.clone(), state.refused)
    }

    /// Answers a request of a process; `None` if it gets no answer.
    pub(crate) fn answer(
        &self,
        request: &Request,
        process: Option<u32>,
        now: Duration,
    ) -> Option<Answer> {
        let absence = self.lock().absence;
        if let Some(absence) = absence {
            self.lock().refused += 1;
            let sealed = Answer::json(503, &json!({ "errors": ["Vault is sealed"] }));
            return (absence == Absence::Sealed).then_some(sealed);
        }
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let field = |name: &str| body[name].as_str().unwrap_or_default();
        let purpose = BASE64_STANDARD.decode(field("associated_data"));
        let purpose = purpose.unwrap_or_default();
        let data = match request.path() {
            ENCRYPT => {
                let plain = BASE64_STANDARD.decode(field("plaintext")).ok();
                plain.map(|plain| json!({ "ciphertext": self.seal(&plain, &purpose) }))
            }
            DECRYPT => {
                let sealed = field("ciphertext");
                let plain = self.open(sealed, &purpose);
                if plain.is_some() {
                    self.note(process, sealed, now);
                }
                plain.map(|plain| json!({ "plaintext": BASE64_STANDARD.encode(plain) }))
            }
            _ => return Some(Answer::empty(404)),
        };
        let error = json!({ "errors": ["cipher: message authentication failed"] });
        Some(match data {
            Some(data) => Answer::json(200, &json!({ "data": data })),
            None => Answer::json(400, &error),
        })
    }

    /// Notes a key that was handed out.
    fn note(&self, process: Option<u32>, sealed: &str, now: Duration) {
        let Some(process) = process else { return };
        let mut state = self.lock();
        let known = state.unwrapped.entry(process).or_default();
        if let Some(first) = known.get(sealed).copied() {
            state.repeated.push(Repeated {
                process,
                first,
                again: now,
            });
        } else {
            known.insert(sealed.to_owned(), now);
        }
    }

    fn seal(&self, plain: &[u8], purpose: &[u8]) -> String {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).expect("randomness");
        let mut sealed = plain.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.key
            .seal_in_place_append_tag(unique, Aad::from(purpose), &mut sealed)
            .expect("a short plaintext");
        let whole = [&nonce[..], &sealed].concat();
        format!("{VERSION}{}", BASE64_STANDARD.encode(whole))
    }

    fn open(&self, sealed: &str, purpose: &[u8]) -> Option<Vec<u8>> {
        let whole = BASE64_STANDARD.decode(sealed.strip_prefix(VERSION)?).ok()?;
        let (nonce, sealed) = whole.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let plain = self
            .key
            .open_in_place(nonce, Aad::from(purpose), &mut sealed);
        plain.ok().map(|plain| plain.to_vec())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same key for the storm's own store: the same name, without a request.
pub(crate) struct DirectKey(pub(crate) Arc<Transit>);

impl std::fmt::Debug for DirectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DirectKey")
    }
}

impl KeyWrapper for DirectKey {
    fn id(&self) -> KeyId {
        wrapper_name("transit key", &[MOUNT, NAME]).expect("a name")
    }

    fn wrap(&self, key: &Secret<[u8; 32]>, context: &[u8]) -> Result<Vec<u8>, WrapError> {
        Ok(self.0.seal(key.expose(), context).into_bytes())
    }

    fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Secret<[u8; 32]>, WrapError> {
        let wrapped = std::str::from_utf8(wrapped).map_err(|_| WrapError::Rejected)?;
        let plain = self.0.open(wrapped, context).ok_or(WrapError::Rejected)?;
        let bytes = <[u8; 32]>::try_from(plain.as_slice());
        bytes.map(Secret::new).map_err(|_| WrapError::Rejected)
    }
}

/// Where the engine is mounted.
pub(crate) const MOUNT: &str = "/v1/transit";
/// The name of its key.
pub(crate) const NAME: &str = "storm";
const ENCRYPT: &str = "/v1/transit/encrypt/storm";
const DECRYPT: &str = "/v1/transit/decrypt/storm";
const VERSION: &str = "vault:v1:";

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(transit: &Transit, path: &str, body: &Value, at: u64) -> Option<(u16, Value)> {
        let request = Request {
            method: "POST".to_owned(),
            target: path.to_owned(),
            body: body.to_string(),
            ..Request::default()
        };
        let answer = transit.answer(&request, Some(7), Duration::from_secs(at))?;
        let body = serde_json::from_str(&answer.body).unwrap_or_default();
        Some((answer.status, body))
    }

    #[test]
    fn what_the_engine_wraps_the_storms_own_store_unwraps_for_the_same_purpose_alone() {
        let transit = Arc::new(Transit::new());
        let purpose = BASE64_STANDARD.encode(b"ada");
        let body =
            json!({ "plaintext": BASE64_STANDARD.encode([7; 32]), "associated_data": purpose });
        let (status, answer) = ask(&transit, ENCRYPT, &body, 0).unwrap();
        assert_eq!(status, 200);
        let wrapped = answer["data"]["ciphertext"].as_str().unwrap().to_owned();
        let direct = DirectKey(Arc::clone(&transit));
        let key = direct.unwrap(wrapped.as_bytes(), b"ada").unwrap();
        assert_eq!(key.expose(), &[7; 32]);
        assert!(direct.unwrap(wrapped.as_bytes(), b"bob").is_err());
        let body =
            json!({ "ciphertext": wrapped, "associated_data": BASE64_STANDARD.encode(b"bob") });
        assert_eq!(ask(&transit, DECRYPT, &body, 0).unwrap().0, 400);
    }

    #[test]
    fn an_engine_that_is_away_hands_out_no_key() {
        let transit = Transit::new();
        let body = json!({ "plaintext": "", "associated_data": "" });
        transit.set_absence(Some(Absence::Sealed));
        assert_eq!(ask(&transit, ENCRYPT, &body, 0).unwrap().0, 503);
        transit.set_absence(Some(Absence::Silent));
        assert_eq!(ask(&transit, ENCRYPT, &body, 0), None);
        assert_eq!(transit.found().1, 2);
        transit.set_absence(None);
        assert_eq!(ask(&transit, ENCRYPT, &body, 0).unwrap().0, 200);
    }

    #[test]
    fn a_key_that_a_process_gets_again_is_noticed() {
        let transit = Transit::new();
        let sealed = transit.seal(&[7; 32], b"ada");
        let body =
            json!({ "ciphertext": sealed, "associated_data": BASE64_STANDARD.encode(b"ada") });
        assert_eq!(ask(&transit, DECRYPT, &body, 10).unwrap().0, 200);
        assert_eq!(transit.found().0, []);
        assert_eq!(ask(&transit, DECRYPT, &body, 30).unwrap().0, 200);
        let again = Repeated {
            process: 7,
            first: Duration::from_secs(10),
            again: Duration::from_secs(30),
        };
        assert_eq!(transit.found().0, [again]);
    }
}
