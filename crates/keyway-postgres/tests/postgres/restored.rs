//! A database that was restored from an older dump: no refresh token that may be spent is redeemed.

use std::io::Write as _;
use std::process::Stdio;

use keyway_postgres::Replica;
use keyway_store::conformance::Backend as _;
use keyway_store::{Claim, Commit, GrantKey, GrantState, GrantStore, RejectionCause, StoreError};

use crate::processes::{CLAIM, grant, tokens};
use crate::server::{Database, ada, settings, shared};
use keyway_testkit::unprivileged;

/// Dumps a database as its operator would.
fn dump(database: &Database<'_>) -> Vec<u8> {
    let done = unprivileged("/usr/lib/postgresql/15/bin/pg_dump")
        .args(["-Fc", "-U", "super", "-h"])
        .arg(database.server.folder())
        .arg(&database.name)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{error}");
    done.stdout
}

/// Restores a dump in place of the database, whose sessions are cut.
fn restore(database: &Database<'_>, dump: &[u8]) {
    let name = &database.name;
    let run = |sql: &str| database.server.sql("postgres", sql);
    run(&format!("DROP DATABASE {name} WITH (FORCE)"));
    run(&format!("CREATE DATABASE {name} OWNER keyway"));
    let mut running = unprivileged("/usr/lib/postgresql/15/bin/pg_restore")
        .args(["-U", "super", "-h"])
        .arg(database.server.folder())
        .args(["-d", &database.name])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    running.stdin.take().unwrap().write_all(dump).unwrap();
    let done = running.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{error}");
}

fn refresh(store: &impl GrantStore, to: &str) -> Result<(), StoreError> {
    let generation = store.read(&grant())?.unwrap().generation;
    let claim = store.claim(&grant(), generation, CLAIM)?;
    assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
    let committed = store.commit(&grant(), generation, &tokens(to))?;
    assert!(
        matches!(committed, Commit::Committed { .. }),
        "{committed:?}"
    );
    Ok(())
}

/// A sign-in without a refresh token: nothing of it can be spent.
fn plain() -> GrantKey {
    grant().account("plain")
}

#[test]
fn spent_token_of_a_restored_dump_is_not_redeemed_and_its_person_is_told() -> Result<(), StoreError>
{
    let database = Database::new(shared());
    let replica = database.replica();
    let store = replica.grants(ada());
    store.put(&grant(), &tokens("1"))?;
    let mut without = tokens("plain");
    without.refresh = None;
    store.put(&plain(), &without)?;
    let dumped = dump(&database);
    refresh(&store, "2")?;
    drop((store, replica));
    // A restart alone marks nothing.
    let store = database.replica().grants(ada());
    assert_eq!(store.read(&grant())?.unwrap().state, GrantState::Good);
    drop(store);

    restore(&database, &dumped);
    let replica = database.replica();
    let store = replica.grants(ada());
    let found = store.read(&grant())?.unwrap();
    assert_eq!(found.access.expose(), "access-1", "it is the older state");
    assert_eq!(found.state, GrantState::NeedsReauth);
    assert_eq!(found.rejection_cause, RejectionCause::Restored);
    let claim = store.claim(&grant(), found.generation, CLAIM)?;
    assert!(matches!(claim, Claim::NeedsReauth), "{claim:?}");
    let story = crate::audit::story(&replica);
    assert_eq!(story.last().unwrap(), "refresh rejected restored");
    assert_eq!(store.read(&plain())?.unwrap().state, GrantState::Good);
    // The person signs in again, and that is all.
    store.put(&grant(), &tokens("again"))?;
    refresh(&store, "after")?;
    drop((store, replica));
    let store = database.replica().grants(ada());
    let found = store.read(&grant())?.unwrap();
    assert_eq!(found.state, GrantState::Good);
    assert_eq!(found.rejection_cause, RejectionCause::Server);
    Ok(())
}

#[test]
fn journal_and_later_generations_win_over_a_restored_dump() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    let store = replica.grants(ada());
    store.put(&grant(), &tokens("1"))?;
    let dumped = dump(&database);
    refresh(&store, "2")?;
    refresh(&store, "3")?;
    // The answer to the last one came while the database was away.
    let generation = store.read(&grant())?.unwrap().generation;
    store.claim(&grant(), generation, CLAIM)?;
    store.journal(&grant(), generation, &tokens("4"))?;
    drop((store, replica));

    restore(&database, &dumped);
    let replica = database.replica();
    replica.commit_journaled();
    let store = replica.grants(ada());
    let found = store.read(&grant())?.unwrap();
    assert_eq!(found.access.expose(), "access-4");
    assert_eq!(found.state, GrantState::Good);
    assert!(found.generation > generation);
    refresh(&store, "5")
}

/// Tokens that a replica got while the dump was restored under it.
#[test]
fn commit_of_a_living_replica_wins_over_a_restored_dump() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let store = database.replica().grants(ada());
    store.put(&grant(), &tokens("1"))?;
    let dumped = dump(&database);
    refresh(&store, "2")?;
    let generation = store.read(&grant())?.unwrap().generation;
    store.claim(&grant(), generation, CLAIM)?;
    restore(&database, &dumped);
    keyway_testkit::eventually("the replica is back, and has marked what it found", || {
        let found = store.read(&grant()).ok().flatten();
        found.is_some_and(|found| found.state == GrantState::NeedsReauth)
    });
    let committed = store.commit(&grant(), generation, &tokens("3"))?;
    assert!(
        matches!(committed, Commit::Committed { .. }),
        "{committed:?}"
    );
    let found = database.replica().grants(ada()).read(&grant())?.unwrap();
    assert_eq!(found.access.expose(), "access-3");
    assert_eq!(found.state, GrantState::Good);
    Ok(())
}

#[test]
fn dump_restored_on_another_server_is_noticed_and_names_of_other_tenants_too()
-> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    let other = keyway_postgres::Person::shared("other").unwrap();
    for person in [ada(), other.clone()] {
        replica.grants(person).put(&grant(), &tokens("1"))?;
    }
    drop(replica);
    let dumped = dump(&database);
    let elsewhere = crate::server::Server::start();
    let copy = Database::new(&elsewhere);
    restore(&copy, &dumped);
    let there = settings(&copy.address("keyway"), database.place.path());
    let replica = Replica::open(&there, std::sync::Arc::new(database.key())).unwrap();
    for person in [ada(), other] {
        let found = replica.grants(person).read(&grant())?.unwrap();
        assert_eq!(found.rejection_cause, RejectionCause::Restored);
    }
    assert_eq!(
        crate::audit::faults(&replica),
        [],
        "the chain of each tenant holds"
    );
    // The original goes on.
    let found = database.replica().grants(ada()).read(&grant())?.unwrap();
    assert_eq!(found.state, GrantState::Good);
    Ok(())
}

/// What the documentation tells an operator who moves the database, or restores its files.
#[test]
fn operator_can_say_that_a_copy_is_current_or_that_the_files_are_older() -> Result<(), StoreError> {
    let database = Database::new(shared());
    database.open().put(&grant(), &tokens("1"))?;
    let dumped = dump(&database);
    restore(&database, &dumped);
    database.sql("UPDATE keyway.store SET copy = keyway.this_copy()");
    let found = database.open().read(&grant())?.unwrap();
    assert_eq!(found.state, GrantState::Good);
    database.sql("UPDATE keyway.store SET copy = ''");
    let found = database.open().read(&grant())?.unwrap();
    assert_eq!(found.rejection_cause, RejectionCause::Restored);
    Ok(())
}
