//! Whose a browser is, by an ID token of the person's issuer.

use keyway_auth::ports::{Callback, HttpClient};

use super::issuers::Server;
use super::*;

const CLIENT: &str = "keyway-gateway";
const REDIRECT: &str = "https://gateway.example/oauth/callback";
const TOKEN: &str = "https://idp.example/token";

/// An issuer for browsers, with one key.
struct Idp {
    server: Arc<Server>,
    verifier: AccessTokenVerifier,
    key: SigningKey,
}

impl Idp {
    fn new() -> Self {
        Self::saying(json!({}))
    }

    /// With more members in its metadata, or others.
    fn saying(changes: Value) -> Self {
        let (server, key) = (Server::new(), SigningKey::p256());
        let metadata = json!({
            "issuer": ISSUER, "jwks_uri": "https://idp.example/jwks", "token_endpoint": TOKEN,
            "authorization_endpoint": "https://idp.example/authorize?tenant=1",
        });
        let at = format!("{ISSUER}/.well-known/openid-configuration");
        server.put(&at, &with(metadata, changes));
        let keys = json!({"keys": [key.jwk("1")]});
        server.put("https://idp.example/jwks", &keys.to_string());
        let http: Arc<dyn HttpClient> = Arc::clone(&server) as _;
        let issuer = Issuer::new(ISSUER, http).unwrap();
        let issuer = issuer.with_browser_client(CLIENT);
        let clock: Arc<dyn Clock> = TestClock::new();
        let rules = TokenRules::new(AUDIENCE);
        let verifier = AccessTokenVerifier::new(rules, vec![issuer], clock);
        Self {
            server,
            verifier,
            key,
        }
    }

    async fn begin(&self) -> BegunBrowserSignIn {
        let begun = self.verifier.begin_browser_sign_in(ISSUER, REDIRECT);
        begun.await.unwrap()
    }

    /// Answers the next code with an ID token whose header and claims are changed.
    fn answer(&self, begun: &BegunBrowserSignIn, changes: [Value; 2], key: &SigningKey) {
        let [header, claims] = changes;
        let header = with(json!({"alg": "ES256", "kid": "1"}), header);
        let nonce = begun.proof.nonce.expose();
        let base = json!({
            "iss": ISSUER, "aud": CLIENT, "sub": "ada", "iat": NOW - 5, "exp": NOW + 300,
            "nonce": nonce,
        });
        let token = key.token(&header, &with(base, claims));
        let answer = json!({"access_token": "a", "token_type": "Bearer", "id_token": token});
        self.server.put(TOKEN, &answer.to_string());
    }

    async fn finish(
        &self,
        begun: &BegunBrowserSignIn,
        answer: &Callback,
    ) -> Result<Person, BrowserSignInError> {
        let finished = self.verifier.finish_browser_sign_in(&begun.proof, answer);
        finished.await
    }

    fn redeemed(&self) -> usize {
        let asked = self.server.asked.lock().unwrap();
        asked.iter().filter(|it| *it == TOKEN).count()
    }
}

fn code() -> Callback {
    let mut answer = Callback::default();
    answer.code = Some(secret("code-1"));
    answer
}

#[tokio::test]
async fn a_person_who_signs_in_is_told_by_issuer_and_subject() {
    let idp = Idp::new();
    assert!(idp.verifier.knows_browsers_of(ISSUER));
    let begun = idp.begin().await;
    let page = &begun.page;
    let value = |name: &str| {
        let mut found = page.query_pairs().filter(|(key, _)| key == name);
        found.next().unwrap().1.into_owned()
    };
    assert!(page.as_str().starts_with("https://idp.example/authorize?"));
    assert_eq!(value("tenant"), "1");
    assert_eq!(value("client_id"), CLIENT);
    assert_eq!(value("redirect_uri"), REDIRECT);
    assert_eq!(value("scope"), "openid");
    assert_eq!(value("state"), *begun.state.expose());
    assert_eq!(value("nonce"), *begun.proof.nonce.expose());
    assert_eq!(value("code_challenge_method"), "S256");
    let verifier = begun.proof.verifier.expose();
    let challenge = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    assert_eq!(value("code_challenge"), encode(challenge));
    idp.answer(&begun, [json!({}), json!({})], &idp.key);
    let person = idp.finish(&begun, &code()).await.unwrap();
    assert_eq!(person, Person::new(ISSUER, "ada").unwrap());
}

#[tokio::test]
async fn an_id_token_that_breaks_a_rule_names_no_person() {
    let idp = Idp::new();
    let rows = [
        (json!({}), json!({"nonce": "other"})),
        (json!({}), json!({"nonce": null})),
        (json!({}), json!({"aud": AUDIENCE})),
        (json!({}), json!({"aud": [CLIENT, "other"]})),
        (json!({}), json!({"azp": "other"})),
        (json!({}), json!({"iss": "https://evil.example"})),
        (json!({}), json!({"exp": NOW - 61})),
        (json!({}), json!({"sub": null})),
        (json!({"typ": "at+jwt"}), json!({})),
        (json!({"typ": "logout+jwt"}), json!({})),
        (json!({"alg": "none"}), json!({})),
        (json!({"alg": "HS256"}), json!({})),
        (json!({"kid": "2"}), json!({})),
    ];
    for (header, claims) in rows {
        let begun = idp.begin().await;
        idp.answer(&begun, [header.clone(), claims.clone()], &idp.key);
        let found = idp.finish(&begun, &code()).await;
        assert!(found.is_err(), "{header} {claims}: {found:?}");
    }
    let begun = idp.begin().await;
    idp.answer(&begun, [json!({}), json!({})], &SigningKey::p256());
    let forged = idp.finish(&begun, &code()).await;
    let wrong = BrowserSignInError::IdToken(TokenError::BadSignature);
    assert_eq!(forged, Err(wrong));
    // Two audiences are as good with the name of the party that it was made for.
    let begun = idp.begin().await;
    let claims = json!({"aud": [CLIENT, "other"], "azp": CLIENT});
    idp.answer(&begun, [json!({"typ": "JWT"}), claims], &idp.key);
    assert!(idp.finish(&begun, &code()).await.is_ok());
}

/// The token of another sign-in of the same person, at the same client.
#[tokio::test]
async fn an_id_token_of_another_sign_in_does_not_count() {
    let idp = Idp::new();
    let (begun, other) = (idp.begin().await, idp.begin().await);
    idp.answer(&other, [json!({}), json!({})], &idp.key);
    let found = idp.finish(&begun, &code()).await;
    assert_eq!(found, Err(BrowserSignInError::WrongNonce));
}

#[tokio::test]
async fn an_answer_without_a_code_or_of_another_issuer_redeems_nothing() {
    let idp = Idp::saying(json!({"authorization_response_iss_parameter_supported": true}));
    let begun = idp.begin().await;
    let mut denied = Callback::default();
    denied.error = Some("access_denied".to_owned());
    denied.iss = Some(ISSUER.to_owned());
    let refused = BrowserSignInError::Refused {
        code: "access_denied".to_owned(),
    };
    assert_eq!(idp.finish(&begun, &denied).await, Err(refused));
    let mut empty = Callback::default();
    empty.iss = Some(ISSUER.to_owned());
    let none = idp.finish(&begun, &empty).await;
    assert_eq!(none, Err(BrowserSignInError::NoCode));
    let mut other = code();
    other.iss = Some("https://evil.example".to_owned());
    for answer in [other, code()] {
        let mixed = idp.finish(&begun, &answer).await;
        assert_eq!(mixed, Err(BrowserSignInError::OtherIssuer));
    }
    assert_eq!(idp.redeemed(), 0);
    let mut right = code();
    right.iss = Some(ISSUER.to_owned());
    idp.answer(&begun, [json!({}), json!({})], &idp.key);
    assert!(idp.finish(&begun, &right).await.is_ok());
}

/// RFC 9700 section 4.4: one of two issuers sends the browser on to the other, and would get its code.
#[tokio::test]
async fn an_answer_that_names_no_issuer_counts_only_where_there_is_one() {
    let idp = Idp::new();
    let begun = idp.begin().await;
    let issuers = [ISSUER, "https://other.example"].map(|name| {
        let issuer = Issuer::new(name, Arc::clone(&idp.server) as _).unwrap();
        issuer.with_browser_client(CLIENT)
    });
    let clock: Arc<dyn Clock> = TestClock::new();
    let both = AccessTokenVerifier::new(TokenRules::new(AUDIENCE), issuers.into(), clock);
    let found = both.finish_browser_sign_in(&begun.proof, &code()).await;
    assert_eq!(found, Err(BrowserSignInError::UnnamedIssuer));
    assert_eq!(idp.redeemed(), 0);
    let mut named = code();
    named.iss = Some(ISSUER.to_owned());
    idp.answer(&begun, [json!({}), json!({})], &idp.key);
    let found = both.finish_browser_sign_in(&begun.proof, &named).await;
    assert!(found.is_ok(), "{found:?}");
}

#[tokio::test]
async fn an_issuer_without_a_client_or_endpoints_has_no_page() {
    let http: Arc<dyn HttpClient> = Server::new();
    let issuer = Issuer::new(ISSUER, http).unwrap();
    let clock: Arc<dyn Clock> = TestClock::new();
    let verifier = AccessTokenVerifier::new(TokenRules::new(AUDIENCE), vec![issuer], clock);
    for name in [ISSUER, "https://other.example"] {
        assert!(!verifier.knows_browsers_of(name));
        let begun = verifier.begin_browser_sign_in(name, REDIRECT).await;
        assert_eq!(begun.unwrap_err(), BrowserSignInError::NoClient);
    }
    for address in ["http://idp.example/authorize", "file:///etc/passwd", ""] {
        let idp = Idp::saying(json!({"authorization_endpoint": address}));
        let begun = idp.verifier.begin_browser_sign_in(ISSUER, REDIRECT).await;
        let field = "authorization_endpoint";
        let error = BrowserSignInError::NoEndpoint { field };
        assert_eq!(begun.unwrap_err(), error, "{address}");
    }
}

#[tokio::test]
async fn a_token_endpoint_that_refuses_or_gives_no_id_token_is_told() {
    let idp = Idp::new();
    let begun = idp.begin().await;
    for (body, error) in [
        (
            r#"{"error":"invalid_grant"}"#,
            BrowserSignInError::Refused {
                code: "invalid_grant".to_owned(),
            },
        ),
        (
            r#"{"access_token":"a","token_type":"Bearer"}"#,
            BrowserSignInError::NoIdToken,
        ),
        ("<html>", BrowserSignInError::Status { status: 200 }),
    ] {
        idp.server.put(TOKEN, body);
        assert_eq!(idp.finish(&begun, &code()).await, Err(error));
    }
}

/// No sign-in is needed to begin: that must not have the issuer asked each time.
#[tokio::test]
async fn the_issuer_is_asked_for_its_metadata_once_however_many_browsers_come() {
    let idp = Idp::new();
    let asked = || idp.server.asked.lock().unwrap().len();
    idp.begin().await;
    let once = asked();
    for _ in 0..20 {
        idp.begin().await;
    }
    assert_eq!(asked(), once);
}
