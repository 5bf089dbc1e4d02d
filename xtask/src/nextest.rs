//! Unit and integration tests by `cargo nextest`, and the numbers of its summary line.

use std::env;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::scratch::Scratch;

/// Runs all unit and integration tests, says when they are built, and returns how many there were.
///
/// Tests of the corpus are run where it is, and else named: it is not part of the repository.
pub(crate) fn run(workspace: &Workspace, mut built: impl FnMut()) -> Result<Summary, XtaskError> {
    let usual = run_with(workspace, &[], &mut built)?;
    let folder = corpus(workspace);
    if folder.join("labels.tsv").is_file() {
        println!("\nwith the corpus at {}", folder.display());
        return Ok(usual.with(run_with(workspace, OF_CORPUS, || {})?));
    }
    println!("\nskipped, since `KEYWAY_CORPUS` names no corpus:");
    let list = ["nextest", "list", "--workspace", "--locked"];
    child::run(child::cargo(workspace, &list).args(OF_CORPUS))?;
    Ok(usual)
}

/// Returns where real files with labels would be.
pub(crate) fn corpus(workspace: &Workspace) -> PathBuf {
    let beside = workspace.root.join("../shared/corpus");
    env::var_os("KEYWAY_CORPUS").map_or(beside, PathBuf::from)
}

/// Chooses the tests that read the corpus, which are ignored for that reason.
const OF_CORPUS: &[&str] = &[
    "--run-ignored",
    "only",
    "-E",
    "binary(corpus) | test(/(^|::)(real_|round_trips_.*_real_files)/)",
];

/// Runs the tests whose names contain one of these.
pub(crate) fn run_named(workspace: &Workspace, names: &[&str]) -> Result<Summary, XtaskError> {
    let filters: Vec<String> = names.iter().map(|name| format!("test({name})")).collect();
    run_with(workspace, &["-E", &filters.join(" | ")], || {})
}

/// Tests find installed tools under the directory in `KEYWAY_TOOLS`; see [`crate::tools`].
fn run_with(
    workspace: &Workspace,
    arguments: &[&str],
    mut built: impl FnMut(),
) -> Result<Summary, XtaskError> {
    let mut command = child::cargo(workspace, &["nextest", "run", "--workspace", "--locked"]);
    command.args(arguments);
    command.env("KEYWAY_TOOLS", workspace.tools());
    let scratch = Scratch::in_memory();
    if let Some(scratch) = &scratch {
        command.env("TMPDIR", scratch.path());
        // Each test has a database server of its own; what a new one consists of is made once.
        command.envs(
            scratch
                .shared("postgres")
                .map(|path| ("KEYWAY_POSTGRES", path)),
        );
    }
    if io::stderr().is_terminal() {
        command.arg("--color=always");
    }
    let mut summary = None;
    let status = child::follow_stderr(&mut command, |line| {
        let line = without_colour(line);
        if is_beginning(&line) {
            built();
        }
        summary = Summary::parse(&line).or(summary);
        true
    })?;
    child::succeeded(&command, status)?;
    summary.ok_or(XtaskError::Output {
        command: "cargo nextest".to_owned(),
        what: "it has no summary line",
    })
}

/// Says whether tests begin to run with this line: nothing is left to compile.
fn is_beginning(line: &str) -> bool {
    let line = line.trim_start();
    line.strip_prefix("Starting ")
        .is_some_and(|rest| rest.contains(" across "))
}

/// How many tests passed and how many were not run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Summary {
    pub(crate) passed: u32,
    pub(crate) skipped: u32,
}

impl Summary {
    /// Reads `Summary [ 0.1s] 5 tests run: 5 passed (1 slow), 2 skipped`; `None` for other lines.
    fn parse(line: &str) -> Option<Self> {
        let (_, counts) = line
            .trim_start()
            .strip_prefix("Summary [")?
            .split_once(" run: ")?;
        Some(Self {
            passed: count(counts, "passed")?,
            skipped: count(counts, "skipped")?,
        })
    }

    /// Adds a run of tests that this one skipped.
    const fn with(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            skipped: self.skipped.saturating_sub(other.passed),
        }
    }

    /// Returns the closing line of a successful run.
    pub(crate) fn closing_line(self) -> String {
        let Self { passed, skipped } = self;
        match skipped {
            0 => format!("{passed} passed, 0 failed"),
            _ => format!("{passed} passed, 0 failed, {skipped} skipped"),
        }
    }
}

/// Returns the number in front of `word`; zero if `word` is absent, `None` if no number is there.
fn count(counts: &str, word: &str) -> Option<u32> {
    let mut before = "";
    for found in counts
        .split([' ', ',', '(', ')'])
        .filter(|found| !found.is_empty())
    {
        if found == word {
            return before.parse().ok();
        }
        before = found;
    }
    Some(0)
}

/// Removes the escape sequences that switch colours.
fn without_colour(line: &str) -> String {
    let mut pieces = line.split('\x1b');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once('m').map_or(piece, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_every_shape_of_summary() {
        for (line, passed, skipped) in [
            (
                "     Summary [   0.005s] 3 tests run: 3 passed, 0 skipped",
                3,
                0,
            ),
            (
                "     Summary [   1.204s] 1 test run: 1 passed, 4 skipped",
                1,
                4,
            ),
            (
                "     Summary [  61.000s] 8 tests run: 8 passed (1 slow, 2 leaky), 1 skipped",
                8,
                1,
            ),
            (
                "     Summary [   0.005s] 3/9 tests run: 2 passed, 1 failed, 0 skipped",
                2,
                0,
            ),
            (
                "     Summary [   0.005s] 2 tests run: 0 passed, 2 timed out, 0 skipped",
                0,
                0,
            ),
        ] {
            assert_eq!(
                Summary::parse(line),
                Some(Summary { passed, skipped }),
                "{line}"
            );
        }
    }

    #[test]
    fn tests_are_built_when_they_begin_to_run() {
        for line in [
            "    Starting 3330 tests across 52 binaries (21 tests skipped)",
            "    Starting 1 test across 1 binary",
        ] {
            assert!(is_beginning(line), "{line}");
        }
        for line in [
            "",
            "   Compiling xtask v0.1.0",
            "Starting",
            "    Starting a server",
        ] {
            assert!(!is_beginning(line), "{line}");
        }
    }

    #[test]
    fn other_lines_are_not_mistaken_for_the_summary() {
        for line in [
            "",
            "PASS [ 0.1s] a run: 7 passed",
            "Summary",
            "Summary [ 0.1s] 7 passed",
        ] {
            assert_eq!(Summary::parse(line), None, "{line}");
        }
    }

    #[test]
    fn coloured_summary_is_read_like_a_plain_one() {
        let line = "\x1b[32;1m     Summary\x1b[0m [   0.005s] \x1b[1m3\x1b[0m tests run: \
                    \x1b[1m3\x1b[0m \x1b[32;1mpassed\x1b[0m, \x1b[1m0\x1b[0m skipped";
        let plain = without_colour(line);
        assert_eq!(
            Summary::parse(&plain),
            Some(Summary {
                passed: 3,
                skipped: 0
            }),
            "{plain}"
        );
    }

    #[test]
    fn tests_that_are_run_later_are_counted_once() {
        let usual = Summary {
            passed: 100,
            skipped: 16,
        };
        let later = Summary {
            passed: 6,
            skipped: 110,
        };
        let both = usual.with(later);
        assert_eq!((both.passed, both.skipped), (106, 10));
    }

    #[test]
    fn closing_line_names_skipped_tests_only_if_there_are_any() {
        let line = |skipped| {
            Summary {
                passed: 12,
                skipped,
            }
            .closing_line()
        };
        assert_eq!(line(0), "12 passed, 0 failed");
        assert_eq!(line(3), "12 passed, 0 failed, 3 skipped");
    }
}
