//! Clients with a secret: signing in, staying signed in and signing out with it, and that a secret
//! which was not approved is never sent.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests stop where they cannot go on"
)]

use keyway_testkit::rig::{Confidential, End, SecretMethod, Seen, Settings};
use keyway_testkit::{Canary, Desk, Keyway, Outcome};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");
const CLIENT: &str = "known-client";
/// What the person approved to be sent.
const APPROVED: &str = "CANARY-approved-0a1b2c3d4e5f";
/// What a changed entry would send instead.
const OTHER: &str = "CANARY-unapproved-5f4e3d2c1b0a";
const METHODS: [SecretMethod; 2] = [
    SecretMethod::ClientSecretBasic,
    SecretMethod::ClientSecretPost,
];

/// A server that knows one client, and an entry that names it.
fn desk(method: SecretMethod) -> Desk {
    let mut settings = Settings::default();
    let client = Confidential::new(APPROVED, method);
    settings.clients.insert(CLIENT.to_owned(), client);
    let desk = Desk::new(KEYWAY, settings);
    write_entry(&desk, "APPROVED");
    desk
}

/// Writes the entry with the variable that its secret comes from.
fn write_entry(desk: &Desk, variable: &str) {
    let url = desk.rig.mcp();
    let oauth = format!(r#"{{"clientId": "{CLIENT}", "clientSecret": "${{{variable}}}"}}"#);
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}", "oauth": {oauth}}}}}"#);
    desk.folder.put(".mcp.json", entry);
}

fn keyway(desk: &Desk, arguments: &[&str]) -> Keyway {
    desk.keyway(arguments).env("APPROVED", APPROVED)
}

#[track_caller]
fn done(keyway: Keyway) -> Outcome {
    ends(keyway, 0)
}

#[track_caller]
fn ends(keyway: Keyway, code: i32) -> Outcome {
    let outcome = keyway.run();
    assert_eq!(outcome.code, code, "{}", outcome.everything());
    for secret in [APPROVED, OTHER] {
        let canary = Canary::hidden(secret);
        let leak = canary.whole_in(outcome.everything().as_bytes());
        assert_eq!(leak, None, "{}", outcome.everything());
    }
    outcome
}

/// Approves the entry and signs in.
fn sign_in(desk: &Desk) {
    done(keyway(desk, &["trust", "grant", "s"]));
    let _person = desk.person();
    done(keyway(desk, &["login", "s"]));
}

fn call(desk: &Desk) -> Keyway {
    keyway(desk, &["call", "s", "echo", "message=hello"])
}

/// Says whether a request shows a secret, in whatever encoding.
fn shows(seen: &Seen, secret: &str) -> bool {
    let canary = Canary::hidden(secret);
    canary.whole_in(format!("{seen:?}").as_bytes()).is_some()
}

/// Checks that a request shows the approved secret in the one way that was agreed on.
#[track_caller]
fn assert_proved(seen: &Seen, method: SecretMethod) {
    let basic = seen.request.header("authorization");
    let posted = seen.field("client_secret");
    match method {
        SecretMethod::ClientSecretPost => {
            assert_eq!((basic, posted.as_deref()), (None, Some(APPROVED)));
        }
        _ => {
            assert!(basic.unwrap().starts_with("Basic "), "{seen:?}");
            assert_eq!(posted, None, "{seen:?}");
        }
    }
    assert!(shows(seen, APPROVED), "{seen:?}");
    assert_eq!(seen.status, 200, "{seen:?}");
}

#[test]
fn a_client_with_a_secret_signs_in_and_renews_in_the_way_that_the_server_takes() {
    for method in METHODS {
        let desk = desk(method);
        sign_in(&desk);
        assert_eq!(done(call(&desk)).stdout, "Echo: hello\n");
        desk.rig.reset();
        assert_eq!(done(call(&desk)).stdout, "Echo: hello\n");
        let asked = desk.rig.seen("/token");
        let grants: Vec<_> = asked
            .iter()
            .filter_map(|it| it.field("grant_type"))
            .collect();
        assert_eq!(grants, ["authorization_code", "refresh_token"]);
        for seen in &asked {
            assert_proved(seen, method);
        }
        assert!(desk.rig.families()[0].is_chain());
        assert_eq!(desk.windows().len(), 1);
        assert!(desk.rig.seen("/register").is_empty());
        // The secret goes to the token endpoint and nowhere else.
        for seen in desk.rig.journal() {
            assert_eq!(shows(&seen, APPROVED), seen.request.path == "/token");
        }
    }
}

#[test]
fn a_sign_out_of_an_approved_entry_shows_its_secret_and_is_accepted() {
    for method in METHODS {
        let desk = desk(method);
        sign_in(&desk);
        desk.rig.forget();
        let outcome = done(keyway(&desk, &["logout", "s"]));
        assert_eq!(
            outcome.stdout,
            "`s`: signed out; the tokens were revoked and deleted.\n"
        );
        let told = desk.rig.seen("/revoke");
        let hints: Vec<_> = told
            .iter()
            .filter_map(|seen| seen.field("token_type_hint"))
            .collect();
        assert_eq!(hints, ["refresh_token", "access_token"]);
        for seen in &told {
            assert_proved(seen, method);
        }
        assert_eq!(desk.rig.families()[0].ended, Some(End::SignOut));
        is_gone(&desk);
    }
}

/// The plugin's author changes the entry so that another variable of the person's is sent.
#[test]
fn a_sign_out_sends_no_secret_of_an_entry_that_changed_since_it_was_approved() {
    for method in METHODS {
        for other in [Some(OTHER), None] {
            let desk = desk(method);
            sign_in(&desk);
            write_entry(&desk, "OTHER");
            let logout = keyway(&desk, &["logout", "s"]);
            let logout = match other {
                Some(other) => logout.env("OTHER", other),
                None => logout,
            };
            signs_out_without_proof(&desk, logout);
            // As it was approved, it finds nothing any more.
            write_entry(&desk, "APPROVED");
            is_gone(&desk);
        }
    }
}

#[test]
fn a_sign_out_sends_no_secret_of_an_entry_whose_approval_was_taken_back() {
    for method in METHODS {
        let desk = desk(method);
        sign_in(&desk);
        done(keyway(&desk, &["trust", "revoke", "s"]));
        signs_out_without_proof(&desk, keyway(&desk, &["logout", "s"]));
        done(keyway(&desk, &["trust", "grant", "s"]));
        is_gone(&desk);
    }
}

#[track_caller]
fn signs_out_without_proof(desk: &Desk, logout: Keyway) {
    desk.rig.forget();
    let outcome = ends(logout, 1);
    for seen in desk.rig.journal() {
        for secret in [APPROVED, OTHER] {
            assert!(!shows(&seen, secret), "{seen:?}");
        }
    }
    assert_eq!(
        outcome.stdout,
        "`s`: signed out; the tokens were deleted here; they could not be revoked, because the \
         client secret is missing or not approved, so they stay valid until they expire.\n"
    );
    assert!(desk.rig.seen("/revoke").is_empty());
    assert_eq!(desk.rig.families()[0].ended, None, "as was said");
}

/// Nothing of the sign-in is left here.
#[track_caller]
fn is_gone(desk: &Desk) {
    let again = done(keyway(desk, &["logout", "s"]));
    assert_eq!(again.stdout, "`s`: was not signed in.\n");
    let call = desk.without_browser(&["call", "s", "echo"]);
    let asked = call.env("APPROVED", APPROVED).run();
    assert_eq!(asked.code, 3, "{}", asked.everything());
}

#[test]
fn a_sign_out_without_proof_says_so_to_programs() {
    let desk = desk(SecretMethod::ClientSecretBasic);
    sign_in(&desk);
    write_entry(&desk, "OTHER");
    let logout = keyway(&desk, &["logout", "s", "--format", "json"]);
    let outcome = ends(logout.env("OTHER", OTHER), 1);
    let told: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let server = told.pointer("/servers/0").unwrap();
    assert_eq!(server.pointer("/was_signed_in"), Some(&true.into()));
    assert_eq!(server.pointer("/revoked"), Some(&"no-proof".into()));
}

/// A person who lost the variable can still sign out.
#[test]
fn a_sign_out_without_the_variable_of_the_secret_says_which_one_is_missing() {
    let desk = desk(SecretMethod::ClientSecretBasic);
    for arguments in [&["logout", "s"][..], &["logout", "s", "--format", "json"]] {
        sign_in(&desk);
        desk.rig.forget();
        let outcome = ends(desk.keyway(arguments), 1);
        assert!(desk.rig.seen("/revoke").is_empty());
        if arguments.len() == 2 {
            assert_eq!(
                outcome.stdout,
                "`s`: signed out; the tokens were deleted here; they could not be revoked, because \
                 the variable `APPROVED` is not set, which holds the client secret, so they stay \
                 valid until they expire.\n"
            );
        } else {
            let told: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
            let server = told.pointer("/servers/0").unwrap();
            assert_eq!(server.pointer("/revoked"), Some(&"no-proof".into()));
            let missing = server.pointer("/missing_variables/0");
            assert_eq!(missing, Some(&"APPROVED".into()));
        }
        is_gone(&desk);
    }
}

/// The address tells which sign-in it is; without it there is none to end.
#[test]
fn a_sign_out_goes_without_any_other_variable_of_the_sign_in() {
    let desk = desk(SecretMethod::ClientSecretBasic);
    sign_in(&desk);
    let url = desk.rig.mcp();
    let oauth = format!(
        r#"{{"clientId": "{CLIENT}", "clientSecret": "${{APPROVED}}", "scopes": "${{SCOPES}}"}}"#
    );
    let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}", "oauth": {oauth}}}}}"#);
    desk.folder.put(".mcp.json", entry);
    done(keyway(&desk, &["trust", "grant", "s"]));
    let outcome = done(keyway(&desk, &["logout", "s"]));
    assert_eq!(
        outcome.stdout,
        "`s`: signed out; the tokens were revoked and deleted.\n"
    );
}

#[test]
fn a_wrong_secret_is_told_and_costs_no_sign_in() {
    for method in METHODS {
        let desk = desk(method);
        sign_in(&desk);
        desk.rig.reset();
        let wrong = desk.keyway(&["call", "s", "echo"]).env("APPROVED", OTHER);
        let refused = wrong.run();
        assert_ne!(refused.code, 0);
        assert!(
            refused.stderr.contains("clientSecret"),
            "says where to look: {}",
            refused.stderr
        );
        assert!(Canary::hidden(OTHER).leak(&refused.everything()).is_none());
        assert_eq!(done(call(&desk)).stdout, "Echo: hello\n");
        assert_eq!(desk.windows().len(), 1);
    }
}
