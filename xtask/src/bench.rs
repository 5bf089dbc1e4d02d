//! `cargo xtask bench`: what we cost, beside others in the same run.
//!
//! `check` is our linter and three secret scanners on the same tree: each repository of the corpus at
//! its paths.
//!
//! Runs are interleaved, so that a busy moment of the machine hits everyone, and medians are shown.
//! Not part of `cargo xtask test`: it takes a minute and asks for an idle machine.

mod contestants;
pub(crate) mod flows;
pub(crate) mod memory;
mod recall;
pub(crate) mod start;
pub(crate) mod team;
pub(crate) mod tree;
pub(crate) mod vault;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use self::contestants::Contestant;
use self::recall::Labels;
use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::nextest;
use crate::tools::Missing;

/// Measures, prints both tables, and fails if a promise of speed is broken.
pub(crate) fn check(
    workspace: &Workspace,
    missing: Missing,
    runs: usize,
    built: Option<PathBuf>,
) -> Result<(), XtaskError> {
    contestants::ensure(workspace, missing)?;
    let keyway = match built {
        Some(program) => std::path::absolute(&program).unwrap_or(program),
        None => {
            let release = ["build", "--release", "--locked", "--package", "keyway-cli"];
            child::run(&mut child::cargo(workspace, &release))?;
            contestants::keyway(workspace)
        }
    };
    let corpus = Corpus::copy(workspace)?;
    let mut broken = whole_corpus(workspace, (&corpus, &keyway), runs)?;
    broken.extend(one_small_file((&corpus, &keyway), runs)?);
    if broken.is_empty() {
        return Ok(());
    }
    Err(XtaskError::TooSlow { broken })
}

/// Returns the promises that a run over all files breaks.
fn whole_corpus(
    workspace: &Workspace,
    (corpus, keyway): (&Corpus, &Path),
    runs: usize,
) -> Result<Vec<String>, XtaskError> {
    let all = contestants::all(workspace, corpus, keyway);
    let commands: Vec<&dyn Fn() -> Command> = all
        .iter()
        .map(|found| &*found.command as &dyn Fn() -> Command)
        .collect();
    let medians = medians(&commands, runs)?;
    let ours = medians.first().copied().unwrap_or_default();
    let files = corpus.files.len();
    let secrets = corpus.labels.secrets();
    println!("\nwhole corpus, {files} files, median of {runs} runs");
    println!(
        "{:<24}{:>10}{:>8}{:>14}{:>14}{:>8}{:>11}",
        "", "time", "ratio", "secrets", "false alarms", "recall", "precision"
    );
    let mut broken = Vec::new();
    for (contestant, median) in all.iter().zip(&medians) {
        let ratio = ratio(*median, ours);
        let score = corpus.labels.score(&contestant.findings(corpus)?);
        let Contestant { name, version, .. } = contestant;
        println!(
            "{:<24}{:>7.1} ms{ratio:>7.1}×{:>14}{:>14}{:>8.2}{:>11.2}",
            format!("{name} {version}"),
            milliseconds(*median),
            format!("{} of {secrets}", score.hits),
            score.false_alarms,
            score.recall,
            score.precision,
        );
        if contestant.is_interpreted && ratio < AT_LEAST {
            broken.push(format!(
                "only {ratio:.1} times as fast as {name}, not {AT_LEAST}"
            ));
        }
    }
    Ok(broken)
}

/// Returns the promise that a run over one file breaks.
fn one_small_file(
    (corpus, keyway): (&Corpus, &Path),
    runs: usize,
) -> Result<Vec<String>, XtaskError> {
    let keyway = || {
        let mut command = Command::new(keyway);
        command.arg("check").arg(&corpus.small);
        command
    };
    let node = || {
        let mut command = Command::new("node");
        command.args(["-e", "0"]);
        command
    };
    let runs = runs.saturating_mul(SMALL_RUNS);
    let medians = medians(&[&keyway, &node], runs)?;
    let (ours, theirs) = match medians.as_slice() {
        [ours, theirs] => (*ours, *theirs),
        _ => return Ok(Vec::new()),
    };
    println!("\none small file, new process, median of {runs} runs");
    println!("{:<24}{:>7.1} ms", "keyway check", milliseconds(ours));
    println!(
        "{:<24}{:>7.1} ms{:>7.1}×",
        "node -e 0",
        milliseconds(theirs),
        ratio(theirs, ours)
    );
    let is_slow = ours >= theirs;
    Ok(is_slow
        .then(|| "one small file takes longer than `node -e 0`".to_owned())
        .into_iter()
        .collect())
}

/// Runs all commands in turn, once to warm up and then `runs` times, and returns their medians.
fn medians(commands: &[&dyn Fn() -> Command], runs: usize) -> Result<Vec<Duration>, XtaskError> {
    let mut times: Vec<Vec<Duration>> = vec![Vec::with_capacity(runs); commands.len()];
    for round in 0..=runs {
        for (make, times) in commands.iter().zip(&mut times) {
            let elapsed = time(&mut make())?;
            if round > 0 {
                times.push(elapsed);
            }
        }
    }
    let medians = times.iter_mut().map(|times| median(times));
    Ok(medians.collect())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Measures one run; exit code 1 means that something was found, anything above is a failure.
fn time(command: &mut Command) -> Result<Duration, XtaskError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let begin = Instant::now();
    let status = command
        .status()
        .map_err(|source| child::start_error(command, source))?;
    let elapsed = begin.elapsed();
    match status.code() {
        Some(0 | 1) => Ok(elapsed),
        _ => child::succeeded(command, status).map(|()| elapsed),
    }
}

/// Our own copy of the files, beside nothing else that a scanner might read.
struct Corpus {
    folder: PathBuf,
    /// Their paths, sorted.
    files: Vec<String>,
    labels: Labels,
    /// A small file in a folder of its own.
    small: PathBuf,
}

impl Corpus {
    fn copy(workspace: &Workspace) -> Result<Self, XtaskError> {
        let from = nextest::corpus(workspace);
        let bench = workspace.target.join("bench");
        let folder = bench.join("corpus");
        if bench.exists() {
            fs::remove_dir_all(&bench).map_err(XtaskError::file(&bench))?;
        }
        fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
        let index = from.join("index.tsv");
        let text = fs::read_to_string(&index).map_err(XtaskError::file(&index))?;
        // Each repository, at each commit, at its paths.
        let mut places = BTreeMap::new();
        for row in text.lines().skip(1) {
            let cells: Vec<&str> = row.split('\t').collect();
            let [id, repository, path, commit, ..] = cells.as_slice() else {
                continue;
            };
            let place = format!("{}@{commit}/{path}", repository.replace('/', "+"));
            copy(&from.join(format!("{id}.json")), &folder.join(&place))?;
            places.insert((*id).to_owned(), place);
        }
        let mut files: Vec<String> = places.values().cloned().collect();
        files.sort();
        let labels = Labels::read(&from, &places)?;
        let small = bench.join("small").join(".mcp.json");
        copy(&workspace.root.join("examples/bearer/.mcp.json"), &small)?;
        Ok(Self {
            folder,
            files,
            labels,
            small,
        })
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), XtaskError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(XtaskError::file(folder))?;
    }
    let text = fs::read(from).map_err(XtaskError::file(from))?;
    // Not `fs::copy`, which would keep the files of a read-only corpus from being replaced.
    fs::write(to, text).map_err(XtaskError::file(to))
}

fn ratio(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64().max(f64::EPSILON)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// How many times as fast as a scanner in Python or JavaScript we promise to be.
const AT_LEAST: f64 = 20.0;

/// A small file is so quick that more runs cost nothing.
const SMALL_RUNS: usize = 5;
