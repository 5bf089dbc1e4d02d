//! A gateway that is killed in the middle of an exchange.

use std::time::{Duration, Instant};

use keyway_testkit::eventually;
use keyway_testkit::rig::Settings;

use crate::team::Team;

/// Two survivors, so that the test fails if each of them renews.
#[test]
fn what_a_killed_gateway_was_renewing_is_redeemed_once_by_those_that_run_on() {
    let team = Team::signed_in(Settings::default());
    let mut killed = team.gateway();
    let survivors = [team.gateway(), team.gateway()];
    assert!(team.call(&killed).contains("Echo: hello"));
    let rig = &team.desk.rig;
    rig.set(|rig| {
        rig.grace = Duration::from_secs(60);
        rig.token_delay = Duration::from_secs(30);
    });
    rig.reset();
    let waiting = team.begin_call(&killed);
    eventually("the exchange is under way", || rig.refreshes() == 1);
    rig.set(|rig| rig.token_delay = Duration::ZERO);
    killed.running.child.kill().unwrap();
    killed.running.child.wait().unwrap();
    let killed_at = Instant::now();
    eventually("a survivor redeems it", || rig.refreshes() == 2);
    println!("redeemed {:?} after the kill", killed_at.elapsed());
    drop(waiting);
    eventually("it is committed", || {
        team.sql("SELECT count(*) FROM keyway.grants WHERE claim IS NOT NULL") == "0"
    });
    for gateway in &survivors {
        let answer = team.call(gateway);
        assert!(answer.contains("Echo: hello"), "{answer}");
    }
    assert_eq!(rig.refreshes(), 2, "one by the dead, one by a survivor");
    let families = rig.families();
    assert!(families.iter().all(|it| it.ended.is_none()), "{families:?}");
    assert_eq!(team.desk.windows().len(), 1, "no person was asked again");
}
