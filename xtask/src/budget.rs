//! The size budget: lines per file, lines of code per crate, crates per product and calls of `sleep`
//! in tests, so that growth is a decision; and what must be said in comments or in one place.
//!
//! Functions are not measured here: `too-many-lines-threshold` in `clippy.toml` does that.

mod code;
mod limits;
mod reasons;
mod sleeps;
mod trees;

use std::fs;

use crate::child;
use crate::error::XtaskError;
use crate::metadata::Workspace;
use limits::{CLI_WITHOUT_COMMANDS, FILE_LINES, LARGEST_CRATE, SLEEPS_IN_TESTS, TREES};

/// Prints what is measured next to its limit and fails if anything is above.
pub(crate) fn check(workspace: &Workspace) -> Result<(), XtaskError> {
    let paths = rust_files(workspace)?;
    let files = source_files(workspace, &paths)?;
    let mut report = Report::default();
    println!("{:>6} {:>6}  what", "actual", "limit");
    for file in files.iter().filter(|file| file.lines > FILE_LINES) {
        report.excess(format!(
            "`{}` has {} lines, at most {FILE_LINES}",
            file.path, file.lines
        ));
    }
    if let Some(longest) = files.iter().max_by_key(|file| file.lines) {
        let FileSize { path, lines } = longest;
        let of = files.len();
        println!("{lines:>6} {FILE_LINES:>6}  lines of {path}, the longest of {of} files");
    }
    let code = code::measure(workspace)?;
    for (name, lines) in code::per_crate(&code) {
        report.row(lines, LARGEST_CRATE, &format!("lines of code of {name}"));
    }
    report.row(
        code::cli_without_commands(&code),
        CLI_WITHOUT_COMMANDS,
        "lines of code of keyway-cli without arguments, report and commands",
    );
    for tree in TREES {
        if workspace.has_crate(tree.name) {
            report.row(trees::size(workspace, tree)?, tree.limit, &tree.shown());
        }
    }
    let sleeps = sleeps::find(workspace, &paths)?;
    for sleep in sleeps.iter().filter(|sleep| !sleep.has_reason) {
        let place = &sleep.place;
        report.excess(format!(
            "`sleep` without a reason on the line above: {place}"
        ));
    }
    let what = "calls of `sleep` in tests, each with its reason";
    report.row(sleeps.len(), SLEEPS_IN_TESTS, what);
    let missing = reasons::missing(workspace, &paths)?;
    let what = "locks, orderings, `select!`, async methods, statics and times without their comment or place";
    println!("{:>6} {:>6}  {what}", missing.len(), 0);
    missing.into_iter().for_each(|it| report.excess(it));
    report.finish()
}

/// What is above its limit.
#[derive(Default)]
struct Report {
    excesses: Vec<String>,
}

impl Report {
    fn row(&mut self, actual: usize, limit: usize, what: &str) {
        println!("{actual:>6} {limit:>6}  {what}");
        if actual > limit {
            self.excess(format!("{what}: {actual}, at most {limit}"));
        }
    }

    fn excess(&mut self, excess: String) {
        self.excesses.push(excess);
    }

    fn finish(self) -> Result<(), XtaskError> {
        match self.excesses.is_empty() {
            true => Ok(()),
            false => Err(XtaskError::Budget {
                excesses: self.excesses,
            }),
        }
    }
}

struct FileSize {
    path: String,
    lines: usize,
}

/// Lists all Rust files that are tracked or could be added by a careless `git add`.
fn rust_files(workspace: &Workspace) -> Result<Vec<String>, XtaskError> {
    let mut git = child::program(workspace, "git");
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
        "*.rs",
    ]);
    let listed = child::capture(&mut git)?;
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    // A file that was deleted but not yet committed is still listed.
    let there = paths.filter(|path| workspace.root.join(path).exists());
    Ok(there.map(str::to_owned).collect())
}

fn source_files(workspace: &Workspace, paths: &[String]) -> Result<Vec<FileSize>, XtaskError> {
    let mut files = Vec::new();
    for path in paths.iter().filter(|path| is_measured(path)) {
        let file = workspace.root.join(path);
        let text = fs::read_to_string(&file).map_err(XtaskError::file(&file))?;
        files.push(FileSize {
            path: path.to_owned(),
            lines: lines_without_tests(&text),
        });
    }
    Ok(files)
}

/// Says whether `path` is the source of a crate or of this task, and not a file of tests.
fn is_measured(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    let (["crates", _, "src", inside @ ..] | ["xtask", "src", inside @ ..]) = parts.as_slice()
    else {
        return false;
    };
    path.ends_with(".rs")
        && !inside
            .iter()
            .any(|&part| part == "tests" || part == "tests.rs")
}

/// Counts lines up to the test module.
///
/// That nothing follows the test module is checked by `clippy::items_after_test_module`.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<_> = text.lines().collect();
    let starts_tests = |position: usize| {
        let mut following = lines.iter().skip(position);
        following.next() == Some(&"#[cfg(test)]")
            && following
                .find(|line| !line.starts_with("#["))
                .is_some_and(|line| line.starts_with("mod tests {"))
    };
    (0..lines.len())
        .find(|&position| starts_tests(position))
        .unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_test_module_do_not_count() {
        let code = "//! A file.\n\nfn f() {}\n\n";
        let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n";
        assert_eq!(lines_without_tests(&format!("{code}{tests}")), 4);
        let with_attribute = tests.replace("mod", "#[expect(unused, reason = \"x\")]\nmod");
        assert_eq!(lines_without_tests(&format!("{code}{with_attribute}")), 4);
    }

    #[test]
    fn other_items_for_tests_do_count() {
        let text = "#[cfg(test)]\nfn only_for_tests() {}\n\n#[cfg(test)]\nmod tests;\n";
        assert_eq!(lines_without_tests(text), 5);
        let nested = "fn f() {\n    #[cfg(test)]\n    mod tests {\n    }\n}\n";
        assert_eq!(lines_without_tests(nested), 5);
    }

    #[test]
    fn test_module_that_quotes_code_ends_at_the_end_of_the_file() {
        let text =
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    const C: &str = \"\n}\nfn g() {}\";\n}\n";
        assert_eq!(lines_without_tests(text), 1);
    }

    #[test]
    fn only_sources_that_are_not_tests_are_measured() {
        for path in [
            "crates/keyway/src/lib.rs",
            "crates/keyway/src/a/b.rs",
            "xtask/src/main.rs",
        ] {
            assert!(is_measured(path), "{path}");
        }
        for path in [
            "crates/keyway/src/a/tests.rs",
            "crates/keyway/src/tests/a.rs",
            "crates/keyway/tests/login.rs",
            "crates/keyway/build.rs",
            "fuzz/fuzz_targets/document.rs",
            "crates/keyway/src/notes.md",
        ] {
            assert!(!is_measured(path), "{path}");
        }
    }

    #[test]
    fn only_more_than_the_limit_fails() {
        for (actual, limit, is_within) in [(5, 5, true), (6, 5, false)] {
            let mut report = Report::default();
            report.row(actual, limit, "something");
            assert_eq!(report.finish().is_ok(), is_within, "{actual} {limit:?}");
        }
    }
}
