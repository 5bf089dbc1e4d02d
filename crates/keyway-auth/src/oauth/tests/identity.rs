//! The sign-in of our own at an identity provider, and what an organisation refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_code::Code;
use keyway_store::{GrantKey, GrantStore as _};
use serde_json::{Value, json};
use url::Url;

use super::eventually;
use crate::oauth::testing::{AS, Deed, Kit, Reply, Seen, TOKEN, metadata};
use crate::oauth::{
    ClientProof, ClientSettings, Endpoints, GrantKind, IdJag, KeptToken, OAuth, PromptPolicy,
    ResourceRule, Server, Settings,
};

const PROVIDER: &str = "https://idp.example";
const PROVIDER_TOKEN: &str = "https://idp.example/token";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// How long an ID token counts, in seconds.
const LIFETIME: u64 = 600;

fn id_token(number: u32, claims: Value) -> String {
    let mut all = json!({ "iss": PROVIDER, "aud": "ours", "iat": 1000, "exp": 1000 + LIFETIME });
    all.as_object_mut()
        .unwrap()
        .extend(claims.as_object().unwrap().clone());
    let body = BASE64_URL_SAFE_NO_PAD.encode(all.to_string());
    format!("CANARY{number}.{body}.signature")
}

/// An identity provider that keeps to all rules: what it issues is numbered.
fn honest() -> impl Fn(&Seen) -> Reply + Send + Sync + 'static {
    let count = AtomicU32::new(0);
    move |seen| match seen.field("grant_type").as_str() {
        EXCHANGE => assertion(),
        _ => {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            issued(number, &id_token(number, json!({})))
        }
    }
}

fn assertion() -> Reply {
    let kind = "urn:ietf:params:oauth:token-type:id-jag";
    Reply::json(
        200,
        &json!({ "access_token": "jag-1", "issued_token_type": kind }),
    )
}

fn issued(number: u32, id_token: &str) -> Reply {
    Reply::json(
        200,
        &json!({
            "access_token": "CANARY-of-provider", "token_type": "Bearer", "expires_in": 60,
            "refresh_token": format!("CANARY-refresh-{number}"), "id_token": id_token,
        }),
    )
}

struct Organisation {
    kit: Kit,
    key: GrantKey,
}

impl Organisation {
    fn new(provider: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let kit = Kit::new();
        let at = format!("{PROVIDER}/.well-known/oauth-authorization-server");
        kit.world
            .route(&at, [Reply::json(200, &metadata(PROVIDER))]);
        kit.world.answer(PROVIDER_TOKEN, provider);
        // Ends before the ID token does.
        kit.honest.add(json!({ "expires_in": 60 }));
        let key = GrantKey::new("default").resource(PROVIDER);
        Self { kit, key }
    }

    /// The sign-in at the provider, as one process has it.
    fn provider(&self) -> OAuth {
        let settings = Settings {
            client: Some(client("ours")),
            endpoints: Endpoints::Issuer(PROVIDER.to_owned()),
            scopes: Some(vec!["openid".to_owned()]),
            resource: ResourceRule::Omit,
            keep: KeptToken::Identity,
            ..Settings::default()
        };
        let url = Url::parse(PROVIDER).unwrap();
        let server = Server::new("search".to_owned(), url, self.key.clone());
        let ports = self.kit.ports(&self.kit.shelf);
        OAuth::new(server, settings, ports, self.kit.prompt_policy, Vec::new())
    }

    /// The sign-in at the server, through the provider.
    fn oauth(&mut self) -> OAuth {
        let mut id_jag = IdJag::new(client("ours"), self.provider().identity());
        id_jag.issuer = Some(PROVIDER.to_owned());
        self.kit.settings.grant = GrantKind::IdJag(Box::new(id_jag));
        self.kit.settings.client = Some(client("at-issuer"));
        self.kit.oauth()
    }

    fn asked(&self, grant_type: &str) -> Vec<Seen> {
        self.kit.world.redeemed(grant_type)
    }

    fn hosts_of_windows(&self) -> Vec<String> {
        let questions = self.kit.person.questions();
        let hosts = questions.iter().map(|question| question.issuer.clone());
        hosts.collect()
    }
}

fn client(id: &str) -> ClientSettings {
    ClientSettings::new(id.to_owned(), ClientProof::Public)
}

#[test]
fn id_jag_a_sign_in_of_our_own_is_asked_for_once_and_kept_fresh() {
    let mut all = Organisation::new(honest());
    let oauth = all.oauth();
    assert_eq!(all.kit.call(&oauth).unwrap(), 200);
    assert_eq!(all.hosts_of_windows(), ["idp.example"]);
    let question = all.kit.person.questions().remove(0);
    assert_eq!(question.scopes, ["openid"]);
    assert!(!question.url.query().unwrap().contains("resource="));

    // The server's token ends: the provider is asked for another assertion, the person is not.
    all.kit.clock.advance(Duration::from_secs(61));
    assert_eq!(all.kit.call(&oauth).unwrap(), 200);
    let subjects = |all: &Organisation| {
        let asked = all.asked(EXCHANGE).into_iter();
        asked
            .map(|seen| seen.field("subject_token"))
            .collect::<Vec<_>>()
    };
    let first = id_token(1, json!({}));
    assert_eq!(subjects(&all), [first.clone(), first.clone()]);

    // The ID token ends as well: it is renewed like any other sign-in, by any process.
    all.kit.clock.advance(Duration::from_secs(LIFETIME));
    let other = all.oauth();
    assert_eq!(all.kit.call(&other).unwrap(), 200);
    let refreshed = all.asked("refresh_token");
    assert_eq!(refreshed.len(), 1);
    assert_eq!(refreshed[0].url.as_str(), PROVIDER_TOKEN);
    assert_eq!(refreshed[0].field("refresh_token"), "CANARY-refresh-1");
    assert_eq!(
        subjects(&all),
        [first.clone(), first, id_token(2, json!({}))]
    );
    assert_eq!(all.kit.person.windows(), 1);

    let kept = all.kit.shelf.read(&all.key).unwrap().unwrap();
    assert_eq!(*kept.access.expose(), id_token(2, json!({})));
    for seen in all.kit.world.journal() {
        let is_provider = seen.url.host_str() == Some("idp.example");
        assert!(
            is_provider || !seen.text().contains("CANARY"),
            "{}",
            seen.url
        );
    }
}

#[test]
fn id_jag_without_a_person_it_is_told_where_the_sign_in_is_missing() {
    let mut all = Organisation::new(honest());
    all.kit.prompt_policy = PromptPolicy::Never;
    let oauth = all.oauth();
    let error = all.kit.call(&oauth).unwrap_err();
    assert_eq!(error.code(), Code::SignInRequired);
    assert_eq!(error.to_string(), "not signed in at the identity provider");
    assert!(all.kit.world.seen(TOKEN).is_empty());
    assert_eq!(all.kit.person.windows(), 0);
}

#[test]
fn id_jag_a_provider_that_renews_no_id_token_is_signed_in_to_again() {
    let count = AtomicU32::new(0);
    let mut all = Organisation::new(move |seen| match seen.field("grant_type").as_str() {
        EXCHANGE => assertion(),
        "refresh_token" => Reply::json(
            200,
            &json!({ "access_token": "CANARY-of-provider", "refresh_token": "CANARY-next" }),
        ),
        _ => {
            let number = count.fetch_add(1, Ordering::SeqCst);
            issued(number, &id_token(number, json!({})))
        }
    });
    let oauth = all.oauth();
    assert_eq!(all.kit.call(&oauth).unwrap(), 200);
    all.kit.clock.advance(Duration::from_secs(LIFETIME + 1));
    assert_eq!(all.kit.call(&oauth).unwrap(), 200);
    assert_eq!(all.asked("refresh_token").len(), 1);
    assert_eq!(all.hosts_of_windows(), ["idp.example", "idp.example"]);
}

/// OpenID Connect Core section 3.1.3.7: issuer, audience and time are compared.
#[test]
fn id_jag_an_id_token_of_another_issuer_or_client_is_not_taken() {
    let table = [
        (json!({ "iss": "https://other.example" }), false),
        (json!({ "iss": null }), false),
        (json!({ "aud": "another" }), false),
        (json!({ "aud": ["another"] }), false),
        (json!({ "aud": null }), false),
        (json!({ "exp": 1000 }), false),
        (json!({ "exp": null }), false),
        (json!({ "iat": null }), false),
        (json!({ "aud": ["another", "ours"] }), true),
    ];
    for (claims, is_taken) in table {
        let token = id_token(1, claims.clone());
        let mut all = Organisation::new(move |seen| match seen.field("grant_type").as_str() {
            EXCHANGE => assertion(),
            _ => issued(1, &token),
        });
        let oauth = all.oauth();
        let called = all.kit.call(&oauth);
        assert_eq!(called.is_ok(), is_taken, "{claims}");
        assert_eq!(all.asked(EXCHANGE).is_empty(), !is_taken, "{claims}");
        let kept = all.kit.shelf.read(&all.key).unwrap();
        assert_eq!(kept.is_some(), is_taken, "{claims}");
        if let Err(error) = called {
            assert_eq!(error.code(), Code::BadMetadata, "{claims}");
        }
    }
}

/// An administrator's refusal, at the provider or at the issuer, is the end of it: a personal consent
/// would be a way around what the organisation decided.
#[test]
fn id_jag_a_refusal_has_a_code_of_its_own_and_never_becomes_a_consent() {
    let denied = || Reply::json(400, &json!({ "error": "access_denied" }));
    let mut at_provider = Organisation::new(move |seen| match seen.field("grant_type").as_str() {
        EXCHANGE => denied(),
        _ => issued(1, &id_token(1, json!({}))),
    });
    let mut at_issuer = Organisation::new(honest());
    at_issuer.kit.world.answer(TOKEN, move |_| denied());
    for (all, issuer) in [(&mut at_provider, PROVIDER), (&mut at_issuer, AS)] {
        all.kit.person.will([Deed::Agree, Deed::Agree]);
        let oauth = all.oauth();
        // Asked for again, and asked for by the person: the same answer.
        let first = all.kit.call(&oauth).unwrap_err();
        let again = all.kit.run(oauth.sign_in(None)).unwrap_err();
        for error in [first, again] {
            assert_eq!(error.code(), Code::IdentityRefused);
            assert!(error.to_string().contains(issuer), "{error}");
        }
        assert_eq!(all.hosts_of_windows(), ["idp.example"]);
        assert!(all.kit.stored().is_none());
        let mut journal = all.kit.world.seen_by("as.example").into_iter();
        assert!(!journal.any(|seen| seen.url.path().contains("authorize")));
    }
}

/// What the administrator takes back counts from the next renewal on.
#[test]
fn id_jag_the_provider_is_asked_at_each_renewal() {
    let is_allowed = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let allowed = Arc::clone(&is_allowed);
    let provider = honest();
    let mut all = Organisation::new(move |seen| {
        if seen.field("grant_type") == EXCHANGE && !allowed.load(Ordering::SeqCst) {
            return Reply::error(400, "access_denied");
        }
        provider(seen)
    });
    let oauth = all.oauth();
    assert_eq!(all.kit.call(&oauth).unwrap(), 200);
    // The issuer gave out a refresh token; it is not kept.
    assert!(!all.kit.stored().unwrap().refreshable);
    is_allowed.store(false, Ordering::SeqCst);
    all.kit.clock.advance(Duration::from_secs(61));
    let error = all.kit.call(&oauth).unwrap_err();
    assert_eq!(error.code(), Code::IdentityRefused);
    assert_eq!(all.asked(JWT_BEARER).len(), 1);
    assert!(all.asked("refresh_token").is_empty());
}

#[test]
fn id_jag_signing_out_at_the_provider_counts_for_processes_that_run() {
    let mut all = Organisation::new(honest());
    let oauth = all.oauth();
    assert_eq!(all.kit.call(&oauth).unwrap(), 200);
    let ended = all.kit.run(all.provider().sign_out()).unwrap();
    assert!(ended.existed);
    all.kit.clock.advance(Duration::from_secs(61));
    assert_eq!(all.kit.call(&oauth).unwrap(), 200);
    assert_eq!(all.hosts_of_windows(), ["idp.example", "idp.example"]);
    let revoked = all.kit.world.seen(&format!("{PROVIDER}/revoke"));
    let tokens: Vec<String> = revoked.iter().map(|seen| seen.field("token")).collect();
    assert!(
        tokens.contains(&"CANARY-refresh-1".to_owned()),
        "{tokens:?}"
    );
}

/// A second caller waits no longer for the person at the provider than for any other.
#[test]
fn id_jag_a_request_that_may_not_wait_gets_the_page_of_the_provider() {
    let mut all = Organisation::new(honest());
    all.kit.prompt_policy = PromptPolicy::AtMost(Duration::from_secs(20));
    all.kit.clock.let_pass(1000);
    let gate = Arc::new(async_lock::Semaphore::new(0));
    all.kit
        .person
        .will([Deed::After(Arc::clone(&gate), Box::new(Deed::Agree))]);
    let oauth = all.oauth();
    let error = all.kit.call(&oauth).unwrap_err();
    assert_eq!(error.code(), Code::SignInRequired);
    assert!(error.to_string().contains("https://idp.example/authorize?"));
    gate.add_permits(1);
    eventually("the sign-in at the provider is stored", || {
        all.kit.shelf.read(&all.key).unwrap().is_some()
    });
    assert_eq!(all.kit.call(&oauth).unwrap(), 200);
    assert_eq!(all.kit.person.windows(), 1);
}
