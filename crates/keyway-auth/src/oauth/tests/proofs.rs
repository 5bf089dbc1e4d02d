//! Tokens that are bound to a key, and the nonces that servers want in the proofs.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_code::Code;
use keyway_store::{Claim, GrantStore as _};
use serde_json::{Value, json};

use super::{eventually, redeemed};
use crate::oauth::DpopRule;
use crate::oauth::testing::{Kit, MCP, Reply, Seen, TOKEN};

/// The parts of a proof that a request carried.
fn proof(seen: &Seen, part: usize) -> Value {
    let proof = seen.header("dpop");
    let part = proof.split('.').nth(part).unwrap_or_default();
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn nonce(seen: &Seen) -> String {
    proof(seen, 1)["nonce"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn dpop() -> Kit {
    let kit = Kit::new();
    kit.honest.challenge("DPoP algs=\"ES256\", scope=\"read\"");
    kit.honest
        .say("dpop_signing_alg_values_supported", json!(["ES256"]));
    kit.honest
        .add(json!({ "token_type": "DPoP", "expires_in": 3600 }));
    kit
}

#[test]
fn a_server_that_wants_bound_tokens_gets_them_and_a_proof_with_each_request() {
    let kit = dpop();
    let oauth = kit.signed_in();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    let asked = kit.world.redeemed("authorization_code").remove(0);
    assert_eq!(proof(&asked, 1)["htu"], TOKEN);
    let key = proof(&asked, 0)["jwk"].clone();
    let used = kit.world.seen(MCP);
    let [.., one, other] = &used[..] else {
        panic!("two requests");
    };
    assert_eq!(one.header("authorization"), "DPoP at-1");
    assert_eq!(proof(one, 0)["jwk"], key);
    assert_eq!(proof(one, 1)["htu"], MCP);
    assert!(proof(one, 1)["ath"].is_string());
    assert_ne!(
        proof(one, 1)["jti"],
        proof(other, 1)["jti"],
        "never the same twice"
    );
    let page = &kit.person.questions()[0].url;
    assert!(page.as_str().contains("dpop_jkt="));
}

#[test]
fn a_bound_token_is_renewed_with_the_same_key_by_another_process() {
    let kit = dpop();
    kit.signed_in();
    kit.honest.reset();
    let other = kit.process(&kit.other_shelf());
    assert_eq!(kit.call(&other).unwrap(), 200);
    let first = kit.world.redeemed("authorization_code").remove(0);
    let renewed = kit.world.redeemed("refresh_token").remove(0);
    assert_eq!(proof(&first, 0)["jwk"], proof(&renewed, 0)["jwk"]);
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn a_nonce_that_the_token_endpoint_wants_is_sent_with_the_second_request() {
    let kit = dpop();
    let honest = kit.honest.clone();
    kit.world.answer(TOKEN, move |seen| {
        if nonce(seen) != "n-1" {
            return Reply::error(400, "use_dpop_nonce").header("dpop-nonce", "n-1");
        }
        honest.token(seen)
    });
    let oauth = kit.signed_in();
    assert_eq!(kit.world.seen(TOKEN).len(), 2);
    kit.honest.reset();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.world.seen(TOKEN).len(), 3, "it is remembered");
}

#[test]
fn a_request_with_the_nonce_is_sent_only_with_the_full_time_for_its_answer() {
    for (delay, is_repeated) in [(5, true), (40, false)] {
        let kit = dpop();
        let oauth = kit.signed_in();
        let honest = kit.honest.clone();
        kit.world.answer(TOKEN, move |seen| {
            if nonce(seen) != "n-1" {
                return Reply::error(400, "use_dpop_nonce")
                    .header("dpop-nonce", "n-1")
                    .after(Duration::from_secs(delay));
            }
            honest.token(seen)
        });
        kit.honest.reset();
        kit.clock.let_pass(50);
        let called = kit.call(&oauth);
        if is_repeated {
            assert_eq!(called.unwrap(), 200);
            assert_eq!(redeemed(&kit), 2);
            continue;
        }
        called.unwrap_err();
        let (other, generation) = (kit.other_shelf(), kit.stored().unwrap().generation);
        eventually("the claim is given back", || {
            kit.clock.advance(Duration::from_millis(500));
            match other.claim(&kit.key, generation, Duration::ZERO).unwrap() {
                Claim::Claimed(claimed) => other.release(&kit.key, claimed.id).unwrap(),
                Claim::Held { .. } => false,
                sent => panic!("{sent:?}"),
            }
        });
        assert_eq!(redeemed(&kit), 1, "it was too late for another");
        kit.clock.advance(Duration::from_secs(5));
        assert_eq!(kit.call(&oauth).unwrap(), 200, "the next request has it");
        assert_eq!(redeemed(&kit), 2);
    }
}

#[test]
fn a_token_endpoint_that_always_wants_another_nonce_is_asked_twice() {
    let kit = dpop();
    let count = std::sync::atomic::AtomicU32::new(0);
    kit.world.answer(TOKEN, move |_| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Reply::error(400, "use_dpop_nonce").header("dpop-nonce", &format!("n-{number}"))
    });
    kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(kit.world.seen(TOKEN).len(), 2);
}

#[test]
fn a_nonce_that_the_server_wants_is_sent_without_a_new_token() {
    let kit = dpop();
    let oauth = kit.signed_in();
    kit.world.answer(MCP, |seen| {
        if nonce(seen) == "n-7" {
            return Reply::raw(200, "");
        }
        let told = "DPoP error=\"use_dpop_nonce\"";
        Reply::raw(401, "")
            .header("www-authenticate", told)
            .header("dpop-nonce", "n-7")
    });
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.world.seen(TOKEN).len(), 1);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.world.seen(MCP).len(), 2 + 2 + 1, "it is remembered");
}

#[test]
fn tokens_are_bound_where_the_issuer_can_if_the_person_wants_it() {
    let mut kit = Kit::new();
    kit.settings.dpop = DpopRule::Always;
    kit.signed_in();
    assert_eq!(kit.world.seen(TOKEN)[0].header("dpop"), "", "it cannot");
    kit.honest
        .say("dpop_signing_alg_values_supported", json!(["ES256"]));
    kit.run(kit.oauth().sign_in(None)).unwrap();
    assert_ne!(kit.world.seen(TOKEN)[1].header("dpop"), "");
    kit.settings.dpop = DpopRule::Never;
    kit.run(kit.oauth().sign_in(None)).unwrap();
    assert_eq!(kit.world.seen(TOKEN)[2].header("dpop"), "");
}

#[test]
fn a_token_that_is_bound_to_a_foreign_key_is_not_kept() {
    let kit = Kit::new();
    kit.honest.add(json!({ "token_type": "DPoP" }));
    let error = kit.call(&kit.oauth()).unwrap_err();
    assert_eq!(error.code(), Code::BadMetadata);
    assert!(kit.stored().is_none());
}
