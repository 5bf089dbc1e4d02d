//! What dies, freezes, is cut off or restarts: no token is redeemed twice, none is lost.

use std::time::{Duration, Instant};

use keyway_store::conformance::Backend as _;
use keyway_store::{Claim, Commit, Generation, GrantStore, StoreError};

use crate::processes::{CLAIM, Worker, grant, owner, tokens};
use crate::server::{Database, Server, ada, shared};

#[test]
fn claim_of_a_killed_process_is_taken_over_after_two_looks() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let survivor = database.open();
    let generation = survivor.put(&grant(), &tokens("1"))?;
    let mut worker = Worker::start(&database, "claim", &[]);
    let dead = owner(&worker.says());
    assert!(survivor.owner_alive(&dead)?);
    assert!(survivor.orphans()?.is_empty());
    worker.kill();
    let killed = Instant::now();
    let claim = soon(|| match survivor.claim(&grant(), generation, CLAIM) {
        Ok(Claim::Claimed(claim)) => Some(claim),
        _ => None,
    });
    let taken_after = killed.elapsed();
    assert_eq!(claim.interrupted, 1);
    assert!(
        taken_after >= Duration::from_millis(400),
        "{taken_after:?}: one look is not enough"
    );
    println!("taken over {taken_after:?} after the kill");
    Ok(())
}

#[test]
fn orphans_are_listed_of_killed_processes_only() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let survivor = database.open();
    survivor.put(&grant(), &tokens("1"))?;
    let mut worker = Worker::start(&database, "claim", &[]);
    let dead = owner(&worker.says());
    worker.kill();
    let orphans = soon(|| {
        survivor
            .orphans()
            .ok()
            .filter(|orphans| !orphans.is_empty())
    });
    assert_eq!(orphans.len(), 1, "{orphans:?}");
    assert_eq!(orphans[0].owner, dead);
    let other = database.replica().grants(ada());
    other.claim(&grant(), orphans[0].generation, CLAIM)?;
    assert!(survivor.orphans()?.is_empty(), "its new owner lives");
    Ok(())
}

#[test]
fn owner_that_lost_its_connection_and_lives_keeps_its_claim() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let (first, second) = (database.open(), database.open());
    let generation = first.put(&grant(), &tokens("1"))?;
    first.claim(&grant(), generation, CLAIM)?;
    for cut in 0..5 {
        assert_eq!(cut_liveness(&database, &first), "1", "it had a session");
        let held = second.claim(&grant(), generation, CLAIM)?;
        assert!(matches!(held, Claim::Held { .. }), "cut {cut}: {held:?}");
        // Claiming waits for the lock, so the next cut finds a session.
        first.claim(&grant(), generation, CLAIM)?;
    }
    let committed = first.commit(&grant(), generation, &tokens("2"))?;
    assert!(matches!(committed, Commit::Committed { .. }));
    Ok(())
}

#[test]
fn replica_without_its_lock_claims_nothing_until_it_has_it_again() -> Result<(), StoreError> {
    let server = Server::start();
    let database = Database::new(&server);
    let store = database.open();
    let generation = store.put(&grant(), &tokens("1"))?;
    database.sql("ALTER ROLE keyway NOLOGIN");
    cut_liveness(&database, &store);
    // The session that listened has the lock for a moment.
    soon(|| (cut_liveness(&database, &store) == "1").then_some(()));
    let refused = store.claim(&grant(), generation, CLAIM).unwrap_err();
    assert!(refused.is_transient(), "{refused}");
    assert!(
        refused.to_string().contains("lost its session lock"),
        "{refused}"
    );
    assert!(store.read(&grant())?.is_some(), "reading goes on");
    assert_eq!(database.sql("SELECT count(claim) FROM keyway.grants"), "0");
    database.sql("ALTER ROLE keyway LOGIN");
    let claim = store.claim(&grant(), generation, CLAIM)?;
    assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
    Ok(())
}

/// A busy machine, or a server with all its connections taken, may not let a replica connect again
/// before others have looked twice.
#[test]
fn lock_that_was_lost_is_taken_on_the_session_that_listens() -> Result<(), StoreError> {
    let server = Server::start();
    let database = Database::new(&server);
    let (first, second) = (database.open(), database.open());
    let generation = first.put(&grant(), &tokens("1"))?;
    first.claim(&grant(), generation, CLAIM)?;
    assert!(second.read(&grant())?.is_some(), "it has a connection");
    database.sql("ALTER ROLE keyway NOLOGIN");
    assert_eq!(cut_liveness(&database, &first), "1");
    let until = Instant::now() + Duration::from_millis(1_500);
    while Instant::now() < until {
        let held = second.claim(&grant(), generation, CLAIM)?;
        assert!(matches!(held, Claim::Held { .. }), "{held:?}");
    }
    let committed = first.commit(&grant(), generation, &tokens("2"))?;
    assert!(
        matches!(committed, Commit::Committed { .. }),
        "{committed:?}"
    );
    database.sql("ALTER ROLE keyway LOGIN");
    let mut feed = first.change_feed()?;
    soon(|| {
        let listens = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN keyway'";
        (database.sql(listens) == "2").then_some(())
    });
    while feed.wait(Duration::from_millis(300))? {}
    second.put(&grant(), &tokens("3"))?;
    assert!(feed.wait(Duration::from_secs(5))?, "it listens again");
    Ok(())
}

#[test]
fn claim_from_before_a_restart_of_the_server_waits_for_its_end() -> Result<(), StoreError> {
    let server = Server::start();
    let database = Database::new(&server);
    let survivor = database.open();
    let generation = survivor.put(&grant(), &tokens("1"))?;
    let mut worker = Worker::start(&database, "claim", &[]);
    worker.says();
    // It lives, and cannot take its lock again: as a replica whose network comes back later.
    worker.signal("STOP");
    server.control(&["-m", "immediate", "restart"]);
    let start = Instant::now();
    let held = survivor.claim(&grant(), generation, CLAIM)?;
    assert!(
        matches!(
            held,
            Claim::Held {
                is_overdue: false,
                ..
            }
        ),
        "{held:?}"
    );
    assert!(survivor.orphans()?.is_empty());
    println!("held {:?} after the restart", start.elapsed());
    worker.signal("CONT");
    worker.go_on();
    let answer = worker.says();
    assert!(
        answer.contains("Committed"),
        "the late winner is saved: {answer}"
    );
    let moved = survivor.claim(&grant(), generation, CLAIM)?;
    assert!(matches!(moved, Claim::Moved { .. }), "{moved:?}");
    Ok(())
}

#[test]
fn claim_of_a_dead_owner_from_before_a_restart_ends_with_its_lifetime() -> Result<(), StoreError> {
    let server = Server::start();
    let database = Database::new(&server);
    let survivor = database.open();
    let generation = survivor.put(&grant(), &tokens("1"))?;
    let mut worker = Worker::start(&database, "claim", &[]);
    worker.says();
    worker.kill();
    server.control(&["-m", "immediate", "restart"]);
    let held = survivor.claim(&grant(), generation, CLAIM)?;
    assert!(matches!(held, Claim::Held { .. }), "{held:?}");
    database.advance(CLAIM);
    let claim = survivor.claim(&grant(), generation, CLAIM)?;
    assert!(matches!(claim, Claim::Claimed(claim) if claim.interrupted == 1));
    Ok(())
}

#[test]
fn store_that_is_away_redeems_nothing_and_its_journal_loses_nothing() -> Result<(), StoreError> {
    let server = Server::start();
    let database = Database::new(&server);
    let store = database.open();
    let generation = store.put(&grant(), &tokens("1"))?;
    store.claim(&grant(), generation, CLAIM)?;
    server.control(&["-m", "immediate", "stop"]);
    for failed in [
        store.read(&grant()).map(drop).unwrap_err(),
        store
            .claim(&grant(), generation, CLAIM)
            .map(drop)
            .unwrap_err(),
        store
            .commit(&grant(), generation, &tokens("2"))
            .map(drop)
            .unwrap_err(),
    ] {
        assert!(failed.is_transient(), "{failed}");
    }
    store.journal(&grant(), generation, &tokens("2"))?;
    let kept = std::fs::read_dir(database.place.path().join("journal")).unwrap();
    for file in kept {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("access-2") && !text.contains("refresh-2"));
    }
    server.control(&["start"]);
    let moved = store.claim(&grant(), generation, CLAIM)?;
    assert!(matches!(moved, Claim::Moved { .. }), "{moved:?}");
    let found = store.read(&grant())?.unwrap();
    assert_eq!(found.access.expose(), "access-2");
    let is_over = found.expires_at.is_some_and(|end| end <= found.now);
    assert!(is_over, "how long it still lives is not known");
    let left = std::fs::read_dir(database.place.path().join("journal")).unwrap();
    assert_eq!(left.count(), 0);
    Ok(())
}

/// A person consented, and the database is away before the tokens are stored.
#[test]
fn new_sign_in_survives_a_database_that_is_away_and_the_end_of_its_replica()
-> Result<(), StoreError> {
    let server = Server::start();
    let database = Database::new(&server);
    let store = database.open();
    store.reserve(&grant())?;
    server.control(&["-m", "immediate", "stop"]);
    assert!(
        store
            .put(&grant(), &tokens("1"))
            .unwrap_err()
            .is_transient()
    );
    // The person tried again: the last one counts.
    store.journal_sign_in(&grant(), None, &tokens("1"))?;
    store.journal_sign_in(&grant(), None, &tokens("2"))?;
    assert!(store.settle_journal(&grant()).unwrap_err().is_transient());
    drop(store);
    server.control(&["start"]);
    let next = database.replica();
    next.commit_journaled();
    let found = next.grants(ada()).read(&grant())?.unwrap();
    assert_eq!(found.access.expose(), "access-2");
    assert!(found.refreshable);
    let left = std::fs::read_dir(database.place.path().join("journal")).unwrap();
    assert_eq!(left.count(), 0);
    Ok(())
}

/// One that nothing can renew is used until it is refused: its end is not known.
#[test]
fn journaled_sign_in_without_a_refresh_token_does_not_count_as_expired() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let store = database.open();
    store.reserve(&grant())?;
    let mut new = tokens("1");
    new.refresh = None;
    store.journal_sign_in(&grant(), None, &new)?;
    store.settle_journal(&grant())?;
    let found = store.read(&grant())?.unwrap();
    assert_eq!(
        (found.access.expose().as_str(), found.expires_at),
        ("access-1", None)
    );
    Ok(())
}

#[test]
fn clock_of_a_replica_that_is_wrong_by_an_hour_changes_nothing() -> Result<(), StoreError> {
    for shift in ["-1h", "+1h"] {
        let database = Database::new(shared());
        let here = database.open();
        let through = [
            "env",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
            "faketime",
            "-f",
            shift,
        ];
        let mut elsewhere = Worker::start(&database, "sign in", &through);
        assert_eq!(elsewhere.says(), "stored");
        let found = here.read(&grant())?.unwrap();
        let left = found.expires_at.unwrap().since(found.now);
        let hour = Duration::from_secs(3600);
        assert!(left <= hour && left > hour / 2, "{shift}: {left:?}");
        let mut elsewhere = Worker::start(&database, "claim", &through);
        elsewhere.says();
        let held = here.take_over(&grant(), found.generation, CLAIM)?;
        assert!(
            matches!(
                held,
                Claim::Held {
                    is_overdue: false,
                    ..
                }
            ),
            "{shift}: {held:?}"
        );
    }
    Ok(())
}

#[test]
fn ten_thousand_sign_ins_cost_no_more_than_one() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let mut generation = database.open().put(&grant(), &tokens("1"))?;
    database.sql(
        "INSERT INTO keyway.grants (tenant, person, grant_id, profile, name, generation, key_id,
             access, refresh, fingerprint)
         SELECT tenant, CASE WHEN n % 2 = 0 THEN person ELSE 'person ' || n END,
             sha256(n::text::bytea), profile, name, generation, key_id, access, refresh, fingerprint
         FROM keyway.grants, generate_series(1, 10000) n;
         ANALYZE keyway.grants",
    );
    let before = whole_scans(&database);
    let store = database.open();
    for number in 0..5 {
        store.read(&grant())?;
        let claim = store.claim(&grant(), generation, CLAIM)?;
        assert!(matches!(claim, Claim::Claimed(_)));
        let next = store.commit(&grant(), generation, &tokens(&number.to_string()))?;
        let Commit::Committed { generation: next } = next else {
            panic!("{next:?}");
        };
        generation = next;
    }
    assert!(store.orphans()?.is_empty());
    drop(store);
    let after = whole_scans(&database);
    assert_eq!(after, before, "no statement reads the whole table");
    Ok(())
}

/// Returns how often the whole table was read, by sessions that have ended.
fn whole_scans(database: &Database<'_>) -> String {
    // A session reports what it did when it ends at the latest, some time after it is dropped.
    let sessions = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND usename = 'keyway'";
    while database.sql(sessions) != "0" {}
    database.sql("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'grants'")
}

#[test]
fn one_winner_among_processes_while_sessions_are_cut() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let stores: Vec<_> = (0..3).map(|_| database.open()).collect();
    let mut generation = stores[0].put(&grant(), &tokens("1"))?;
    for round in 0..4 {
        let winners = std::thread::scope(|scope| {
            let claims = stores
                .iter()
                .map(|store| scope.spawn(move || store.claim(&grant(), generation, CLAIM)));
            let claims: Vec<_> = claims.collect();
            // Every session of the database, whatever it does.
            database.sql(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            );
            let claims = claims.into_iter().map(|claim| claim.join().unwrap());
            claims
                .filter(|claim| matches!(claim, Ok(Claim::Claimed(_))))
                .count()
        });
        assert!(winners <= 1, "round {round}: {winners} may redeem");
        // A claim whose answer was cut off is given back by the replica that made it.
        generation = next_generation(&stores[0], generation)?;
    }
    Ok(())
}

/// Asks until there is an answer: on a busy machine the server notices late that a process died.
fn soon<T>(ask: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        if let Some(answer) = ask() {
            return answer;
        }
    }
    panic!("no answer within 20 seconds");
}

/// Commits, whichever owner has the claim; tried again while sessions come back.
fn next_generation(
    store: &impl GrantStore,
    generation: Generation,
) -> Result<Generation, StoreError> {
    for _ in 0..50 {
        match store.commit(&grant(), generation, &tokens("next")) {
            Ok(Commit::Committed { generation }) => return Ok(generation),
            // Its answer was cut off, and it is stored.
            Ok(Commit::Superseded { current: Some(now) }) => return Ok(now),
            Err(error) if error.is_transient() => {}
            other => panic!("{other:?}"),
        }
    }
    panic!("the database does not come back");
}

/// Ends the session that shows that a replica lives; returns how many there were.
fn cut_liveness(database: &Database<'_>, store: &impl GrantStore) -> String {
    let owner = u64::from_str_radix(store.owner().unwrap().as_str(), 16).unwrap();
    database.sql(&format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_locks
         WHERE locktype = 'advisory' AND objsubid = 1
           AND (classid::bigint << 32) | objid::bigint = {owner}"
    ))
}
