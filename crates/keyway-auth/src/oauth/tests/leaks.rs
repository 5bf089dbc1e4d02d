//! Where tokens and headers may go, and where they may not.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde_json::json;

use crate::Authorizer as _;
use crate::oauth::testing::{Kit, MCP, PRM, PRM_ROOT, Reply, TOKEN, bearer};
use crate::oauth::{ResourceRule, Server};

#[test]
fn c1_every_request_for_a_token_says_what_it_is_for() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    let page = &kit.person.questions()[0].url;
    let mut pairs = page.query_pairs();
    assert!(pairs.any(|(name, value)| name == "resource" && value == MCP));
    for grant_type in ["authorization_code", "refresh_token"] {
        let asked = kit.world.redeemed(grant_type);
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].field("resource"), MCP, "{grant_type}");
    }
}

#[test]
fn c1_a_server_without_metadata_is_called_by_its_address() {
    let mut kit = Kit::new();
    // Before 2025-06-18 there was none, and the server was its own issuer.
    for at in [PRM, PRM_ROOT] {
        kit.world.route(at, [Reply::raw(404, "")]);
    }
    let mut document = kit.honest.metadata();
    document["issuer"] = json!("https://mcp.example");
    let at = "https://mcp.example/.well-known/oauth-authorization-server";
    kit.world.route(at, [Reply::json(200, &document)]);
    kit.signed_in();
    let asked = kit.world.redeemed("authorization_code");
    assert_eq!(asked[0].field("resource"), MCP);
    for (rule, sent) in [
        (ResourceRule::Omit, ""),
        (ResourceRule::Exactly("api://x".to_owned()), "api://x"),
    ] {
        kit.settings.resource = rule;
        kit.run(kit.oauth().sign_in(None)).unwrap();
        let asked = kit.world.redeemed("authorization_code");
        assert_eq!(asked.last().unwrap().field("resource"), sent);
    }
}

#[test]
fn c1_c2_another_key_finds_no_token() {
    let mut kit = Kit::new();
    kit.signed_in();
    kit.key = kit.key.clone().resource("https://other.example/mcp");
    let others = kit.oauth();
    let credential = kit.run(others.obtain()).unwrap();
    assert_eq!(bearer(&credential), "");
    assert_eq!(kit.call(&others).unwrap(), 200);
    assert_eq!(kit.person.windows(), 2, "a sign-in of its own");
}

#[test]
fn c1_a_token_goes_to_the_server_alone() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    kit.call(&oauth).unwrap();
    for seen in kit.world.journal() {
        if seen.url.as_str() != MCP {
            assert!(!seen.text().contains("Bearer"), "{}", seen.url);
            assert!(!seen.text().contains("at-"), "{}", seen.url);
        }
        assert!(!seen.url.as_str().contains("at-"));
    }
}

#[test]
fn c4_configured_headers_reach_the_server_alone() {
    let mut kit = Kit::new();
    kit.fixed = vec![(
        HeaderName::from_static("x-api-key"),
        HeaderValue::from_static("CANARY-KEY"),
    )];
    let oauth = kit.oauth();
    kit.run(oauth.sign_in(None)).unwrap();
    kit.call(&oauth).unwrap();
    kit.honest.reset();
    kit.call(&oauth).unwrap();
    kit.run(oauth.sign_out()).unwrap();
    let mut reached = 0;
    for seen in kit.world.journal() {
        let has = seen.text().contains("CANARY-KEY");
        assert_eq!(has, seen.url.as_str() == MCP, "{}", seen.url);
        reached += usize::from(has);
    }
    assert!(reached >= 3);
}

#[test]
fn t13_neither_tokens_nor_codes_nor_secrets_appear_in_what_can_be_printed() {
    let kit = Kit::new();
    kit.honest.add(json!({}));
    let registered = json!({ "client_id": "c-1", "client_secret": "CANARY-SECRET" });
    let at = crate::oauth::testing::REGISTER;
    kit.world.route(at, [Reply::json(201, &registered)]);
    let oauth = kit.signed_in();
    let credential = kit.run(oauth.obtain()).unwrap();
    let mut printed = format!("{oauth:?} {credential:?} {:?}", kit.person.questions());
    kit.honest.reset();
    let leaky = json!({ "error": "server_error", "access_token": "CANARY-A", "refresh_token": 7 });
    for reply in [
        Reply::json(200, &json!({ "access_token": ["CANARY-B"] })),
        Reply::json(
            200,
            &json!({ "access_token": "CANARY C", "refresh_token": "CANARY-D" }),
        ),
        Reply::json(500, &leaky),
        Reply::raw(200, "{\"access_token\": \"CANARY-E"),
    ] {
        kit.world.route(TOKEN, [reply]);
        kit.clock.advance(Duration::from_secs(100));
        let error = kit.call(&oauth).unwrap_err();
        printed.push_str(&format!("{error} {error:?}"));
    }
    for secret in ["CANARY", "at-1", "rt-1", "code-1"] {
        assert!(!printed.contains(secret), "{secret} in {printed}");
    }
}

#[test]
fn the_address_of_a_server_is_not_printed() {
    let kit = Kit::new();
    let server = Server {
        name: "search".to_owned(),
        url: "https://mcp.example/CANARY".parse().unwrap(),
        key: kit.key.clone(),
    };
    assert!(!format!("{server:?}").contains("CANARY"));
}
