//! What comes back from the consent page, and what is done with it.

use keyway_code::Code;
use keyway_secret::Secret;

use crate::oauth::OAuthError;
use crate::oauth::testing::{AS, Deed, Kit, TOKEN, cause};
use crate::ports::Callback;

/// The four rows of RFC 9207 section 2.4, and whether an answer may be looked at.
const ROWS: [(bool, Option<&str>, bool); 12] = [
    (true, Some("https://as.example"), true),
    (true, Some("https://evil.example"), false),
    (true, Some("https://as.example/"), false),
    (true, Some("https://AS.example"), false),
    (true, Some("https://as.example:443"), false),
    (true, Some(""), false),
    (true, None, false),
    (false, Some("https://as.example"), true),
    (false, Some("https://evil.example"), false),
    (false, Some("https://as.example/"), false),
    (false, Some(""), false),
    (false, None, true),
];

#[test]
fn a7_a_code_reaches_the_token_endpoint_only_from_the_issuer_that_was_asked() {
    for (advertised, iss, is_right) in ROWS {
        let kit = Kit::new();
        let name = "authorization_response_iss_parameter_supported";
        kit.honest.say(name, advertised.into());
        let iss_given = iss.map(str::to_owned);
        kit.person.will([Deed::tamper(move |mut callback| {
            callback.iss.clone_from(&iss_given);
            callback
        })]);
        let outcome = kit.call(&kit.oauth());
        if is_right {
            assert_eq!(outcome.unwrap(), 200, "{advertised} {iss:?}");
            continue;
        }
        let error = cause(outcome.unwrap_err());
        assert!(
            matches!(error, OAuthError::MixUp { .. }),
            "{advertised} {iss:?}: {error}"
        );
        assert!(kit.world.seen(TOKEN).is_empty(), "{advertised} {iss:?}");
        assert!(kit.stored().is_none());
    }
}

#[test]
fn a7_an_error_from_another_issuer_is_neither_believed_nor_shown() {
    for (advertised, iss, is_right) in ROWS {
        let kit = Kit::new();
        let name = "authorization_response_iss_parameter_supported";
        kit.honest.say(name, advertised.into());
        let iss_given = iss.map(str::to_owned);
        kit.person.will([Deed::tamper(move |_| Callback {
            iss: iss_given.clone(),
            error: Some("CANARY-CODE".to_owned()),
            error_description: Some("CANARY-WORDS".to_owned()),
            ..Callback::default()
        })]);
        let error = kit.call(&kit.oauth()).unwrap_err();
        let told = format!("{error} {error:?}");
        assert_eq!(told.contains("CANARY"), is_right, "{advertised} {iss:?}");
        let code = if is_right {
            "auth-failed"
        } else {
            "issuer-mismatch"
        };
        assert_eq!(error.code().as_str(), code);
        assert!(kit.world.seen(TOKEN).is_empty());
    }
}

#[test]
fn t1_t2_t3_what_the_port_turned_away_never_reaches_the_token_endpoint() {
    // Answers without the right `state` end in the port; each question has a state of its own.
    let kit = Kit::new();
    kit.person.will([Deed::Deny, Deed::Agree]);
    let oauth = kit.oauth();
    kit.call(&oauth).unwrap_err();
    kit.run(oauth.sign_in(None)).unwrap();
    let questions = kit.person.questions();
    assert!(!questions[0].state.is_same_as(&questions[1].state));
    let redeemed = kit.world.redeemed("authorization_code");
    let codes: Vec<_> = redeemed.iter().map(|seen| seen.field("code")).collect();
    assert_eq!(codes, ["code-2"]);
}

#[test]
fn an_answer_without_code_and_without_error_is_a_refusal() {
    let kit = Kit::new();
    kit.person.will([Deed::tamper(|_| Callback::default())]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::AuthFailed);
    assert!(kit.world.seen(TOKEN).is_empty());
}

#[test]
fn an_answer_with_code_and_error_is_a_refusal() {
    let kit = Kit::new();
    kit.person.will([Deed::tamper(|callback| Callback {
        error: Some("access_denied".to_owned()),
        ..callback
    })]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::AuthFailed);
    assert!(kit.world.seen(TOKEN).is_empty());
}

#[test]
fn a_code_that_was_swapped_fails_at_the_token_endpoint_and_is_not_tried_again() {
    let kit = Kit::new();
    let honest = kit.honest.clone();
    kit.world.answer(TOKEN, move |seen| {
        if seen.field("code") == "EVIL" {
            return crate::oauth::testing::Reply::error(400, "invalid_grant");
        }
        honest.token(seen)
    });
    kit.person.will([Deed::tamper(|callback| Callback {
        code: Some(Secret::new("EVIL".to_owned())),
        ..callback
    })]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::TokenRefused);
    assert_eq!(kit.world.seen(TOKEN).len(), 1);
    assert_eq!(kit.person.windows(), 1);
    assert!(!format!("{error:?}").contains("EVIL"));
}

#[test]
fn a7_an_attacker_gets_no_code_of_the_honest_server() {
    // The attacker's metadata send the person to the honest page; the honest server names itself.
    let kit = Kit::new();
    let evil = "https://evil.example";
    let mut document = crate::oauth::testing::metadata(evil);
    document["authorization_endpoint"] = format!("{AS}/authorize").into();
    let at = format!("{evil}/.well-known/oauth-authorization-server");
    kit.world
        .route(&at, [crate::oauth::testing::Reply::json(200, &document)]);
    let honest = kit.honest.clone();
    kit.world
        .answer(&format!("{evil}/register"), move |_| honest.register());
    let listed = crate::oauth::testing::resource(evil);
    kit.world.route(
        crate::oauth::testing::PRM,
        [crate::oauth::testing::Reply::json(200, &listed)],
    );
    // A person who was asked about that page said yes.
    kit.person.go_anywhere();
    kit.person.will([Deed::with_iss(AS)]);
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::IssuerMismatch);
    assert_eq!(kit.person.windows(), 1);
    let error = cause(error);
    assert!(matches!(error, OAuthError::MixUp { .. }), "{error}");
    let journal = kit.world.journal();
    assert!(journal.iter().all(|seen| !seen.text().contains("code-1")));
}

#[test]
fn c7_a_sign_in_that_comes_to_nothing_leaves_the_old_tokens_in_use() {
    for deed in [Deed::Cancel, Deed::Deny, Deed::TimeOut] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        kit.person.will([deed]);
        kit.run(oauth.sign_in(None)).unwrap_err();
        assert_eq!(kit.stored_access(), "at-1");
        assert_eq!(kit.call(&oauth).unwrap(), 200);
        let others = kit.process(&kit.other_shelf());
        assert_eq!(kit.call(&others).unwrap(), 200);
        assert_eq!(kit.person.windows(), 2, "the person was not asked again");
    }
}

#[test]
fn c7_old_tokens_are_also_kept_when_the_exchange_fails_or_the_store_is_locked() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let honest = kit.honest.clone();
    kit.world
        .route(TOKEN, [crate::oauth::testing::Reply::raw(500, "")]);
    kit.run(oauth.sign_in(None)).unwrap_err();
    assert_eq!(kit.stored_access(), "at-1");
    kit.world.answer(TOKEN, move |seen| honest.token(seen));
    // Longer than storing it is tried.
    kit.shelf.lock(u32::MAX);
    kit.clock.let_pass(1000);
    let error = kit.run(oauth.sign_in(None)).unwrap_err();
    assert_eq!(error.code(), Code::Vault);
    assert_eq!(kit.stored_access(), "at-1");
    kit.shelf.lock(0);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
}

#[test]
fn a_consent_page_whose_address_speaks_in_our_place_is_not_opened() {
    for query in [
        "client_id=honest",
        "redirect_uri=https://evil.example/",
        "state=x",
        "code%5Fchallenge=x",
        "p=1&scope=admin",
        "request_uri=https://evil.example/",
    ] {
        let kit = Kit::new();
        let page = format!("{AS}/authorize?{query}");
        kit.honest.say("authorization_endpoint", page.into());
        let error = kit.call(&kit.oauth()).unwrap_err();
        assert_eq!(error.code(), Code::BadMetadata, "{query}");
        assert_eq!(kit.person.windows(), 0, "{query}");
    }
    let kit = Kit::new();
    let page = format!("{AS}/authorize?p=policy");
    kit.honest.say("authorization_endpoint", page.into());
    kit.signed_in();
    let question = kit.person.questions().remove(0);
    assert!(
        question
            .url
            .as_str()
            .contains("?p=policy&response_type=code&")
    );
}

/// Google gives a refresh token only to clients that ask for it with its own parameters.
#[test]
fn parameters_that_a_provider_wants_stand_in_the_address_of_the_page() {
    let mut kit = Kit::new();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    kit.settings.authorize_params = vec![pair("access_type", "offline"), pair("prompt", "consent")];
    kit.honest.say(
        "scopes_supported",
        serde_json::json!(["read", "offline_access"]),
    );
    kit.signed_in();
    let page = kit.person.questions().remove(0).url;
    let value = |name: &str| {
        let pairs = page.query_pairs().filter(|(key, _)| key == name);
        pairs
            .map(|(_, value)| value.into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(value("access_type"), ["offline"]);
    assert_eq!(value("prompt"), ["consent"], "once");
    assert_eq!(value("response_type"), ["code"]);
}
