//! Sign-ins in two steps, of which another process takes the second.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_code::Code;
use keyway_secret::Secret;
use ring::digest::{SHA256, digest};
use serde_json::json;
use url::Url;

use crate::oauth::testing::{Kit, PRM, REGISTER, Reply, cause, metadata, resource};
use crate::oauth::{BegunSignIn, ClientProof, ClientSettings};
use crate::ports::Callback;

const CALLBACK: &str = "https://gateway.example/oauth/callback";

fn begin(kit: &Kit) -> BegunSignIn {
    let begun = kit.run(kit.oauth().begin_sign_in(CALLBACK.parse().unwrap()));
    begun.unwrap()
}

fn agreed() -> Callback {
    let code = Some(Secret::new("code-1".to_owned()));
    Callback {
        code,
        ..Callback::default()
    }
}

fn parameter(page: &Url, name: &str) -> String {
    let mut found = page.query_pairs().filter(|(key, _)| key == name);
    let value = found.next().unwrap().1.into_owned();
    assert!(found.next().is_none());
    value
}

#[test]
fn what_one_process_began_another_finishes() {
    let kit = Kit::new();
    let begun = begin(&kit);
    assert_eq!(begun.issuer, "as.example");
    assert_eq!(parameter(&begun.page, "state"), *begun.state.expose());
    assert_eq!(parameter(&begun.page, "redirect_uri"), begun.redirect_uri);
    assert!(begun.redirect_uri.starts_with(&format!("{CALLBACK}/")));
    assert!(kit.stored().is_none());
    let other = kit.process(&kit.other_shelf());
    kit.run(other.finish_sign_in(begun.resume, agreed()))
        .unwrap();
    assert_eq!(kit.stored_access(), "at-1");
    let redeemed = kit.world.redeemed("authorization_code");
    assert_eq!(redeemed.len(), 1);
    assert_eq!(redeemed[0].field("code"), "code-1");
    assert_eq!(redeemed[0].field("redirect_uri"), begun.redirect_uri);
    let verifier = redeemed[0].field("code_verifier");
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    assert_eq!(parameter(&begun.page, "code_challenge"), challenge);
    // The next request of any process has the token, and no person was asked here.
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert_eq!(kit.person.windows(), 0);
}

#[test]
fn a_client_of_the_web_is_registered_once_and_apart_from_those_that_listen() {
    let kit = Kit::new();
    kit.signed_in();
    let begun = begin(&kit);
    kit.run(kit.oauth().finish_sign_in(begun.resume, agreed()))
        .unwrap();
    begin(&kit);
    let registered = kit.world.seen(REGISTER);
    assert_eq!(registered.len(), 2);
    let body: serde_json::Value = serde_json::from_str(&registered[1].body).unwrap();
    assert_eq!(body["application_type"], "web");
    assert_eq!(body["redirect_uris"], json!([begun.redirect_uri]));
}

/// An issuer that forgot a client says so to the browser, which does not come back.
#[test]
fn a_client_whose_pages_are_never_answered_is_registered_again() {
    let kit = Kit::new();
    for _ in 0..3 {
        begin(&kit);
    }
    assert_eq!(kit.honest.clients(), 1);
    let begun = begin(&kit);
    assert_eq!(kit.honest.clients(), 2);
    kit.run(kit.oauth().finish_sign_in(begun.resume, agreed()))
        .unwrap();
    for _ in 0..3 {
        begin(&kit);
    }
    assert_eq!(kit.honest.clients(), 2, "an answer shows that it is known");
}

#[test]
fn a_client_of_the_settings_is_called_back_at_the_address_itself() {
    let mut kit = Kit::new();
    let client = ClientSettings::new("ours".to_owned(), ClientProof::Public);
    kit.settings.client = Some(client);
    let begun = begin(&kit);
    assert_eq!(begun.redirect_uri, CALLBACK);
    assert_eq!(parameter(&begun.page, "client_id"), "ours");
    kit.run(kit.oauth().finish_sign_in(begun.resume, agreed()))
        .unwrap();
    assert_eq!(kit.honest.clients(), 0);
    let redeemed = kit.world.redeemed("authorization_code");
    assert_eq!(redeemed[0].field("client_id"), "ours");
}

#[test]
fn without_a_client_the_address_to_register_is_told() {
    let kit = Kit::new();
    kit.honest.say("registration_endpoint", json!(null));
    let begun = kit.run(kit.oauth().begin_sign_in(CALLBACK.parse().unwrap()));
    let error = begun.unwrap_err();
    assert_eq!(error.code(), Code::DcrUnsupported);
    assert!(cause(error).to_string().contains(CALLBACK));
}

#[test]
fn an_answer_that_says_no_or_names_another_issuer_redeems_and_stores_nothing() {
    let kit = Kit::new();
    let denied = Callback {
        error: Some("access_denied".to_owned()),
        ..Callback::default()
    };
    let mixed = Callback {
        iss: Some("https://evil.example".to_owned()),
        ..agreed()
    };
    for (answer, code) in [
        (denied, Code::AuthFailed),
        (mixed, Code::IssuerMismatch),
        (Callback::default(), Code::AuthFailed),
    ] {
        let begun = begin(&kit);
        let finished = kit.run(kit.oauth().finish_sign_in(begun.resume, answer));
        assert_eq!(finished.unwrap_err().code(), code);
    }
    assert!(kit.world.redeemed("authorization_code").is_empty());
    assert!(kit.stored().is_none());
}

#[test]
fn a_server_that_changes_its_issuer_meanwhile_does_not_get_the_code() {
    let kit = Kit::new();
    let begun = begin(&kit);
    // The documents of the first step count no longer.
    kit.clock.advance(Duration::from_secs(25 * 3600));
    let evil = "https://evil.example";
    kit.world.route(PRM, [Reply::json(200, &resource(evil))]);
    let at = "https://evil.example/.well-known/oauth-authorization-server";
    kit.world.route(at, [Reply::json(200, &metadata(evil))]);
    let finished = kit.run(kit.oauth().finish_sign_in(begun.resume, agreed()));
    assert_eq!(finished.unwrap_err().code(), Code::IssuerMismatch);
    assert!(kit.world.redeemed("authorization_code").is_empty());
    assert!(kit.stored().is_none());
}

#[test]
fn what_cannot_be_read_begins_nothing() {
    let kit = Kit::new();
    let resume = Secret::new(b"{}".to_vec());
    let finished = kit.run(kit.oauth().finish_sign_in(resume, agreed()));
    assert_eq!(finished.unwrap_err().code(), Code::SignInRequired);
}
