//! Grants other than the code: device, client credentials, ID-JAG, workload.

use std::sync::Arc;
use std::time::Duration;

use async_lock::Semaphore;
use keyway_code::Code;
use keyway_secret::Secret;
use serde_json::json;

use crate::oauth::testing::{AS, Deed, Kit, MCP, REGISTER, Reply, Seen, TOKEN, cause, metadata};
use crate::oauth::{
    Assertion, ClientProof, ClientSettings, GrantKind, IdJag, OAuthError, SigningKey,
};

const DEVICE: &str = "https://as.example/device";
const PROVIDER: &str = "https://idp.example";

fn client(proof: ClientProof) -> ClientSettings {
    ClientSettings::new("given".to_owned(), proof)
}

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn device() -> Kit {
    device_at("https://as.example/activate")
}

fn device_at(page: &str) -> Kit {
    let mut kit = Kit::new();
    kit.settings.grant = GrantKind::Device;
    kit.honest
        .say("device_authorization_endpoint", json!(DEVICE));
    let codes = json!({
        "device_code": "device-1", "user_code": "ABCD-EFGH", "interval": 5, "expires_in": 600,
        "verification_uri": page,
    });
    let codes = || Reply::json(200, &codes);
    kit.world.route(DEVICE, [codes(), codes()]);
    kit.clock.let_pass(1000);
    kit
}

/// Threat E9: the issuer sends the person to a page of another, with a code of its own.
#[test]
fn e09_a_code_for_a_page_of_another_host_is_shown_only_if_the_person_says_so() {
    let kit = device_at("https://honest.example/activate");
    let error = cause(kit.call(&kit.oauth()).unwrap_err());
    assert!(matches!(error, OAuthError::ForeignPage { .. }), "{error}");
    assert!(kit.person.codes().is_empty() && kit.world.seen(TOKEN).is_empty());
    let asked = kit.person.foreign_pages();
    let [asked] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(asked.page, "honest.example");
    kit.person.go_anywhere();
    kit.world.route(TOKEN, [kit.honest.issue()]);
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert_eq!(kit.person.codes().len(), 1);
}

#[test]
fn device_a_server_without_the_endpoint_is_told_before_a_client_is_registered() {
    let mut kit = Kit::new();
    kit.settings.grant = GrantKind::Device;
    let error = kit.call(&kit.oauth()).unwrap_err();
    let told = error.to_string();
    assert!(
        told.ends_with("offers no device authorization endpoint"),
        "{told}"
    );
    assert_eq!(error.code(), Code::NoEndpoint);
    assert!(kit.world.seen(REGISTER).is_empty());
    assert!(kit.person.codes().is_empty());
}

#[test]
fn device_a_code_is_asked_after_until_the_person_is_done() {
    let kit = device();
    let issued = kit.honest.issue();
    let pending = || Reply::error(400, "authorization_pending");
    kit.world.route(TOKEN, [pending(), pending(), issued]);
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    let question = kit.person.codes().remove(0);
    assert_eq!(question.code, "ABCD-EFGH");
    assert_eq!(question.issuer, "as.example");
    let polls = kit.world.seen(TOKEN);
    assert_eq!(polls.len(), 3);
    assert!(
        polls
            .iter()
            .all(|seen| seen.field("device_code") == "device-1")
    );
    assert!(polls.iter().all(|seen| seen.field("resource") == MCP));
    assert!(kit.clock.passed() >= Duration::from_secs(15));
    assert_eq!(kit.person.windows(), 0);
}

#[test]
fn device_slow_down_adds_five_seconds_each_time() {
    let kit = device();
    let issued = kit.honest.issue();
    let slower = || Reply::error(400, "slow_down");
    kit.world.route(TOKEN, [slower(), slower(), issued]);
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert!(kit.clock.passed() >= Duration::from_secs(5 + 10 + 15));
}

#[test]
fn device_trouble_of_the_server_does_not_end_the_sign_in() {
    let kit = device();
    let issued = kit.honest.issue();
    let replies = [Reply::raw(503, ""), Reply::times_out(), issued];
    kit.world.route(TOKEN, replies);
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert!(kit.clock.passed() >= Duration::from_secs(5 + 10 + 20));
}

#[test]
fn device_a_code_that_ended_or_was_denied_is_told() {
    for code in ["expired_token", "access_denied"] {
        let kit = device();
        kit.world.route(TOKEN, [Reply::error(400, code)]);
        let error = kit.call(&kit.oauth()).unwrap_err();
        assert!(matches!(
            error.code(),
            Code::AuthFailed | Code::TokenRefused
        ));
        assert_eq!(kit.world.seen(TOKEN).len(), 1, "{code}");
        assert!(kit.stored().is_none());
    }
}

#[test]
fn device_polling_ends_when_the_person_gives_up() {
    let kit = device();
    kit.person.will([Deed::Cancel]);
    kit.world
        .route(TOKEN, [Reply::error(400, "authorization_pending")]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert!(error.to_string().contains("cancelled"), "{error}");
    assert!(kit.world.seen(TOKEN).len() <= 1);
    assert!(kit.stored().is_none());
}

#[test]
fn device_tokens_of_a_request_under_way_are_kept_though_the_person_gives_up() {
    let kit = device();
    let gate = Arc::new(Semaphore::new(0));
    kit.person
        .will([Deed::After(Arc::clone(&gate), Box::new(Deed::Cancel))]);
    let issued = kit.honest.issue().after(Duration::from_secs(3));
    kit.world.answer(TOKEN, move |_| {
        gate.add_permits(1);
        issued.clone()
    });
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert!(kit.stored().is_some());
}

#[test]
fn device_polling_ends_when_the_code_expires() {
    let kit = device();
    kit.clock.let_pass(5000);
    kit.world
        .route(TOKEN, [Reply::error(400, "authorization_pending")]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::AuthFailed);
    assert!(kit.clock.passed() >= Duration::from_secs(600));
    assert!(kit.world.seen(TOKEN).len() <= 121);
}

#[test]
fn b1_b2_device_pages_are_checked_like_the_consent_page() {
    let codes = |page: &str, complete: &str| {
        json!({
            "device_code": "device-1", "user_code": "\u{1b}[2JABCD",
            "verification_uri": page, "verification_uri_complete": complete,
        })
    };
    let good = "https://as.example/activate";
    for page in [
        "http://localhost:8080/x",
        "javascript:alert(1)",
        "http://as.example/x",
    ] {
        let kit = device();
        kit.world
            .route(DEVICE, [Reply::json(200, &codes(page, good))]);
        kit.call(&kit.oauth()).unwrap_err();
        assert!(kit.person.codes().is_empty(), "{page}");
        let kit = device();
        kit.world
            .route(DEVICE, [Reply::json(200, &codes(good, page))]);
        assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
        assert_eq!(kit.person.codes()[0].complete, None, "{page}");
    }
    let kit = device();
    let tricky = "https://as.example/$(touch%20pwn)?`id`";
    kit.world
        .route(DEVICE, [Reply::json(200, &codes(tricky, tricky))]);
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    let question = kit.person.codes().remove(0);
    for url in [question.page, question.complete.unwrap()] {
        assert!(!url.as_str().contains(['$', '`']), "{url}");
    }
    assert!(!question.code.contains('\u{1b}'));
}

#[test]
fn credentials_sign_in_without_a_person_and_again_when_they_end() {
    let mut kit = Kit::new();
    kit.settings.grant = GrantKind::ClientCredentials;
    kit.settings.client = Some(client(ClientProof::Secret(secret("s"))));
    kit.honest
        .add(json!({ "refresh_token": null, "expires_in": 60 }));
    kit.prompt_policy = crate::oauth::PromptPolicy::Never;
    let oauth = kit.oauth();
    for _ in 0..5 {
        assert_eq!(kit.call(&oauth).unwrap(), 200);
        kit.clock.advance(Duration::from_secs(61));
    }
    let asked = kit.world.redeemed("client_credentials");
    assert_eq!(asked.len(), 5);
    assert!(asked.iter().all(|seen| seen.field("resource") == MCP));
    assert!(asked.iter().all(|seen| seen.field("scope") == "read"));
    assert_eq!(kit.person.windows(), 0);
}

#[test]
fn credentials_may_be_a_signature() {
    let mut kit = Kit::new();
    kit.settings.grant = GrantKind::ClientCredentials;
    let key = SigningKey::generate_es256().unwrap();
    kit.settings.client = Some(client(ClientProof::Key(key.into())));
    kit.signed_in();
    let asked = kit.world.redeemed("client_credentials").remove(0);
    let claims = claims(&asked.field("client_assertion"));
    assert_eq!(claims["aud"], AS, "of use to this issuer alone");
    assert_eq!(claims["iss"], "given");
    assert_eq!(asked.header("authorization"), "");
}

fn claims(jwt: &str) -> serde_json::Value {
    use base64::Engine as _;
    let body = jwt.split('.').nth(1).unwrap();
    let body = base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(body);
    serde_json::from_slice(&body.unwrap()).unwrap()
}

#[test]
fn workload_reads_the_token_of_the_platform_each_time() {
    let mut kit = Kit::new();
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    kit.settings.grant = GrantKind::Workload(Assertion::new(move || {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Box::pin(std::future::ready(Some(secret(&format!("jwt-{number}")))))
    }));
    kit.settings.client = Some(client(ClientProof::Public));
    kit.honest
        .add(json!({ "refresh_token": null, "expires_in": 60 }));
    let oauth = kit.signed_in();
    kit.clock.advance(Duration::from_secs(61));
    kit.call(&oauth).unwrap();
    let asked = kit.world.seen(TOKEN);
    let sent = asked.iter().map(|seen| seen.field("assertion"));
    assert_eq!(sent.collect::<Vec<_>>(), ["jwt-0", "jwt-1"]);
}

#[test]
fn workload_without_a_token_of_the_platform_sends_nothing() {
    let mut kit = Kit::new();
    let nothing = Assertion::new(|| Box::pin(std::future::ready(None)));
    kit.settings.grant = GrantKind::Workload(nothing);
    kit.settings.client = Some(client(ClientProof::Public));
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::NoAssertion);
    assert!(kit.world.seen(TOKEN).is_empty());
}

fn id_jag(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Kit {
    let mut kit = Kit::new();
    kit.settings.grant = GrantKind::IdJag(Box::new(IdJag {
        issuer: Some(PROVIDER.to_owned()),
        token_endpoint: None,
        client: client(ClientProof::Secret(secret("CANARY-IDP"))),
        id_token: Assertion::fixed(secret("CANARY-ID-TOKEN")),
    }));
    kit.settings.client = Some(ClientSettings {
        id: "other".to_owned(),
        ..client(ClientProof::Public)
    });
    let at = format!("{PROVIDER}/.well-known/oauth-authorization-server");
    kit.world
        .route(&at, [Reply::json(200, &metadata(PROVIDER))]);
    kit.world.answer(&format!("{PROVIDER}/token"), reply);
    kit
}

#[test]
fn id_jag_an_identity_is_exchanged_at_the_provider_and_redeemed_at_the_issuer() {
    let kit = id_jag(|_| {
        let kind = "urn:ietf:params:oauth:token-type:id-jag";
        let answer = json!({ "access_token": "jag-1", "issued_token_type": kind });
        Reply::json(200, &answer)
    });
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    let exchanged = kit.world.seen(&format!("{PROVIDER}/token")).remove(0);
    assert_eq!(exchanged.field("audience"), AS);
    assert_eq!(exchanged.field("resource"), MCP);
    assert_eq!(exchanged.field("subject_token"), "CANARY-ID-TOKEN");
    let redeemed = kit.world.seen(TOKEN).remove(0);
    assert_eq!(redeemed.field("assertion"), "jag-1");
    for seen in kit.world.journal() {
        let is_provider = seen.url.host_str() == Some("idp.example");
        assert!(
            is_provider || !seen.text().contains("CANARY"),
            "{}",
            seen.url
        );
    }
}

#[test]
fn id_jag_an_answer_of_another_kind_is_not_handed_on() {
    let kit = id_jag(|_| Reply::json(200, &json!({ "access_token": "at-of-idp" })));
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::BadMetadata);
    assert!(kit.world.seen(TOKEN).is_empty());
}

/// An administrator's refusal, at the provider or at the issuer, is the end of it: a personal consent
/// would be a way around what the organisation decided.
#[test]
fn id_jag_a_refusal_never_becomes_a_question_to_a_person() {
    let denied = || Reply::json(400, &json!({ "error": "access_denied" }));
    let at_provider = id_jag(move |_| denied());
    at_provider.person.will([Deed::Agree]);
    assert!(at_provider.call(&at_provider.oauth()).is_err());
    assert!(at_provider.world.seen(TOKEN).is_empty());

    let at_issuer = id_jag(|_| {
        let kind = "urn:ietf:params:oauth:token-type:id-jag";
        let answer = json!({ "access_token": "jag-1", "issued_token_type": kind });
        Reply::json(200, &answer)
    });
    at_issuer.person.will([Deed::Agree]);
    at_issuer.world.answer(TOKEN, move |_| denied());
    assert!(at_issuer.call(&at_issuer.oauth()).is_err());
    for kit in [at_provider, at_issuer] {
        assert!(kit.person.questions().is_empty());
        let mut journal = kit.world.journal().into_iter();
        assert!(!journal.any(|seen| seen.url.path().contains("authorize")));
    }
}
