//! What is printed at the end.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::checker::{Cause, Row};
use crate::families::Profile;
use crate::faults::{Done, Fault};
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

/// Prints the tables and what is wrong.
pub(crate) fn print(
    storm: &Storm<'_>,
    done: &Done,
    (refreshes, time): (usize, Duration),
    collected: &Collected,
    open: &str,
) -> ExitCode {
    let verdict = storm.judge(done, collected);
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
    println!("| fault | times |\n|---|---|");
    for (fault, count) in &done.counts {
        println!("| {} | {count} |", fault.name());
    }
    println!(
        "\n| the server's refresh tokens | sign-ins | renewed | recovered | lost by kills | by kills while the database restarted | by lost answers | by failover |\n|---|---|---|---|---|---|---|---|"
    );
    for (place, row) in &verdict.rows {
        print_row(Profile::ALL[*place].name(), row);
    }
    println!(
        "\ncalls that failed, and were repeated: {:?}",
        notes.failures
    );
    let mut wrong = verdict.violations;
    wrong.extend(
        notes
            .foreign
            .iter()
            .map(|text| format!("another person's page: {text}")),
    );
    wrong.extend(done.surprises.iter().cloned());
    if open != "0" {
        wrong.push(format!("{open} claims are open at the end"));
    }
    if refreshes == 0 || done.counts.is_empty() {
        wrong.push("nothing happened".to_owned());
    }
    for text in wrong.iter().take(SHOWN) {
        println!("\nWRONG: {text}");
    }
    if wrong.is_empty() {
        println!("\nall as it has to be (seed {})", storm.options.seed);
        return ExitCode::SUCCESS;
    }
    println!(
        "\n{} things are wrong (seed {})",
        wrong.len(),
        storm.options.seed
    );
    ExitCode::FAILURE
}

fn print_row(name: &str, row: &Row) {
    let sum = |of: &BTreeMap<Cause, usize>| of.values().sum::<usize>();
    let lost =
        |causes: &[Cause]| -> usize { causes.iter().filter_map(|cause| row.lost.get(cause)).sum() };
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} |",
        row.families,
        row.refreshes,
        sum(&row.recovered),
        lost(&[Cause::Kill, Cause::Vanished]),
        lost(&[Cause::KillAndRestart]),
        lost(&[Cause::LostAnswer]),
        lost(&[Cause::Failover]),
    );
}

const SHOWN: usize = 20;
