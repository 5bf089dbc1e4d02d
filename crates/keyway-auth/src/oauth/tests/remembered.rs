//! What is remembered between processes: scopes to ask for, tokens to revoke, what was said.

use std::time::Duration;

use keyway_code::Code;
use keyway_store::GrantState;
use serde_json::json;

use super::{eventually, redeemed};
use crate::authorizer::Authorizer as _;
use crate::oauth::testing::{Kit, MCP, PRM, REGISTER, REVOKE, Reply, TOKEN, cause};
use crate::oauth::{OAuthError, PromptPolicy, RefreshScope, Revoked, SignIn};

/// 403 for a scope that was not granted, and after that a challenge that does not name it.
fn want_admin_once(kit: &Kit) {
    let told = "Bearer error=\"insufficient_scope\", scope=\"birds:admin\", \
                error_description=\"only \u{7f}keepers\"";
    let challenge = format!("Bearer resource_metadata=\"{PRM}\", scope=\"read\"");
    kit.world.route(
        MCP,
        [
            Reply::raw(403, "").header("www-authenticate", &told.replace('\u{7f}', "\t")),
            Reply::raw(401, "").header("www-authenticate", &challenge),
        ],
    );
}

#[test]
fn scopes_that_need_a_person_are_named_and_asked_for_at_the_next_sign_in() {
    let mut kit = Kit::new();
    kit.signed_in();
    want_admin_once(&kit);
    kit.prompt_policy = PromptPolicy::Never;
    let error = cause(kit.call(&kit.oauth()).unwrap_err());
    assert_eq!(error.code(), Code::InsufficientScope);
    let text = error.to_string();
    assert!(text.contains("`birds:admin`"), "{text}");
    assert!(!text.contains("signed in"), "{text}");
    let said = error.http_refusal().unwrap();
    assert_eq!(said.status, Some(403));
    assert_eq!(said.error.as_deref(), Some("insufficient_scope"));
    assert_eq!(said.scope.as_deref(), Some("birds:admin"));
    let description = said.error_description.unwrap();
    assert!(description.contains("keepers") && !description.contains('\t'));

    kit.prompt_policy = PromptPolicy::WhenNeeded;
    kit.run(kit.oauth().sign_in(None)).unwrap();
    let questions = kit.person.questions();
    assert_eq!(questions[1].scopes, ["read", "birds:admin"]);
    assert_eq!(questions[1].new_scopes, ["birds:admin"]);

    // Answered once; the next sign-in asks for what was granted, not for what was remembered.
    kit.run(kit.oauth().sign_in(Some(vec!["read".to_owned()])))
        .unwrap();
    assert_eq!(kit.person.questions()[2].scopes, ["read"]);
}

#[test]
fn refresh_tokens_that_were_replaced_are_revoked_at_sign_out_and_not_before() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.run(oauth.sign_in(None)).unwrap();
    kit.run(kit.process(&kit.other_shelf()).sign_in(None))
        .unwrap();
    assert!(
        kit.world.seen(REVOKE).is_empty(),
        "a sign-in revokes nothing"
    );
    let ended = kit.run(oauth.sign_out()).unwrap();
    assert_eq!(ended.revoked, Revoked::Done);
    let revoked: Vec<_> = kit.world.seen(REVOKE);
    let mut revoked: Vec<_> = revoked.iter().map(|seen| seen.field("token")).collect();
    revoked.sort();
    assert_eq!(revoked, ["at-3", "rt-1", "rt-2", "rt-3"]);
    assert_eq!(ended.replaced, 2);
    kit.world.forget();
    assert!(!kit.run(oauth.sign_out()).unwrap().existed);
    assert!(kit.world.seen(REVOKE).is_empty(), "nothing is left");
}

#[test]
fn replaced_token_that_cannot_be_revoked_is_told() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.run(oauth.sign_in(None)).unwrap();
    kit.world.answer(REVOKE, |seen| {
        let status = if seen.field("token") == "rt-1" {
            503
        } else {
            200
        };
        Reply::raw(status, "")
    });
    let ended = kit.run(oauth.sign_out()).unwrap();
    assert_eq!(ended.revoked, Revoked::Failed);
}

#[test]
fn rejected_refresh_token_of_a_young_sign_in_prompts_and_is_not_a_loop() {
    let mut kit = Kit::new();
    kit.signed_in();
    kit.honest.reset();
    kit.honest.revoke_family();
    kit.prompt_policy = PromptPolicy::Never;
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::RefreshFailed);
    assert_eq!(kit.stored().unwrap().state, GrantState::NeedsReauth);
    kit.prompt_policy = PromptPolicy::WhenNeeded;
    assert_eq!(kit.call(&kit.oauth()).unwrap(), 200);
    assert_eq!(kit.person.windows(), 2);
}

#[test]
fn new_process_renews_thirty_seconds_before_the_end_and_not_earlier() {
    let kit = Kit::new();
    kit.signed_in();
    kit.clock.advance(Duration::from_secs(3600 - 45));
    let early = kit.oauth();
    kit.run(early.obtain()).unwrap();
    assert!(early.cached().is_some());
    assert_eq!(redeemed(&kit), 0);
    kit.clock.advance(Duration::from_secs(20));
    let late = kit.oauth();
    kit.run(late.obtain()).unwrap();
    assert!(late.cached().is_some(), "still good for 25 s");
    eventually("it is renewed in the background", || redeemed(&kit) == 1);
}

#[test]
fn short_lived_token_is_not_renewed_at_every_request() {
    let kit = Kit::new();
    kit.honest.add(json!({ "expires_in": 20 }));
    let oauth = kit.signed_in();
    for _ in 0..5 {
        assert_eq!(kit.call(&oauth).unwrap(), 200);
    }
    assert_eq!(redeemed(&kit), 0);
}

#[test]
fn asking_whether_a_sign_in_is_needed_opens_no_session() {
    let kit = Kit::new();
    kit.world.route(MCP, [Reply::raw(200, "{}")]);
    assert!(!kit.run(kit.oauth().wants_sign_in()));
    let seen = kit.world.seen(MCP);
    let [seen] = seen.as_slice() else {
        panic!("{} requests", seen.len());
    };
    let body: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!(body["method"], "server/discover");
    assert_eq!(seen.header("mcp-method"), "server/discover");
    let meta = &body["params"]["_meta"];
    let version = &meta["io.modelcontextprotocol/protocolVersion"];
    assert_eq!(version, &seen.header("mcp-protocol-version"));
    assert!(meta["io.modelcontextprotocol/clientInfo"]["name"].is_string());
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
}

#[test]
fn open_stream_of_an_sse_server_needs_no_sign_in() {
    for (post, stream, expected) in [
        (405, Reply::times_out(), true),
        (404, Reply::times_out(), true),
        (404, Reply::raw(200, ": hello"), true),
        (404, Reply::raw(401, ""), false),
        (405, Reply::raw(403, ""), false),
    ] {
        let kit = Kit::new();
        kit.world.route(PRM, [Reply::raw(404, "")]);
        let answer = stream.clone();
        kit.world
            .answer(MCP, move |seen| match seen.method.as_str() {
                "GET" => answer.clone(),
                _ => Reply::raw(post, ""),
            });
        let oauth = kit.oauth();
        assert_eq!(kit.run(oauth.is_unneeded()), expected, "{post}");
        assert_eq!(kit.run(oauth.wants_sign_in()), !expected, "{post}");
    }
}

#[test]
fn words_of_a_token_endpoint_that_refuses_are_carried_and_printable() {
    let kit = Kit::new();
    let refusal = json!({
        "error": "invalid_client",
        "error_description": format!("\u{1b}[2Jnot {}", "x".repeat(5000)),
    });
    kit.world.route(TOKEN, [Reply::json(401, &refusal)]);
    let error = cause(kit.call(&kit.oauth()).unwrap_err());
    assert!(matches!(error, OAuthError::TokenRefused { .. }), "{error}");
    let said = error.http_refusal().unwrap();
    assert_eq!(said.status, Some(401));
    assert_eq!(said.error.as_deref(), Some("invalid_client"));
    let description = said.error_description.unwrap();
    assert!(description.contains("not x") && !description.contains('\u{1b}'));
    assert!(description.chars().count() <= 201);
}

/// Threats B10 and E16.
#[test]
fn b10_e16_scopes_that_were_granted_but_not_asked_for_are_told() {
    let kit = Kit::new();
    kit.signed_in();
    let of = |kit: &Kit| SignIn::of(&kit.stored().unwrap()).unwrap();
    assert!(of(&kit).unrequested_scopes.is_empty());
    kit.honest
        .add(json!({ "scope": "read admin everything", "expires_in": 3600 }));
    kit.run(kit.oauth().sign_in(None)).unwrap();
    assert_eq!(of(&kit).unrequested_scopes, ["admin", "everything"]);
}

#[test]
fn refresh_names_the_granted_scopes_only_where_that_is_configured() {
    for (rule, sent) in [(RefreshScope::Omitted, ""), (RefreshScope::Granted, "read")] {
        let mut kit = Kit::new();
        kit.settings.refresh_scope = rule;
        let oauth = kit.oauth();
        kit.run(oauth.sign_in(Some(vec!["read".to_owned()])))
            .unwrap();
        kit.run(oauth.renew()).unwrap();
        let asked = kit.world.redeemed("refresh_token");
        assert_eq!(asked[0].field("scope"), sent);
    }
}

#[test]
fn preview_of_a_sign_in_names_what_would_be_asked_and_asks_nothing() {
    let mut kit = Kit::new();
    let found = kit.run(kit.oauth().dry_run(None)).unwrap();
    assert_eq!(found.issuer, "https://as.example");
    assert_eq!(found.client, None, "one would be registered");
    let redirect = found.redirect_uri.as_deref();
    assert_eq!(redirect, Some("http://localhost:PORT/callback"));
    assert_eq!(found.scopes, ["read"]);
    assert!(kit.world.seen(REGISTER).is_empty());
    assert_eq!(kit.person.windows(), 0);

    kit.settings.redirect.uri = Some("http://127.0.0.1:8123/back".parse().unwrap());
    kit.settings.client = Some(super::with_secret("known", "secret"));
    let wanted = Some(vec!["write".to_owned()]);
    let found = kit.run(kit.oauth().dry_run(wanted)).unwrap();
    assert_eq!(found.client.as_deref(), Some("known"));
    let redirect = found.redirect_uri.as_deref();
    assert_eq!(redirect, Some("http://127.0.0.1:8123/back"));
    assert_eq!(found.scopes, ["write"]);
}
