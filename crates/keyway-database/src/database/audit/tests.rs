//! Calls on their way into a real PostgreSQL, which these tests start themselves.

use std::future::{pending, ready};

use keyway_dashboard::activity::{Activity, RequestSummary};
use keyway_postgres::{FileKey, Replica, Settings};
use keyway_secret::Secret;
use keyway_testkit::{PostgresServer, eventually};
use serde_json::Value;

use super::*;

fn database(server: &PostgresServer) -> Database {
    let address = server.address("keyway", &server.create_database());
    let key = FileKey::new(&Secret::new([0x5a; 32])).unwrap();
    let replica = Replica::open(&Settings::new(&address).unwrap(), Arc::new(key)).unwrap();
    Database::of_tenant(replica, "acme".to_owned()).unwrap()
}

fn call(activity: &Arc<Activity>, outcome: Outcome) {
    let mut asked = RequestSummary::new("client", "tools/call");
    asked.server = Some(("demo".to_owned(), "search".to_owned()));
    asked.tool = Some("echo\0".to_owned());
    activity.begin(asked).end(outcome);
}

fn rows(database: &Database) -> Vec<Value> {
    let mut rows = Vec::new();
    let kept = database.export_audit(None, |lines| {
        let read = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        rows.extend(read);
        Ok::<_, StoreError>(())
    });
    kept.unwrap();
    rows
}

#[tokio::test]
async fn calls_that_do_not_fit_are_counted_in_a_row_of_their_own() {
    let server = PostgresServer::start();
    let database = database(&server);
    let (audit, writer) = database.audit_calls();
    let activity = Arc::new(Activity::default().with_sink(audit));
    // Nothing is written yet, so that the queue fills up.
    for _ in 0..QUEUE + 7 {
        call(&activity, Outcome::Done);
    }
    assert_eq!(writer.run(ready(())).await, 0, "everything was written");
    let rows = rows(&database);
    assert_eq!(rows.len(), QUEUE + 1);
    let dropped: Vec<&Value> = rows.iter().filter(|row| row["event"] == "audit").collect();
    assert_eq!(dropped.len(), 1);
    assert_eq!(dropped[0]["outcome"], "dropped");
    assert_eq!(dropped[0]["entries"], 7);
    let report = database.verify_audit(ExportedRows::default()).unwrap();
    assert_eq!((report.rows, report.faults), (QUEUE as u64 + 1, Vec::new()));
}

#[tokio::test]
async fn a_call_is_a_row_without_arguments_and_other_requests_are_none() {
    let server = PostgresServer::start();
    let database = database(&server);
    let (audit, writer) = database.audit_calls();
    let activity = Arc::new(Activity::default().with_sink(audit));
    let mut person = RequestSummary::new("https://idp.example#ada", "tools/call");
    person.person = Some("https://idp.example ada".to_owned());
    activity.begin(person).end(Outcome::Status(503));
    drop(activity.begin(RequestSummary::new("client", "tools/list")));
    for outcome in [
        Outcome::ToolFailed,
        Outcome::Error(-32602),
        Outcome::Abandoned,
    ] {
        call(&activity, outcome);
    }
    assert_eq!(writer.run(ready(())).await, 0);
    let rows = rows(&database);
    let outcomes: Vec<&str> = rows
        .iter()
        .map(|row| row["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        ["status 503", "tool-failed", "error -32602", "abandoned"]
    );
    assert_eq!(rows[0]["who"], "https://idp.example ada");
    assert_eq!(rows[1]["who"], "tenant");
    for (field, value) in [
        ("client", "client"),
        ("plugin", "demo"),
        ("server", "search"),
        ("tool", "echo\0"),
    ] {
        assert_eq!(rows[1][field], value, "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_wait_for_a_database_that_is_away() {
    let server = PostgresServer::start();
    let database = database(&server);
    let (audit, writer) = database.audit_calls();
    let queue = audit.out.clone();
    let activity = Arc::new(Activity::default().with_sink(audit));
    server.control(&["-m", "immediate", "stop"]);
    // A whole batch, which is tried at once.
    for _ in 0..BATCH {
        call(&activity, Outcome::Done);
    }
    let writing = tokio::spawn(writer.run(pending()));
    eventually("the batch is taken", || queue.capacity() == QUEUE);
    server.control(&["start"]);
    eventually("the calls are written", || {
        let mut count = 0;
        let read = database.export_audit(None, |lines| {
            count += lines.lines().count();
            Ok::<_, StoreError>(())
        });
        read.is_ok() && count == BATCH
    });
    writing.abort();
}

#[tokio::test]
async fn calls_that_cannot_be_written_at_the_end_are_counted() {
    let server = PostgresServer::start();
    let database = database(&server);
    let (audit, writer) = database.audit_calls();
    let activity = Arc::new(Activity::default().with_sink(audit));
    server.control(&["-m", "immediate", "stop"]);
    for _ in 0..3 {
        call(&activity, Outcome::Done);
    }
    assert_eq!(writer.run(ready(())).await, 3);
}

#[test]
fn rows_of_an_earlier_export_that_are_gone_or_others_are_named() {
    let server = PostgresServer::start();
    let database = database(&server);
    let calls = ["one", "two", "three"].map(|client| AuditedCall::now(client, "done"));
    database.replica.append_calls("acme", &calls, 0).unwrap();
    let mut exported = String::new();
    let kept = database.export_audit(None, |line| {
        exported.push_str(line);
        Ok::<_, StoreError>(())
    });
    kept.unwrap();
    let verify = |text: &str| {
        let earlier = ExportedRows::read(text.as_bytes()).unwrap();
        database.verify_audit(earlier).unwrap().faults
    };
    assert_eq!(verify(&exported), [""; 0]);
    let longer = exported.clone() + &exported.replace("\"number\":3", "\"number\":4");
    assert_eq!(
        verify(&longer),
        ["row 4 of chain 0 was exported and is missing"]
    );
    let last = exported.lines().last().unwrap();
    let hash = last.split("\"hash\":\"").nth(1).unwrap();
    let other = last.replace(&hash[..64], &"0".repeat(64));
    assert_eq!(
        verify(&other),
        ["row 3 of chain 0 is not the one that was exported"]
    );
    let refused = ExportedRows::read("{}\n".as_bytes()).unwrap_err();
    assert_eq!(refused.to_string(), "line 1 is no row of an audit");
}

#[test]
fn moments_are_written_to_the_millisecond() {
    let moment = |millis| moment(Timestamp::from_unix_millis(millis));
    assert_eq!(moment(1_000), "1970-01-01T00:00:01.000Z");
    assert_eq!(moment(61_042), "1970-01-01T00:01:01.042Z");
}
