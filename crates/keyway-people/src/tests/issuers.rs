//! When the keys of an issuer are fetched, and what holds while it is away.

use std::collections::HashMap;
use std::sync::Mutex;

use keyway_auth::BoxFuture;
use keyway_auth::ports::{HttpClient, HttpFailure, HttpRequest, HttpResponse};
use tokio::sync::Semaphore;

use super::*;
use crate::verified_tokens::TokenDigest;

/// An issuer that answers by address, counts, and can be made to wait.
#[derive(Debug)]
pub(super) struct Server {
    documents: Mutex<HashMap<String, Vec<u8>>>,
    pub(super) asked: Mutex<Vec<String>>,
    is_away: Mutex<bool>,
    /// One permit per answer.
    gate: Semaphore,
}

impl Server {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            documents: Mutex::default(),
            asked: Mutex::default(),
            is_away: Mutex::default(),
            gate: Semaphore::new(1000),
        })
    }

    /// Publishes metadata as OpenID Connect has it, and keys.
    fn publish(&self, keys: &[Value]) {
        let metadata = json!({"issuer": ISSUER, "jwks_uri": "https://idp.example/jwks"});
        let at = format!("{ISSUER}/.well-known/openid-configuration");
        self.put(&at, &metadata.to_string());
        self.put(
            "https://idp.example/jwks",
            &json!({"keys": keys}).to_string(),
        );
    }

    pub(super) fn put(&self, at: &str, body: &str) {
        let mut documents = self.documents.lock().unwrap();
        documents.insert(at.to_owned(), body.as_bytes().to_vec());
    }

    fn fetches(&self) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|it| it.ends_with("/jwks")).count()
    }

    fn set_away(&self, is_away: bool) {
        *self.is_away.lock().unwrap() = is_away;
    }
}

impl HttpClient for Server {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>> {
        Box::pin(async move {
            let url = request.url.to_string();
            self.asked.lock().unwrap().push(url.clone());
            self.gate.acquire().await.unwrap().forget();
            if *self.is_away.lock().unwrap() {
                return Err(away());
            }
            let body = self.documents.lock().unwrap().get(&url).cloned();
            let status = if body.is_some() { 200 } else { 404 };
            let body = Secret::new(body.unwrap_or_default());
            Ok(HttpResponse::new(status, http::HeaderMap::new(), body))
        })
    }
}

fn away() -> HttpFailure {
    HttpFailure::Unreachable {
        host: "idp.example".to_owned(),
        why: "connection refused".to_owned(),
        sent: false,
    }
}

fn verifier(server: &Arc<Server>, clock: &Arc<TestClock>) -> AccessTokenVerifier {
    let http: Arc<dyn HttpClient> = Arc::clone(server) as _;
    let issuer = Issuer::new(ISSUER, http).unwrap();
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    AccessTokenVerifier::new(TokenRules::new(AUDIENCE), vec![issuer], clock)
}

fn token(key: &SigningKey, id: &str) -> Secret<String> {
    let claims = with(claims(), json!({"exp": NOW + 100_000}));
    secret(&key.token(&header("ES256", id).to_string(), &claims))
}

#[tokio::test]
async fn keys_are_fetched_once_for_all_who_wait() {
    let (server, clock, key) = (Server::new(), TestClock::new(), SigningKey::p256());
    server.publish(&[key.jwk("1")]);
    let verifier = Arc::new(verifier(&server, &clock));
    let tasks = (0..20).map(|_| {
        let (verifier, token) = (Arc::clone(&verifier), token(&key, "1"));
        tokio::spawn(async move { verifier.verify(&token).await.map(|_| ()) })
    });
    for task in tasks.collect::<Vec<_>>() {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
    assert_eq!(server.fetches(), 1);
}

#[tokio::test]
async fn an_unknown_key_leads_to_one_fetch_a_minute() {
    let (server, clock) = (Server::new(), TestClock::new());
    let (key, next) = (SigningKey::p256(), SigningKey::p256());
    server.publish(&[key.jwk("1")]);
    let verifier = verifier(&server, &clock);
    let verify =
        async |key: &SigningKey, id: &str| verifier.verify(&token(key, id)).await.map(|_| ());
    assert_eq!(verify(&key, "1").await, Ok(()));
    // Rotation: the new key counts at once.
    server.publish(&[key.jwk("1"), next.jwk("2")]);
    assert_eq!(verify(&next, "2").await, Ok(()));
    assert_eq!(server.fetches(), 2);
    for id in ["3", "4", "../5", "3"] {
        assert_eq!(verify(&next, id).await, Err(TokenError::UnknownKey));
    }
    assert_eq!(server.fetches(), 2);
    clock.pass(59);
    assert_eq!(verify(&next, "3").await, Err(TokenError::UnknownKey));
    assert_eq!(server.fetches(), 2);
    clock.pass(1);
    assert_eq!(verify(&next, "3").await, Err(TokenError::UnknownKey));
    assert_eq!(verify(&next, "3").await, Err(TokenError::UnknownKey));
    assert_eq!(server.fetches(), 3);
}

#[tokio::test]
async fn remembered_token_counts_for_itself_its_time_and_its_keys_alone() {
    let (server, clock) = (Server::new(), TestClock::new());
    let (key, next) = (SigningKey::p256(), SigningKey::p256());
    server.publish(&[key.jwk("1")]);
    let verifier = verifier(&server, &clock);
    let verify = async |token: &str| {
        let found = verifier.verify(&secret(token)).await;
        found.map(|found| found.person.subject().to_owned())
    };
    let is_remembered = |token: &str| {
        let keys = verifier.issuers[0].known_keys().unwrap();
        let found = keys.verified.person(&TokenDigest::new(token), clock.wall());
        found.is_some()
    };
    let head = header("ES256", "1").to_string();
    let told = with(claims(), json!({ "exp": NOW + 1_000 }));
    let token = key.token(&head, &told);
    let (text, signature) = token.rsplit_once('.').unwrap();
    let forged = format!("{text}.{}", encode([0; 64]));
    let other = with(claims(), json!({ "sub": "eve", "exp": NOW + 1_000 }));
    let other = format!("{}.{}.{signature}", encode(&head), encode(&other));
    for _ in 0..2 {
        // Neither another signature, nor other claims under this one.
        for bad in [&forged, &other] {
            assert_eq!(verify(bad).await, Err(TokenError::BadSignature));
            assert!(!is_remembered(bad));
        }
        assert_eq!(verify(&token).await.as_deref(), Ok("ada"));
        assert!(is_remembered(&token));
    }
    // What was not good for another reason than its signature is not remembered either.
    let late = key.token(&head, &with(claims(), json!({ "nbf": NOW + 900 })));
    assert_eq!(verify(&late).await, Err(TokenError::NotYetValid));
    assert!(!is_remembered(&late));

    // The issuer no longer publishes the key: what it has signed ends with the next fetch.
    server.publish(&[next.jwk("1")]);
    clock.pass(600);
    assert_eq!(verify(&token).await.as_deref(), Ok("ada"));
    while server.fetches() < 2 || is_remembered(&token) {
        tokio::task::yield_now().await;
    }
    assert_eq!(verify(&token).await, Err(TokenError::BadSignature));
    let renewed = next.token(&head, &told);
    assert_eq!(verify(&renewed).await.as_deref(), Ok("ada"));
    assert!(is_remembered(&renewed));
    clock.pass(1_000);
    assert_eq!(verify(&renewed).await, Err(TokenError::Expired));
}

#[tokio::test]
async fn a_bad_signature_or_claim_fetches_nothing() {
    let (server, clock) = (Server::new(), TestClock::new());
    let (key, eve) = (SigningKey::p256(), SigningKey::p256());
    server.publish(&[key.jwk("1")]);
    let verifier = verifier(&server, &clock);
    let foreign = with(claims(), json!({"iss": "https://evil.example"}));
    let foreign = secret(&eve.token(&header("ES256", "1").to_string(), &foreign));
    let refused = verifier.verify(&foreign).await;
    assert_eq!(refused, Err(TokenError::IssuerNotListed));
    let late = with(claims(), json!({"exp": 1}));
    let late = secret(&eve.token(&header("ES256", "9").to_string(), &late));
    assert_eq!(verifier.verify(&late).await, Err(TokenError::Expired));
    assert_eq!(server.asked.lock().unwrap().len(), 0);
    assert!(verifier.verify(&token(&key, "1")).await.is_ok());
    let forged = verifier.verify(&token(&eve, "1")).await;
    assert_eq!(forged, Err(TokenError::BadSignature));
    assert_eq!(server.fetches(), 1);
}

#[tokio::test]
async fn addresses_in_the_header_are_not_followed() {
    let (server, clock) = (Server::new(), TestClock::new());
    let (key, eve) = (SigningKey::p256(), SigningKey::p256());
    server.publish(&[key.jwk("1")]);
    let evil = "https://evil.example/jwks";
    server.put(evil, &json!({"keys": [eve.jwk("9")]}).to_string());
    let verifier = verifier(&server, &clock);
    let header = with(
        header("ES256", "9"),
        json!({"jku": evil, "x5u": evil, "jwk": eve.jwk("9")}),
    );
    let token = secret(&eve.token(&header, &claims().to_string()));
    assert_eq!(verifier.verify(&token).await, Err(TokenError::UnknownKey));
    let asked = server.asked.lock().unwrap();
    assert!(asked.iter().all(|it| !it.contains("evil")), "{asked:?}");
}

#[tokio::test]
async fn the_last_good_keys_count_while_the_issuer_is_away() {
    let (server, clock, key) = (Server::new(), TestClock::new(), SigningKey::p256());
    server.publish(&[key.jwk("1")]);
    let verifier = verifier(&server, &clock);
    assert!(verifier.verify(&token(&key, "1")).await.is_ok());
    server.set_away(true);
    clock.pass(3600);
    for _ in 0..3 {
        assert!(verifier.verify(&token(&key, "1")).await.is_ok());
        tokio::task::yield_now().await;
    }
    assert!(verifier.verify(&token(&key, "2")).await.is_err());
    assert!(verifier.verify(&token(&key, "1")).await.is_ok());
}

/// Otherwise people whose issuer rotates its keys while it is away are told to sign in again.
#[tokio::test]
async fn an_unknown_key_is_not_refused_for_good_while_the_issuer_cannot_be_asked() {
    let (server, clock) = (Server::new(), TestClock::new());
    let (key, next) = (SigningKey::p256(), SigningKey::p256());
    server.publish(&[key.jwk("1")]);
    let verifier = verifier(&server, &clock);
    let verify =
        async |key: &SigningKey, id: &str| verifier.verify(&token(key, id)).await.map(|_| ());
    assert_eq!(verify(&key, "1").await, Ok(()));
    server.set_away(true);
    let asked = || server.asked.lock().unwrap().len();
    let before = asked();
    for id in ["2", "3", "4", "2"] {
        let error = verify(&next, id).await.unwrap_err();
        assert_eq!(error, TokenError::NoKeys(KeysError::Http(away())));
        assert!(error.is_transient());
    }
    assert_eq!(
        asked(),
        before + 1,
        "one request for all forged tokens of a minute"
    );
    assert_eq!(verify(&key, "1").await, Ok(()));
    server.set_away(false);
    server.publish(&[key.jwk("1"), next.jwk("2")]);
    clock.pass(60);
    assert_eq!(verify(&next, "2").await, Ok(()));
    assert_eq!(verify(&next, "3").await, Err(TokenError::UnknownKey));
}

#[tokio::test]
async fn a_withdrawn_key_counts_for_ten_minutes() {
    let (server, clock, key) = (Server::new(), TestClock::new(), SigningKey::p256());
    server.publish(&[key.jwk("1")]);
    let verifier = verifier(&server, &clock);
    assert!(verifier.verify(&token(&key, "1")).await.is_ok());
    server.publish(&[SigningKey::p256().jwk("2")]);
    clock.pass(599);
    assert!(verifier.verify(&token(&key, "1")).await.is_ok());
    assert_eq!(server.fetches(), 1);
    clock.pass(1);
    // This one does not wait for the fetch that it begins.
    assert!(verifier.verify(&token(&key, "1")).await.is_ok());
    while server.fetches() < 2 {
        tokio::task::yield_now().await;
    }
    let later = verifier.verify(&token(&key, "1")).await;
    assert_eq!(later, Err(TokenError::UnknownKey));
}

#[tokio::test]
async fn an_issuer_without_an_answer_is_asked_again_after_some_seconds() {
    let (server, clock, key) = (Server::new(), TestClock::new(), SigningKey::p256());
    server.set_away(true);
    let verifier = verifier(&server, &clock);
    let asked = || server.asked.lock().unwrap().len();
    for _ in 0..3 {
        let error = verifier.verify(&token(&key, "1")).await.unwrap_err();
        assert_eq!(error, TokenError::NoKeys(KeysError::Http(away())));
        assert!(error.is_transient());
    }
    assert_eq!(asked(), 1);
    server.set_away(false);
    server.publish(&[key.jwk("1")]);
    clock.pass(5);
    assert!(verifier.verify(&token(&key, "1")).await.is_ok());
}

#[tokio::test]
async fn a_client_that_goes_away_does_not_end_the_fetch_for_others() {
    let (server, clock, key) = (Server::new(), TestClock::new(), SigningKey::p256());
    server.publish(&[key.jwk("1")]);
    server.gate.forget_permits(1000);
    let verifier = verifier(&server, &clock);
    let token = token(&key, "1");
    {
        let first = verifier.verify(&token);
        tokio::pin!(first);
        // Polled once, so that the fetch is under way, and dropped.
        let polled = std::future::poll_fn(|context| {
            std::task::Poll::Ready(first.as_mut().poll(context).is_pending())
        });
        assert!(polled.await);
    }
    server.gate.add_permits(1000);
    assert!(verifier.verify(&token).await.is_ok());
    assert_eq!(server.fetches(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_never_ends_its_answer_is_given_up() {
    let (server, clock, key) = (Server::new(), TestClock::new(), SigningKey::p256());
    server.gate.forget_permits(1000);
    let verifier = verifier(&server, &clock);
    let slow = verifier.verify(&token(&key, "1")).await;
    assert_eq!(slow, Err(TokenError::NoKeys(KeysError::Slow)));
}

#[tokio::test]
async fn metadata_that_is_wrong_has_its_own_error() {
    let at = format!("{ISSUER}/.well-known/openid-configuration");
    let foreign = json!({"issuer": "https://evil.example", "jwks_uri": "https://a.example"});
    let rows = [
        (None, KeysError::NoMetadata),
        (Some(foreign), KeysError::OtherIssuer),
        (Some(json!({"issuer": ISSUER})), KeysError::NoAddress),
        (
            Some(json!({"issuer": ISSUER, "jwks_uri": "http://idp.example/jwks"})),
            KeysError::Address(IssuerError::NotEncrypted),
        ),
        (
            Some(json!({"issuer": ISSUER, "jwks_uri": "file:///etc/passwd"})),
            KeysError::Address(IssuerError::NotAddress),
        ),
        (
            Some(json!({"issuer": ISSUER, "jwks_uri": "https://idp.example/none"})),
            KeysError::Status,
        ),
    ];
    for (metadata, error) in rows {
        let (server, clock, key) = (Server::new(), TestClock::new(), SigningKey::p256());
        if let Some(metadata) = metadata {
            server.put(&at, &metadata.to_string());
        }
        let found = verifier(&server, &clock).verify(&token(&key, "1")).await;
        assert_eq!(found, Err(TokenError::NoKeys(error)));
    }
}

#[tokio::test]
async fn metadata_is_looked_for_at_each_place_that_it_may_be() {
    let places = [
        "https://idp.example/.well-known/oauth-authorization-server/tenant",
        "https://idp.example/tenant/.well-known/openid-configuration",
        "https://idp.example/.well-known/openid-configuration/tenant",
    ];
    for place in places {
        let (server, clock, key) = (Server::new(), TestClock::new(), SigningKey::p256());
        let metadata = json!({"issuer": ISSUER, "jwks_uri": "https://keys.example/a"});
        server.put(place, &metadata.to_string());
        let keys = json!({"keys": [key.jwk("1")]}).to_string();
        server.put("https://keys.example/a", &keys);
        let found = verifier(&server, &clock).verify(&token(&key, "1")).await;
        assert!(found.is_ok(), "{place}: {found:?}");
    }
}

#[tokio::test]
async fn keys_of_the_settings_need_no_metadata() {
    let (server, clock, key) = (Server::new(), TestClock::new(), SigningKey::p256());
    let keys = json!({"keys": [key.jwk("1")]}).to_string();
    server.put("https://idp.example/k", &keys);
    let http: Arc<dyn HttpClient> = Arc::clone(&server) as _;
    let issuer = Issuer::new(ISSUER, http).unwrap();
    let issuer = issuer.with_jwks("https://idp.example/k").unwrap();
    let rules = TokenRules::new(AUDIENCE);
    let verifier = AccessTokenVerifier::new(rules, vec![issuer], clock);
    assert!(verifier.verify(&token(&key, "1")).await.is_ok());
    assert_eq!(*server.asked.lock().unwrap(), ["https://idp.example/k"]);
}
