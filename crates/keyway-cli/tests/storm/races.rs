//! Many processes, one sign-in, a server that forgives nothing: every refresh token counts once,
//! and one that comes twice ends them all.
//!
//! `KEYWAY_STORM=200` makes it as many rounds as that; otherwise it stays below two minutes.

use std::time::{Duration, Instant};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Running, eventually};

use crate::KEYWAY;

const PROCESSES: usize = 64;

fn rounds() -> usize {
    crate::number("KEYWAY_STORM").map_or(20, |rounds| usize::try_from(rounds).unwrap())
}

/// Starts calls at once; all succeed, with one refresh and without a window.
fn round(desk: &Desk, number: usize) {
    let before = desk.rig.refreshes();
    let mut calls: Vec<Running> = (0..PROCESSES).map(|_| desk.call().start()).collect();
    for call in &mut calls {
        let outcome = call.outcome();
        assert_eq!(outcome.code, 0, "round {number}: {}", outcome.everything());
    }
    assert_eq!(desk.rig.refreshes() - before, 1, "round {number}");
    assert_eq!(desk.windows().len(), 1, "round {number}");
}

/// The server's journal of the one family is a chain, and the store holds its last token.
fn assert_chain(desk: &Desk, refreshes: usize) {
    let families = desk.rig.families();
    assert_eq!(families.len(), 1, "{families:?}");
    let before = families.first().unwrap();
    assert!(before.is_chain(), "{families:?}");
    assert_eq!(before.redemptions.len(), refreshes);
    desk.rig.reset();
    assert_eq!(desk.call().run().code, 0);
    let families = desk.rig.families();
    let after = families.first().unwrap();
    assert!(after.is_chain(), "the store holds the last token");
    assert_eq!(after.redemptions.len(), refreshes + 1);
}

#[test]
fn refused_tokens_are_refreshed_once_each_round() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    // Long enough that every process has started before the first is done.
    desk.rig
        .set(|settings| settings.token_delay = Duration::from_millis(300));
    let started = Instant::now();
    for number in 0..rounds() {
        desk.rig.reset();
        round(&desk, number);
        desk.rig.forget();
    }
    println!("{} rounds in {:?}", rounds(), started.elapsed());
    assert_chain(&desk, rounds());
}

#[test]
fn expired_tokens_are_refreshed_once_each_round() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let started = Instant::now();
    for number in 0..rounds() {
        // One call gets a token that has expired before any process can use it.
        desk.rig.set(|settings| {
            settings.expires_in = Some(1);
            settings.token_delay = Duration::ZERO;
        });
        desk.rig.reset();
        assert_eq!(desk.call().run().code, 0);
        // It expires by the clock of the processes that use it.
        std::thread::sleep(Duration::from_millis(1050));
        desk.rig.set(|settings| {
            settings.expires_in = Some(3600);
            settings.token_delay = Duration::from_millis(300);
        });
        desk.rig.forget();
        round(&desk, number);
    }
    println!("{} rounds in {:?}", rounds(), started.elapsed());
    assert_chain(&desk, 2 * rounds());
}

/// Waits until a process has redeemed a refresh token.
fn await_refresh(desk: &Desk) {
    eventually("a refresh", || desk.rig.refreshes() > 0);
}

/// Processes are killed at any moment of a refresh, and what they began is finished without them.
#[test]
fn killed_processes_cost_no_sign_in() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let person = desk.person();
    let mut kills = 0;
    for number in 0..rounds() * 3 {
        desk.rig.reset();
        desk.rig.forget();
        desk.rig
            .set(|settings| settings.token_delay = Duration::from_millis(30));
        let mut calls: Vec<Running> = (0..4).map(|_| desk.call().start()).collect();
        // Two of three times after a process asked for a new token, before or after the answer;
        // otherwise anywhere.
        let step = u64::try_from(number).unwrap();
        if number % 3 > 0 {
            await_refresh(&desk);
            // The moment of the kill is what each round varies.
            std::thread::sleep(Duration::from_millis(step * 7 % 50));
        } else {
            // The moment of the kill is what each round varies.
            std::thread::sleep(Duration::from_millis(step * 13 % 90));
        }
        for call in calls.iter_mut().take(2) {
            if call.child.try_wait().unwrap().is_none() {
                call.child.kill().unwrap();
                kills += 1;
            }
        }
        for call in calls.iter_mut().skip(2) {
            let outcome = call.outcome();
            assert_eq!(outcome.code, 0, "{number}: {}", outcome.everything());
        }
    }
    drop(person);
    println!("{kills} kills");
    assert!(kills > rounds(), "{kills}");
    let families = desk.rig.families();
    assert_eq!(families.len(), 1, "{families:?}");
    assert!(families.iter().all(|family| family.is_chain()));
    assert_eq!(desk.windows().len(), 1);
    desk.rig.reset();
    assert_eq!(desk.call().run().code, 0);
}
