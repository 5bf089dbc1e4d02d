//! When renewing fails: what is kept, who is asked, and what becomes of a claim.

use std::time::Duration;

use keyway_code::Code;
use keyway_store::{GrantState, GrantStore as _};

use super::redeemed;
use crate::oauth::testing::{Kit, Reply, TOKEN, cause};
use crate::oauth::{OAuthError, PromptPolicy, RejectionCause};
use crate::ports::HttpFailure;

#[test]
fn rule_4_a_rejected_refresh_token_is_marked_and_nothing_is_deleted() {
    let mut kit = Kit::new();
    kit.prompt_policy = PromptPolicy::Never;
    kit.run(kit.oauth().sign_in(None)).unwrap();
    let oauth = kit.oauth();
    let before = kit.stored().unwrap();
    kit.honest.revoke_family();
    kit.honest.reset();
    let error = cause(kit.call(&oauth).unwrap_err());
    let OAuthError::GrantRejected { cause, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(cause, RejectionCause::Server);
    let after = kit.stored().unwrap();
    assert_eq!(after.state, GrantState::NeedsReauth);
    assert_eq!(after.generation, before.generation);
    assert!(
        after.access.is_same_as(&before.access),
        "nothing is deleted"
    );
    assert!(after.refreshable);
    for _ in 0..3 {
        kit.call(&oauth).unwrap_err();
    }
    assert_eq!(redeemed(&kit), 1, "it is not sent again");
}

#[test]
fn rule_4_a_rejection_of_an_older_token_does_not_touch_the_newer() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    // Another process signs in while the old refresh token is on its way to be rejected.
    let (other, key) = (kit.other_shelf(), kit.key.clone());
    let details = kit.stored().unwrap().details;
    let honest = kit.honest.clone();
    kit.world.answer(TOKEN, move |_| {
        drop(honest.issue());
        let text = |text: &str| keyway_secret::Secret::new(text.to_owned());
        let tokens = keyway_store::Tokens::new(text("at-2")).with_refresh(text("rt-2"));
        let tokens = tokens.with_details(details.clone());
        other.put(&key, &tokens).unwrap();
        Reply::error(400, "invalid_grant")
    });
    kit.honest.reset();
    assert_eq!(kit.call(&oauth).unwrap(), 200, "the newer one is adopted");
    let stored = kit.stored().unwrap();
    assert_eq!(stored.state, GrantState::Good);
    assert_eq!(stored.access.expose(), "at-2");
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn rule_4_t6_trouble_of_the_server_keeps_everything_and_opens_no_window() {
    let unreachable = HttpFailure::Unreachable {
        host: "as.example".to_owned(),
        why: "connection refused".to_owned(),
        sent: false,
    };
    let html = Reply::raw(502, "<html>bad gateway</html>");
    for reply in [
        Reply::raw(500, ""),
        Reply::raw(503, "{}"),
        Reply::error(503, "temporarily_unavailable"),
        Reply::error(400, "server_error"),
        Reply::error(429, "slow_down"),
        Reply::raw(429, ""),
        html,
        Reply::times_out(),
        Reply::fails(unreachable),
    ] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        let honest = kit.honest.clone();
        kit.honest.reset();
        kit.world.route(TOKEN, [reply]);
        kit.world.forget();
        kit.call(&oauth).unwrap_err();
        let stored = kit.stored().unwrap();
        assert_eq!(stored.state, GrantState::Good);
        assert_eq!(stored.access.expose(), "at-1");
        for _ in 0..20 {
            kit.call(&oauth).unwrap_err();
        }
        assert_eq!(redeemed(&kit), 1, "it backs off");
        kit.clock.advance(Duration::from_secs(61));
        kit.world.answer(TOKEN, move |seen| honest.token(seen));
        assert_eq!(kit.call(&oauth).unwrap(), 200, "it recovers by itself");
        assert_eq!(kit.person.windows(), 1);
        is_a_chain_after_failure(&kit);
    }
}

/// The token that could not be redeemed is sent a second time, which is all right.
fn is_a_chain_after_failure(kit: &Kit) {
    let sent = kit.world.redeemed("refresh_token");
    assert!(
        sent.iter()
            .all(|seen| seen.field("refresh_token") == "rt-1")
    );
    assert_eq!(kit.stored_access(), "at-2");
}

#[test]
fn rule_4_each_failure_in_a_row_is_waited_for_longer() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    kit.world.route(TOKEN, [Reply::raw(503, "")]);
    let mut tried_at = Vec::new();
    for second in 0..200 {
        let before = redeemed(&kit);
        kit.call(&oauth).unwrap_err();
        if redeemed(&kit) > before {
            tried_at.push(second);
        }
        kit.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(tried_at, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
}

#[test]
fn a_refresh_token_that_is_not_rotated_is_kept() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let honest = kit.honest.clone();
    kit.world.answer(TOKEN, move |_| {
        honest.add(serde_json::json!({ "refresh_token": null, "expires_in": 3600 }));
        honest.issue()
    });
    for _ in 0..3 {
        kit.honest.reset();
        assert_eq!(kit.call(&oauth).unwrap(), 200);
    }
    let sent = kit.world.redeemed("refresh_token");
    assert_eq!(sent.len(), 3);
    assert!(
        sent.iter()
            .all(|seen| seen.field("refresh_token") == "rt-1")
    );
}

#[test]
fn a_sign_in_without_refresh_token_asks_again_when_it_ends() {
    let kit = Kit::new();
    kit.honest
        .add(serde_json::json!({ "refresh_token": null, "expires_in": 3600 }));
    let oauth = kit.signed_in();
    kit.clock.advance(Duration::from_secs(3601));
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!((redeemed(&kit), kit.person.windows()), (0, 2));
}

#[test]
fn rule_4_a_server_that_says_when_to_come_again_is_left_alone_until_then() {
    for (status, wish, pause) in [
        (429, "300", 300),
        (503, " 120 ", 120),
        (429, "0", 1),
        (429, "99999999", 600),
        (429, "soon", 1),
        (429, "-5", 1),
        // Four minutes after what the clock of the kit says at the start.
        (503, "Fri, 15 Jan 2027 08:04:00 GMT", 240),
        (503, "Fri, 15 Jan 2027 07:00:00 GMT", 1),
    ] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        kit.honest.reset();
        let busy = Reply::raw(status, "").header("retry-after", wish);
        kit.world.route(TOKEN, [busy]);
        kit.call(&oauth).unwrap_err();
        kit.clock.advance(Duration::from_secs(pause - 1));
        kit.call(&oauth).unwrap_err();
        assert_eq!(redeemed(&kit), 1, "{wish}: too early");
        kit.clock.advance(Duration::from_secs(1));
        kit.call(&oauth).unwrap_err();
        assert_eq!(redeemed(&kit), 2, "{wish}");
    }
}

#[test]
fn rule_4_a_time_out_is_followed_by_a_pause() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    let never = std::sync::Arc::new(async_lock::Semaphore::new(0));
    kit.world.route(TOKEN, [Reply::raw(200, "").behind(&never)]);
    kit.clock.let_pass(1000);
    let mut code = kit.call(&oauth).unwrap_err().code();
    // Until the exchange is given up, callers are told that it is under way.
    while code == Code::NetworkError {
        code = kit.call(&oauth).unwrap_err().code();
    }
    assert_eq!(code, Code::RefreshUnanswered);
    kit.clock.let_pass(0);
    kit.call(&oauth).unwrap_err();
    assert_eq!(redeemed(&kit), 1);
}

#[test]
fn rule_4_a_rejection_ahead_of_time_leaves_the_token_in_use_to_its_end() {
    for asking in [PromptPolicy::Never, PromptPolicy::WhenNeeded] {
        let mut kit = Kit::new();
        kit.prompt_policy = asking;
        let oauth = kit.oauth();
        kit.run(oauth.sign_in(None)).unwrap();
        kit.honest.revoke_family();
        let keep = |_: &crate::oauth::testing::Seen| Reply::error(400, "invalid_grant");
        kit.world.answer(TOKEN, keep);
        kit.clock.advance(Duration::from_secs(3580));
        assert_eq!(kit.call(&oauth).unwrap(), 200);
        super::eventually("it is marked", || {
            kit.stored().unwrap().state == GrantState::NeedsReauth
        });
        for _ in 0..10 {
            // Time for another attempt in the background, which may not be made.
            std::thread::sleep(Duration::from_millis(2));
            assert_eq!(kit.call(&oauth).unwrap(), 200, "{asking:?}");
        }
        assert_eq!(redeemed(&kit), 1);
        assert_eq!(kit.person.windows(), 1);
        let sent = kit.world.seen(crate::oauth::testing::MCP);
        let bare = sent
            .iter()
            .filter(|seen| seen.header("authorization") != "Bearer at-1");
        assert_eq!(
            bare.count(),
            1,
            "{asking:?}: none but the one before the sign-in"
        );
    }
}

#[test]
fn renewing_by_hand_says_that_the_sign_in_was_rejected() {
    for asking in [PromptPolicy::Never, PromptPolicy::WhenNeeded] {
        let mut kit = Kit::new();
        kit.prompt_policy = asking;
        let oauth = kit.oauth();
        kit.run(oauth.sign_in(None)).unwrap();
        kit.run(oauth.renew()).unwrap();
        kit.honest.revoke_family();
        let error = kit.run(oauth.renew()).unwrap_err();
        assert_eq!(error.code(), Code::RefreshFailed, "{asking:?}");
        let error = kit.run(oauth.renew()).unwrap_err();
        assert_eq!(error.code(), Code::SignInRequired, "{asking:?}");
    }
}

#[test]
fn rule_4_a_rejection_is_understood_in_the_words_of_providers_whatever_its_status() {
    for (status, code) in [
        (400, "invalid_grant"),
        (401, "invalid_grant"),
        (500, "invalid_grant"),
        (200, "bad_refresh_token"),
        (200, "invalid_refresh_token"),
    ] {
        let mut kit = Kit::new();
        kit.prompt_policy = PromptPolicy::Never;
        let oauth = kit.oauth();
        kit.run(oauth.sign_in(None)).unwrap();
        kit.honest.reset();
        kit.world.route(TOKEN, [Reply::error(status, code)]);
        assert_eq!(kit.call(&oauth).unwrap_err().code(), Code::RefreshFailed);
        let stored = kit.stored().unwrap();
        assert_eq!(stored.state, GrantState::NeedsReauth, "{status} {code}");
    }
}

#[test]
fn rule_4_a_refusal_that_is_about_something_else_marks_nothing() {
    for code in ["invalid_request", "invalid_scope", "invalid_target", "x"] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        kit.honest.reset();
        kit.world.route(TOKEN, [Reply::error(400, code)]);
        assert_eq!(kit.call(&oauth).unwrap_err().code(), Code::TokenRefused);
        assert_eq!(kit.stored().unwrap().state, GrantState::Good, "{code}");
        assert_eq!(kit.person.windows(), 1);
    }
}

#[test]
fn rule_4_a_wrong_secret_in_the_configuration_ends_no_sign_in() {
    let mut kit = Kit::new();
    kit.settings.client = Some(super::with_secret("given", "s"));
    let oauth = kit.signed_in();
    kit.honest.reset();
    kit.world
        .route(TOKEN, [Reply::error(401, "invalid_client")]);
    assert_eq!(kit.call(&oauth).unwrap_err().code(), Code::TokenRefused);
    assert_eq!(kit.stored().unwrap().state, GrantState::Good);
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn a_sign_in_in_words_that_are_not_ours_is_replaced_by_a_new_one() {
    let kit = Kit::new();
    for details in [&b""[..], b"{}", b"{\"issuer\":7}", b"\xff"] {
        let text = |text: &str| keyway_secret::Secret::new(text.to_owned());
        let tokens = keyway_store::Tokens::new(text("at-0")).with_refresh(text("rt-0"));
        let details = keyway_secret::Secret::new(details.to_vec());
        kit.shelf
            .put(&kit.key, &tokens.with_details(details))
            .unwrap();
        let windows = kit.person.windows();
        assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
        assert_eq!(kit.person.windows(), windows + 1);
        assert!(
            kit.world
                .journal()
                .iter()
                .all(|seen| !seen.text().contains("t-0"))
        );
    }
}
