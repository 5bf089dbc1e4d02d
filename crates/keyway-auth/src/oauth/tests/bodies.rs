//! Bodies that no server should send, at every endpoint: always an error, and the store as it was.

use keyway_code::Code;
use serde_json::{Value, json};

use crate::oauth::Revoked;
use crate::oauth::testing::{
    Kit, MCP, META, PRM, PRM_ROOT, REGISTER, REVOKE, Reply, TOKEN, metadata, resource,
};
use crate::{AuthError, oauth::OAuth};

/// Bodies that are not a document at all.
fn no_documents() -> Vec<Vec<u8>> {
    let texts = [
        "",
        " ",
        "\n\r\t",
        "\0",
        "null",
        "true",
        "0",
        "-1e999",
        "\"text\"",
        "[]",
        "[{}]",
        "{",
        "}",
        "{}}",
        "{} {}",
        "{}x",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":undefined}",
        "{\"a\":01}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":0x1}",
        "{\"a\":\"\u{1}\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":tru}",
        "{\"a\":1 /* why */}",
        "// why\n{}",
        "{\"a\":1}{\"a\":2}",
        "{\"a\":1,\"a\":2}",
        "{\"issuer\":\"x\",\"\\u0069ssuer\":\"y\"}",
        "<!doctype html><html></html>",
        "access_token=at-9&token_type=bearer",
        "data: {}\n\n",
        "OK",
        "\u{feff}{}",
    ];
    let mut bodies: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    bodies.push(b"\xff\xfe{\0}\0".to_vec());
    bodies.push(b"{\"a\":\"\xc3\x28\"}".to_vec());
    bodies.push(b"{\"a\":\"\xed\xa0\x80\"}".to_vec());
    bodies.push(b"\x1f\x8b\x08\0\0\0\0\0".to_vec());
    bodies.push("[".repeat(100_000).into_bytes());
    bodies.push("{\"a\":".repeat(100_000).into_bytes());
    bodies.push(format!("{{\"a\":{}1{}}}", "[".repeat(65), "]".repeat(65)).into_bytes());
    bodies.push(format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20)).into_bytes());
    bodies.push(vec![b' '; (1 << 20) + 1]);
    let many = (0..1001).map(|number| format!("\"m{number}\":0"));
    bodies.push(format!("{{{}}}", many.collect::<Vec<_>>().join(",")).into_bytes());
    bodies
}

/// A document with one member that is of the wrong kind, each in turn.
fn wrong_kinds(good: &Value, members: &[&str]) -> Vec<Vec<u8>> {
    let long = "x".repeat(70_000);
    let mut bodies = Vec::new();
    for member in members {
        for wrong in [
            json!(1),
            json!(true),
            json!({ "a": 1 }),
            json!([1]),
            json!([["https://as.example"]]),
            json!(long),
        ] {
            let mut document = good.clone();
            document[*member] = wrong;
            bodies.push(document.to_string().into_bytes());
        }
    }
    bodies
}

/// Seconds that are not a number.
fn wrong_seconds(good: &Value, member: &str) -> Vec<Vec<u8>> {
    let wrong = [
        "-1", "-0.5", "\"1.x\"", "\"soon\"", "\"-3\"", "\"\"", "[]", "{}", "true", "\"1e9\"",
    ];
    let made = wrong.iter().map(|wrong| {
        let mut document = good.clone();
        document[member] = json!("HERE");
        let text = document.to_string();
        text.replace("\"HERE\"", wrong).into_bytes()
    });
    made.collect()
}

/// Does something with each body at an address; it has to fail and leave the store alone. Time
/// stands still, so nothing can be waited for.
fn fails_with_each(
    at: &str,
    bodies: Vec<Vec<u8>>,
    act: impl Fn(&Kit, &OAuth) -> Result<(), AuthError>,
) {
    let kit = Kit::new();
    kit.signed_in();
    let before = kit.stored().unwrap();
    assert!(bodies.len() >= 60, "{}", bodies.len());
    for body in bodies {
        let shown = String::from_utf8_lossy(body.get(..body.len().min(200)).unwrap()).into_owned();
        let statuses: &[u16] = if body.len() > 100_000 {
            &[200]
        } else {
            &[200, 201, 400]
        };
        for status in statuses {
            kit.world.route(at, [Reply::raw(*status, body.clone())]);
            let error = act(&kit, &kit.oauth()).expect_err(&shown);
            assert!(!error.to_string().contains("at-9"), "{shown}");
            let after = kit.stored().unwrap();
            assert_eq!(after.generation, before.generation, "{shown}");
            assert!(after.access.is_same_as(&before.access), "{shown}");
            assert_eq!(after.state, before.state, "{shown}");
        }
    }
}

fn sign_in(kit: &Kit, oauth: &OAuth) -> Result<(), AuthError> {
    kit.run(oauth.sign_in(None)).map(drop)
}

#[test]
fn a11_resource_metadata_that_cannot_be_read_stops_a_sign_in() {
    let good = resource("https://as.example");
    let members = ["resource", "authorization_servers", "scopes_supported"];
    let mut bodies = no_documents();
    bodies.extend(wrong_kinds(&good, &members));
    let mut flag = good;
    flag["dpop_bound_access_tokens_required"] = json!("true");
    bodies.push(flag.to_string().into_bytes());
    let kit = Kit::new();
    kit.signed_in();
    let before = kit.stored().unwrap();
    assert!(bodies.len() >= 60);
    let windows = kit.person.windows();
    for body in bodies {
        let shown = String::from_utf8_lossy(body.get(..body.len().min(200)).unwrap()).into_owned();
        for at in [PRM, PRM_ROOT] {
            kit.world.route(at, [Reply::raw(200, body.clone())]);
        }
        let error = sign_in(&kit, &kit.oauth()).expect_err(&shown);
        assert!(
            matches!(error.code(), Code::BadMetadata | Code::ResourceMismatch),
            "{shown}: {error}"
        );
        assert_eq!(kit.stored().unwrap().generation, before.generation);
        assert_eq!(kit.person.windows(), windows, "{shown}");
    }
}

#[test]
fn a11_server_metadata_that_cannot_be_read_stops_a_sign_in() {
    let good = metadata("https://as.example");
    let members = [
        "issuer",
        "authorization_endpoint",
        "token_endpoint",
        "registration_endpoint",
        "revocation_endpoint",
        "code_challenge_methods_supported",
        "token_endpoint_auth_methods_supported",
        "scopes_supported",
    ];
    let mut bodies = no_documents();
    bodies.extend(wrong_kinds(&good, &members));
    let kit = Kit::new();
    kit.signed_in();
    let before = kit.stored().unwrap();
    assert!(bodies.len() >= 60);
    let windows = kit.person.windows();
    for body in bodies {
        let shown = String::from_utf8_lossy(body.get(..body.len().min(200)).unwrap()).into_owned();
        kit.world.route(META, [Reply::raw(200, body.clone())]);
        sign_in(&kit, &kit.oauth()).expect_err(&shown);
        assert_eq!(kit.stored().unwrap().generation, before.generation);
        assert_eq!(kit.person.windows(), windows, "{shown}");
    }
}

#[test]
fn a11_a_registration_that_cannot_be_read_stops_a_sign_in() {
    let good = json!({ "client_id": "c" });
    let mut bodies = no_documents();
    let members = ["client_id", "client_secret", "token_endpoint_auth_method"];
    bodies.extend(wrong_kinds(&good, &members));
    bodies.extend(wrong_seconds(&good, "client_secret_expires_at"));
    bodies.push(b"{}".to_vec());
    bodies.push(b"{\"client_id\":null}".to_vec());
    bodies.push(b"{\"client_id\":\"c\",\"token_endpoint_auth_method\":\"tls\"}".to_vec());
    let act = |kit: &Kit, oauth: &OAuth| {
        let busy = 40_001 + u16::try_from(kit.world.seen(REGISTER).len()).unwrap();
        // Taken, so that the kept registration cannot be used.
        (40_001..=busy).for_each(|port| kit.person.occupy(port));
        let windows = kit.person.windows();
        let outcome = sign_in(kit, oauth);
        assert_eq!(kit.person.windows(), windows);
        let code = outcome.as_ref().err().map(AuthError::code);
        assert_ne!(code, Some(Code::CallbackPortBusy), "another is free");
        outcome
    };
    fails_with_each(REGISTER, bodies, act);
}

/// Answers in which no token can be read.
fn no_tokens() -> Vec<Vec<u8>> {
    let good = json!({ "access_token": "at-9", "token_type": "Bearer" });
    let mut bodies = no_documents();
    bodies.extend(wrong_kinds(&good, &["access_token"]));
    for text in [
        "{}",
        "{\"access_token\":null}",
        "{\"access_token\":\"\"}",
        "{\"access_token\":\"at 9\"}",
        "{\"access_token\":\"at-9\\r\\nX: y\"}",
        "{\"access_token\":\"at-9\\u0000\"}",
        "{\"access_token\":\"ät\"}",
        "{\"access_token\":\"at-9\",\"error\":\"invalid_request\"}",
        "{\"error\":\"invalid_request\"}",
        "{\"error\":7,\"access_token\":\"\"}",
    ] {
        bodies.push(text.as_bytes().to_vec());
    }
    bodies
}

#[test]
fn a11_tokens_that_cannot_be_read_end_a_sign_in_and_change_nothing() {
    fails_with_each(TOKEN, no_tokens(), sign_in);
}

#[test]
fn a11_tokens_that_cannot_be_read_end_a_renewal_and_change_nothing() {
    fails_with_each(TOKEN, no_tokens(), |kit, oauth| kit.run(oauth.renew()));
}

/// The server has replaced the refresh token by then: what was issued must not be thrown away.
#[test]
fn a11_token_is_kept_whatever_else_the_answer_says() {
    let good = json!({ "access_token": "at-9", "refresh_token": "rt-9" });
    let mut bodies = wrong_kinds(&good, &["token_type", "scope", "id_token"]);
    bodies.extend(wrong_seconds(&good, "expires_in"));
    bodies.extend(wrong_kinds(&good, &["refresh_token"]));
    assert!(bodies.len() >= 20);
    for body in bodies {
        let shown = String::from_utf8_lossy(&body).into_owned();
        let kit = Kit::new();
        let oauth = kit.signed_in();
        kit.world.route(TOKEN, [Reply::raw(200, body)]);
        kit.run(oauth.renew()).expect(&shown);
        assert_eq!(kit.stored_access(), "at-9", "{shown}");
    }
}

#[test]
fn a11_whatever_a_revocation_is_answered_with_the_sign_in_is_gone() {
    let kit = Kit::new();
    for body in no_documents() {
        for (status, revoked) in [(200, Revoked::Done), (400, Revoked::Refused)] {
            let oauth = kit.oauth();
            kit.run(oauth.sign_in(None)).unwrap();
            kit.world.route(REVOKE, [Reply::raw(status, body.clone())]);
            assert_eq!(kit.run(oauth.sign_out()).unwrap().revoked, revoked);
            assert!(kit.stored().is_none());
        }
    }
}

#[test]
fn a11_lifetimes_that_servers_really_send_are_understood() {
    for (sent, lives) in [
        ("3600", Some(3600)),
        ("\"3600\"", Some(3600)),
        ("3600.0", Some(3600)),
        ("31.5", Some(31)),
        ("\"31.5\"", Some(31)),
        ("1e3", Some(1000)),
        ("1e308", Some(3_153_600_000)),
        ("99999999999999999999", Some(3_153_600_000)),
        ("null", None),
        ("0", None),
    ] {
        let kit = Kit::new();
        let body = format!("{{\"access_token\":\"at-9\",\"expires_in\":{sent}}}");
        kit.world.route(TOKEN, [Reply::raw(200, body)]);
        kit.world.route(MCP, [Reply::raw(401, "")]);
        kit.run(kit.oauth().sign_in(None)).unwrap();
        let stored = kit.stored().unwrap();
        let left = stored.expires_at.map(|at| at.since(stored.now).as_secs());
        let is_near = |(left, lives): (u64, u64)| lives.abs_diff(left) <= 5;
        assert_eq!(left.is_some(), lives.is_some(), "{sent}");
        assert!(left.zip(lives).is_none_or(is_near), "{sent}: {left:?}");
    }
}
