//! Files, approvals, variables and sign-ins that change.

use std::time::Instant;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Folder, Gateway as Process, eventually};
use serde_json::Value;

use crate::live::gateway::Gateway;
use crate::live::upstream::Upstream;
use crate::live::{done, keyway};

fn plugin(entries: &[String]) -> String {
    format!(r#"{{"mcpServers": {{{}}}}}"#, entries.join(", "))
}

#[test]
fn servers_appear_change_and_vanish_with_the_file() {
    let upstream = Upstream::start();
    let one = upstream.entry("one", "a");
    let two = upstream.entry("two", "b");
    let folder = Folder::new().file("p/.mcp.json", plugin(&[one.clone(), two.clone()]));
    let gateway = Gateway::start(&folder, &["p"], &[]);
    let all = gateway.begin("/mcp").unwrap();
    assert_eq!(
        all.tools(),
        ["one__whoami", "one__slow", "two__whoami", "two__slow"]
    );
    let stays = gateway.begin("/mcp/p/one").unwrap();
    assert_eq!(stays.tenant(), "a");
    let changes = gateway.begin("/mcp/p/two").unwrap();
    assert_eq!(changes.tenant(), "b");
    let three = upstream.entry("three", "d");
    let changed = upstream.entry("two", "c");
    folder.put("p/.mcp.json", plugin(&[one.clone(), changed, three]));
    all.hears("notifications/tools/list_changed");
    assert_eq!(all.tools().len(), 6);
    assert_eq!(stays.tenant(), "a", "whose entry is the same");
    assert!(changes.is_over());
    let again = gateway.begin("/mcp/p/two").unwrap();
    assert_eq!(again.tenant(), "c");
    assert_eq!(gateway.begin("/mcp/p/three").unwrap().tenant(), "d");
    folder.put("p/.mcp.json", plugin(&[one]));
    eventually("the server is gone", || !gateway.has("/mcp/p/two"));
    assert!(again.is_over());
    assert_eq!(stays.tenant(), "a");
    assert_eq!(all.tools(), ["one__whoami", "one__slow"]);
}

#[test]
fn a_broken_file_keeps_what_was_and_says_so() {
    let upstream = Upstream::start();
    let good = plugin(&[upstream.entry("one", "a")]);
    let folder = Folder::new().file("p/.mcp.json", &good);
    let gateway = Gateway::start(&folder, &["p"], &[]);
    let session = gateway.begin("/mcp/p/one").unwrap();
    folder.put("p/.mcp.json", &good[..good.len() / 2]);
    eventually("it is said", || {
        gateway.process.said().contains("cannot be used as it is")
    });
    assert_eq!(session.tenant(), "a");
    assert!(gateway.has("/mcp/p/one"));
    let both = plugin(&[upstream.entry("one", "a"), upstream.entry("two", "b")]);
    folder.put("p/.mcp.json", both);
    eventually("the file counts again", || gateway.has("/mcp/p/two"));
    assert_eq!(session.tenant(), "a", "nothing has changed for it");
    assert!(gateway.process.said().contains("reloaded "));
    std::fs::remove_file(folder.at("p/.mcp.json")).unwrap();
    eventually("the servers of a removed file are removed", || {
        !gateway.has("/mcp/p/one")
    });
    assert!(session.is_over());
    folder.put("p/.mcp.json", &good);
    eventually("and brings them back", || gateway.has("/mcp/p/one"));
}

#[test]
fn an_approval_counts_at_once_and_so_does_its_end() {
    let upstream = Upstream::start();
    let folder = Folder::new().file("p/.mcp.json", plugin(&[upstream.entry("s", "${TENANT}")]));
    let gateway = Gateway::start(&folder, &["p"], &[("TENANT", "acme")]);
    let early = gateway.begin("/mcp/p/s").unwrap();
    assert_eq!(early.tools(), ["status"]);
    assert_eq!(upstream.requests(), 0, "nothing is sent before");
    done(&folder, &["trust", "grant", "s", "--config", "p"]);
    early.hears("notifications/tools/list_changed");
    assert_eq!(early.tools(), ["whoami", "slow"]);
    assert_eq!(early.tenant(), "acme");
    let late = gateway.begin("/mcp/p/s").unwrap();
    assert_eq!(late.tenant(), "acme");
    done(&folder, &["trust", "revoke", "s", "--config", "p"]);
    eventually("the session is over", || late.is_over());
    eventually("nothing is shown any more", || early.tools() == ["status"]);
    let before = upstream.requests();
    assert!(early.call("whoami")["result"].is_null());
    assert_eq!(gateway.begin("/mcp/p/s").unwrap().tools(), ["status"]);
    assert_eq!(upstream.requests(), before, "and nothing is sent");
}

#[test]
fn clients_that_come_together_are_let_in_by_one_look_at_the_entry() {
    let upstream = Upstream::start();
    let folder = Folder::new().file("p/.mcp.json", plugin(&[upstream.entry("s", "${TENANT}")]));
    let words = ["p", "--trust", "--debug=config"];
    let gateway = Gateway::start(&folder, &words, &[("TENANT", "acme")]);
    let looks = || gateway.process.said().matches("TENANT is set").count();
    let (before, begun) = (looks(), Instant::now());
    for _ in 0..20 {
        assert_eq!(gateway.begin("/mcp/p/s").unwrap().tenant(), "acme");
    }
    let (looks, seconds) = (looks() - before, begun.elapsed().as_secs());
    assert!(
        looks > 0 && looks as u64 <= seconds + 1,
        "{looks} in {seconds} s"
    );
}

#[test]
fn a_changed_entry_is_approved_again_before_anything_is_sent() {
    let (upstream, other) = (Upstream::start(), Upstream::start());
    let folder = Folder::new().file("p/.mcp.json", plugin(&[upstream.entry("s", "${TENANT}")]));
    done(&folder, &["trust", "grant", "s", "--config", "p"]);
    let gateway = Gateway::start(&folder, &["p"], &[("TENANT", "acme")]);
    let session = gateway.begin("/mcp/p/s").unwrap();
    assert_eq!(session.tenant(), "acme");
    folder.put("p/.mcp.json", plugin(&[other.entry("s", "${TENANT}")]));
    eventually("the session is over", || session.is_over());
    let again = gateway.begin("/mcp/p/s").unwrap();
    assert_eq!(again.tools(), ["status"]);
    assert_eq!(other.connections(), 0);
    done(&folder, &["trust", "grant", "s", "--config", "p"]);
    eventually("it works", || again.tools() == ["whoami", "slow"]);
    assert_eq!(other.tenants(), ["acme"]);
}

/// Threat E11: `--trust` is about what was there when it was said.
#[test]
fn e11_what_changes_after_the_start_is_not_approved_by_trust() {
    let (upstream, other) = (Upstream::start(), Upstream::start());
    let folder = Folder::new().file("p/.mcp.json", plugin(&[upstream.entry("s", "${TENANT}")]));
    let gateway = Gateway::start(&folder, &["p", "--trust"], &[("TENANT", "acme")]);
    let session = gateway.begin("/mcp/p/s").unwrap();
    assert_eq!(session.tenant(), "acme");
    let added = other.entry("new", "${TENANT}");
    folder.put(
        "p/.mcp.json",
        plugin(&[other.entry("s", "${TENANT}"), added]),
    );
    eventually("the session is over", || session.is_over());
    for path in ["/mcp/p/s", "/mcp/p/new"] {
        assert_eq!(gateway.begin(path).unwrap().tools(), ["status"], "{path}");
    }
    assert_eq!(other.connections(), 0);
    done(&folder, &["trust", "grant", "s", "--config", "p"]);
    let again = gateway.begin("/mcp/p/s").unwrap();
    eventually("it works", || again.tools() == ["whoami", "slow"]);
}

#[test]
fn a_kept_variable_counts_as_soon_as_it_changes() {
    let upstream = Upstream::start();
    let folder = Folder::new().file("p/.mcp.json", plugin(&[upstream.entry("s", "${TENANT}")]));
    done(&folder, &["trust", "grant", "s", "--config", "p"]);
    let gateway = Gateway::start(&folder, &["p"], &[]);
    let early = gateway.begin("/mcp/p/s").unwrap();
    assert_eq!(early.tools(), ["status"]);
    let set = |value: &str| {
        let outcome = keyway(&folder, &["env", "set", "TENANT"])
            .stdin(value)
            .run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    };
    set("first");
    early.hears("notifications/tools/list_changed");
    assert_eq!(early.tenant(), "first");
    let direct = gateway.begin("/mcp/p/s").unwrap();
    assert_eq!(direct.tenant(), "first");
    set("second");
    eventually("the session is over", || direct.is_over());
    assert_eq!(gateway.begin("/mcp/p/s").unwrap().tenant(), "second");
    eventually("others go on with it", || early.tenant() == "second");
}

#[test]
fn signing_in_and_out_elsewhere_counts_at_once() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    let home = desk.folder.at("home/keyway");
    let token = Process::token(desk.keyway(&[]), &["--name", "t"]);
    let gateway = Gateway::at(&home, &desk.folder, token);
    let name = desk.folder.path().file_name().unwrap().to_string_lossy();
    let path = format!("/mcp/{name}/s");
    let early = gateway.begin(&path).unwrap();
    assert_eq!(early.tools(), ["sign_in"]);
    desk.sign_in();
    early.hears("notifications/tools/list_changed");
    let tools = early.tools();
    assert!(tools.contains(&"echo".to_owned()), "{tools:?}");
    let direct = gateway.begin(&path).unwrap();
    assert_eq!(direct.tools(), tools);
    assert_eq!(desk.keyway(&["logout", "s"]).run().code, 0);
    let is_refused =
        |answer: &Value| answer["result"]["isError"] == true || answer["error"].is_object();
    eventually("no call is answered", || is_refused(&direct.call("echo")));
    assert!(!direct.is_over(), "the session goes on");
    let after = gateway.begin(&path).unwrap();
    assert!(is_refused(&after.call("echo")));
}
