//! Everything that can happen to a process, an answer, a clock and a disk while a token is renewed,
//! in lanes side by side, for a minute; `KEYWAY_STORM_MINUTES=60` for an hour, with longer times.
//!
//! Times are the product's own: lanes mostly wait, so many fit into one minute. The seeds of a run
//! follow from `KEYWAY_STORM_SEED`; a failure names its lane, and `KEYWAY_STORM_LANE=Kill` repeats
//! the lanes of one fault alone.

use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

use crate::lane::{KillPoint, Lane, Score};

/// What goes wrong in the rounds of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    SlowAnswer,
    LostAnswer,
    CutAnswer,
    DrippingAnswer,
    Stop,
    Kill,
    Signal,
    Clock,
    FullDisk,
    SlowDisk,
}

/// How long things take, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    is_long: bool,
}

impl Times {
    pub(crate) const fn answer(self) -> RangeInclusive<u64> {
        8_000..=if self.is_long { 30_000 } else { 16_000 }
    }

    pub(crate) const fn stop(self) -> RangeInclusive<u64> {
        1_000..=if self.is_long { 90_000 } else { 14_000 }
    }
}

/// A lane: what goes wrong, and whether the server forgives.
const LANES: [(Fault, bool); 13] = [
    (Fault::SlowAnswer, false),
    (Fault::DrippingAnswer, false),
    (Fault::Stop, false),
    (Fault::Stop, false),
    (Fault::Signal, false),
    (Fault::Clock, false),
    (Fault::FullDisk, false),
    (Fault::SlowDisk, false),
    (Fault::LostAnswer, false),
    (Fault::LostAnswer, true),
    (Fault::CutAnswer, true),
    (Fault::Kill, false),
    (Fault::Kill, true),
];

#[test]
fn a_sign_in_is_lost_only_by_a_kill_in_the_window_or_a_lost_answer() {
    let minutes = crate::number("KEYWAY_STORM_MINUTES");
    // Rounds begin within this time; the last ones take a while.
    let time = minutes.map_or(Duration::from_secs(30), |it| Duration::from_secs(60 * it));
    let times = Times {
        is_long: minutes.is_some(),
    };
    let first = crate::number("KEYWAY_STORM_SEED").unwrap_or(1);
    let only = std::env::var("KEYWAY_STORM_LANE").ok();
    let is_wanted = |fault: Fault| only.as_ref().is_none_or(|it| *it == format!("{fault:?}"));
    let started = Instant::now();
    let lanes: Vec<_> = (first..)
        .zip(LANES)
        .filter(|(_, (fault, _))| is_wanted(*fault))
        .map(|(seed, (fault, has_grace))| {
            let run = move || lane(seed, fault, times, has_grace, started + time);
            (seed, fault, has_grace, thread::spawn(run))
        })
        .collect();
    println!(
        "| seed | fault | grace | rounds | processes | redemptions | kills | broken answers | sign-ins lost |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut failed = Vec::new();
    let mut kill_points = [0; KillPoint::ALL.len()];
    for (seed, fault, has_grace, lane) in lanes {
        let Ok(score) = lane.join() else {
            failed.push((seed, fault, has_grace));
            continue;
        };
        let Some(score) = score else {
            crate::skipped(&format!("{fault:?} is not possible on this machine"));
            continue;
        };
        for (all, more) in kill_points.iter_mut().zip(score.kill_points) {
            *all += more;
        }
        row(seed, fault, has_grace, score);
        let causes = score.kills + score.broken_answers;
        assert!(score.lost <= causes, "seed {seed}, {fault:?}: {score:?}");
        assert!(score.rounds > 0, "seed {seed}, {fault:?}: {score:?}");
    }
    let named: Vec<_> = KillPoint::ALL.iter().zip(kill_points).collect();
    println!("killed at {named:?}; {:?}", started.elapsed());
    assert!(failed.is_empty(), "lanes that failed: {failed:?}");
    assert!(
        only.is_some() || !kill_points.contains(&0),
        "a point without a kill: {named:?}"
    );
}

fn row(seed: u64, fault: Fault, has_grace: bool, score: Score) {
    let Score {
        rounds,
        processes,
        redemptions,
        kills,
        broken_answers,
        lost,
        ..
    } = score;
    let grace = if has_grace { "yes" } else { "no" };
    println!(
        "| {seed} | {fault:?} | {grace} | {rounds} | {processes} | {redemptions} | {kills} | {broken_answers} | {lost} |"
    );
}

/// Runs rounds until the time is up; `None` if this machine cannot do what the fault needs.
fn lane(seed: u64, fault: Fault, times: Times, has_grace: bool, end: Instant) -> Option<Score> {
    let mut lane = Lane::new(seed, times, has_grace);
    if !lane.begin(fault) {
        return None;
    }
    let least = match fault {
        Fault::Kill => KillPoint::ALL.len(),
        _ => 1,
    };
    while lane.score.rounds < least || Instant::now() < end {
        lane.round(fault);
    }
    Some(lane.score)
}
