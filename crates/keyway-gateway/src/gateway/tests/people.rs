//! People with access tokens, at the address of the settings.

use std::time::SystemTime;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway::settings::{Around, Settings};
use keyway_auth::ports::{HttpClient, HttpFailure, HttpRequest, HttpResponse};
use keyway_people::{AccessTokenVerifier, Algorithm, ClaimRule, Issuer, TokenRules};
use keyway_secret::{Clock, SystemClock};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use url::Url;

use super::*;
use crate::people::People;

const ISSUER: &str = "https://idp.example";
pub(super) const PUBLIC: &str = "https://gateway.example";

/// An issuer with one key.
#[derive(Debug)]
pub(super) struct Idp {
    key: Ed25519KeyPair,
    is_away: bool,
    /// Who signed in on its page, and the nonce of the request, by code.
    codes: Mutex<HashMap<String, [String; 2]>>,
}

impl Idp {
    pub(super) fn new() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let key = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
        Self {
            key,
            is_away: false,
            codes: Mutex::default(),
        }
    }

    /// Lets a person sign in on a page that a browser was sent to; returns where it is sent back.
    pub(super) fn sign_in(&self, page: &str, subject: &str) -> String {
        let page: Url = page.parse().unwrap();
        assert_eq!(page.host_str(), Some("idp.example"), "{page}");
        let asked: HashMap<_, _> = page.query_pairs().collect();
        assert_eq!(asked["client_id"], "keyway-gateway");
        let mut codes = self.codes.lock().unwrap();
        let code = format!("code-{}", codes.len());
        let known = [subject.to_owned(), asked["nonce"].to_string()];
        codes.insert(code.clone(), known);
        format!(
            "{}?code={code}&state={}",
            asked["redirect_uri"], asked["state"]
        )
    }

    /// Redeems a code for an ID token, once.
    fn redeem(&self, form: &[u8]) -> Option<Value> {
        let asked: HashMap<_, _> = url::form_urlencoded::parse(form).collect();
        let known = self.codes.lock().unwrap().remove(&*asked["code"]);
        let [subject, nonce] = known?;
        let more = json!({"aud": "keyway-gateway", "nonce": nonce});
        let token = self.signed("JWT", &subject, more);
        Some(json!({"access_token": "a", "token_type": "Bearer", "id_token": token}))
    }

    /// Returns a token for a person, whose claims are changed.
    pub(super) fn token(&self, subject: &str, changes: Value) -> String {
        self.signed("at+jwt", subject, changes)
    }

    fn signed(&self, kind: &str, subject: &str, changes: Value) -> String {
        let now = SystemClock.wall().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap().as_secs();
        let mut claims = json!({
            "iss": ISSUER, "aud": format!("{PUBLIC}/mcp"), "sub": subject, "iat": now,
            "exp": now + 300, "scope": "mcp", "groups": ["team"],
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let header = json!({"typ": kind, "alg": "EdDSA", "kid": "1"});
        self.sign(&header.to_string(), &claims.to_string())
    }

    /// Signs a header and claims, whatever they say.
    pub(super) fn sign(&self, header: &str, claims: &str) -> String {
        let text = format!("{}.{}", encode(header), encode(claims));
        let signature = self.key.sign(text.as_bytes());
        format!("{text}.{}", encode(signature))
    }

    /// Returns the public key, as its issuer publishes it.
    pub(super) fn public_key(&self) -> String {
        encode(self.key.public_key())
    }
}

impl HttpClient for Idp {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>> {
        let x = self.public_key();
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": x}]});
        let metadata = json!({
            "issuer": ISSUER, "token_endpoint": format!("{ISSUER}/token"),
            "authorization_endpoint": format!("{ISSUER}/authorize"),
        });
        let body = request.body.as_ref();
        let said = match request.url.path() {
            "/jwks" => keys,
            "/token" => {
                let redeemed = self.redeem(body.unwrap().expose());
                redeemed.unwrap_or_else(|| json!({"error": "invalid_grant"}))
            }
            _ => metadata,
        };
        let answer = if self.is_away {
            Err(HttpFailure::Timeout {
                host: "idp.example".to_owned(),
                seconds: 5,
                sent: true,
            })
        } else {
            let body = Secret::new(said.to_string().into_bytes());
            Ok(HttpResponse::new(200, http::HeaderMap::new(), body))
        };
        Box::pin(std::future::ready(answer))
    }
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A clock that is ahead of the machine's by what it is told.
#[derive(Debug, Default)]
struct Later(Mutex<Duration>);

impl Clock for Later {
    fn monotonic(&self) -> std::time::Instant {
        SystemClock.monotonic() + *self.0.lock().unwrap()
    }

    fn wall(&self) -> SystemTime {
        SystemClock.wall() + *self.0.lock().unwrap()
    }
}

pub(super) fn people(idp: &Arc<Idp>) -> Arc<People> {
    people_by(idp, Arc::new(SystemClock))
}

fn people_by(idp: &Arc<Idp>, clock: Arc<dyn Clock>) -> Arc<People> {
    let text = format!("[gateway]\npublic_url = \"{PUBLIC}\"\ntrusted_proxies = [\"10.0.0.1\"]");
    let settings = Settings::parse("config.toml", text.as_bytes(), Around::default()).settings;
    let mut rules = TokenRules::new(format!("{PUBLIC}/mcp"));
    rules.algorithms = vec![Algorithm::EdDsa];
    rules.scopes = vec!["mcp".to_owned()];
    rules.members = Some(ClaimRule::new("groups".to_owned(), vec!["team".to_owned()]));
    rules.admins = Some(ClaimRule::new(
        "groups".to_owned(),
        vec!["admins".to_owned()],
    ));
    let issuer = Issuer::new(ISSUER, Arc::clone(idp) as _).unwrap();
    let issuer = issuer.with_jwks("https://idp.example/jwks").unwrap();
    let issuer = issuer.with_browser_client("keyway-gateway");
    let verifier = AccessTokenVerifier::new(rules, vec![issuer], Arc::clone(&clock));
    let public = settings.gateway.public.unwrap();
    Arc::new(People::new(&public, verifier, clock))
}

pub(super) fn start(idp: &Arc<Idp>) -> Running {
    let people = people(idp);
    Running::start_with(&[], |gateway| gateway.with_people(people))
}

#[tokio::test]
async fn a_client_without_a_token_is_told_where_to_sign_in() {
    let running = start(&Arc::new(Idp::new()));
    let answer = running.client().await.post("/mcp/a/one", HELLO).await;
    assert_eq!(answer.status, 401, "{answer:?}");
    let challenge = answer.header("www-authenticate").unwrap();
    let address = format!("{PUBLIC}/.well-known/oauth-protected-resource/mcp");
    let expected = format!("Bearer resource_metadata=\"{address}\", scope=\"mcp\"");
    assert_eq!(challenge, expected);
    for path in ["", "/mcp", "/mcp/a/one", "/mcp/none"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let answer = running.client().await.send("GET", &path, "").await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let document: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(document["resource"], format!("{PUBLIC}/mcp"));
        assert_eq!(document["authorization_servers"], json!([ISSUER]));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
        assert_eq!(document["scopes_supported"], json!(["mcp"]));
    }
    let other = "/.well-known/oauth-protected-resource/other";
    let other = running.client().await.send("GET", other, "").await;
    assert_eq!(other.status, 401);
    assert_eq!(running.heard(), [] as [&str; 0]);
}

#[tokio::test]
async fn a_bad_token_is_told_apart_from_a_person_without_access() {
    let idp = Arc::new(Idp::new());
    let running = start(&idp);
    let rows = [
        (
            idp.token("ada", json!({"exp": 1})),
            401,
            Some("invalid_token"),
            "expired",
        ),
        (
            idp.token("ada", json!({"aud": "x"})),
            401,
            Some("invalid_token"),
            "audience",
        ),
        (
            Idp::new().token("ada", json!({})),
            401,
            Some("invalid_token"),
            "signature",
        ),
        ("a.b.c".to_owned(), 401, Some("invalid_token"), "base64url"),
        ("wrong".to_owned(), 401, Some("invalid_token"), "signed JWT"),
        (
            idp.token("ada", json!({"scope": "x"})),
            403,
            Some("insufficient_scope"),
            "scope",
        ),
        (
            idp.token("ada", json!({"groups": []})),
            403,
            None,
            "no access",
        ),
    ];
    for (token, status, word, why) in rows {
        let client = running.client().await.token(&token);
        let answer = client.post("/mcp/a/one", HELLO).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.body.contains(why), "{answer:?}");
        let challenge = answer.header("www-authenticate");
        match word {
            Some(word) => {
                let challenge = challenge.unwrap();
                assert!(
                    challenge.contains(&format!("error=\"{word}\"")),
                    "{challenge}"
                );
                assert!(challenge.contains("resource_metadata="), "{challenge}");
            }
            None => assert_eq!(challenge, None),
        }
        assert!(!format!("{answer:?}").contains(&token), "{answer:?}");
    }
    assert_eq!(running.heard(), [] as [&str; 0]);
}

#[tokio::test]
async fn a_session_belongs_to_its_person() {
    let idp = Arc::new(Idp::new());
    let running = start(&idp);
    let (ada, eve) = (idp.token("ada", json!({})), idp.token("eve", json!({})));
    let id = running.session(&ada, "/mcp/a/one").await;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let ask = async |token: &str| {
        let client = running.client().await.token(token);
        client
            .with("Mcp-Session-Id", &id)
            .post("/mcp/a/one", list)
            .await
    };
    assert_eq!(ask(&eve).await.status, 404);
    assert_eq!(ask("all").await.status, 404);
    // The next token of the same person is as good.
    let next = idp.token("ada", json!({"jti": "2"}));
    let answer = ask(&next).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("add"), "{answer:?}");
    let client = running.client().await.token(&eve);
    let ended = client
        .with("Mcp-Session-Id", &id)
        .send("DELETE", "/mcp/a/one", "")
        .await;
    assert_eq!(ended.status, 404);
    assert_eq!(ask(&ada).await.status, 200);
}

#[tokio::test]
async fn servers_are_connected_to_for_the_person_and_get_nothing_of_the_token() {
    let idp = Arc::new(Idp::new());
    let running = start(&idp);
    let ada = idp.token("ada", json!({"canary": "CANARY-51c0"}));
    running.session(&ada, "/mcp/a/one").await;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let client = running.client().await.token(&ada);
    let client = client
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "tools/list");
    let answer = client.post("/mcp", list).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let heard = running.heard();
    let of_ada = heard
        .iter()
        .filter(|it| *it == "for https://idp.example#ada");
    // Once by its own path, and each of the three together.
    assert_eq!(of_ada.count(), 4, "{heard:?}");
    let opened = heard.iter().filter(|it| *it == "opened").count();
    assert_eq!(opened, 4, "no other connection: {heard:?}");
    let signature = ada.rsplit_once('.').unwrap().1;
    for text in &heard {
        assert!(
            !text.contains(signature) && !text.contains("CANARY"),
            "{text}"
        );
        assert!(!text.contains("Bearer"), "{text}");
    }
}

#[tokio::test]
async fn gateway_tokens_count_beside_people() {
    let running = start(&Arc::new(Idp::new()));
    running.session("all", "/mcp/b/two").await;
    let narrow = running
        .client()
        .await
        .token("only-a")
        .post("/mcp/b/two", HELLO)
        .await;
    assert_eq!(narrow.status, 403);
    assert!(!running.heard().concat().contains("for "));
}

#[tokio::test]
async fn the_public_address_has_neither_dashboard_nor_metrics() {
    let idp = Arc::new(Idp::new());
    let running = start(&idp);
    let admin = idp.token("root", json!({"groups": ["team", "admins"]}));
    let ada = idp.token("ada", json!({}));
    let get = async |host: Option<&str>, token: &str, path: &str| {
        let client = running.client().await.token(token);
        let client = host.into_iter().fold(client, Client::host);
        client.send("GET", path, "").await.status
    };
    let public = Some("gateway.example");
    assert_eq!(get(public, &admin, "/healthz").await, 200);
    assert_eq!(get(public, &admin, "/metrics").await, 404);
    // Not even on this machine: that port is for people.
    assert_eq!(get(None, &admin, "/metrics").await, 404);
    assert_eq!(get(Some("evil.example"), &admin, "/healthz").await, 403);
    let client = running.client().await.host("gateway.example").token(&ada);
    assert_eq!(client.post("/mcp/a/one", HELLO).await.status, 200);
}

#[tokio::test]
async fn an_issuer_that_is_away_is_no_fault_of_the_token() {
    let idp = Arc::new(Idp {
        is_away: true,
        ..Idp::new()
    });
    let running = start(&idp);
    let client = running.client().await.token(&idp.token("ada", json!({})));
    let answer = client.post("/mcp/a/one", HELLO).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.header("retry-after").as_deref(), Some("5"));
    assert_eq!(answer.header("www-authenticate"), None);
}

#[tokio::test]
async fn sessions_of_a_person_end_some_time_after_the_last_token() {
    let idp = Arc::new(Idp::new());
    let clock = Arc::new(Later::default());
    let people = people_by(&idp, Arc::clone(&clock) as _);
    let now = SystemClock.wall().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap().as_secs();
    let ada = Person::new(ISSUER, "ada").unwrap().digest();
    let early = idp.token("ada", json!({"exp": now - 30}));
    people.verify(&early).await.unwrap();
    let passes = |seconds| {
        *clock.0.lock().unwrap() += Duration::from_secs(seconds);
        people.forget_gone();
        people.may_stay(ada)
    };
    assert!(passes(14 * 60), "its client may bring the next token");
    assert!(!people.may_stay(Person::new(ISSUER, "eve").unwrap().digest()));
    assert!(!passes(60));
    *clock.0.lock().unwrap() = Duration::ZERO;
    people.verify(&idp.token("ada", json!({}))).await.unwrap();
    // An older token does not take back what a newer one gave.
    people.verify(&early).await.unwrap();
    assert!(passes(19 * 60));
}

/// What a client that crashed left open must not keep its person from starting another program.
#[tokio::test]
async fn the_longest_idle_session_of_a_person_gives_way_to_a_program_of_theirs() {
    let idp = Arc::new(Idp::new());
    let running = start(&idp);
    let (ada, bob) = (idp.token("ada", json!({})), idp.token("bob", json!({})));
    let path = "/mcp/a/one";
    let session = async |token: &str| {
        let client = running.client().await.host("gateway.example");
        let begun = client.token(token).post(path, HELLO).await;
        begun.header("mcp-session-id").expect("a session")
    };
    let client = async |token: &str, session: &str| {
        let client = running.client().await.host("gateway.example");
        client.token(token).with("Mcp-Session-Id", session)
    };
    let status = async |token: &str, session: &str| {
        let client = client(token, session).await;
        client.post(path, PING).await.status
    };
    let (read, left, of_bob) = (
        session(&ada).await,
        session(&ada).await,
        session(&bob).await,
    );
    let _stream = client(&ada, &read).await.listen(path).await;
    assert_eq!(status(&ada, &left).await, 200);
    let make_room = running.gateway.room_maker();
    let person = |name| Person::new(ISSUER, name).unwrap();
    assert!(!make_room(&person("bob")), "no program runs for him");
    assert!(make_room(&person("ada")));
    assert!(!make_room(&person("ada")), "a stream is not idle");
    // The connection of a client without a session, which stays open for a while.
    let modern = client(&ada, "none").await;
    let modern = modern.with("MCP-Protocol-Version", "2026-07-28");
    let modern = modern.with("Mcp-Method", "tools/list");
    let listed = modern.post(path, &super::modern("tools/list", "")).await;
    assert_eq!(listed.status, 200, "{listed:?}");
    assert!(make_room(&person("ada")));
    assert!(!make_room(&person("ada")));
    assert_eq!(status(&ada, &left).await, 404);
    assert_eq!(status(&ada, &read).await, 200);
    assert_eq!(status(&bob, &of_bob).await, 200);
}
