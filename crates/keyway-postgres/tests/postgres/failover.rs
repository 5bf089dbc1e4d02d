//! A standby that takes over and lacks what was committed last.

use std::path::Path;
use std::sync::Arc;

use keyway_postgres::Replica;
use keyway_store::{Claim, Commit, GrantState, GrantStore as _, Marked, StoreError};
use keyway_testkit::eventually;

use crate::processes::{CLAIM, grant, tokens};
use crate::server::{Database, Server, ada, settings};

/// An address that leads to whichever of the two takes writes.
fn address(servers: [&Server; 2], database: &str) -> String {
    let hosts = servers.map(|it| it.folder().to_str().unwrap().replace('/', "%2F"));
    let [one, other] = hosts;
    format!("postgres://keyway@{one},{other}/{database}?target_session_attrs=read-write")
}

fn open(address: &str, place: &Path, database: &Database<'_>) -> Replica {
    Replica::open(&settings(address, place), Arc::new(database.key())).unwrap()
}

/// Lets the standby have what was committed so far, and nothing after that.
fn leave_behind(standby: &Server, database: &Database<'_>) {
    eventually("the standby has the sign-in", || {
        let end = database.sql("SELECT pg_current_wal_lsn()");
        let has = format!("SELECT pg_last_wal_replay_lsn() >= '{end}'");
        standby.sql("postgres", &has) == "t"
    });
    // It follows no more; that ends at once, as the setting is read again.
    standby.sql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
    standby.sql("postgres", "SELECT pg_reload_conf()");
    eventually("the standby follows no more", || {
        standby.sql("postgres", "SELECT count(*) FROM pg_stat_wal_receiver") == "0"
    });
}

fn audited(server: &Server, database: &str) -> String {
    let sql = "SELECT count(*) FROM keyway.audit WHERE cause = 'failover'";
    server.sql(database, sql)
}

#[test]
fn a_commit_that_the_standby_lacked_is_made_again_before_anybody_claims() -> Result<(), StoreError>
{
    let primary = Server::start();
    let database = Database::new(&primary);
    let standby = primary.standby();
    let address = address([&primary, &standby], &database.name);
    let [one, other] = [(); 2].map(|()| open(&address, database.place.path(), &database));
    let (maker, claimer) = (one.grants(ada()), other.grants(ada()));
    let generation = maker.put(&grant(), &tokens("1"))?;
    leave_behind(&standby, &database);
    let committed = maker.commit(&grant(), generation, &tokens("2"))?;
    let Commit::Committed { generation: late } = committed else {
        panic!("{committed:?}");
    };
    primary.control(&["-m", "immediate", "stop"]);
    standby.control(&["promote"]);
    // Its refresh token is spent: a replica that gets this claim would send it.
    eventually("the other one knows better", || {
        match claimer.claim(&grant(), generation, CLAIM) {
            Ok(Claim::Moved { generation: moved }) => moved == late,
            Ok(other) => panic!("a spent token would be sent: {other:?}"),
            Err(error) => {
                assert!(error.is_transient(), "{error}");
                false
            }
        }
    });
    let stored = claimer.refresh_to_revoke(&grant())?.unwrap();
    assert_eq!(stored.expose(), "refresh-2");
    assert_eq!(audited(&standby, &database.name), "1");
    // What the server has already is not stored again.
    let next = maker.commit(&grant(), late, &tokens("3"))?;
    assert!(matches!(next, Commit::Committed { .. }), "{next:?}");
    standby.sql(
        &database.name,
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'keyway'",
    );
    eventually("its session is back", || {
        maker
            .claim(&grant(), late, CLAIM)
            .is_ok_and(|claim| matches!(claim, Claim::Moved { .. }))
    });
    assert_eq!(audited(&standby, &database.name), "1");
    Ok(())
}

/// A process was killed after its request was read. Another one sent the token once more, and the
/// server refused it: all of that the standby lacks.
#[test]
fn a_refused_token_that_the_standby_lacked_is_refused_there_and_the_audit_says_why()
-> Result<(), StoreError> {
    let primary = Server::start();
    let database = Database::new(&primary);
    let standby = primary.standby();
    let address = address([&primary, &standby], &database.name);
    let replica = open(&address, database.place.path(), &database);
    let grants = replica.grants(ada());
    let generation = grants.put(&grant(), &tokens("1"))?;
    leave_behind(&standby, &database);
    let Claim::Claimed(claimed) = grants.claim(&grant(), generation, CLAIM)? else {
        panic!("it can be claimed");
    };
    database.sql("UPDATE keyway.grants SET interrupted = 1");
    let marked = grants.mark_reauth(&grant(), generation, &claimed.fingerprint)?;
    assert_eq!(marked, Marked::Marked);
    primary.control(&["-m", "immediate", "stop"]);
    standby.control(&["promote"]);
    eventually("the person is asked to sign in there", || {
        let read = grants.read(&grant());
        read.is_ok_and(|found| found.is_some_and(|it| it.state == GrantState::NeedsReauth))
    });
    let noted = "SELECT string_agg(outcome || ' ' || cause, ', ') FROM keyway.audit
                 WHERE event = 'refresh'";
    assert_eq!(standby.sql(&database.name, noted), "rejected replica-died");
    // Once: a session that comes back finds it there.
    standby.sql(
        &database.name,
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'keyway'",
    );
    eventually("its session is back", || {
        matches!(
            grants.claim(&grant(), generation, CLAIM),
            Ok(Claim::NeedsReauth)
        )
    });
    assert_eq!(standby.sql(&database.name, noted), "rejected replica-died");
    Ok(())
}
