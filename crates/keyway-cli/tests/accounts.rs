//! Which sign-in is meant, what a person is shown before they agree to one, and what is said of it
//! afterwards.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use keyway_testkit::rig::{End, Settings};
use keyway_testkit::{Desk, Outcome, Terminal, visit};
use serde_json::{Value, json};
use url::Url;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

fn desk() -> Desk {
    Desk::new(KEYWAY, Settings::default())
}

#[track_caller]
fn done(desk: &Desk, arguments: &[&str]) -> Outcome {
    let outcome = desk.keyway(arguments).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    outcome
}

/// Returns the token that was sent last.
fn last_token(desk: &Desk) -> String {
    let used = desk.rig.seen("/mcp");
    let used = used.iter().rev();
    let mut tokens = used.filter_map(|seen| seen.request.header("authorization"));
    tokens.next().unwrap().to_owned()
}

#[test]
fn two_accounts_at_one_server_are_two_sign_ins() {
    let desk = desk();
    let person = desk.person();
    done(&desk, &["login", "s"]);
    done(&desk, &["login", "s", "--account", "work"]);
    drop(person);
    assert_eq!(desk.windows().len(), 2);
    let own = ["call", "s", "echo", "message=x"];
    let work = [&own[..], &["--account", "work"]].concat();
    done(&desk, &own);
    let first = last_token(&desk);
    done(&desk, &work);
    assert_ne!(last_token(&desk), first);
    // Signing out of one account keeps the other.
    done(&desk, &["logout", "s", "--account", "work"]);
    let ended: Vec<_> = desk.rig.families().iter().map(|it| it.ended).collect();
    assert_eq!(ended, [None, Some(End::SignOut)]);
    done(&desk, &own);
    assert_eq!(last_token(&desk), first);
    let gone = desk.without_browser(&work).run();
    assert_eq!(gone.code, 3, "{}", gone.everything());
}

#[test]
fn all_servers_of_a_plugin_are_left_at_once() {
    let (desk, other) = (desk(), Desk::new(KEYWAY, Settings::default()));
    let entries = json!({
        "s": { "type": "http", "url": desk.rig.mcp() },
        "t": { "type": "http", "url": other.rig.mcp() },
        "u": { "type": "http", "url": desk.rig.mcp(), "headers": { "Authorization": "Bearer ${T}" } },
    });
    desk.folder.put(".mcp.json", entries.to_string());
    let person = desk.person();
    done(&desk, &["login", "s"]);
    done(&desk, &["login", "t"]);
    drop(person);
    let left = done(&desk, &["logout", "--all"]);
    assert_eq!(
        left.stdout,
        "`s`: signed out; the tokens were revoked and deleted.\n\
         `t`: signed out; the tokens were revoked and deleted.\n"
    );
    for rig in [&desk.rig, &other.rig] {
        assert_eq!(rig.families()[0].ended, Some(End::SignOut));
    }
    let again = done(&desk, &["logout", "--all"]);
    assert_eq!(
        again.stdout,
        "`s`: was not signed in.\n`t`: was not signed in.\n"
    );
}

#[test]
fn a_person_may_name_the_scopes_and_status_says_what_was_given() {
    let desk = desk();
    let before = done(&desk, &["status"]);
    assert!(!before.stdout.contains("signed in"), "{}", before.stdout);
    let person = desk.person();
    done(&desk, &["login", "s", "--scopes", "read,write"]);
    drop(person);
    let window = Url::parse(&desk.windows()[0]).unwrap();
    let mut pairs = window.query_pairs();
    let (_, scope) = pairs.find(|(name, _)| name == "scope").unwrap();
    assert_eq!(scope, "read write");
    let said = format!(
        "signed in at {}; read write; token ends in ",
        desk.rig.origin()
    );
    desk.rig.forget();
    let after = done(&desk, &["status"]);
    assert!(after.stdout.contains(&said), "{}", after.stdout);
    assert!(after.stdout.contains(", renews itself"), "{}", after.stdout);
    let told = done(&desk, &["status", "--format", "json"]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let server = &told["servers"][0];
    assert_eq!(server["scopes"], json!(["read", "write"]));
    assert!(server["expires_at"].is_string(), "{server}");
    // All of that without a request.
    assert!(desk.rig.journal().is_empty());
}

#[test]
fn a_person_sees_which_client_asks_for_what_before_the_page() {
    let desk = desk();
    let mut login = desk.keyway(&["login", "s", "--no-browser"]).start();
    let stderr = BufReader::new(login.child.stderr.take().unwrap());
    let lines: Vec<String> = stderr.lines().map_while(Result::ok).take(6).collect();
    let page = lines.iter().find(|line| line.starts_with("http://"));
    let page = Url::parse(page.unwrap()).unwrap();
    let (_, client) = page
        .query_pairs()
        .find(|(name, _)| name == "client_id")
        .unwrap();
    let host = desk.rig.origin();
    let host = host.strip_prefix("http://").unwrap();
    assert_eq!(lines[0], "Sign in for `s`");
    assert_eq!(lines[1], format!("  at      {host}"));
    assert_eq!(lines[2], format!("  as      {client}"));
    assert_eq!(lines[3], "  scopes  tools");
}

#[test]
fn a_step_up_says_which_scope_is_new() {
    let desk = desk();
    desk.sign_in();
    desk.rig
        .set(|settings| settings.wants_scope = Some("admin".to_owned()));
    let person = desk.person();
    let words = r#""$KEYWAY" call s echo message=hello"#;
    let shown = Terminal::start(&desk.keyway(&[]), words).end();
    drop(person);
    assert!(shown.contains("Echo: hello"), "{shown}");
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    assert!(lines.contains(&"  scopes  tools"), "{shown}");
    let new = lines.iter().find(|line| line.contains("admin")).unwrap();
    assert!(new.ends_with("NEW"), "{shown}");
}

#[test]
fn the_time_left_is_shown_and_giving_up_leaves_the_old_sign_in() {
    let desk = desk();
    desk.sign_in();
    let words = r#"trap : INT; "$KEYWAY" login s --force; echo "ended with $?""#;
    let mut terminal = Terminal::start(&desk.keyway(&[]), words);
    let window = desk.window(2);
    terminal.answer(" left ", "\u{3}");
    terminal.wait_for("ended with 1");
    let shown = terminal.end();
    assert!(shown.contains("cancelled"), "{shown}");
    // No listener waits for the answer any more, and nothing has changed.
    assert!(visit(&window).is_err());
    assert_eq!(desk.rig.families().len(), 1);
    let call = desk
        .without_browser(&["call", "s", "echo", "message=x"])
        .run();
    assert_eq!(call.stdout, "Echo: x\n", "{}", call.everything());
}

#[test]
fn a_slow_answer_after_the_page_is_waited_for_with_a_line() {
    let desk = desk();
    desk.rig
        .set(|settings| settings.token_delay = Duration::from_secs(2));
    let person = desk.person();
    let terminal = Terminal::start(&desk.keyway(&[]), r#""$KEYWAY" login s"#);
    terminal.wait_for("signing in to `s`");
    let shown = terminal.end();
    drop(person);
    let (_, after) = shown.rsplit_once("signing in to `s`").unwrap();
    assert!(after.contains("\r\u{1b}[KSigned in to `s`"), "{shown:?}");
    // The page stands on lines of its own.
    let page = shown.lines().find(|line| line.starts_with("http://"));
    assert!(
        page.is_some_and(|it| !it.contains("signing in")),
        "{shown:?}"
    );
    let (terminal, person) = (
        Terminal::start(&desk.keyway(&[]), r#""$KEYWAY" rotate s"#),
        desk.person(),
    );
    terminal.wait_for("waiting for `s`");
    drop((terminal.end(), person));
}

#[test]
fn the_document_of_a_client_names_the_address_that_it_is_for() {
    let desk = desk();
    let url = "https://you.example/keyway.json";
    let printed = done(&desk, &["client-metadata", url]);
    let document: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(document["client_id"], url);
    assert_eq!(document["token_endpoint_auth_method"], "none");
    let redirects = document["redirect_uris"].as_array().unwrap();
    let redirects = redirects
        .iter()
        .map(|uri| Url::parse(uri.as_str().unwrap()).unwrap());
    assert!(redirects.clone().all(|uri| uri.path() == "/callback"));
    assert_eq!(redirects.count(), 2);
    for bad in [
        "http://you.example/keyway.json",
        "https://you.example",
        "https://you.example/k.json#x",
        "https://user@you.example/k.json",
        "you.example/k.json",
    ] {
        let refused = desk.keyway(&["client-metadata", bad]).run();
        assert_eq!(refused.code, 2, "{bad}: {}", refused.everything());
        assert_eq!(refused.stdout, "", "{bad}");
    }
}
