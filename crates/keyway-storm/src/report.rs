//! What is printed at the end.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::checker::{self, Cause, Row, TakeOver};
use crate::families::Profile;
use crate::faults::{Done, Fault};
use crate::timeouts::STALL;
use crate::{Collected, Storm};

/// Returns the faults that have a word in their name.
pub(crate) fn faults_named(word: &str) -> Vec<Fault> {
    let named = Fault::ALL
        .into_iter()
        .filter(|fault| fault.name().contains(word));
    let named: Vec<_> = named.collect();
    assert!(!named.is_empty(), "no fault has `{word}` in its name");
    named
}

/// What there is to print.
pub(crate) struct Outcome<'a> {
    pub(crate) done: &'a Done,
    /// How many refresh tokens came while things failed, and for how long that was.
    pub(crate) refreshes: usize,
    pub(crate) seconds: Duration,
    /// Which share of the processors' time went to other machines on the same host.
    pub(crate) stolen: f64,
    pub(crate) collected: &'a Collected,
    /// Claims that are open at the end.
    pub(crate) open: &'a str,
    /// What this machine refused.
    pub(crate) left_out: &'a [String],
}

/// What Linux counts of the processors' time, in hundredths of a second.
pub(crate) struct ProcessorTimes {
    stolen: u32,
    all: u32,
}

impl ProcessorTimes {
    /// Returns what was counted since the machine started; nothing where Linux does not say.
    pub(crate) fn read() -> Self {
        let all = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = all.lines().next().unwrap_or_default();
        let mut fields = first.split_ascii_whitespace().skip(1);
        let mut next = || fields.next().and_then(|it| it.parse().ok()).unwrap_or(0);
        // User, nice, system, idle, waiting for disks, interrupts of two kinds, then what was stolen.
        let others: u32 = (0..7).map(|_| next()).sum();
        let stolen = next();
        Self {
            stolen,
            all: others + stolen,
        }
    }

    /// Returns the share that went to other machines on the same host since then.
    pub(crate) fn stolen_since(&self) -> f64 {
        let now = Self::read();
        let all = now.all.saturating_sub(self.all).max(1);
        f64::from(now.stolen.saturating_sub(self.stolen)) / f64::from(all)
    }
}

/// Prints the tables and what is wrong.
pub(crate) fn print(storm: &Storm<'_>, outcome: &Outcome<'_>) -> ExitCode {
    let Outcome {
        done,
        refreshes,
        seconds: time,
        ..
    } = *outcome;
    let findings = storm.check(done, outcome.collected);
    let notes = storm.load.notes();
    let mut times = notes.times.clone();
    times.sort();
    let at = |share: usize| {
        times
            .get(times.len() * share / 100)
            .copied()
            .unwrap_or_default()
    };
    let rate = f64::from(u32::try_from(refreshes).unwrap_or(u32::MAX)) / time.as_secs_f64();
    println!(
        "\n{refreshes} refresh tokens in {:.0} s: {rate:.1} each second; {} calls answered, p50 {:.0} ms, p99 {:.0} ms; slowest recovery {:.1} s\n",
        time.as_secs_f32(),
        storm.load.answered.load(Ordering::Relaxed),
        at(50).as_secs_f32() * 1e3,
        at(99).as_secs_f32() * 1e3,
        done.worst_recovery.as_secs_f32(),
    );
    let stalls = storm.world.stalls();
    let stalled = stalls
        .iter()
        .map(|(from, until)| until.saturating_sub(*from));
    println!(
        "the storm was late itself by {} ms and more {} times, at most {:.1} s; {:.0} % of the processors' time went to other machines\n",
        STALL.as_millis(),
        stalls.len(),
        stalled.max().unwrap_or_default().as_secs_f32(),
        outcome.stolen * 100.0,
    );
    println!("| fault | times |\n|---|---|");
    for (fault, count) in &done.counts {
        println!("| {} | {count} |", fault.name());
    }
    let (_, refused) = storm.world.transit.found();
    println!(
        "\n{} answers that only memory could keep; {} calls and {refused} requests without the wrapping key; claims of hosts that vanished were taken over after {:?}",
        done.kept_in_memory,
        notes.without_key.len(),
        took(&done.take_overs)
    );
    println!(
        "\n| the server's refresh tokens | sign-ins | renewed | recovered | lost by kills | by kills while the database restarted | while the machine stood still | by hosts that vanished | by lost answers | by failover |\n|---|---|---|---|---|---|---|---|---|---|"
    );
    for (place, row) in &findings.rows {
        print_row(Profile::ALL[*place].name(), row);
    }
    println!(
        "\ncalls that failed, and were repeated: {:?}",
        notes.failures
    );
    drop(notes);
    for what in outcome.left_out {
        println!("\nleft out, because this machine refuses it: {what}");
    }
    let mut wrong = 0;
    for (kind, texts) in all_wrong(storm, outcome, findings.violations) {
        for text in texts.iter().take(SHOWN) {
            println!("\nWRONG: {text}");
        }
        if texts.len() > SHOWN {
            println!("\nand {} more of this kind: {kind}", texts.len() - SHOWN);
        }
        wrong += texts.len();
    }
    let seed = storm.options.seed;
    if wrong == 0 {
        println!("\nall as it has to be (seed {seed})");
        return ExitCode::SUCCESS;
    }
    println!("\n{wrong} things are wrong (seed {seed})");
    ExitCode::FAILURE
}

fn took(take_overs: &[TakeOver]) -> Vec<Duration> {
    let took = take_overs.iter();
    took.map(|(from, until)| until.saturating_sub(*from))
        .collect()
}

/// Returns all that is wrong, by kind; the first kind is what the journals say.
fn all_wrong(
    storm: &Storm<'_>,
    outcome: &Outcome<'_>,
    journals: Vec<String>,
) -> [(&'static str, Vec<String>); 7] {
    let Outcome { done, open, .. } = *outcome;
    let notes = storm.load.notes();
    let foreign = notes.foreign.iter();
    let foreign = foreign.map(|text| format!("another person's page: {text}"));
    let without_key = checker::calls_without_key(&notes.without_key, &done.key_absences);
    let (again, _) = storm.world.transit.found();
    let mut others = done.unexpected.clone();
    if open != "0" {
        others.push(format!("{open} claims are open at the end"));
    }
    if outcome.refreshes == 0 || done.counts.is_empty() {
        others.push("nothing happened".to_owned());
    }
    [
        ("sign-ins", journals),
        ("pages", foreign.collect()),
        ("calls without a wrapping key", without_key),
        (
            "calls during a rolling restart",
            checker::calls_cut_by_restarts(&notes.cut, &done.rolling),
        ),
        (
            "keys that were asked for",
            checker::keys_asked_for_again(&again, &done.stops),
        ),
        (
            "take-overs",
            checker::late_take_overs(&done.take_overs, &storm.world.stalls()),
        ),
        ("processes and claims", others),
    ]
}

fn print_row(name: &str, row: &Row) {
    let sum = |of: &BTreeMap<Cause, usize>| of.values().sum::<usize>();
    let lost =
        |causes: &[Cause]| -> usize { causes.iter().filter_map(|cause| row.lost.get(cause)).sum() };
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        row.families,
        row.refreshes,
        sum(&row.recovered),
        lost(&[Cause::Kill]),
        lost(&[Cause::KillAndRestart]),
        lost(&[Cause::Stall]),
        lost(&[Cause::Vanished]),
        lost(&[Cause::LostAnswer]),
        lost(&[Cause::Failover]),
    );
}

const SHOWN: usize = 20;
