//! `cargo xtask mutants`: small changes of the code that decides about security, each of which has to
//! fail a unit test of its crate; or, where a process shuts itself in for good, a test that starts
//! programs.
//!
//! `cargo-mutants` says which changes there are; which of them are tried is chosen by a seed that is
//! printed, so that a run can be repeated. They are made one after the other in a copy of what is in
//! git's index, below `target`, so that each costs an incremental build. Not part of
//! `cargo xtask test`: it takes as long as it is told to.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::tools::Missing;

/// How many changes are tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Begins no other change after this time.
    pub(crate) minutes: u64,
    /// Decides which ones, and in which order.
    pub(crate) seed: u64,
}

/// Tries changes until the time is over, and prints what became of each.
///
/// # Errors
///
/// Returns [`XtaskError::MutantsMissed`] if fewer than nine in ten were noticed.
pub(crate) fn run(workspace: &Workspace, missing: Missing, plan: Plan) -> Result<(), XtaskError> {
    ensure(workspace, missing)?;
    let mut mutants = list(workspace)?;
    let all = mutants.len();
    shuffle(&mut mutants, plan.seed);
    println!(
        "{all} changes, in the order of seed {}, for {} minutes",
        plan.seed, plan.minutes
    );
    let tree = Tree::copy(workspace)?;
    let until = Instant::now() + Duration::from_secs(plan.minutes.saturating_mul(60));
    let (mut tally, mut sound) = (Tally::default(), BTreeSet::new());
    for mutant in &mutants {
        if Instant::now() >= until {
            break;
        }
        if !sound.contains(&mutant.package) {
            if !tree.is_sound(workspace, &mutant.package)? {
                let package = mutant.package.clone();
                return Err(XtaskError::MutantsBaseline { package });
            }
            sound.insert(mutant.package.clone());
        }
        let outcome = tree.try_out(workspace, mutant)?;
        println!("{outcome}: {}", mutant.name);
        tally.count(outcome, mutant);
    }
    tally.report()
}

/// What is changed: a package, and files below its `src`.
const TARGETS: &[(&str, &[&str])] = &[
    // Challenges.
    ("keyway-auth", &["challenge.rs"]),
    // What is opened of a plugin, and its own variables.
    ("keyway-files", &["env_file.rs", "regular_file.rs"]),
    // Address policy, and the rules of the launcher.
    (
        "keyway-transport",
        &[
            "http_client/address.rs",
            "child_env.rs",
            "launch/ancestry.rs",
            "launch/denied.rs",
            "launch/exec.rs",
            "launch/isolation.rs",
            "launch/isolation/granted.rs",
            "launch/isolation/level.rs",
            "launch/isolation/mount_table.rs",
            "launch/isolation/paths.rs",
            "launch/isolation/rules.rs",
            "launch/isolation/system_calls.rs",
            "launch/isolation/tree.rs",
            "launch/known_folders.rs",
            "launch/namespaces.rs",
            "launch/sockets.rs",
            "launch/spec.rs",
        ],
    ),
    // Templates, and the plan that is made of an entry.
    (
        "keyway-config",
        &[
            "address.rs",
            "resolve.rs",
            "resolve/*.rs",
            "template.rs",
            "template/*.rs",
        ],
    ),
    // The digest of an approval, and the ledger.
    (
        "keyway-approval",
        &[
            "agreement.rs",
            "answer.rs",
            "change.rs",
            "code_variables.rs",
            "command.rs",
            "confinement.rs",
            "digest.rs",
            "env_values.rs",
            "fact.rs",
            "facts.rs",
            "facts/*.rs",
            "file_system.rs",
            "files.rs",
            "hash.rs",
            "hidden.rs",
            "inline_code.rs",
            "ledger.rs",
            "link.rs",
            "manifest.rs",
            "outside_paths.rs",
            "owner.rs",
            "places.rs",
            "plan_digest.rs",
            "program_start.rs",
            "program_words.rs",
            "record.rs",
            "text.rs",
            "tree.rs",
            "walk.rs",
        ],
    ),
];

/// One change, as `cargo-mutants` lists it.
#[derive(Debug, Clone, Deserialize)]
struct Mutant {
    package: String,
    file: PathBuf,
    name: String,
    span: Span,
    replacement: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Span {
    start: Position,
    end: Position,
}

/// Counted from one, columns in characters.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Position {
    line: usize,
    column: usize,
}

impl Mutant {
    /// Says whether it changes what shuts a process in.
    fn shuts_in(&self) -> bool {
        self.package == LAUNCHER
            && self
                .file
                .components()
                .any(|part| part.as_os_str() == "launch")
    }

    /// Returns the text of its file with the change made; `None` if the file is another.
    fn applied(&self, text: &str) -> Option<String> {
        let (start, end) = (self.span.start.offset(text)?, self.span.end.offset(text)?);
        let (before, after) = (text.get(..start)?, text.get(end..)?);
        (start <= end).then(|| format!("{before}{}{after}", self.replacement))
    }
}

impl Position {
    fn offset(self, text: &str) -> Option<usize> {
        let mut begin = 0;
        for _ in 1..self.line {
            begin += text.get(begin..)?.find('\n')? + 1;
        }
        let line = text.get(begin..)?;
        let mut columns = line.char_indices().map(|(at, _)| at).chain([line.len()]);
        Some(begin + columns.nth(self.column.checked_sub(1)?)?)
    }
}

fn list(workspace: &Workspace) -> Result<Vec<Mutant>, XtaskError> {
    let mut all = Vec::new();
    for (package, files) in TARGETS {
        let arguments = ["mutants", "--list", "--json", "--package", package];
        let mut command = child::cargo(workspace, &arguments);
        for file in *files {
            command.args(["--file", &format!("crates/{package}/src/{file}")]);
        }
        let printed = child::capture(&mut command)?;
        let listed: Vec<Mutant> =
            serde_json::from_str(&printed).map_err(|_| XtaskError::Output {
                command: "cargo mutants --list".to_owned(),
                what: "it is not a list of changes",
            })?;
        all.extend(listed);
    }
    Ok(all)
}

/// Fisher and Yates, with the numbers of SplitMix64.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    for last in (1..items.len()).rev() {
        let bound = u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1);
        let chosen = usize::try_from(next() % bound).unwrap_or_default();
        items.swap(last, chosen);
    }
}

/// A copy of the sources, which is built apart from ours.
struct Tree {
    root: PathBuf,
    target: PathBuf,
}

impl Tree {
    fn copy(workspace: &Workspace) -> Result<Self, XtaskError> {
        let folder = workspace.target.join("mutants");
        let (root, target) = (folder.join("tree"), folder.join("target"));
        if root.exists() {
            fs::remove_dir_all(&root).map_err(XtaskError::file(&root))?;
        }
        let prefix = format!("--prefix={}/", root.display());
        let mut copy = child::program(workspace, "git");
        child::run(copy.args(["checkout-index", "--all", &prefix]))?;
        Ok(Self { root, target })
    }

    /// Makes a change, runs the tests of its crate, and takes the change back.
    fn try_out(&self, workspace: &Workspace, mutant: &Mutant) -> Result<Outcome, XtaskError> {
        let path = self.root.join(&mutant.file);
        let text = fs::read_to_string(&path).map_err(XtaskError::file(&path))?;
        let changed = mutant.applied(&text).ok_or_else(|| XtaskError::Output {
            command: "cargo mutants --list".to_owned(),
            what: "a change is not in the copy; commit or stash first",
        })?;
        fs::write(&path, changed).map_err(XtaskError::file(&path))?;
        let outcome = self.outcome(workspace, mutant);
        fs::write(&path, text).map_err(XtaskError::file(&path))?;
        outcome
    }

    fn outcome(&self, workspace: &Workspace, mutant: &Mutant) -> Result<Outcome, XtaskError> {
        let outcome = self.test(workspace, &mutant.package)?;
        if outcome != Outcome::Missed || !mutant.shuts_in() {
            return Ok(outcome);
        }
        // What shuts a process in does so for good, so that only programs that are started show it.
        match succeeds(&mut self.started_programs(workspace))? {
            true => Ok(Outcome::Missed),
            false => Ok(Outcome::CaughtByProgram),
        }
    }

    fn test(&self, workspace: &Workspace, package: &str) -> Result<Outcome, XtaskError> {
        let mut build = self.cargo(workspace, BUILD_TIME, package);
        if !succeeds(build.arg("--no-run"))? {
            return Ok(Outcome::Unviable);
        }
        let mut tests = self.cargo(workspace, TEST_TIME, package);
        match succeeds(&mut tests)? {
            true => Ok(Outcome::Missed),
            false => Ok(Outcome::Caught),
        }
    }

    /// A change may take away the namespace in which something is mounted: so there is another around it.
    fn started_programs(&self, workspace: &Workspace) -> Command {
        let mut id = child::program(workspace, "id");
        let is_root = child::probe(id.arg("-u")).is_some_and(|id| id.trim() == "0");
        // Others than root can mount nothing outside of a namespace.
        let mut command = child::program(workspace, if is_root { "unshare" } else { "env" });
        command.args(is_root.then_some("--mount"));
        command.args(["timeout", "--kill-after=5", TEST_TIME]);
        command.arg(child::cargo_program());
        command.args(["test", "--quiet", "--locked", "--package", LAUNCHER]);
        command.args(["--test", "children", "--", "isolation::", "grants::"]);
        self.apart(&mut command);
        command
    }

    /// Says whether all tests pass without a change.
    fn is_sound(&self, workspace: &Workspace, package: &str) -> Result<bool, XtaskError> {
        let is_sound = self.test(workspace, package)? == Outcome::Missed;
        if !is_sound || package != LAUNCHER {
            return Ok(is_sound);
        }
        succeeds(&mut self.started_programs(workspace))
    }

    /// A change may make a loop without an end; `timeout` ends the tests with all that they started.
    fn cargo(&self, workspace: &Workspace, time: &str, package: &str) -> Command {
        let mut command = child::program(workspace, "timeout");
        command
            .args(["--kill-after=5", time])
            .arg(child::cargo_program())
            .args(["test", "--quiet", "--locked", "--lib", "--package", package])
            // What a feature switches on is changed too, and would be missed without being compiled.
            .arg("--all-features");
        self.apart(&mut command);
        command
    }

    fn apart(&self, command: &mut Command) {
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_BUILD_JOBS", "1");
    }
}

fn succeeds(command: &mut Command) -> Result<bool, XtaskError> {
    let output = command.output();
    let output = output.map_err(|source| child::start_error(command, source))?;
    Ok(output.status.success())
}

/// What became of one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// A test failed, or did not end.
    Caught,
    /// No unit test failed, but one that starts programs.
    CaughtByProgram,
    /// All tests passed.
    Missed,
    /// It does not compile, and so says nothing about the tests.
    Unviable,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caught => "caught",
            Self::CaughtByProgram => "caught by a program that was started",
            Self::Missed => "MISSED",
            Self::Unviable => "unviable",
        })
    }
}

#[derive(Debug, Default)]
struct Tally {
    caught: usize,
    /// Those of the above that no unit test noticed.
    by_programs: usize,
    unviable: usize,
    missed: Vec<String>,
}

impl Tally {
    fn count(&mut self, outcome: Outcome, mutant: &Mutant) {
        match outcome {
            Outcome::Caught => self.caught += 1,
            Outcome::CaughtByProgram => {
                self.caught += 1;
                self.by_programs += 1;
            }
            Outcome::Unviable => self.unviable += 1,
            Outcome::Missed => self.missed.push(mutant.name.clone()),
        }
    }

    fn report(self) -> Result<(), XtaskError> {
        let Self {
            caught,
            by_programs,
            unviable,
            missed,
        } = self;
        let run = caught + missed.len();
        let percent = (caught * 100).checked_div(run).unwrap_or(100);
        println!(
            "{caught} of {run} caught, {percent} %, {by_programs} of these by programs that were \
             started; {unviable} did not compile"
        );
        if percent < AT_LEAST {
            return Err(XtaskError::MutantsMissed { missed });
        }
        for name in missed {
            println!("missed: {name}");
        }
        Ok(())
    }
}

fn ensure(workspace: &Workspace, missing: Missing) -> Result<(), XtaskError> {
    let program = workspace.tools().join("bin/cargo-mutants");
    if program.is_file() {
        return Ok(());
    }
    let described = format!("cargo-mutants {VERSION} from crates.io");
    if missing == Missing::Report {
        return Err(XtaskError::ToolsMissing {
            missing: vec![described],
        });
    }
    println!("installing {described}");
    crate::tools::cargo_install(workspace, "cargo-mutants", VERSION)
}

/// The crate that starts programs.
const LAUNCHER: &str = "keyway-transport";
/// Of those that compile, in hundredths.
const AT_LEAST: usize = 90;
const VERSION: &str = "27.1.0";
const BUILD_TIME: &str = "1200";
const TEST_TIME: &str = "300";

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(start: (usize, usize), end: (usize, usize), replacement: &str) -> Mutant {
        let position = |(line, column)| Position { line, column };
        Mutant {
            package: "p".to_owned(),
            file: PathBuf::from("lib.rs"),
            name: "replace".to_owned(),
            span: Span {
                start: position(start),
                end: position(end),
            },
            replacement: replacement.to_owned(),
        }
    }

    /// A file that was renamed would be left out without a word.
    #[test]
    fn every_file_that_is_changed_is_there() {
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        for (package, files) in TARGETS {
            for file in *files {
                let file = file.strip_suffix("/*.rs").unwrap_or(file);
                let path = crates.join(package).join("src").join(file);
                assert!(path.exists(), "{}", path.display());
            }
        }
    }

    #[test]
    fn a_change_replaces_exactly_its_span() {
        let text = "fn a() {\n    \"ä\" == b\n}\n";
        let changed = mutant((2, 9), (2, 11), "!=").applied(text);
        assert_eq!(changed.unwrap(), "fn a() {\n    \"ä\" != b\n}\n");
        let whole = mutant((1, 8), (3, 2), "{ true }").applied(text);
        assert_eq!(whole.unwrap(), "fn a() { true }\n");
        assert_eq!(mutant((9, 1), (9, 2), "x").applied(text), None);
        assert_eq!(mutant((1, 0), (1, 1), "x").applied(text), None);
    }

    #[test]
    fn a_seed_gives_the_same_order_each_time_and_another_another() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..100).collect();
            shuffle(&mut items, seed);
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<u32>>());
    }

    #[test]
    fn what_shuts_a_process_in_is_told_by_its_folder() {
        let of = |package: &str, file: &str| Mutant {
            package: package.to_owned(),
            file: PathBuf::from(file),
            ..mutant((1, 1), (1, 1), "")
        };
        let tree = "crates/keyway-transport/src/launch/isolation/tree.rs";
        assert!(of(LAUNCHER, tree).shuts_in());
        assert!(!of(LAUNCHER, "crates/keyway-transport/src/child_env.rs").shuts_in());
        assert!(!of("keyway-approval", "crates/keyway-approval/src/tree.rs").shuts_in());
    }

    #[test]
    fn a_change_that_only_a_program_notices_is_caught() {
        let mut tally = Tally::default();
        let mutant = mutant((1, 1), (1, 1), "");
        for outcome in [Outcome::Caught, Outcome::CaughtByProgram, Outcome::Missed] {
            tally.count(outcome, &mutant);
        }
        assert_eq!((tally.caught, tally.by_programs), (2, 1));
        assert_eq!(tally.missed.len(), 1);
    }

    #[test]
    fn nine_in_ten_have_to_be_caught() {
        let missed = |count| vec!["m".to_owned(); count];
        let tally = |caught, count| Tally {
            caught,
            by_programs: 0,
            unviable: 3,
            missed: missed(count),
        };
        assert!(tally(9, 1).report().is_ok());
        assert!(tally(8, 1).report().is_err());
        assert!(tally(0, 0).report().is_ok());
    }
}
