//! `keyway vault key`, `move` and `import`, and `keyway login --for`: a sign-in has one holder.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests stop where they cannot go on"
)]

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Keyway, Outcome, Terminal};
use serde_json::Value;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// A call in the container: the same plugin, a home of its own, no browser.
fn there(desk: &Desk, words: &[&str]) -> Keyway {
    let call = desk.without_browser(words);
    call.env("KEYWAY_HOME", desk.folder.at("home/container"))
}

fn done(call: Keyway) -> Outcome {
    let outcome = call.run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    outcome
}

/// Returns the key of the container's vault and its fingerprint.
fn key(desk: &Desk) -> (String, String) {
    let outcome = done(there(desk, &["vault", "key"]));
    let fingerprint = outcome.stderr.trim().strip_prefix("fingerprint ").unwrap();
    (outcome.stdout.trim().to_owned(), fingerprint.to_owned())
}

/// Runs words on a terminal here, says yes to the question, and returns what was shown.
fn yes(desk: &Desk, words: &str) -> String {
    let mut terminal = Terminal::start(&desk.keyway(&[]), words);
    terminal.answer("Hand it over? [y/N]", "y\r");
    terminal.end()
}

fn server(status: Keyway) -> Value {
    let mut status: Value = serde_json::from_str(&done(status).stdout).unwrap();
    status["servers"][0].take()
}

fn calls(call: Keyway) {
    let outcome = done(call);
    assert_eq!(outcome.stdout, "Echo: x\n", "{}", outcome.everything());
}

#[test]
fn a_sign_in_moves_to_a_container_and_leaves_this_vault() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let (key, fingerprint) = key(&desk);

    let words = ["vault", "move", "s", "--to", &key];
    let refused = desk.keyway(&words).run();
    assert_eq!(refused.code, 2, "{}", refused.everything());
    assert!(
        refused.stderr.contains("only after a yes on a terminal"),
        "{}",
        refused.stderr
    );
    let mut terminal = Terminal::start(
        &desk.keyway(&[]),
        &format!("\"$KEYWAY\" {}", words.join(" ")),
    );
    terminal.answer("Hand it over? [y/N]", "n\r");
    let shown = terminal.end();
    assert!(shown.contains(&fingerprint), "{shown}");
    calls(desk.keyway(&["call", "s", "echo", "message=x"]));

    let shown = yes(&desk, &format!("\"$KEYWAY\" {} > sealed", words.join(" ")));
    assert!(shown.contains("left this vault"), "{shown}");
    let sealed = std::fs::read_to_string(desk.folder.at("sealed")).unwrap();
    let here = server(desk.keyway(&["status", "s", "--format", "json"]));
    assert_eq!(here["moved_to"], fingerprint.as_str());
    let listed = done(desk.keyway(&["status", "s"])).stdout;
    assert!(
        listed.contains(&format!("moved to the vault {fingerprint}")),
        "{listed}"
    );
    let call = desk
        .without_browser(&["call", "s", "echo", "message=x"])
        .run();
    assert_eq!(call.code, 3, "{}", call.everything());
    // A file that was lost is written again, without a question: it opens there alone.
    let again = done(desk.keyway(&words)).stdout;
    assert_eq!(again, sealed);

    done(there(&desk, &["vault", "import", "s"]).stdin(sealed.clone()));
    calls(there(&desk, &["call", "s", "echo", "message=x"]));
    desk.rig.reset();
    calls(there(&desk, &["call", "s", "echo", "message=x"]));
    assert_eq!(desk.rig.refreshes(), 1, "with the refresh token that moved");
    assert!(desk.rig.families()[0].is_chain());
    assert_eq!(desk.windows().len(), 1);

    let twice = there(&desk, &["vault", "import", "s"])
        .stdin(sealed.clone())
        .run();
    assert_eq!(twice.code, 1, "{}", twice.everything());
    assert!(twice.stderr.contains("imported before"), "{}", twice.stderr);
    assert!(
        twice.stderr.contains("keyway login SERVER --for KEY"),
        "{}",
        twice.stderr
    );
    let back = desk
        .keyway(&["vault", "import", "s"])
        .stdin(sealed.clone())
        .run();
    assert_eq!(back.code, 1, "{}", back.everything());
    assert!(
        back.stderr.contains("sealed for another vault"),
        "{}",
        back.stderr
    );
    assert!(desk.leaks(&shown, &[]).is_empty(), "{shown}");
    let signed_out = done(desk.keyway(&["logout", "s"]));
    assert!(
        desk.rig.seen("/revoke").is_empty(),
        "{}",
        signed_out.everything()
    );
    calls(there(&desk, &["call", "s", "echo", "message=x"]));
}

#[test]
fn a_second_sign_in_is_made_for_a_container_and_the_first_stays() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let (key, fingerprint) = key(&desk);
    let refused = desk.keyway(&["login", "s", "--for", &key]).run();
    assert_eq!(refused.code, 2, "{}", refused.everything());
    let person = desk.person();
    let shown = yes(&desk, &format!("\"$KEYWAY\" login s --for {key} > sealed"));
    drop(person);
    assert!(shown.contains(&fingerprint), "{shown}");
    let imported = there(&desk, &["vault", "import", "s", "--from", "sealed"]);
    done(imported);
    for _ in 0..2 {
        calls(desk.keyway(&["call", "s", "echo", "message=x"]));
        calls(there(&desk, &["call", "s", "echo", "message=x"]));
        desk.rig.reset();
    }
    assert_eq!(desk.rig.families().len(), 2, "two sign-ins");
    assert!(desk.rig.families().iter().all(|family| family.is_chain()));
    assert_eq!(desk.windows().len(), 2);
}

#[test]
fn what_is_not_a_key_or_not_a_sign_in_is_refused_with_the_command_that_makes_one() {
    let desk = Desk::new(KEYWAY, Settings::default());
    let outcome = desk.keyway(&["vault", "move", "s", "--to", "x"]).run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("keyway vault key"),
        "{}",
        outcome.stderr
    );
    let outcome = there(&desk, &["vault", "import", "s"]).stdin("x").run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("keyway vault move"),
        "{}",
        outcome.stderr
    );
}
