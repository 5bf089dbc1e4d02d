//! Threats E1 to E16 as `cargo xtask reproduce` plays them against programs of any version.

use keyway_testkit::reproduction::{Verdict, plays};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

#[test]
fn every_attack_that_broke_the_first_release_candidate_is_held_off() {
    let fails = |verdict: &Verdict| !matches!(verdict, Verdict::Held(_));
    let played = plays()
        .into_iter()
        .map(|play| (play.threat, play.played, play.against(KEYWAY)));
    let failed: Vec<_> = played.filter(|(_, _, verdict)| fails(verdict)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn every_threat_is_played() {
    let played = plays();
    for number in 1..=16 {
        let threat = format!("E{number}");
        assert!(played.iter().any(|play| play.threat == threat), "{threat}");
    }
}
