//! The client that asks: registrations, stored and repeated, and clients that were configured.

use std::time::Duration;

use keyway_code::Code;
use serde_json::json;

use super::with_secret;
use crate::oauth::testing::{Deed, Kit, REGISTER, Reply, TOKEN};
use crate::oauth::{ClientProof, ClientSettings, GrantKind};
use crate::ports::Redirect;

#[test]
fn a_registration_is_made_once_per_issuer_and_says_what_we_are() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.run(oauth.sign_in(None)).unwrap();
    kit.run(kit.process(&kit.other_shelf()).sign_in(None))
        .unwrap();
    let registered = kit.world.seen(REGISTER);
    assert_eq!(registered.len(), 1);
    let body: serde_json::Value = serde_json::from_str(&registered[0].body).unwrap();
    assert_eq!(body["application_type"], "native");
    assert_eq!(body["token_endpoint_auth_method"], "none");
    assert_eq!(
        body["grant_types"],
        json!(["authorization_code", "refresh_token"])
    );
    let uris: Vec<_> = kit.world.redeemed("authorization_code");
    let uris: Vec<_> = uris.iter().map(|seen| seen.field("redirect_uri")).collect();
    assert_eq!(uris.len(), 3);
    assert!(uris.iter().all(|uri| body["redirect_uris"] == json!([uri])));
}

#[test]
fn a_registration_whose_port_is_taken_is_replaced() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.person.occupy(40_001);
    kit.run(oauth.sign_in(None)).unwrap();
    assert_eq!(kit.world.seen(REGISTER).len(), 2);
    let last = kit.world.redeemed("authorization_code").pop().unwrap();
    let redirect = last.field("redirect_uri");
    assert!(
        !redirect.starts_with("http://localhost:40001/"),
        "{redirect}"
    );
    assert_eq!(last.field("client_id"), "client-2");
}

#[test]
fn b5_a_fixed_port_that_is_taken_is_an_error_and_never_another_port() {
    let mut kit = Kit::new();
    kit.settings.redirect = Redirect {
        port: Some(3118),
        ..Redirect::default()
    };
    kit.person.occupy(3118);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::CallbackPortBusy);
    assert!(error.to_string().contains("3118"));
    assert_eq!(kit.person.windows(), 0);
}

#[test]
fn a_registration_whose_secret_has_expired_is_replaced() {
    let kit = Kit::new();
    let end = 1_800_000_000 + 100;
    let registered = json!({
        "client_id": "c-1", "client_secret": "s-1", "client_secret_expires_at": end,
        "token_endpoint_auth_method": "client_secret_post",
    });
    kit.world.route(REGISTER, [Reply::json(201, &registered)]);
    let oauth = kit.signed_in();
    kit.clock.advance(Duration::from_secs(99));
    kit.run(oauth.sign_in(None)).unwrap();
    assert_eq!(kit.world.seen(REGISTER).len(), 1);
    kit.clock.advance(Duration::from_secs(1));
    kit.run(oauth.sign_in(None)).unwrap();
    assert_eq!(kit.world.seen(REGISTER).len(), 2);
    let asked = kit.world.redeemed("authorization_code");
    assert_eq!(asked[0].field("client_secret"), "s-1");
}

#[test]
fn a_registration_that_the_token_endpoint_does_not_know_is_replaced_once() {
    for code in ["invalid_client", "unauthorized_client"] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        let honest = kit.honest.clone();
        kit.world.answer(TOKEN, move |seen| {
            if seen.field("client_id") == "client-1" {
                return Reply::error(401, code);
            }
            honest.token(seen)
        });
        kit.run(oauth.sign_in(None)).unwrap();
        assert_eq!(kit.world.seen(REGISTER).len(), 2);
        assert_eq!(kit.person.windows(), 3);
    }
}

#[test]
fn a_new_registration_that_is_not_known_either_ends_the_flow() {
    let kit = Kit::new();
    kit.world
        .route(TOKEN, [Reply::error(401, "invalid_client")]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::TokenRefused);
    assert_eq!(kit.person.windows(), 1);
    assert_eq!(kit.world.seen(REGISTER).len(), 1);
}

#[test]
fn a_registration_that_led_to_no_sign_in_is_not_kept() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.person.will([Deed::TimeOut]);
    kit.run(oauth.sign_in(None)).unwrap_err();
    kit.run(oauth.sign_in(None)).unwrap();
    assert_eq!(kit.world.seen(REGISTER).len(), 2);
}

#[test]
fn a_refused_registration_is_told_and_not_repeated() {
    let kit = Kit::new();
    kit.world
        .route(REGISTER, [Reply::error(400, "invalid_redirect_uri")]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::RegistrationRefused);
    assert!(error.to_string().contains("invalid_redirect_uri"));
    assert_eq!(kit.world.seen(REGISTER).len(), 1);
}

#[test]
fn without_any_way_to_get_a_client_the_person_is_not_asked() {
    let kit = Kit::new();
    kit.honest.say("registration_endpoint", json!(null));
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::DcrUnsupported);
    assert_eq!(kit.person.windows(), 0);
}

#[test]
fn a_metadata_document_is_used_where_the_server_takes_it_and_a_client_before_that() {
    let mut kit = Kit::new();
    let document = "https://keyway.example/client.json";
    kit.settings.client_metadata_url = Some(document.to_owned());
    kit.signed_in();
    assert_eq!(
        kit.world.seen(REGISTER).len(),
        1,
        "it does not say that it does"
    );
    kit.honest
        .say("client_id_metadata_document_supported", json!(true));
    kit.run(kit.oauth().sign_in(None)).unwrap();
    let last = kit.world.redeemed("authorization_code").pop().unwrap();
    assert_eq!(last.field("client_id"), document);
    kit.settings.client = Some(with_secret("given", "s"));
    kit.run(kit.oauth().sign_in(None)).unwrap();
    let last = kit.world.redeemed("authorization_code").pop().unwrap();
    assert_eq!(last.header("authorization"), "Basic Z2l2ZW46cw==");
    assert_eq!(kit.world.seen(REGISTER).len(), 1);
}

#[test]
fn a_registration_that_is_not_known_at_a_renewal_is_not_used_for_the_sign_in_that_follows() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    let honest = kit.honest.clone();
    kit.world.answer(TOKEN, move |seen| {
        if seen.field("client_id") == "client-1" {
            return Reply::error(401, "invalid_client");
        }
        honest.token(seen)
    });
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.world.seen(REGISTER).len(), 2);
    assert_eq!(kit.person.windows(), 2, "the person is asked once");
}

#[test]
fn a_registration_without_redirect_is_replaced_when_it_is_not_known() {
    for grant in [GrantKind::ClientCredentials, GrantKind::Device] {
        let mut kit = Kit::new();
        kit.settings.grant = grant;
        let device = "https://as.example/device";
        kit.honest
            .say("device_authorization_endpoint", json!(device));
        let is_known = |honest: &crate::oauth::testing::Honest, client: &str| {
            let registered = honest.clients();
            client == format!("client-{registered}")
        };
        let honest = kit.honest.clone();
        kit.world.answer(device, move |seen| {
            if !is_known(&honest, &seen.field("client_id")) {
                return Reply::error(401, "invalid_client");
            }
            let page = "https://as.example/activate";
            let codes = json!({ "device_code": "d", "user_code": "u", "verification_uri": page });
            Reply::json(200, &codes)
        });
        let honest = kit.honest.clone();
        kit.world.answer(TOKEN, move |seen| {
            if !is_known(&honest, &seen.field("client_id")) {
                return Reply::error(401, "invalid_client");
            }
            honest.token(seen)
        });
        kit.clock.let_pass(1000);
        kit.run(kit.oauth().sign_in(None)).unwrap();
        kit.run(kit.oauth().sign_in(None)).unwrap();
        assert_eq!(kit.world.seen(REGISTER).len(), 1, "it is kept");
        drop(kit.honest.register());
        kit.run(kit.oauth().sign_in(None)).unwrap();
        assert_eq!(kit.world.seen(REGISTER).len(), 2);
    }
}

#[test]
fn a_registration_that_cannot_be_used_is_reported_before_the_person_is_asked() {
    for registered in [
        json!({ "client_id": "c", "token_endpoint_auth_method": "client_secret_post" }),
        json!({
            "client_id": "c", "client_secret": "",
            "token_endpoint_auth_method": "client_secret_basic",
        }),
        json!({ "client_id": "c", "token_endpoint_auth_method": "private_key_jwt" }),
        json!({ "client_id": "" }),
    ] {
        let kit = Kit::new();
        kit.world.route(REGISTER, [Reply::json(201, &registered)]);
        kit.call(&kit.oauth()).unwrap_err();
        assert_eq!(kit.person.windows(), 0, "{registered}");
    }
    let kit = Kit::new();
    let public = json!({ "client_id": "c", "client_secret": "" });
    kit.world.route(REGISTER, [Reply::json(201, &public)]);
    kit.signed_in();
    let asked = kit.world.redeemed("authorization_code").remove(0);
    assert_eq!(asked.header("authorization"), "", "a public client");
    assert_eq!(asked.field("client_id"), "c");
}

/// SECURITY.md: a stored sign-in is bound to the client registration that obtained it. Neither another
/// client of the configuration nor a later registration renews it or ends it.
#[test]
fn a_stored_sign_in_is_used_by_the_client_that_obtained_it_alone() {
    let public = ClientSettings::new("one".to_owned(), ClientProof::Public);
    let one = [public, with_secret("one", "CANARY-ONE")];
    for obtained_by in one {
        let mut kit = Kit::new();
        kit.settings.client = Some(obtained_by.clone());
        kit.signed_in();
        kit.world.forget();
        // The person or the entry names another client by now.
        kit.settings.client = Some(with_secret("two", "CANARY-TWO"));
        let oauth = kit.oauth();
        let renewed = kit.run(oauth.renew());
        let is_public = matches!(obtained_by.proof, ClientProof::Public);
        // The secret of the first is gone, so only one without a secret can go on.
        assert_eq!(renewed.is_ok(), is_public, "{renewed:?}");
        let ended = kit.run(oauth.sign_out()).unwrap();
        assert!(ended.existed);
        let sent = kit.world.seen_by("as.example");
        let sent: Vec<_> = sent.iter().filter(|seen| seen.method == "POST").collect();
        assert_eq!(sent.is_empty(), !is_public);
        for seen in sent {
            assert_eq!(seen.field("client_id"), "one", "{}", seen.text());
            assert!(!seen.text().contains("CANARY-TWO"));
            assert_eq!(seen.header("authorization"), "");
        }
    }
}

#[test]
fn a_stored_sign_in_outlives_the_registration_that_replaced_its_client() {
    let mut kit = Kit::new();
    let honest = std::sync::Arc::clone(&kit.honest);
    kit.world.answer(TOKEN, move |_| honest.issue());
    let oauth = kit.signed_in();
    // Another server of the same issuer cannot have the port, and registers again.
    kit.person.occupy(40_001);
    kit.key = kit.key.clone().server("other");
    kit.signed_in();
    assert_eq!(kit.honest.clients(), 2);
    kit.world.forget();
    kit.run(oauth.renew()).unwrap();
    let renewed = kit.world.redeemed("refresh_token").remove(0);
    assert_eq!(renewed.field("client_id"), "client-1");
}
