//! `keyway audit`: what a person, a client and gateways did, verified and exported.

use std::collections::BTreeSet;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Gateway, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::team::{Conversation, Team};

/// Ends a gateway in good order, so that every call is in the audit.
fn end(mut gateway: Gateway) {
    let id = i32::try_from(gateway.running.child.id()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
    let ended = gateway.running.child.wait().unwrap();
    assert!(ended.success(), "{ended}");
}

/// A person signs in, a client calls, a token is renewed, and the person signs out.
fn after_a_day() -> Team {
    let team = Team::signed_in(Settings::default());
    let gateway = team.gateway();
    assert!(team.call(&gateway).contains("Echo: hello"));
    team.desk.rig.reset();
    let session = Conversation::begin(&team, &gateway);
    assert!(session.call().contains("Echo: hello"));
    end(gateway);
    let out = team.desk.keyway(&["logout", "s"]).run();
    assert_eq!(out.code, 0, "{}", out.everything());
    team
}

fn export(team: &Team, more: &[&str]) -> String {
    let arguments = [&["audit", "export"], more].concat();
    let exported = team.desk.keyway(&arguments).run();
    assert_eq!(exported.code, 0, "{}", exported.everything());
    exported.stdout
}

fn verify(team: &Team, more: &[&str]) -> (i32, String) {
    let arguments = [&["audit", "verify"], more].concat();
    let verified = team.desk.keyway(&arguments).run();
    (verified.code, verified.stdout + &verified.stderr)
}

#[test]
fn everything_that_happened_is_exported_and_nothing_that_is_secret() {
    let team = after_a_day();
    let exported = export(&team, &[]);
    let rows: Vec<Value> = exported
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}", row["event"], row["outcome"]).replace('"', ""))
        .collect();
    // A call is appended when it is over, and belongs to the moment in which it was.
    let expected = [
        "sign-in stored",
        "call done",
        "refresh committed",
        "call done",
        "sign-out deleted",
    ];
    assert_eq!(told, expected, "{exported}");
    for row in &rows {
        assert_eq!(row["tenant"], "default", "{row}");
        assert_eq!(row["who"], "tenant", "{row}");
        assert_eq!(row["server"], "s", "{row}");
        let is_call = row["event"] == "call";
        assert_eq!(row["tool"] == "echo", is_call, "{row}");
        assert_eq!(row["client"] == "client", is_call, "{row}");
        assert_eq!(row["generation"].is_i64(), !is_call, "{row}");
    }
    let replicas: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row["replica"].as_str())
        .collect();
    assert_eq!(replicas.len(), 3, "login, gateway and logout: {exported}");
    assert!(!exported.contains("hello"), "no arguments: {exported}");
    let whole = team.sql("SELECT string_agg(a::text, '') FROM keyway.audit a");
    assert!(!exported.contains(&team.token), "{exported}");
    assert_eq!(team.desk.leaks(&(exported + &whole), &[]), [].into());
    assert_eq!(export(&team, &["--since", "2999-01-01"]), "");
    assert_eq!(export(&team, &["--since", "2020-01-01"]).lines().count(), 5);
}

#[test]
fn a_row_that_was_changed_or_removed_is_named_and_the_exit_code_says_so() {
    let team = Team::signed_in(Settings::default());
    let sign_out = || {
        let out = team.desk.keyway(&["logout", "s"]).run();
        assert_eq!(out.code, 0, "{}", out.everything());
    };
    sign_out();
    team.desk.sign_in();
    sign_out();
    let (code, said) = verify(&team, &[]);
    assert_eq!((code, &*said), (0, "4 rows, none missing or changed\n"));
    let file = team.desk.folder.at("home/audit.jsonl");
    std::fs::write(&file, export(&team, &[])).unwrap();
    let against = ["--export", file.to_str().unwrap()];
    assert_eq!(verify(&team, &against).0, 0);
    team.sql("CREATE TABLE kept AS SELECT * FROM keyway.audit");
    let restore = "TRUNCATE keyway.audit; INSERT INTO keyway.audit SELECT * FROM kept";
    for (change, named) in [
        (
            "UPDATE keyway.audit SET person = 'eve' WHERE number = 2",
            "error: row 2 of chain 0 was changed, or the row before it\n",
        ),
        (
            "DELETE FROM keyway.audit WHERE number = 3",
            "error: row 3 of chain 0 is missing\n",
        ),
        (
            "DELETE FROM keyway.audit WHERE number = 4",
            "error: row 4 of chain 0 is missing\n",
        ),
    ] {
        team.sql(change);
        let (code, said) = verify(&team, &[]);
        assert_eq!((code, &*said), (1, named), "{change}");
        team.sql(restore);
    }
    // Only the earlier export tells that there was more.
    team.sql(
        "DELETE FROM keyway.audit WHERE number = 4;
         UPDATE keyway.audit_chains c SET number = 3, hash = a.hash
         FROM keyway.audit a WHERE c.chain = 0 AND a.number = 3",
    );
    assert_eq!(verify(&team, &[]).0, 0);
    let (code, said) = verify(&team, &against);
    let named = "error: row 4 of chain 0 was exported and is missing\n";
    assert_eq!((code, &*said), (1, named));
}

#[test]
fn a_call_that_the_gateway_refuses_is_in_the_audit_as_well() {
    let team = Team::signed_in(Settings::default());
    let gateway = team.gateway();
    let message = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}"#;
    let refused = gateway.post("/mcp/s", Some(&team.token), message);
    assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
    end(gateway);
    let exported = export(&team, &[]);
    let last: Value = serde_json::from_str(exported.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "call", "{exported}");
    assert_eq!(last["outcome"], "status 400", "{exported}");
}

#[test]
fn calls_that_could_not_be_written_at_the_end_are_told() {
    let team = Team::signed_in(Settings::default());
    let gateway = team.gateway();
    assert!(team.call(&gateway).contains("Echo: hello"));
    team.server.control(&["-m", "immediate", "stop"]);
    assert!(team.call(&gateway).contains("Echo: hello"));
    let id = i32::try_from(gateway.running.child.id()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
    eventually("it says so", || {
        gateway.said().contains("missing in the audit")
    });
}

#[test]
fn without_a_database_there_is_no_audit() {
    let team = Team::new(Settings::default());
    team.desk.folder.put("home/keyway/config/config.toml", "");
    let (code, said) = verify(&team, &[]);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("there is no audit without a database"),
        "{said}"
    );
}
