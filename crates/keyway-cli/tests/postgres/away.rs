//! What clients get while the database is there, away, and back.

use keyway_testkit::eventually;
use keyway_testkit::rig::Settings;
use rustix::process::{Pid, Signal, kill_process};

use crate::team::{Conversation, Team, get};

#[test]
fn two_gateways_use_one_sign_in_and_renew_it_once() {
    let team = Team::signed_in(Settings::default());
    let stored = team.sql("SELECT count(*) FROM keyway.grants");
    assert_eq!(stored, "1", "the sign-in is in the database");
    let (one, other) = (team.gateway(), team.gateway());
    for gateway in [&one, &other] {
        let answer = team.call(gateway);
        assert!(answer.contains("Echo: hello"), "{answer}");
    }
    // The server refuses what it issued: both renew, and one of them redeems.
    team.desk.rig.reset();
    std::thread::scope(|scope| {
        for gateway in [&one, &other] {
            let team = &team;
            scope.spawn(move || {
                let answer = team.call(gateway);
                assert!(answer.contains("Echo: hello"), "{answer}");
            });
        }
    });
    assert_eq!(team.desk.rig.refreshes(), 1);
    let printed = one.said() + &other.said();
    let database = team.sql("SELECT string_agg(g::text, '') FROM keyway.grants g");
    assert_eq!(team.desk.leaks(&(printed + &database), &[]), [].into());
    assert_eq!(team.sql("SELECT count(*) FROM keyway.replicas"), "2");
}

#[test]
fn a_session_goes_on_at_another_gateway_and_after_the_first_was_killed() {
    let team = Team::signed_in(Settings::default());
    let (one, other) = (team.gateway(), team.gateway());
    let session = Conversation::begin(&team, &one);
    let moved = session.at(&other);
    for session in [&session, &moved, &session] {
        let answer = session.call();
        assert!(answer.contains("Echo: hello"), "{answer}");
    }
    drop(one);
    let answer = moved.call();
    assert!(answer.contains("Echo: hello"), "{answer}");
    assert_eq!(team.desk.windows().len(), 1, "no person was asked again");
}

#[test]
fn without_its_database_a_gateway_serves_what_it_has_and_redeems_nothing() {
    let team = Team::signed_in(Settings::default());
    let gateway = team.gateway();
    assert!(get(&gateway, "/readyz").starts_with("HTTP/1.1 200 "));
    let before = Conversation::begin(&team, &gateway);
    for answer in [before.call(), team.call(&gateway)] {
        assert!(answer.contains("Echo: hello"), "{answer}");
    }
    team.server.control(&["-m", "immediate", "stop"]);
    eventually("it is not ready", || {
        let answer = get(&gateway, "/readyz");
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("retry-after: ")
    });
    assert!(get(&gateway, "/healthz").starts_with("HTTP/1.1 200 "));
    // The token in memory counts, for connections that are open and for new ones.
    let answer = before.call();
    assert!(answer.contains("Echo: hello"), "{answer}");
    let answer = Conversation::begin(&team, &gateway).call();
    assert!(answer.contains("Echo: hello"), "{answer}");
    let answer = team.call(&gateway);
    assert!(answer.contains("Echo: hello"), "{answer}");
    // One that the server refuses needs a renewal, which needs the database.
    team.desk.rig.reset();
    let refused = team.call(&gateway);
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("retry-after: "), "{refused}");
    let told = before.call();
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    for answer in [&refused, &told] {
        assert!(answer.contains("\"store-unreachable\""), "{answer}");
        assert!(answer.contains("nothing was lost"), "{answer}");
    }
    assert_eq!(team.desk.rig.refreshes(), 0, "nothing was redeemed");
    team.server.control(&["start"]);
    eventually("it is ready again", || {
        get(&gateway, "/readyz").starts_with("HTTP/1.1 200 ")
    });
    eventually("the sign-in is renewed", || {
        team.call(&gateway).contains("Echo: hello")
    });
    assert_eq!(team.desk.rig.refreshes(), 1);
    assert_eq!(team.desk.windows().len(), 1, "no person was asked again");
}

#[test]
fn a_gateway_that_ends_finishes_its_renewal_and_frees_its_lock() {
    let team = Team::signed_in(Settings::default());
    let mut gateway = team.gateway();
    assert!(team.call(&gateway).contains("Echo: hello"));
    team.desk.rig.reset();
    let delay = std::time::Duration::from_secs(2);
    team.desk.rig.set(|rig| rig.token_delay = delay);
    std::thread::scope(|scope| {
        let (team, shared) = (&team, &gateway);
        let call = scope.spawn(move || team.call(shared));
        eventually("the exchange is under way", || {
            team.sql("SELECT count(*) FROM keyway.grants WHERE claim IS NOT NULL") == "1"
        });
        let id = i32::try_from(shared.running.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
        drop(call.join());
    });
    let ended = gateway.running.child.wait().unwrap();
    assert!(ended.success(), "{ended}");
    assert_eq!(team.desk.rig.refreshes(), 1);
    let open = "SELECT count(*) FROM keyway.grants WHERE claim IS NOT NULL";
    assert_eq!(team.sql(open), "0", "the answer was committed");
    assert_eq!(team.sql("SELECT count(*) FROM keyway.replicas"), "0");
    let next = team.gateway();
    assert!(team.call(&next).contains("Echo: hello"));
    assert_eq!(team.desk.rig.refreshes(), 1, "the new token is used");
}
