//! `cargo xtask bench start`: how long a local server takes to start through `keyway run`, under each
//! profile and beside an earlier version.
//!
//! Measured is the time from the start of a process to its answer to `initialize`, as a person has it:
//! the entry was approved before, and so it is for both versions. A small server, of which a start is
//! little more than what Keyway adds, and `server-everything` of the official servers; as this user
//! and, if that is root, as one who needs a user namespace. Starts are interleaved, each round begins
//! with another contestant, and ratios of medians and of best times are printed: those mean something
//! on a machine that is not idle, and times would not.

mod scene;

use std::path::PathBuf;
use std::time::Duration;

use self::scene::{Contestant, Scene, Server, User};
use super::{median, ratio};
use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;

/// Measures, prints a table for each user and server, and fails if a promise is broken.
///
/// # Errors
///
/// Returns [`XtaskError::TooSlow`] if `hide` takes more than [`AT_MOST`] times what `against` takes, or
/// `off` longer than `hide`.
pub(crate) fn measure(
    workspace: &Workspace,
    runs: usize,
    built: Option<PathBuf>,
    against: Option<PathBuf>,
) -> Result<(), XtaskError> {
    let keyway = match built {
        Some(program) => program,
        None => {
            let release = ["build", "--release", "--locked", "--package", "keyway-cli"];
            child::run(&mut child::cargo(workspace, &release))?;
            workspace.target.join("release/keyway")
        }
    };
    let scene = Scene::make(&keyway, against.as_deref())?;
    let mut broken = Vec::new();
    for server in Server::found(workspace) {
        for user in User::all() {
            let mut times = race(&scene, server.clone(), user, runs)?;
            let heading = format!("{}, {user}", server.label());
            broken.extend(report(&heading, &mut times));
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(XtaskError::TooSlow { broken })
}

/// Starts everything in turn.
fn race(scene: &Scene, server: Server, user: User, runs: usize) -> Result<Vec<Times>, XtaskError> {
    let contestants = scene.contestants(&server, user)?;
    let runs = if server.is_slow() { runs / 4 } else { runs };
    let mut times: Vec<Times> = contestants.iter().map(Times::of).collect();
    let count = contestants.len();
    for round in 0..runs + WARMING {
        for place in 0..count {
            // What one leaves for the kernel to clean up must not always hit the same next one.
            let at = (round + place) % count;
            let (Some(contestant), Some(times)) = (contestants.get(at), times.get_mut(at)) else {
                continue;
            };
            let taken = contestant.start()?;
            if round >= WARMING {
                times.taken.push(taken);
            }
        }
    }
    Ok(times)
}

/// How long one contestant took.
#[derive(Debug)]
struct Times {
    label: &'static str,
    taken: Vec<Duration>,
}

impl Times {
    fn of(contestant: &Contestant) -> Self {
        Self {
            label: contestant.label,
            taken: Vec::new(),
        }
    }
}

/// Prints the table; returns the promises that it breaks.
fn report(heading: &str, times: &mut [Times]) -> Vec<String> {
    let runs = times.first().map_or(0, |one| one.taken.len());
    let summed: Vec<(&str, Duration, Duration)> = times
        .iter_mut()
        .map(|one| {
            let median = median(&mut one.taken);
            let best = one.taken.first().copied().unwrap_or_default();
            (one.label, median, best)
        })
        .collect();
    let of = |wanted: &str| {
        let found = summed.iter().find(|(label, ..)| *label == wanted);
        found.map(|(_, median, best)| (*median, *best))
    };
    // Beside the earlier version if there is one, otherwise beside the server itself.
    let base = if of(OTHER).is_some() { OTHER } else { BARE };
    println!("\n{heading}: to the answer to `initialize`, {runs} starts in turn");
    println!("{:<24}{:>10}{:>10}", format!("× {base}"), "median", "best");
    let (base_median, base_best) = of(base).unwrap_or_default();
    for (label, median, best) in &summed {
        let (median, best) = (ratio(*median, base_median), ratio(*best, base_best));
        println!("{label:<24}{median:>10.2}{best:>10.2}");
    }
    let mut broken = Vec::new();
    if let (Some((hide, _)), Some((other, _))) = (of(HIDE), of(OTHER)) {
        broken.extend(too_slow((HIDE, hide), (OTHER, other), AT_MOST));
    }
    if let (Some((off, _)), Some((hide, _))) = (of(OFF), of(HIDE)) {
        broken.extend(too_slow((OFF, off), (HIDE, hide), SAME));
    }
    let broken = broken.into_iter();
    broken.map(|what| format!("{heading}: {what}")).collect()
}

fn too_slow(
    (label, time): (&str, Duration),
    (base, than): (&str, Duration),
    at_most: f64,
) -> Option<String> {
    let times = ratio(time, than);
    let text = format!("`{label}` takes {times:.2} times what `{base}` takes, not {at_most}");
    (times > at_most).then_some(text)
}

const BARE: &str = "the server itself";
const OFF: &str = "off";
const HIDE: &str = "hide";
const CONFINE: &str = "confine";
const OTHER: &str = "hide, earlier version";
/// How much longer a start may take than with the earlier version.
const AT_MOST: f64 = 1.3;
/// What counts as no longer than another: medians differ by less from run to run.
const SAME: f64 = 1.05;
/// The first starts fill caches.
const WARMING: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn times(label: &'static str, micros: &[u64]) -> Times {
        Times {
            label,
            taken: micros.iter().copied().map(Duration::from_micros).collect(),
        }
    }

    #[test]
    fn a_start_may_take_three_tenths_more_and_not_any_longer() {
        for (hide, is_kept) in [(13_000, true), (13_100, false)] {
            // One lucky start of the one and one slow start of the other change nothing.
            let hide = times(HIDE, &[1_000, hide, hide, hide, 90_000]);
            let other = times(OTHER, &[9_999, 10_000, 10_000]);
            let broken = report("small", &mut [hide, other]);
            assert_eq!(broken.is_empty(), is_kept, "{broken:?}");
        }
    }

    #[test]
    fn keeping_a_program_from_nothing_takes_no_longer_than_hiding() {
        let hide = || times(HIDE, &[10_000]);
        let broken = report("small", &mut [times(OFF, &[11_000]), hide()]);
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert!(broken[0].starts_with("small: `off` takes 1.10"));
        assert!(report("small", &mut [times(OFF, &[10_400]), hide()]).is_empty());
    }
}
