//! Discovery documents that are kept: for how long, what they are good for, and what they are not.

use std::time::Duration;

use keyway_code::Code;
use keyway_store::GrantKey;
use serde_json::json;

use crate::oauth::testing::{
    AS, Deed, Kit, MCP, META, PRM, REGISTER, Reply, TOKEN, cause, metadata, resource,
};
use crate::oauth::{OAuth, OAuthError, Settings};

const HOUR: Duration = Duration::from_secs(3600);

/// The server wants one scope more, and then takes whatever it gets.
fn step_up(kit: &Kit, oauth: &OAuth) -> Result<u16, crate::AuthError> {
    let told = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    let refusal = Reply::raw(403, "").header("www-authenticate", told);
    kit.world.route(MCP, [refusal, Reply::raw(200, "")]);
    kit.call(oauth)
}

/// How often the documents were fetched.
fn fetched(kit: &Kit) -> (usize, usize) {
    (kit.world.seen(PRM).len(), kit.world.seen(META).len())
}

/// Moves the token endpoint: the old one is gone, the document names the new one.
fn move_token_endpoint(kit: &Kit, status: u16) {
    kit.honest.say("token_endpoint", json!(NEW_TOKEN));
    let honest = kit.honest.clone();
    kit.world.answer(NEW_TOKEN, move |seen| honest.token(seen));
    kit.world.route(TOKEN, [Reply::raw(status, "nothing here")]);
}

const NEW_TOKEN: &str = "https://as.example/v2/token";

#[test]
fn a_second_sign_in_within_the_hour_fetches_no_document() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    assert_eq!(fetched(&kit), (1, 1));
    assert_eq!(step_up(&kit, &oauth).unwrap(), 200);
    assert_eq!(kit.person.windows(), 2);
    assert_eq!(fetched(&kit), (1, 1));
    let other = kit.process(&kit.other_shelf());
    assert_eq!(step_up(&kit, &other).unwrap(), 200);
    assert_eq!(fetched(&kit), (1, 1), "another process has them too");
}

#[test]
fn a_document_is_not_used_past_its_time() {
    let kit = Kit::new();
    kit.honest.add(json!({ "expires_in": 1_000_000 }));
    let oauth = kit.signed_in();
    kit.clock.advance(HOUR - Duration::from_secs(1));
    assert_eq!(step_up(&kit, &oauth).unwrap(), 200);
    assert_eq!(fetched(&kit), (1, 1));
    kit.clock.advance(Duration::from_secs(1));
    assert_eq!(step_up(&kit, &oauth).unwrap(), 200);
    assert_eq!(fetched(&kit), (2, 2));
}

#[test]
fn the_server_says_how_long_and_a_day_is_the_most() {
    for (said, later, again) in [
        ("no-store", 0, true),
        ("max-age=0", 0, true),
        ("max-age=60", 59, false),
        ("max-age=60", 60, true),
        ("max-age=31536000", 86_399, false),
        ("max-age=31536000", 86_400, true),
    ] {
        let kit = Kit::new();
        kit.honest.add(json!({ "expires_in": 1_000_000 }));
        let answer = |document| Reply::json(200, &document).header("cache-control", said);
        kit.world.route(PRM, [answer(resource(AS))]);
        kit.world.route(META, [answer(metadata(AS))]);
        let oauth = kit.signed_in();
        kit.clock.advance(Duration::from_secs(later));
        assert_eq!(step_up(&kit, &oauth).unwrap(), 200);
        let expected = if again { (2, 2) } else { (1, 1) };
        assert_eq!(fetched(&kit), expected, "{said} after {later} s");
    }
}

#[test]
fn an_explicit_sign_in_uses_fresh_metadata() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.run(oauth.sign_in(None)).unwrap();
    assert_eq!(fetched(&kit), (2, 2));
    kit.run(oauth.dry_run(None)).unwrap();
    assert_eq!(fetched(&kit), (3, 3));
}

#[test]
fn a_kept_document_goes_through_the_checks_that_hold_now() {
    let mut kit = Kit::new();
    kit.signed_in();
    // Meanwhile the person chose another issuer than the document lists.
    kit.settings.issuer = Some("https://other.example".to_owned());
    let error = cause(step_up(&kit, &kit.oauth()).unwrap_err());
    assert!(
        matches!(error, OAuthError::IssuerMismatch { .. }),
        "{error}"
    );
    assert_eq!(kit.world.seen(PRM).len(), 2, "it was read again");
    assert_eq!(kit.person.windows(), 1);
    kit.settings = Settings::default();
    assert_eq!(step_up(&kit, &kit.oauth()).unwrap(), 200);
}

#[test]
fn documents_of_a_sign_in_that_failed_are_not_kept() {
    let kit = Kit::new();
    kit.honest
        .say("code_challenge_methods_supported", json!(null));
    assert_eq!(
        kit.call(&kit.oauth()).unwrap_err().code(),
        Code::PkceUnsupported
    );
    kit.honest
        .say("code_challenge_methods_supported", json!(["S256"]));
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert_eq!(fetched(&kit), (2, 2));
}

#[test]
fn another_server_does_not_get_them() {
    let mut kit = Kit::new();
    kit.signed_in();
    kit.key = GrantKey::new("default").plugin("demo").server("other");
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert_eq!(fetched(&kit), (2, 2));
}

#[test]
fn signing_out_throws_them_away() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.run(oauth.sign_out()).unwrap();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(fetched(&kit), (2, 2));
}

#[test]
fn a_sign_in_at_an_endpoint_that_is_gone_repeats_discovery_once() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    move_token_endpoint(&kit, 404);
    assert_eq!(step_up(&kit, &oauth).unwrap(), 200);
    assert_eq!(fetched(&kit), (2, 2));
    assert_eq!(kit.world.seen(NEW_TOKEN).len(), 1);
}

#[test]
fn documents_that_are_still_true_do_not_lead_to_another_question() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.world.route(TOKEN, [Reply::raw(404, "")]);
    let error = cause(step_up(&kit, &oauth).unwrap_err());
    assert!(
        matches!(error, OAuthError::Status { status: 404, .. }),
        "{error}"
    );
    assert_eq!(fetched(&kit), (2, 2));
    assert_eq!(kit.person.windows(), 2, "the first sign-in and this one");
}

#[test]
fn a_person_who_says_no_is_not_asked_by_other_documents() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.person.will([Deed::Deny]);
    move_token_endpoint(&kit, 404);
    step_up(&kit, &oauth).unwrap_err();
    assert_eq!(kit.person.windows(), 2);
    assert_eq!(fetched(&kit), (1, 1));
}

#[test]
fn a_registration_endpoint_that_moved_is_found_before_the_person_is_asked() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let moved = "https://as.example/v2/register";
    kit.honest.say("registration_endpoint", json!(moved));
    kit.world.route(REGISTER, [Reply::raw(404, "")]);
    let honest = kit.honest.clone();
    kit.world.answer(moved, move |_| honest.register());
    // Taken, so that the kept registration cannot be used.
    kit.person.occupy(40_001);
    assert_eq!(step_up(&kit, &oauth).unwrap(), 200);
    assert_eq!(kit.person.windows(), 2);
    assert_eq!(kit.world.seen(moved).len(), 1);
}

#[test]
fn a_renewal_follows_an_endpoint_that_moved_and_remembers_it() {
    for status in [401, 404, 410] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        move_token_endpoint(&kit, status);
        kit.clock.advance(HOUR);
        assert_eq!(kit.call(&oauth).unwrap(), 200, "{status}");
        assert_eq!(kit.world.seen(NEW_TOKEN).len(), 1);
        assert_eq!(kit.person.windows(), 1);
        let asked = kit.world.seen(TOKEN).len();
        kit.clock.advance(HOUR);
        assert_eq!(kit.call(&oauth).unwrap(), 200);
        assert_eq!(kit.world.seen(NEW_TOKEN).len(), 2);
        assert_eq!(kit.world.seen(TOKEN).len(), asked, "not asked again");
    }
}

#[test]
fn a_renewal_that_another_issuer_offers_is_not_made() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    move_token_endpoint(&kit, 404);
    kit.honest.say("issuer", json!("https://evil.example"));
    kit.clock.advance(HOUR);
    kit.call(&oauth).unwrap_err();
    assert!(kit.world.seen(NEW_TOKEN).is_empty(), "no token left");
}

#[test]
fn a_renewal_by_a_server_in_trouble_looks_nowhere_else() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.world.route(TOKEN, [Reply::raw(503, "")]);
    kit.clock.advance(HOUR);
    kit.call(&oauth).unwrap_err();
    assert_eq!(fetched(&kit), (1, 1));
}

#[test]
fn a_client_that_is_not_known_any_more_is_told_from_an_endpoint_that_moved() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.world
        .route(TOKEN, [Reply::error(401, "invalid_client")]);
    kit.honest.say("token_endpoint", json!(NEW_TOKEN));
    let honest = kit.honest.clone();
    kit.world.answer(NEW_TOKEN, move |seen| honest.token(seen));
    kit.clock.advance(HOUR);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.person.windows(), 1, "the sign-in goes on");
}
