//! How often a person is asked, and for what.

use std::time::Duration;

use keyway_code::Code;
use serde_json::json;

use crate::oauth::testing::{Deed, Kit, MCP, PRM, Reply, TOKEN, cause, resource};
use crate::oauth::{OAuthError, PromptPolicy, SignInCause};

/// A server that takes no token at all.
fn refuse_everything(kit: &Kit) {
    let refusal = Reply::raw(401, "").header("www-authenticate", "Bearer error=\"invalid_token\"");
    kit.world.route(MCP, [refusal]);
}

/// A server that wants another scope each time.
fn want_more(kit: &Kit, scope: &'static str) {
    let told = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
    let refusal = Reply::raw(403, "").header("www-authenticate", &told);
    kit.world.route(MCP, [refusal]);
}

#[test]
fn t7_a_server_that_refuses_a_token_just_issued_is_a_loop_and_opens_one_window() {
    let kit = Kit::new();
    refuse_everything(&kit);
    let oauth = kit.oauth();
    let error = kit.call(&oauth).unwrap_err();
    assert_eq!(error.code(), Code::OauthLoop);
    for _ in 0..10 {
        kit.call(&oauth).unwrap_err();
        kit.clock.advance(Duration::from_secs(5));
    }
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn t7_without_a_refresh_token_it_is_a_loop_as_well() {
    let kit = Kit::new();
    kit.honest.add(json!({ "refresh_token": null }));
    refuse_everything(&kit);
    let oauth = kit.oauth();
    assert_eq!(kit.call(&oauth).unwrap_err().code(), Code::OauthLoop);
    assert_eq!(kit.person.windows(), 1);
}

/// The time of day decides nothing: a clock that was set back makes no sign-in a young one, and one
/// that was set ahead no young one old.
#[test]
fn whether_a_refused_token_was_just_issued_is_not_told_by_the_time_of_day() {
    let kit = Kit::new();
    kit.honest.add(json!({ "refresh_token": null }));
    kit.signed_in();
    kit.clock.advance(Duration::from_secs(600));
    kit.clock.set_back(Duration::from_secs(3600));
    kit.honest.reset();
    let later = kit.process(&kit.other_shelf());
    assert_eq!(kit.call(&later).unwrap(), 200);
    assert_eq!(
        kit.person.windows(),
        2,
        "it is old, and the person is asked"
    );
    refuse_everything(&kit);
    kit.clock.set_back(Duration::ZERO);
    let another = kit.process(&kit.other_shelf());
    assert_eq!(kit.call(&another).unwrap_err().code(), Code::OauthLoop);
    assert_eq!(kit.person.windows(), 2, "this one is young");
}

#[test]
fn a_refused_token_of_a_server_that_has_moved_is_not_a_loop() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    let mut document = resource("https://as2.example");
    kit.world.route(PRM, [Reply::json(200, &document)]);
    document["issuer"] = json!("https://as2.example");
    let error = cause(kit.call(&oauth).unwrap_err());
    assert!(matches!(error, OAuthError::NoMetadata { .. }), "{error}");
}

#[test]
fn b10_only_the_scopes_of_the_challenge_are_asked_for() {
    let kit = Kit::new();
    let mut document = resource(crate::oauth::testing::AS);
    document["scopes_supported"] = json!(["read", "write", "admin"]);
    kit.world.route(PRM, [Reply::json(200, &document)]);
    kit.signed_in();
    assert_eq!(kit.person.questions()[0].scopes, ["read"]);
    let kit = Kit::new();
    kit.world.route(PRM, [Reply::json(200, &document)]);
    kit.honest.challenge("Bearer");
    kit.signed_in();
    assert_eq!(kit.person.questions()[0].scopes, ["read", "write", "admin"]);
    let mut kit = Kit::new();
    kit.world.route(PRM, [Reply::json(200, &document)]);
    kit.settings.scopes = Some(vec!["mine".to_owned()]);
    kit.signed_in();
    assert_eq!(kit.person.questions()[0].scopes, ["mine"]);
}

#[test]
fn offline_access_is_asked_for_where_the_issuer_offers_it_and_the_server_wants_scopes() {
    let kit = Kit::new();
    kit.honest.say(
        "scopes_supported",
        json!(["read", "offline_access", "admin"]),
    );
    kit.signed_in();
    let question = &kit.person.questions()[0];
    assert_eq!(question.scopes, ["read", "offline_access"]);
    assert!(question.url.as_str().contains("prompt=consent"));
    let kit = Kit::new();
    kit.honest
        .say("scopes_supported", json!(["offline_access"]));
    kit.honest.challenge("Bearer");
    kit.signed_in();
    assert!(kit.person.questions()[0].scopes.is_empty());
}

#[test]
fn b10_a_step_up_asks_for_the_old_and_the_new_and_says_which_is_new() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let told = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    let refusal = Reply::raw(403, "").header("www-authenticate", told);
    kit.world.route(MCP, [refusal, Reply::raw(200, "")]);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    let question = &kit.person.questions()[1];
    assert_eq!(question.scopes, ["read", "write"]);
    assert_eq!(question.new_scopes, ["write"]);
    assert!(question.url.as_str().contains("scope=read+write"));
}

#[test]
fn b10_a_server_that_wants_more_for_ever_gets_three_sign_ins() {
    for per_call in [true, false] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        want_more(&kit, "admin");
        for _ in 0..10 {
            if per_call {
                kit.clock.advance(Duration::from_secs(20));
            }
            drop(kit.call(&oauth));
        }
        assert!(kit.person.windows() <= 3, "{}", kit.person.windows());
        let error = kit.call(&oauth).unwrap_err();
        assert_eq!(error.code(), Code::InsufficientScope);
    }
}

#[test]
fn a_refusal_that_is_about_something_else_stands() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.world.route(MCP, [Reply::raw(403, "")]);
    assert_eq!(kit.call(&oauth).unwrap(), 403);
    let told = "Bearer error=\"insufficient_scope\"";
    let refusal = Reply::raw(403, "").header("www-authenticate", told);
    kit.world.route(MCP, [refusal]);
    assert_eq!(
        kit.call(&oauth).unwrap(),
        403,
        "it does not say which scope"
    );
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn where_prompts_are_forbidden_no_person_is_asked() {
    let mut kit = Kit::new();
    kit.prompt_policy = PromptPolicy::Never;
    let oauth = kit.oauth();
    let error = cause(kit.call(&oauth).unwrap_err());
    let OAuthError::SignInRequired { cause: why, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(why, SignInCause::Never);
    kit.run(oauth.sign_in(None)).unwrap();
    want_more(&kit, "write");
    let error = cause(kit.call(&oauth).unwrap_err());
    let OAuthError::SignInRequired {
        cause: why, scopes, ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(
        (why, scopes),
        (SignInCause::Scope, vec!["read".into(), "write".into()])
    );
    assert_eq!(kit.person.windows(), 1);
    assert_eq!(
        kit.world.seen_by("as.example").len(),
        3,
        "metadata, client, token"
    );
}

#[test]
fn many_requests_that_need_a_sign_in_open_one_window() {
    let kit = Kit::new();
    let oauth = kit.oauth();
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| kit.call(&oauth).unwrap()))
            .collect();
        for caller in callers {
            assert_eq!(caller.join().unwrap(), 200);
        }
    });
    assert_eq!(kit.person.windows(), 1);
    assert_eq!(kit.world.seen(TOKEN).len(), 1);
}

#[test]
fn t11_many_requests_of_a_person_who_declines_open_one_window() {
    for deed in [Deed::Cancel, Deed::Deny, Deed::TimeOut] {
        let kit = Kit::new();
        let oauth = kit.oauth();
        kit.person.will([deed]);
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| kit.call(&oauth).unwrap_err()))
                .collect();
            for caller in callers {
                assert_eq!(caller.join().unwrap().code(), Code::AuthFailed);
            }
        });
        assert_eq!(kit.person.windows(), 1);
    }
}

#[test]
fn t7_a_server_that_keeps_refusing_opens_no_window_later_either() {
    let kit = Kit::new();
    refuse_everything(&kit);
    let oauth = kit.oauth();
    for _ in 0..30 {
        assert_eq!(kit.call(&oauth).unwrap_err().code(), Code::OauthLoop);
        kit.clock.advance(Duration::from_secs(60));
    }
    assert_eq!(kit.person.windows(), 1);
    for _ in 0..30 {
        kit.call(&oauth).unwrap_err();
    }
    let renewed = kit.world.redeemed("refresh_token").len();
    assert!(renewed <= 31, "{renewed} for 60 requests");
}

#[test]
fn b10_a_person_who_declined_is_not_asked_again_soon_unless_they_want_to() {
    for deed in [Deed::Cancel, Deed::Deny] {
        let kit = Kit::new();
        let oauth = kit.oauth();
        kit.person.will([deed]);
        for _ in 0..59 {
            assert_eq!(kit.call(&oauth).unwrap_err().code(), Code::AuthFailed);
            kit.clock.advance(Duration::from_secs(10));
        }
        assert_eq!(kit.person.windows(), 1);
        kit.run(oauth.sign_in(None)).unwrap();
        assert_eq!(kit.call(&oauth).unwrap(), 200);
        assert_eq!(kit.person.windows(), 2);
    }
}

#[test]
fn c7_a_step_up_that_was_declined_does_not_stop_the_old_token_from_being_renewed() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let told = "Bearer error=\"insufficient_scope\", scope=\"admin\"";
    let refusal = Reply::raw(403, "").header("www-authenticate", told);
    let expired = Reply::raw(401, "").header("www-authenticate", "Bearer");
    kit.world
        .route(MCP, [refusal, expired, Reply::raw(200, "")]);
    kit.person.will([Deed::Deny]);
    assert_eq!(kit.call(&oauth).unwrap_err().code(), Code::AuthFailed);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.stored_access(), "at-2");
    assert_eq!(kit.person.windows(), 2);
}

#[test]
fn trouble_of_the_server_is_not_counted_as_a_sign_in() {
    let kit = Kit::new();
    let oauth = kit.oauth();
    let trouble = || Reply::raw(503, "");
    kit.world
        .route(PRM, [trouble(), trouble(), trouble(), trouble()]);
    for _ in 0..4 {
        let error = kit.call(&oauth).unwrap_err();
        assert_eq!(error.code(), Code::AuthorizationServerError);
        kit.clock.advance(Duration::from_secs(61));
    }
    let document = resource(crate::oauth::testing::AS);
    kit.world.route(PRM, [Reply::json(200, &document)]);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
}

#[test]
fn sign_ins_that_end_at_once_are_not_asked_for_without_end() {
    let kit = Kit::new();
    kit.honest
        .add(json!({ "refresh_token": null, "expires_in": 10 }));
    let oauth = kit.oauth();
    for _ in 0..3 {
        assert_eq!(kit.call(&oauth).unwrap(), 200);
        kit.clock.advance(Duration::from_secs(11));
    }
    let error = kit.call(&oauth).unwrap_err();
    assert_eq!(error.code(), Code::SignInRequired, "not a matter of scopes");
    assert_eq!(kit.person.windows(), 3);
}

#[test]
fn b10_what_was_granted_before_is_not_lost_by_signing_in_again() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let told = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    let refusal = Reply::raw(403, "").header("www-authenticate", told);
    kit.world.route(MCP, [refusal, Reply::raw(200, "")]);
    kit.call(&oauth).unwrap();
    // The sign-in ends for good, and the server asks for what it always asks for first.
    kit.honest.revoke_family();
    let told = "Bearer scope=\"read\"";
    let refusal = Reply::raw(401, "").header("www-authenticate", told);
    kit.world.route(MCP, [refusal, Reply::raw(200, "")]);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    let question = kit.person.questions().pop().unwrap();
    assert_eq!(question.scopes, ["read", "write"]);
    assert!(question.new_scopes.is_empty());
    kit.run(oauth.sign_in(Some(vec!["read".to_owned()])))
        .unwrap();
    let question = kit.person.questions().pop().unwrap();
    assert_eq!(question.scopes, ["read"], "a person may want less");
}

#[test]
fn b10_a_step_up_by_a_later_sign_in_asks_for_the_old_scopes_as_well() {
    let mut kit = Kit::new();
    kit.prompt_policy = PromptPolicy::Never;
    let oauth = kit.oauth();
    kit.run(oauth.sign_in(None)).unwrap();
    want_more(&kit, "write");
    kit.call(&oauth).unwrap_err();
    kit.run(oauth.sign_in(None)).unwrap();
    let question = kit.person.questions().pop().unwrap();
    assert_eq!(question.scopes, ["read", "write"]);
    assert_eq!(question.new_scopes, ["write"]);
    kit.run(oauth.sign_out()).unwrap();
    kit.honest.challenge("Bearer scope=\"read\"");
    kit.world.route(MCP, [Reply::raw(401, "")]);
    kit.run(oauth.sign_in(None)).unwrap();
    let question = kit.person.questions().pop().unwrap();
    assert!(question.scopes.is_empty(), "signing out forgets them");
}
