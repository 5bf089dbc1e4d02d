//! The promises of `docs/reliability.md`, each with the tests that show it.
//!
//! A promise is a row of a table: `| R7 | promise | tests | last run | command |`.

use std::fs;
use std::time::Instant;

use crate::error::XtaskError;
use crate::metadata::Workspace;
use crate::nextest;

/// Runs the tests of one promise, or of each, and prints what the page says of the last run.
pub(crate) fn run(workspace: &Workspace, only: Option<&str>) -> Result<(), XtaskError> {
    let path = workspace.root.join(PAGE);
    let text = fs::read_to_string(&path).map_err(|source| XtaskError::File { path, source })?;
    let mut promises = promises(&text);
    promises.retain(|promise| only.is_none_or(|only| only == promise.number));
    if promises.is_empty() {
        return Err(XtaskError::PromiseUnknown);
    }
    for promise in promises {
        let begun = Instant::now();
        let passed = nextest::run_named(workspace, &promise.tests)?.passed;
        let seconds = begun.elapsed().as_secs_f32();
        println!("{}: {passed} passed, {seconds:.1} s", promise.number);
    }
    Ok(())
}

/// A row of the page.
#[derive(Debug)]
struct Promise<'a> {
    number: &'a str,
    /// Names of tests, or of modules that hold them.
    tests: Vec<&'a str>,
}

fn promises(page: &str) -> Vec<Promise<'_>> {
    page.lines().filter_map(promise).collect()
}

fn promise(line: &str) -> Option<Promise<'_>> {
    let cells: Vec<&str> = line.strip_prefix("| R")?.split(" | ").collect();
    let [number, _, tests, _, command] = cells.as_slice() else {
        return None;
    };
    let number = line.get(2..2 + 1 + number.len())?;
    // In every second piece between back quotes.
    let tests = tests.split('`').skip(1).step_by(2);
    let is_told = command.contains(&format!("cargo xtask reliability {number}`"));
    is_told.then(|| Promise {
        number,
        tests: tests.collect(),
    })
}

const PAGE: &str = "docs/reliability.md";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const OF_PAGE: &str = include_str!("../../docs/reliability.md");

    #[test]
    fn every_promise_is_numbered_in_order_and_has_tests_a_figure_and_its_command() {
        let promises = promises(OF_PAGE);
        let rows = OF_PAGE.lines().filter(|line| line.starts_with("| R"));
        assert_eq!(rows.count(), promises.len(), "a row of another form");
        assert!(promises.len() > 50);
        for (number, promise) in (1..).zip(&promises) {
            assert_eq!(promise.number, format!("R{number}"));
            assert!(!promise.tests.is_empty(), "{promise:?}");
        }
    }

    #[test]
    fn every_test_of_a_promise_is_there() {
        let mut sources = String::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        read(&root.join("crates"), &mut sources);
        for promise in promises(OF_PAGE) {
            for test in promise.tests {
                let name = test.rsplit("::").next().unwrap_or(test);
                let is_there = ["fn ", "mod ", "            "]
                    .iter()
                    .any(|before| sources.contains(&format!("{before}{name}")));
                assert!(is_there, "{}: {test}", promise.number);
            }
        }
    }

    fn read(folder: &Path, sources: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, sources);
            } else if path.extension().is_some_and(|it| it == "rs") {
                sources.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
}
