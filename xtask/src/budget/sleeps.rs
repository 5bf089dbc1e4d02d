//! Calls of `sleep` in tests: tests wait for events, not for time.
//!
//! What is left has its reason on the line above, such as an event that must not come, or a server
//! that is slow on command. A test that runs on a paused clock does not sleep.

use std::fs;

use crate::error::XtaskError;
use crate::metadata::Workspace;

/// A call, and whether a comment right above says why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sleep {
    pub(super) place: String,
    pub(super) has_reason: bool,
}

/// Finds the calls in all of `paths`, relative to the workspace, that hold tests.
pub(super) fn find(workspace: &Workspace, paths: &[String]) -> Result<Vec<Sleep>, XtaskError> {
    let mut found = Vec::new();
    for path in paths {
        let Some(part) = Part::of(path) else {
            continue;
        };
        let file = workspace.root.join(path);
        let text = fs::read_to_string(&file).map_err(XtaskError::file(&file))?;
        found.extend(find_in(path, part, &text));
    }
    Ok(found)
}

/// Which part of a file is tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    /// From `mod tests {` on.
    TestModule,
}

impl Part {
    fn of(path: &str) -> Option<Self> {
        let parts: Vec<_> = path.split('/').collect();
        let ["crates", name, inside @ ..] = parts.as_slice() else {
            return None;
        };
        let is_of_tests = |part: &&str| {
            let stem = part.strip_suffix(".rs").unwrap_or(part);
            matches!(stem, "tests" | "testing" | "conformance")
        };
        let is_whole = *name == "keyway-testkit" || inside.iter().any(is_of_tests);
        Some(if is_whole {
            Self::Whole
        } else {
            Self::TestModule
        })
    }
}

fn find_in(path: &str, part: Part, text: &str) -> Vec<Sleep> {
    let lines: Vec<_> = text.lines().collect();
    let first = match part {
        Part::Whole => 0,
        Part::TestModule => match lines.iter().position(|line| *line == "mod tests {") {
            Some(first) => first,
            None => return Vec::new(),
        },
    };
    let mut found = Vec::new();
    let mut is_paused = false;
    let mut before = "";
    for (at, line) in lines.iter().enumerate().skip(first) {
        let line = line.trim_start();
        if line.starts_with("#[tokio::test") || line.starts_with("#[test") {
            is_paused = line.contains("start_paused");
        }
        if is_call(line) && !is_paused {
            found.push(Sleep {
                place: format!("{path}:{}", at + 1),
                has_reason: before.starts_with("//"),
            });
        }
        before = line;
    }
    found
}

/// Says whether a line calls `sleep` of the standard library or of the runtime, and not that of a
/// clock which a test moves by hand.
fn is_call(line: &str) -> bool {
    let Some((head, _)) = line.split_once("sleep(") else {
        return false;
    };
    let is_name = head.ends_with(|it: char| it.is_alphanumeric() || it == '_' || it == '.');
    !line.starts_with("//") && !is_name && !head.ends_with("fn ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_a_reason_are_told_from_those_with_one_and_from_paused_clocks() {
        let text = "\
#[test]
fn a() {
    // The event may not come.
    std::thread::sleep(TIME);
    thread::sleep(TIME);
    clock.sleep(TIME);
    // sleep(TIME)
}
#[tokio::test(start_paused = true)]
async fn b() {
    sleep(TIME).await;
}
#[tokio::test]
async fn c() {
    tokio::time::sleep(TIME).await;
}
fn sleep(time: Duration) {}
";
        let found = find_in("f", Part::Whole, text);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.place.as_str(), it.has_reason))
            .collect();
        assert_eq!(found, [("f:4", true), ("f:5", false), ("f:15", false)]);
    }

    #[test]
    fn code_outside_of_tests_may_sleep() {
        assert_eq!(Part::of("xtask/src/main.rs"), None);
        assert_eq!(Part::of("crates/a/src/tests/b.rs"), Some(Part::Whole));
        assert_eq!(Part::of("crates/a/tests/b.rs"), Some(Part::Whole));
        assert_eq!(Part::of("crates/a/src/b.rs"), Some(Part::TestModule));
        let text = "sleep(1);\n#[cfg(test)]\nmod tests {\n    sleep(2);\n}\n";
        assert_eq!(find_in("f", Part::TestModule, text)[0].place, "f:4");
        assert_eq!(find_in("f", Part::TestModule, "sleep(1);\n").len(), 0);
    }
}
