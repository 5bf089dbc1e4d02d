//! Servers that use OAuth; no person is asked, and no window opens.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Outcome};

use crate::doctor::{KEYWAY, assert_fault, assert_works};

const CALL: &[&str] = &["doctor", "--format", "json"];

fn examined(desk: &Desk) -> Outcome {
    let windows = desk.windows().len();
    let outcome = desk.keyway(CALL).run();
    assert_eq!(desk.windows().len(), windows, "no window opens");
    let leaks = desk.leaks(&outcome.everything(), &[]);
    assert!(!leaks.contains_key("what was printed"), "{leaks:?}");
    outcome
}

#[test]
fn a_missing_sign_in_is_reported_with_the_command_and_it_works_then() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let found = assert_fault(&examined(&desk), "sign-in-required", 3, "keyway login s");
    assert_eq!(found["stage"], "token");
    let outcome = desk.without_browser(CALL).run();
    assert_fault(
        &outcome,
        "sign-in-required",
        3,
        "keyway login s --no-browser",
    );
    assert!(
        desk.rig.seen("/register").is_empty(),
        "nothing was registered"
    );
    desk.sign_in();
    assert_works(&examined(&desk));
}

#[test]
fn a_port_that_is_taken_is_reported_before_a_sign_in() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let more = format!(r#", "oauth": {{"callbackPort": {port}}}"#);
    let desk = Desk::with_entry(KEYWAY, Settings::default(), &more);
    assert_fault(
        &examined(&desk),
        "callback-port-busy",
        3,
        "end the program that uses the port",
    );
    drop(taken);
    assert_fault(&examined(&desk), "sign-in-required", 3, "keyway login s");
    desk.sign_in();
    assert_works(&examined(&desk));
}

#[test]
fn metadata_of_another_issuer_is_found_without_a_sign_in() {
    let mut settings = Settings::default();
    settings.issuer = Some("https://evil.example".to_owned());
    let desk = Desk::new(KEYWAY, settings);
    let found = assert_fault(
        &examined(&desk),
        "issuer-mismatch",
        1,
        "do not sign in there",
    );
    assert_eq!(found["stage"], "discovery");
    // Its operator has corrected `issuer`.
    desk.rig.set(|settings| settings.issuer = None);
    desk.sign_in();
    assert_works(&examined(&desk));
}

#[test]
fn a_server_that_refuses_fresh_tokens_is_a_loop() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.set(|settings| settings.rejects_all = true);
    assert_fault(
        &examined(&desk),
        "oauth-loop",
        1,
        "after that: keyway login s",
    );
    // Its operator has corrected that: what the hint says is enough, also if the tokens that were
    // refused cannot be revoked.
    desk.rig.set(|settings| settings.rejects_all = false);
    desk.sign_in();
    assert_works(&examined(&desk));
}

#[test]
fn a_renewal_that_fails_for_now_costs_no_sign_in() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.reset();
    desk.rig.set(|settings| settings.token_status = Some(503));
    let outcome = examined(&desk);
    assert_fault(
        &outcome,
        "authorization-server-error",
        5,
        "nothing was lost",
    );
    desk.rig.set(|settings| settings.token_status = None);
    assert_works(&examined(&desk));
    assert_eq!(desk.windows().len(), 1);
}

#[test]
fn a_renewal_that_fails_for_good_asks_for_a_sign_in() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.reset();
    // Another client redeems the refresh token, so that it counts as stolen when it comes again.
    let origin = desk.rig.origin();
    let host = origin.strip_prefix("http://").unwrap();
    let client = desk.rig.seen("/token")[0].field("client_id").unwrap();
    for secret in desk.rig.secrets() {
        let body = format!(
            "grant_type=refresh_token&refresh_token={secret}&client_id={client}&resource={origin}/mcp"
        );
        let mut stream = TcpStream::connect(host).unwrap();
        let head = "content-type: application/x-www-form-urlencoded\r\nconnection: close";
        let length = body.len();
        let request = format!(
            "POST /token HTTP/1.1\r\nhost: {host}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        drop(stream.read_to_string(&mut answer));
    }
    let outcome = examined(&desk);
    assert_fault(&outcome, "refresh-failed", 3, "keyway login s");
    desk.sign_in();
    assert_works(&examined(&desk));
}

#[test]
fn a_scope_that_is_missing_is_named_and_agreeing_to_it_works() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig
        .set(|settings| settings.wants_scope = Some("files:write".to_owned()));
    let found = assert_fault(
        &examined(&desk),
        "insufficient-scope",
        3,
        "keyway login s --scopes",
    );
    let hint = found["hint"].as_str().unwrap();
    assert!(hint.contains("files:write"), "{hint}");
    let words: Vec<&str> = hint.split(' ').skip(1).collect();
    {
        let _person = desk.person();
        let outcome = desk.keyway(&words).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }
    assert_works(&examined(&desk));
}
