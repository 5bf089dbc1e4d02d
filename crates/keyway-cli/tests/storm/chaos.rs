//! A network that cuts, resets, holds up and drips: every command ends with success or with an error
//! that has a code, none hangs, and no sign-in is lost that the server would still take.
//!
//! Some bytes are chosen to cut at; `KEYWAY_CUTS=1` cuts at each, and larger numbers at every so
//! many.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use keyway_testkit::rig::Settings;
use keyway_testkit::{ChaosProxy, Desk, Fault, Keyway, Outcome};

use crate::KEYWAY;

/// Says which cuts are made of all that are possible.
fn cuts(total: usize, every: usize) -> Vec<usize> {
    let every = crate::number("KEYWAY_CUTS").map_or(every, |it| usize::try_from(it).unwrap());
    (1..=total).step_by(every).collect()
}

/// Works through numbers on a few threads. Each has one desk: the servers of a desk live as long as
/// the process, and thousands of them are more threads than a machine has.
fn side_by_side(numbers: &[usize], work: impl Fn(&Desk, &ChaosProxy, usize) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let (desk, proxy) = Desk::behind_proxy(KEYWAY, Settings::default());
                while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(&desk, &proxy, *number);
                }
            });
        }
    });
}

/// Runs a command that must end in time, with success or with an error that has a code.
fn ends(call: Keyway, what: &str) -> Outcome {
    let started = Instant::now();
    let outcome = call.run();
    assert!(
        started.elapsed() < LONGEST,
        "{what}: {:?}",
        started.elapsed()
    );
    let is_named = outcome.stderr.contains("error: ") && !outcome.stderr.contains("internal");
    let is_known = matches!(outcome.code, 1 | 3 | 5) && is_named;
    assert!(
        outcome.code == 0 || is_known,
        "{what}: {}",
        outcome.everything()
    );
    outcome
}

fn grace() -> Settings {
    let mut settings = Settings::default();
    settings.grace = Duration::from_secs(600);
    settings
}

fn call(desk: &Desk) -> Keyway {
    desk.without_browser(&["call", "s", "echo", "message=hello"])
}

#[test]
fn a_sign_in_that_is_cut_anywhere_fails_with_a_code_and_can_be_repeated() {
    let (desk, proxy) = Desk::behind_proxy(KEYWAY, Settings::default());
    proxy.set(Fault::None);
    desk.sign_in();
    assert_eq!(call(&desk).run().code, 0);
    let total = proxy.passed();
    assert!(
        total > 1000,
        "every document and the first exchange: {total}"
    );
    let cuts = cuts(total, 149);
    let failed = AtomicUsize::new(0);
    side_by_side(&cuts, |desk, proxy, at| {
        desk.start_over();
        let person = desk.person();
        proxy.set(Fault::CutAfter(at));
        let signed_in = ends(desk.keyway(&["login", "s"]), &format!("login, byte {at}"));
        let called = ends(call(desk), &format!("call, byte {at}"));
        let has_answer = called.stdout.contains("Echo: hello");
        assert_eq!(
            called.code == 0,
            has_answer,
            "{at}: {}",
            called.everything()
        );
        failed.fetch_add(usize::from(signed_in.code != 0), Ordering::Relaxed);
        proxy.set(Fault::None);
        if signed_in.code != 0 {
            let again = desk.keyway(&["login", "s"]).run();
            assert_eq!(again.code, 0, "{at}: {}", again.everything());
        }
        drop(person);
        let again = call(desk).run();
        assert_eq!(again.code, 0, "{at}: {}", again.everything());
    });
    println!(
        "{} cuts of {total} bytes, {failed:?} sign-ins failed",
        cuts.len()
    );
    assert!(failed.into_inner() > 0, "nothing was cut");
}

#[test]
fn a_refresh_that_is_cut_anywhere_loses_no_sign_in_where_the_server_has_grace() {
    let (desk, proxy) = Desk::behind_proxy(KEYWAY, grace());
    desk.sign_in();
    desk.rig.reset();
    proxy.set(Fault::None);
    assert_eq!(call(&desk).run().code, 0);
    let total = proxy.passed();
    let cuts = cuts(total, 61);
    let failed = AtomicUsize::new(0);
    let desks: Vec<(Desk, ChaosProxy)> = (0..THREADS)
        .map(|_| Desk::behind_proxy(KEYWAY, grace()))
        .collect();
    thread::scope(|scope| {
        for (index, (desk, proxy)) in desks.iter().enumerate() {
            let (cuts, failed) = (&cuts, &failed);
            scope.spawn(move || {
                desk.sign_in();
                for at in cuts.iter().skip(index).step_by(THREADS) {
                    desk.rig.reset();
                    proxy.set(Fault::CutAfter(*at));
                    let cut = ends(call(desk), &format!("byte {at}"));
                    failed.fetch_add(usize::from(cut.code != 0), Ordering::Relaxed);
                    proxy.set(Fault::None);
                    let again = call(desk).run();
                    assert_eq!(again.code, 0, "byte {at}: {}", again.everything());
                }
                assert_eq!(desk.windows().len(), 1);
                let families = desk.rig.families();
                assert!(families.iter().all(|it| it.ended.is_none()), "{families:?}");
            });
        }
    });
    println!(
        "{} cuts of {total} bytes, {failed:?} calls failed",
        cuts.len()
    );
    assert!(failed.into_inner() > 0, "nothing was cut");
}

/// At a server without grace nothing is lost either, as long as every answer arrives in the end.
#[test]
fn a_network_that_resets_hangs_delays_or_drips_ends_every_command() {
    let troubles = [
        Fault::Reset,
        Fault::HalfOpen,
        Fault::Delay(Duration::from_millis(1500)),
        Fault::Drip(Duration::from_millis(5)),
    ];
    thread::scope(|scope| {
        for trouble in troubles {
            scope.spawn(move || {
                let (desk, proxy) = Desk::behind_proxy(KEYWAY, Settings::default());
                desk.sign_in();
                desk.rig.reset();
                proxy.set(trouble);
                let troubled = ends(call(&desk), &format!("{trouble:?}"));
                println!("{trouble:?}: exit {}", troubled.code);
                proxy.set(Fault::None);
                let again = call(&desk).run();
                assert_eq!(again.code, 0, "{trouble:?}: {}", again.everything());
                let families = desk.rig.families();
                assert!(families.iter().all(|it| it.is_chain()), "{families:?}");
            });
        }
    });
}

const THREADS: usize = 4;
/// Longer than an exchange with what comes before and after it.
const LONGEST: Duration = Duration::from_secs(100);
