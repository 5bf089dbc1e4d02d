//! `keyway logout`: no refresh token is left at the server, those that were replaced included.

use keyway_testkit::rig::{Revocation, Settings};
use keyway_testkit::{Desk, Outcome};
use serde_json::Value;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

#[track_caller]
fn done(desk: &Desk, arguments: &[&str]) -> Outcome {
    let outcome = desk.keyway(arguments).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    outcome
}

/// A desk where the person signed in twice and agreed to one scope more.
fn three_times_signed_in(revocation: Revocation) -> Desk {
    let mut settings = Settings::default();
    settings.revocation = revocation;
    let desk = Desk::new(KEYWAY, settings);
    let person = desk.person();
    done(&desk, &["login", "s"]);
    done(&desk, &["login", "s", "--force"]);
    desk.rig
        .set(|settings| settings.wants_scope = Some("admin".to_owned()));
    done(&desk, &["call", "s", "echo", "message=x"]);
    drop(person);
    assert_eq!(desk.windows().len(), 3, "the last for one scope more");
    desk
}

#[test]
fn a_new_sign_in_works_and_logout_leaves_no_live_refresh_token_however_the_server_revokes() {
    for revocation in [Revocation::Token, Revocation::Grant, Revocation::Family] {
        let desk = three_times_signed_in(revocation);
        assert!(desk.rig.seen("/revoke").is_empty(), "nothing ends early");
        assert_eq!(desk.rig.live_refresh_tokens(), 3);
        // The newest access token and the newest refresh token both work.
        done(&desk, &["call", "s", "echo", "message=x"]);
        desk.rig.reset();
        done(&desk, &["call", "s", "echo", "message=x"]);
        assert_eq!(desk.rig.refreshes(), 1);
        assert_eq!(desk.windows().len(), 3);
        let told = done(&desk, &["logout", "s"]).stdout;
        assert_eq!(desk.rig.live_refresh_tokens(), 0, "{revocation:?}");
        assert!(
            told.contains("the tokens were revoked and deleted"),
            "{told}"
        );
        let replaced = "so were 2 refresh tokens that later sign-ins had replaced";
        assert!(told.contains(replaced), "{told}");
    }
}

#[test]
fn what_was_revoked_is_told_to_programs() {
    let desk = three_times_signed_in(Revocation::Token);
    let told = done(&desk, &["logout", "s", "--format", "json"]).stdout;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["servers"][0]["revoked"], "done");
    assert_eq!(told["servers"][0]["replaced_revoked"], 2);
    assert_eq!(desk.rig.live_refresh_tokens(), 0);
}

/// The server is away when the person signs out: what lives on there is told, and not forgotten.
#[test]
fn a_refresh_token_that_could_not_be_revoked_is_told_and_revoked_by_the_next_logout() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig
        .set(|settings| settings.revocation_status = Some(503));
    let first = desk.keyway(&["logout", "s"]).run();
    assert_eq!(first.code, 1, "{}", first.everything());
    assert!(
        first
            .stdout
            .contains("which stays valid there until it expires: sign out again"),
        "{}",
        first.everything()
    );
    assert_eq!(desk.rig.live_refresh_tokens(), 1);
    let call = desk
        .without_browser(&["call", "s", "echo", "message=x"])
        .run();
    assert_eq!(call.code, 3, "no command uses it: {}", call.everything());
    let again = desk.keyway(&["logout", "s", "--format", "json"]).run();
    assert_eq!(again.code, 1, "{}", again.everything());
    let told: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(told["servers"][0]["revoked"], "failed");
    assert_eq!(told["servers"][0]["pending"], 1);
    desk.rig.set(|settings| settings.revocation_status = None);
    let last = done(&desk, &["logout", "s"]).stdout;
    assert!(
        last.contains("what an earlier sign-out left was revoked"),
        "{last}"
    );
    assert_eq!(desk.rig.live_refresh_tokens(), 0);
}
