//! The audit: what is in it, and what it notices.

use std::time::Duration;

use keyway_postgres::{AuditFault, AuditFaultKind, AuditRow, AuditedCall, Person, Replica};
use keyway_store::conformance::Backend as _;
use keyway_store::{Claim, Claimed, Generation, GrantStore, StoreError, Timestamp};
use keyway_testkit::{appears, eventually};

use crate::processes::{CLAIM, Worker, grant, tokens};
use crate::server::{Database, ada, shared};

pub(crate) fn rows(replica: &Replica) -> Vec<AuditRow> {
    let mut rows = Vec::new();
    let read = replica.read_audit("acme", None, |row| {
        rows.push(row);
        Ok::<_, StoreError>(())
    });
    read.unwrap();
    rows
}

/// What happened, in words.
pub(crate) fn story(replica: &Replica) -> Vec<String> {
    let words = |row: AuditRow| format!("{} {} {}", row.event, row.outcome, row.cause);
    let told = rows(replica).into_iter().map(words);
    told.map(|text| text.trim_end().to_owned()).collect()
}

pub(crate) fn faults(replica: &Replica) -> Vec<(i64, AuditFaultKind)> {
    let found = replica.verify_audit("acme", |_| Ok::<_, StoreError>(()));
    let place = |fault: AuditFault| (fault.number, fault.kind);
    found.unwrap().into_iter().map(place).collect()
}

fn claimed(store: &impl GrantStore, generation: Generation) -> Claimed {
    // The lock of a process that was killed is free a moment later.
    appears("the sign-in can be claimed", || {
        match store.claim(&grant(), generation, CLAIM).unwrap() {
            Claim::Claimed(claimed) => Some(claimed),
            _ => None,
        }
    })
}

#[test]
fn a_sign_in_is_told_from_its_beginning_to_its_end() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    let store = replica.grants(ada());
    let first = store.put(&grant(), &tokens("1"))?;
    claimed(&store, first);
    store.commit(&grant(), first, &tokens("2"))?;
    let second = store.read(&grant())?.unwrap().generation;
    let lost = claimed(&store, second);
    store.answer_lost(&grant(), lost.id)?;
    let rejected = claimed(&store, second);
    store.mark_reauth(&grant(), second, &rejected.fingerprint)?;
    let third = store.put(&grant(), &tokens("3"))?;
    let rejected = claimed(&store, third);
    store.mark_reauth(&grant(), third, &rejected.fingerprint)?;
    store.delete(&grant())?;
    assert_eq!(
        story(&replica),
        [
            "sign-in stored",
            "refresh committed",
            "refresh answer-lost",
            "refresh rejected answer-lost",
            "sign-in stored",
            "refresh rejected server",
            "sign-out deleted",
        ]
    );
    let rows = rows(&replica);
    let now = Timestamp::from_unix_millis(database.sql("SELECT keyway.now()").parse().unwrap());
    for row in &rows {
        assert_eq!(row.person.as_deref(), Some("https://idp.example ada"));
        assert_eq!(row.grant, Some(grant()));
        assert_eq!(row.replica, store.owner()?);
        assert!(now.since(row.at) < Duration::from_secs(60), "{row:?}");
    }
    let generations: Vec<_> = rows.iter().filter_map(|row| row.generation).collect();
    assert_eq!(
        generations,
        [first, second, second, second, third, third, third]
    );
    assert_eq!(faults(&replica), []);
    Ok(())
}

#[test]
fn a_takeover_is_told_with_its_cause() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let survivor = database.replica();
    let store = survivor.grants(ada());
    let generation = store.put(&grant(), &tokens("1"))?;
    let mut worker = Worker::start(&database, "claim", &[]);
    worker.says();
    worker.kill();
    claimed(&store, generation);
    store.commit(&grant(), generation, &tokens("2"))?;

    let generation = store.read(&grant())?.unwrap().generation;
    let ended = database.open();
    claimed(&ended, generation);
    drop(ended);
    let taken = claimed(&store, generation);
    store.mark_reauth(&grant(), generation, &taken.fingerprint)?;

    let generation = store.put(&grant(), &tokens("3"))?;
    let other = database.replica();
    claimed(&other.grants(ada()), generation);
    database.advance(CLAIM * 2);
    let taken = store.take_over(&grant(), generation, CLAIM)?;
    assert!(matches!(taken, Claim::Claimed(_)), "{taken:?}");
    assert_eq!(
        story(&survivor),
        [
            "sign-in stored",
            "claim taken-over replica-died",
            "refresh committed replica-died",
            "claim taken-over replica-ended",
            "refresh rejected replica-died",
            "sign-in stored",
            "claim taken-over overdue",
        ]
    );
    assert_eq!(faults(&survivor), []);
    Ok(())
}

#[test]
fn a_commit_from_the_journal_and_a_forgotten_person_are_told() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    let store = replica.grants(ada());
    let generation = store.put(&grant(), &tokens("1"))?;
    store.journal(&grant(), generation, &tokens("2"))?;
    let generation = store.settle_journal(&grant())?;
    store.journal_sign_in(&grant(), generation, &tokens("3"))?;
    store.settle_journal(&grant())?;
    let other = grant().account("other");
    store.put(&other, &tokens("other"))?;
    replica.forget(&ada())?;
    let told = story(&replica);
    assert_eq!(
        told,
        [
            "sign-in stored",
            "refresh committed journal",
            "sign-in stored journal",
            "sign-in stored",
            "sign-out deleted person-forgotten",
            "sign-out deleted person-forgotten",
            "person forgotten",
        ]
    );
    assert_eq!(faults(&replica), []);
    Ok(())
}

#[test]
fn what_is_not_stored_is_not_told() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    let store = replica.grants(ada());
    let generation = store.put(&grant(), &tokens("1"))?;
    let claim = claimed(&store, generation);
    store.release(&grant(), claim.id)?;
    store.commit(&grant(), Generation::new(1), &tokens("old"))?;
    store.mark_reauth(&grant(), Generation::new(1), &claim.fingerprint)?;
    store.delete(&grant().account("absent"))?;
    // The commit fails, and its row goes with it.
    database.sql("ALTER TABLE keyway.grants ADD CHECK (generation % 2 = 0)");
    store
        .commit(&grant(), generation, &tokens("2"))
        .unwrap_err();
    assert_eq!(story(&replica), ["sign-in stored"]);
    Ok(())
}

/// Three rows of one chain.
fn three(database: &Database<'_>) -> Replica {
    let replica = database.replica();
    let calls = ["one", "two", "three"].map(|client| AuditedCall::now(client, "done"));
    replica.append_calls("acme", &calls, 0).unwrap();
    assert_eq!(faults(&replica), []);
    replica
}

#[test]
fn a_changed_removed_swapped_or_added_row_is_named() {
    use AuditFaultKind::{Added, Changed, Missing};
    let swap = "UPDATE keyway.audit a SET client = b.client, outcome = b.outcome, hash = b.hash
        FROM keyway.audit b WHERE a.number IN (1, 2) AND b.number = 3 - a.number";
    let renumber = "UPDATE keyway.audit SET number = number + 10 WHERE number < 3;
        UPDATE keyway.audit SET number = 13 - number WHERE number > 10";
    for (what, sql, expected) in [
        (
            "changed",
            "UPDATE keyway.audit SET person = 'eve' WHERE number = 2",
            vec![(2, Changed)],
        ),
        (
            "moved in time",
            "UPDATE keyway.audit SET at = at - 1 WHERE number = 1",
            vec![(1, Changed)],
        ),
        (
            "in no form of ours",
            "UPDATE keyway.audit SET name = '\\xff' WHERE number = 3",
            vec![(3, Changed)],
        ),
        (
            "changed with its own hash",
            "UPDATE keyway.audit a SET tool = 'x' WHERE number = 2;
             UPDATE keyway.audit a SET hash = keyway.audit_hash(b.hash, a)
             FROM keyway.audit b WHERE a.number = 2 AND b.number = 1",
            vec![(3, Changed)],
        ),
        (
            "removed in the middle",
            "DELETE FROM keyway.audit WHERE number = 2",
            vec![(2, Missing)],
        ),
        (
            "removed at the beginning",
            "DELETE FROM keyway.audit WHERE number = 1",
            vec![(1, Missing)],
        ),
        (
            "removed at the end",
            "DELETE FROM keyway.audit WHERE number = 3",
            vec![(3, Missing)],
        ),
        (
            "swapped",
            swap,
            vec![(1, Changed), (2, Changed), (3, Changed)],
        ),
        (
            "swapped in number",
            renumber,
            vec![(1, Changed), (2, Changed), (3, Changed)],
        ),
        (
            "replaced at the end",
            "UPDATE keyway.audit a SET tool = 'x' WHERE number = 3;
             UPDATE keyway.audit a SET hash = keyway.audit_hash(b.hash, a)
             FROM keyway.audit b WHERE a.number = 3 AND b.number = 2",
            vec![(3, Changed)],
        ),
        (
            "added",
            "INSERT INTO keyway.audit SELECT tenant, chain, 4, at, person, client, replica, event,
                 outcome, cause, profile, name, generation, tool, entries, hash
             FROM keyway.audit WHERE number = 3;
             UPDATE keyway.audit a SET hash = keyway.audit_hash(b.hash, a)
             FROM keyway.audit b WHERE a.number = 4 AND b.number = 3",
            vec![(4, Added)],
        ),
        (
            "removed with the end of its chain",
            "DELETE FROM keyway.audit; DELETE FROM keyway.audit_chains WHERE chain = 0",
            vec![(1, Missing)],
        ),
    ] {
        let database = Database::new(shared());
        let replica = three(&database);
        database.sql(sql);
        assert_eq!(faults(&replica), expected, "{what}");
    }
}

/// What no look at the database alone can tell: it never held more, as far as it says.
#[test]
fn an_end_that_is_removed_with_its_record_is_not_noticed() {
    let database = Database::new(shared());
    let replica = three(&database);
    database.sql(
        "DELETE FROM keyway.audit WHERE number = 3;
         UPDATE keyway.audit_chains c SET number = 2, hash = a.hash
         FROM keyway.audit a WHERE c.chain = 0 AND a.number = 2",
    );
    assert_eq!(faults(&replica), []);
}

#[test]
fn a_transaction_that_appends_does_not_wait_for_another() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = three(&database);
    let hold = "SELECT FROM keyway.audit_chains WHERE chain = 0 FOR UPDATE";
    std::thread::scope(|scope| {
        // As a transaction that has appended and not committed yet, for longer than a lock is waited
        // for; it ends when its session is told to.
        let held = scope.spawn(|| {
            let ended = "SELECT pg_sleep(60)";
            let sql = format!("BEGIN; {hold}; {ended}; COMMIT");
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| database.sql(&sql))).is_err()
        });
        eventually("the end of a chain is held", || {
            database.sql(
                "SELECT count(*) FROM keyway.audit_chains WHERE chain = 0 AND chain NOT IN
                 (SELECT chain FROM keyway.audit_chains WHERE chain = 0 FOR UPDATE SKIP LOCKED)",
            ) == "1"
        });
        let store = replica.grants(ada());
        store.put(&grant(), &tokens("1")).unwrap();
        assert_eq!(rows(&replica).last().unwrap().chain, 1);
        database.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE query LIKE 'BEGIN; SELECT FROM keyway.audit_chains%' AND pid <> pg_backend_pid()",
        );
        assert!(held.join().unwrap(), "it held it until it was ended");
    });
    assert_eq!(faults(&replica), []);
    Ok(())
}

#[test]
fn chains_hold_whatever_commits_at_the_same_time() {
    let database = Database::new(shared());
    let replicas = [database.replica(), database.replica()];
    std::thread::scope(|scope| {
        for number in 0..8 {
            let replica = &replicas[number % 2];
            scope.spawn(move || {
                let person = Person::new("acme", format!("person {number}")).unwrap();
                let store = replica.grants(person);
                let mut generation = store.put(&grant(), &tokens("1")).unwrap();
                for _ in 0..20 {
                    claimed(&store, generation);
                    store.commit(&grant(), generation, &tokens("2")).unwrap();
                    generation = Generation::new(generation.get() + 1);
                    let call = AuditedCall::now("client", "done");
                    replica.append_calls("acme", &[call], 0).unwrap();
                }
            });
        }
    });
    assert_eq!(rows(&replicas[0]).len(), 8 * 41);
    assert_eq!(faults(&replicas[0]), []);
}

#[test]
fn rows_since_a_moment_are_read_in_the_order_of_time() {
    let database = Database::new(shared());
    let replica = three(&database);
    database.advance(Duration::from_secs(3600));
    let since = Timestamp::from_unix_millis(database.sql("SELECT keyway.now()").parse().unwrap());
    // In another chain, and in the first one again.
    database.sql(
        "BEGIN; SET keyway.audit_chain = '5'; SET keyway.tenant = 'acme';
         SELECT keyway.note('acme', '', 'sign-out', 'deleted', '', 1, NULL, NULL, NULL); COMMIT",
    );
    let call = AuditedCall::now("last", "done");
    replica.append_calls("acme", &[call], 0).unwrap();
    let mut chains = Vec::new();
    let read = replica.read_audit("acme", Some(since), |row| {
        chains.push((row.chain, row.event));
        Ok::<_, StoreError>(())
    });
    read.unwrap();
    let expected = [(5, "sign-out"), (0, "call")];
    assert_eq!(
        chains,
        expected.map(|(chain, event)| (chain, event.to_owned()))
    );
    assert_eq!(rows(&replica).len(), 5);
    assert_eq!(faults(&replica), []);
}

/// The second wall.
#[test]
fn the_role_of_a_gateway_sees_its_tenant_and_changes_no_row() {
    let database = Database::new(shared());
    let replica = three(&database);
    let store = replica.grants(ada());
    store.put(&grant(), &tokens("1")).unwrap();
    let ask = |tenant: &str, person: &str, what: &str| {
        database.sql(&format!(
            "SET ROLE keyway; SET keyway.tenant = '{tenant}'; SET keyway.person = '{person}'; {what}"
        ))
    };
    let count = "SELECT count(*) FROM keyway.audit";
    assert_eq!(ask("acme", "", count), "4");
    assert_eq!(ask("acme", "https://idp.example ada", count), "1");
    assert_eq!(ask("acme", "https://idp.example bob", count), "0");
    assert_eq!(ask("other", "", count), "0");
    ask("acme", "", "UPDATE keyway.audit SET outcome = 'x'");
    ask("acme", "", "DELETE FROM keyway.audit");
    assert_eq!(faults(&replica), []);
    assert_eq!(rows(&replica).len(), 4);
}

#[test]
fn no_token_is_in_the_audit() {
    let database = Database::new(shared());
    let replica = database.replica();
    let store = replica.grants(ada());
    let generation = store.put(&grant(), &tokens("CANARY")).unwrap();
    let claim = claimed(&store, generation);
    store
        .commit(&grant(), generation, &tokens("CANARY"))
        .unwrap();
    let dump = database.sql("SELECT * FROM keyway.audit; SELECT * FROM keyway.audit_chains");
    let hexadecimal =
        |text: &[u8]| -> String { text.iter().map(|byte| format!("{byte:02x}")).collect() };
    for secret in [
        "CANARY".to_owned(),
        hexadecimal(b"CANARY"),
        hexadecimal(claim.fingerprint.as_bytes()),
    ] {
        assert!(!dump.contains(&secret), "{secret}");
    }
}

/// A rolling upgrade: what a replica of the version before stores is stored, and told by no row.
#[test]
fn a_replica_that_knows_no_audit_goes_on_beside_it() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    let store = replica.grants(ada());
    let generation = store.put(&grant(), &tokens("1"))?;
    let older = "SET ROLE keyway; SET keyway.tenant = 'acme';
        SET keyway.person = 'https://idp.example ada';
        UPDATE keyway.grants SET claim = 7, claim_owner = 7, claimed_at = keyway.now(),
            claimed_until = keyway.now() + 120000, claim_server = keyway.server_start();
        UPDATE keyway.grants SET claim = NULL, claim_owner = NULL, claimed_at = NULL,
            claimed_until = NULL, claim_server = NULL";
    database.sql(older);
    claimed(&store, generation);
    assert_eq!(story(&replica), ["sign-in stored"]);
    assert_eq!(database.sql("SELECT usable_by FROM keyway.store"), "1");
    Ok(())
}
