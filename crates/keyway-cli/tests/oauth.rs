//! Signing in and staying signed in, as the built program does it, against a server that misbehaves
//! on command. Numbers are those of the tests that other clients were measured with.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use std::thread;
use std::time::Duration;

use keyway_testkit::rig::{Consent, Delivery, End, Iss, Settings};
use keyway_testkit::{Desk, Outcome, Running, eventually, visit};
use url::Url;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

fn desk(change: impl FnOnce(&mut Settings)) -> Desk {
    let mut settings = Settings::default();
    change(&mut settings);
    Desk::new(KEYWAY, settings)
}

#[track_caller]
fn assert_echo(outcome: &Outcome) {
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert_eq!(outcome.stdout, "Echo: hello\n", "{}", outcome.everything());
}

/// Where the page leads back to.
fn callback(window: &str) -> String {
    let window = Url::parse(window).unwrap();
    let mut pairs = window.query_pairs();
    let (_, back) = pairs.find(|(name, _)| name == "redirect_uri").unwrap();
    back.into_owned()
}

#[test]
fn first_use_signs_in_and_the_next_start_does_not_ask() {
    let desk = desk(|_| {});
    let person = desk.person();
    assert_echo(&desk.call().run());
    drop(person);
    assert_eq!(desk.windows().len(), 1);
    desk.rig.forget();
    assert_echo(&desk.call().run());
    assert_eq!(desk.windows().len(), 1);
    let asked = desk.rig.oauth_requests();
    assert!(asked.is_empty(), "{asked:?}");
    let refused = desk.rig.seen("/mcp").into_iter();
    assert_eq!(refused.filter(|seen| seen.status == 401).count(), 0);
}

/// T1, T2, T3 and threat B4: nothing that lacks our `state` ends a sign-in.
#[test]
fn t1_t2_t3_a_forged_callback_changes_nothing_and_the_real_one_completes() {
    for iss in [Iss::Named, Iss::Absent] {
        forge(&desk(|settings| settings.iss = iss));
    }
}

fn forge(desk: &Desk) {
    let mut call = desk.call().start();
    let window = desk.window(1);
    let back = callback(&window);
    for forged in [
        "?code=EVIL",
        "?code=EVIL&state=nope",
        "?error=access_denied",
        "?error=access_denied&state=nope",
        "?state=&code=EVIL",
        "",
    ] {
        let page = visit(&format!("{back}{forged}")).unwrap();
        assert_eq!(page.status, 400, "{forged}");
        assert!(!page.body.contains("EVIL"), "{forged}: {}", page.body);
    }
    assert!(desk.rig.seen("/token").is_empty());
    assert!(call.child.try_wait().unwrap().is_none());
    assert_eq!(visit(&window).unwrap().status, 200);
    assert_echo(&call.outcome());
    let sent = desk.rig.seen("/token");
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(!format!("{sent:?}").contains("EVIL"), "{sent:?}");
    assert_eq!(desk.windows().len(), 1);
}

/// Runs calls at once and returns what became of them.
fn at_once(desk: &Desk, count: usize) -> Vec<Outcome> {
    let mut started: Vec<_> = (0..count).map(|_| desk.call().start()).collect();
    started.iter_mut().map(|call| call.outcome()).collect()
}

/// Waits until each of them asks, or waits for the one that does: it has the lock for that open.
fn all_wait(calls: &[Running]) {
    let waits = |call: &Running| {
        let files = std::fs::read_dir(format!("/proc/{}/fd", call.child.id()));
        files.is_ok_and(|files| {
            let targets = files.flatten().map(|file| std::fs::read_link(file.path()));
            let mut names = targets.flatten().map(|path| path.display().to_string());
            names.any(|name| name.contains("/sign-in-"))
        })
    };
    eventually("all wait", || calls.iter().all(waits));
    // The lock is tried a moment after its file was opened, and nothing shows that from outside.
    thread::sleep(Duration::from_secs(1));
}

/// However many wait for it, a person is asked once.
#[test]
fn many_processes_that_need_a_sign_in_open_one_window() {
    let desk = desk(|_| {});
    let mut calls: Vec<_> = (0..4).map(|_| desk.call().start()).collect();
    let window = desk.window(1);
    all_wait(&calls);
    let windows = desk.windows().len();
    let _person = desk.person();
    assert_eq!(visit(&window).unwrap().status, 200);
    for call in &mut calls {
        assert_echo(&call.outcome());
    }
    assert_eq!(windows, 1);
    assert_eq!(desk.windows().len(), 1);
}

/// Processes that waited for the same window do not ask a person again who said no.
#[test]
fn one_no_answers_many_processes() {
    let desk = desk(|settings| settings.consent = Consent::Denies);
    let mut calls: Vec<_> = (0..4).map(|_| desk.call().start()).collect();
    let window = desk.window(1);
    all_wait(&calls);
    let _person = desk.person();
    assert_eq!(visit(&window).unwrap().status, 200);
    let mut elsewhere = 0;
    for call in &mut calls {
        let refused = call.outcome();
        assert_eq!(refused.code, 1, "{}", refused.everything());
        assert!(
            refused.stderr.contains("keyway login"),
            "{}",
            refused.stderr
        );
        elsewhere += usize::from(refused.stderr.contains("declined in another window"));
    }
    assert_eq!((elsewhere, desk.windows().len()), (3, 1));
    // A later call asks.
    desk.rig
        .set(|settings| settings.consent = Consent::Approves);
    assert_echo(&desk.call().run());
    assert_eq!(desk.windows().len(), 2);
}

/// T4: expired by the clock, slow token endpoint.
#[test]
fn t4_many_processes_with_an_expired_token_refresh_once() {
    let desk = desk(|settings| settings.expires_in = Some(1));
    desk.sign_in();
    // The token expires by the clock of the processes that use it.
    thread::sleep(Duration::from_millis(1100));
    desk.rig.set(|settings| {
        settings.expires_in = Some(3600);
        settings.token_delay = Duration::from_secs(3);
    });
    for outcome in at_once(&desk, 6) {
        assert_echo(&outcome);
    }
    assert_eq!(desk.rig.refreshes(), 1);
    assert_eq!(desk.windows().len(), 1);
    assert!(desk.rig.families()[0].is_chain());
}

/// T5: refused although the clock says that it is good, slow token endpoint.
#[test]
fn t5_many_processes_with_a_refused_token_refresh_once() {
    let desk = desk(|_| {});
    desk.sign_in();
    desk.rig.reset();
    desk.rig
        .set(|settings| settings.token_delay = Duration::from_secs(3));
    for outcome in at_once(&desk, 6) {
        assert_echo(&outcome);
    }
    assert_eq!(desk.rig.refreshes(), 1);
    assert_eq!(desk.windows().len(), 1);
    assert!(desk.rig.families()[0].is_chain());
}

/// T6: the token endpoint is down, on both paths that lead to it.
#[test]
fn t6_a_token_endpoint_that_is_down_costs_no_sign_in() {
    for expires_in in [1, 3600] {
        let desk = desk(|settings| settings.expires_in = Some(expires_in));
        desk.sign_in();
        // The token expires by the clock of the processes that use it.
        thread::sleep(Duration::from_millis(1100));
        desk.rig.reset();
        desk.rig.set(|settings| settings.token_status = Some(503));
        let failed = desk.call().run();
        assert_eq!(failed.code, 5, "{}", failed.everything());
        assert!(failed.stderr.contains("503"), "{}", failed.stderr);
        assert_eq!(desk.windows().len(), 1, "{expires_in}");
        desk.rig.set(|settings| {
            settings.token_status = None;
            settings.expires_in = Some(3600);
        });
        assert_echo(&desk.call().run());
        assert_eq!(desk.windows().len(), 1, "{expires_in}");
        assert!(desk.rig.families()[0].is_chain());
    }
}

/// T7: signing in again and again would not help.
#[test]
fn t7_a_server_that_refuses_every_token_opens_one_window() {
    let desk = desk(|settings| settings.rejects_all = true);
    let _person = desk.person();
    let failed = desk.call().run();
    assert_ne!(failed.code, 0);
    assert!(desk.windows().len() <= 1, "{:?}", desk.windows());
    assert!(
        failed.stderr.contains("refuses"),
        "says what is wrong: {}",
        failed.stderr
    );
}

/// T8 and threat A5.
#[test]
fn t8_metadata_of_another_issuer_is_refused() {
    let desk = desk(|settings| settings.issuer = Some("http://127.0.0.1:9/".to_owned()));
    let _person = desk.person();
    let failed = desk.call().run();
    assert_eq!(failed.code, 1, "{}", failed.everything());
    assert!(desk.windows().is_empty());
    assert!(desk.rig.seen("/register").is_empty());
    assert!(desk.rig.seen("/token").is_empty());
}

/// T9 and threat A6.
#[test]
fn t9_metadata_of_another_resource_is_refused() {
    let desk = desk(|settings| settings.resource = Some("http://127.0.0.1:9/mcp".to_owned()));
    let _person = desk.person();
    let failed = desk.call().run();
    assert_eq!(failed.code, 1, "{}", failed.everything());
    assert!(desk.windows().is_empty());
    let at = "/.well-known/oauth-authorization-server";
    assert!(desk.rig.seen(at).is_empty());
}

/// T10 and threat A1.
#[test]
fn t10_metadata_at_another_origin_is_never_fetched() {
    let desk = desk(|_| {});
    let other = format!("{}/metadata", desk.rig.elsewhere());
    desk.rig
        .set(|settings| settings.resource_metadata = Some(other));
    let _person = desk.person();
    assert_echo(&desk.call().run());
    assert!(desk.rig.strays().is_empty(), "{:?}", desk.rig.strays());
}

/// T12 and threats B1 and B2.
#[test]
fn t12_nothing_but_a_web_page_is_opened() {
    let bad = [
        "file:///etc/passwd",
        "ms-calculator:",
        "javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "x-custom:\"$(id)\"",
        " file:///etc/passwd",
        "http://198.51.100.1/authorize",
        "ftp://127.0.0.1/",
        "//127.0.0.1/authorize",
        "",
    ];
    let desk = desk(|_| {});
    for scheme in bad {
        desk.rig
            .set(|settings| settings.authorization_endpoint = Some(scheme.to_owned()));
        let failed = desk.call().run();
        assert_eq!(failed.code, 1, "{scheme}: {}", failed.everything());
        assert!(desk.windows().is_empty(), "{scheme}");
    }
}

/// Threat B2: an address that a shell would run is refused, or arrives without what it would run.
#[test]
fn b2_nothing_in_an_address_reaches_a_shell() {
    let desk = desk(|_| {});
    let _person = desk.person();
    let mut opened = 0;
    for tail in [
        "?x=$(touch pwn)`id`'\"&a=%0d%0a",
        "?x=$(touch%20pwn)",
        "?x='a'",
        "?x=a;id&y=b|id",
        "?-x=--help",
    ] {
        let evil = format!("{}/authorize{tail}", desk.rig.origin());
        desk.rig
            .set(|settings| settings.authorization_endpoint = Some(evil));
        let outcome = desk.keyway(&["login", "s", "--force"]).run();
        let windows = desk.windows();
        if outcome.code == 0 {
            opened += 1;
            let window = windows.last().unwrap();
            assert!(window.starts_with(&desk.rig.origin()), "{window}");
            let would_run = ['$', '`', '\'', '"', ' ', '\\', '|', '<', '>', '^'];
            assert!(!window.contains(would_run), "{window}");
        }
        assert_eq!(windows.len(), opened, "{tail}");
        assert!(!desk.folder.at("pwn").exists());
    }
    assert!(opened > 0, "some of them are addresses like any other");
}

/// T17 and threat C13.
#[test]
fn t17_signing_out_revokes_and_the_next_use_asks_again() {
    let desk = desk(|_| {});
    desk.sign_in();
    let outcome = desk.keyway(&["logout", "s"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(outcome.stdout.contains("revoked"), "{}", outcome.stdout);
    assert!(!desk.rig.seen("/revoke").is_empty());
    assert_eq!(desk.rig.families()[0].ended, Some(End::SignOut));
    let absent = desk.without_browser(&["call", "s", "echo"]).run();
    assert_eq!(absent.code, 3, "{}", absent.everything());
    let _person = desk.person();
    assert_echo(&desk.call().run());
    assert_eq!(desk.windows().len(), 2);
}

#[test]
fn without_a_browser_or_a_terminal_the_command_to_run_is_named() {
    let desk = desk(|_| {});
    let outcome = desk.without_browser(&["call", "s", "echo"]).run();
    assert_eq!(outcome.code, 3, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("keyway login s"),
        "{}",
        outcome.stderr
    );
    assert!(desk.windows().is_empty());
}

/// Over SSH, in CI and in containers a window would open without a person to see it.
#[test]
fn no_desktop_browser_opens_where_no_person_would_see_it() {
    let desk = desk(|_| {});
    let script = desk.folder.read("home/browser");
    let bin = desk.folder.at("home/bin");
    desk.folder.put("home/bin/xdg-open", script);
    let opener = std::fs::metadata(desk.folder.at("home/browser")).unwrap();
    std::fs::set_permissions(bin.join("xdg-open"), opener.permissions()).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let at = |name: &str, value: &str| {
        let call = desk.without_browser(&["call", "s", "echo"]);
        let call = call.env("DISPLAY", ":0").env("PATH", &path);
        call.env(name, value)
    };
    for name in ["SSH_CONNECTION", "SSH_TTY", "CI", "container"] {
        let outcome = at(name, "1").run();
        assert_eq!(outcome.code, 3, "{name}: {}", outcome.everything());
        assert!(!bin.join("windows").exists(), "{name}");
    }
    // The same without those opens one, or the test could not fail.
    if std::path::Path::new("/.dockerenv").exists() {
        return;
    }
    let _running = at("NOTHING", "1").start();
    eventually("a window is opened", || bin.join("windows").exists());
}

/// Threats A4 and C3: wherever a redirect leads to another origin, nothing goes there.
#[test]
fn a4_c3_no_redirect_carries_anything_to_another_origin() {
    let entry = r#", "headers": {"X-Tenant": "${KEY}"}"#;
    for status in [301, 302, 303, 307, 308] {
        for path in [
            "/mcp",
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
            "/register",
            "/token",
        ] {
            let desk = Desk::with_entry(KEYWAY, Settings::default(), entry);
            let redirect = |settings: &mut Settings| {
                settings.redirects.insert(path.to_owned(), status);
            };
            desk.rig.set(redirect);
            let _person = desk.person();
            let call = desk.keyway(&["call", "s", "echo", "message=hello", "--trust"]);
            let outcome = call.env("KEY", "CANARY-key-0123456789abcdef").run();
            let at = format!("{status} at {path}: {}", outcome.everything());
            assert!(desk.rig.strays().is_empty(), "{at}");
            // What the well-known address of a resource lacks is looked for at the root.
            let has_other = path.contains("protected-resource");
            assert!(outcome.code == 1 || has_other, "{at}");
        }
    }
}

/// Threat A4 while signed in: refresh, revocation and use.
#[test]
fn a4_no_redirect_carries_a_token_that_is_stored() {
    for (path, command) in [("/mcp", "call"), ("/token", "call"), ("/revoke", "logout")] {
        let desk = desk(|_| {});
        desk.sign_in();
        if path == "/token" {
            desk.rig.reset();
        }
        let redirect = |settings: &mut Settings| {
            settings.redirects.insert(path.to_owned(), 307);
        };
        desk.rig.set(redirect);
        let outcome = match command {
            "call" => desk.call().run(),
            _ => desk.keyway(&["logout", "s"]).run(),
        };
        assert!(desk.rig.strays().is_empty(), "{path}");
        assert_ne!(outcome.code, 0, "{path}");
        assert_eq!(desk.windows().len(), 1, "{path}");
    }
}

/// Threat C4.
#[test]
fn c4_headers_of_an_entry_reach_the_server_and_no_one_else() {
    let key = "CANARY-key-0123456789abcdef";
    let entry = r#", "headers": {"X-Tenant": "${KEY}"}"#;
    let desk = Desk::with_entry(KEYWAY, Settings::default(), entry);
    let _person = desk.person();
    let run = |arguments: &[&str]| desk.keyway(arguments).env("KEY", key).run();
    assert_echo(&run(&["call", "s", "echo", "message=hello", "--trust"]));
    desk.rig.reset();
    assert_echo(&run(&["call", "s", "echo", "message=hello", "--trust"]));
    assert_eq!(run(&["logout", "s"]).code, 0);
    let (own, others): (Vec<_>, Vec<_>) = desk
        .rig
        .journal()
        .into_iter()
        .partition(|seen| seen.request.path == "/mcp");
    assert!(
        own.iter()
            .all(|seen| seen.request.header("x-tenant") == Some(key))
    );
    for path in ["/token", "/register", "/authorize", "/revoke"] {
        assert!(
            others.iter().any(|seen| seen.request.path == path),
            "{path}"
        );
    }
    for seen in others {
        assert!(!format!("{seen:?}").contains(key), "{seen:?}");
    }
}

/// Threat C7: a person who says no keeps what worked.
#[test]
fn c7_a_sign_in_that_is_refused_leaves_the_old_one() {
    let desk = desk(|_| {});
    desk.sign_in();
    desk.rig.set(|settings| settings.consent = Consent::Denies);
    let _person = desk.person();
    let refused = desk.keyway(&["login", "s", "--force"]).run();
    assert_eq!(refused.code, 1, "{}", refused.everything());
    assert_echo(&desk.call().run());
    assert_eq!(desk.windows().len(), 2);
}

/// The process that was refused is gone; every later one says it all the same.
#[test]
fn what_cost_a_sign_in_is_told_by_every_command_until_the_next_one() {
    let desk = desk(|_| {});
    desk.sign_in();
    desk.rig.reset();
    desk.rig
        .set(|settings| settings.token_delivery = Delivery::Lost);
    let call = ["call", "s", "echo", "message=hello"];
    // Sent once more at once, which a server with grace would take.
    let unanswered = desk.without_browser(&call).run();
    assert_eq!(unanswered.code, 3, "{}", unanswered.everything());
    desk.rig
        .set(|settings| settings.token_delivery = Delivery::Whole);
    desk.rig.reset();
    let refused = desk.without_browser(&call).run();
    assert_eq!(refused.code, 3, "{}", refused.everything());
    let cause = "was lost on the way, and the new token with it";
    let said = unanswered.everything();
    assert!(said.contains(cause), "{said}");
    for words in [
        &call[..],
        &["status"],
        &["status", "--format", "json"],
        &["doctor", "--server", "s"],
    ] {
        let said = desk.without_browser(words).run().everything();
        assert!(said.contains(cause), "{words:?}: {said}");
    }
    desk.sign_in();
    let said = desk.without_browser(&["status"]).run().everything();
    assert!(!said.contains(cause), "{said}");
}
