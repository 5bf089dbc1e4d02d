//! Comments that say why, where a reader cannot see it: at each lock, at the ordering of each atomic
//! and at each `select!`; what becomes of an async method of a library that is dropped; times by
//! name, in the one `timeouts.rs` of a crate; and no state in statics of libraries.
//!
//! It reads lines as `rustfmt` writes them, not tokens: comments are what it is about. Whether a
//! comment is true is for the reviewer.

use std::fs;

use crate::error::XtaskError;
use crate::metadata::Workspace;

use super::limits::STATICS;

/// Returns what each place in `paths`, relative to the workspace, lacks.
pub(super) fn missing(workspace: &Workspace, paths: &[String]) -> Result<Vec<String>, XtaskError> {
    let mut missing = Vec::new();
    for path in paths.iter().filter(|path| is_product(path)) {
        let file = workspace.root.join(path);
        let text = fs::read_to_string(&file).map_err(XtaskError::file(&file))?;
        let lines: Vec<_> = text
            .lines()
            .take(super::lines_without_tests(&text))
            .collect();
        missing.extend(missing_in(path, &lines));
    }
    Ok(missing)
}

/// Says whether `path` is part of what is released, not of what tests use.
fn is_product(path: &str) -> bool {
    let is_of_tests = |part: &str| {
        let stem = part.strip_suffix(".rs").unwrap_or(part);
        matches!(stem, "testing" | "conformance" | "keyway-testkit")
    };
    path.starts_with("crates/") && super::is_measured(path) && !path.split('/').any(is_of_tests)
}

fn missing_in(path: &str, lines: &[&str]) -> Vec<String> {
    let mut missing = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if code.starts_with("//") || code.starts_with("use ") {
            continue;
        }
        let mut lacks = |what: &str| missing.push(format!("{path}:{}: {what}", at + 1));
        if is_time(code) && !path.ends_with("/src/timeouts.rs") {
            lacks("a time that is not in `timeouts.rs` of its crate");
        }
        if code.contains("select! {") && !has_comment_at(lines, at) {
            lacks("`select!` without a comment above or first in it that says why");
        }
        if is_library(path) && is_state(code) && !is_known_static(path, code) {
            lacks("a static of a library that can hold state; what it is for belongs to the host");
        }
        if is_library(path) && code.starts_with("pub async fn ") && !tells_cancellation(lines, at) {
            lacks("an async method without a line on its cancel safety");
        }
        if !is_declaration(lines, at) {
            continue;
        }
        if has_word(code, &["Mutex", "RwLock"]) && comment_above(lines, at).is_empty() {
            lacks("a lock without a comment that says when it is held, and why");
        }
        if code.contains("Atomic") && !names_ordering(lines, at) {
            lacks("an atomic without a comment that says why its ordering suffices");
        }
    }
    missing
}

/// Says whether others build on a crate: a process has one program, and may have several hosts.
fn is_library(path: &str) -> bool {
    !path.starts_with("crates/keyway-cli/")
}

/// Says whether a line declares a static whose value can change.
fn is_state(code: &str) -> bool {
    let Some((head, rest)) = code.split_once("static ") else {
        return false;
    };
    let is_item = head.is_empty() || (head.starts_with("pub") && head.ends_with(' '));
    let changing = ["Cell", "Lock", "Mutex", "Atomic", "Once"];
    let kind = rest.split_once(':').map_or("", |(_, kind)| kind);
    let kind = kind.split('=').next().unwrap_or_default();
    is_item && changing.iter().any(|word| kind.contains(word))
}

fn is_known_static(path: &str, code: &str) -> bool {
    STATICS
        .iter()
        .any(|(file, name)| path == *file && has_word(code, &[*name]))
}

/// Says whether the documentation above a line says what dropping the future does.
fn tells_cancellation(lines: &[&str], at: usize) -> bool {
    let above = comment_above(lines, at);
    above.iter().any(|line| line.contains("Cancel safety:"))
}

/// Says whether a line declares a constant of a length of time.
fn is_time(code: &str) -> bool {
    let Some((head, _)) = code.split_once(": Duration =") else {
        return false;
    };
    has_word(head, &["const", "static"])
}

/// Says whether the line is a field, a static or a struct that wraps one value.
fn is_declaration(lines: &[&str], at: usize) -> bool {
    let Some(line) = lines.get(at) else {
        return false;
    };
    let code = line.trim_start();
    if has_word(code, &["static"]) || (has_word(code, &["struct"]) && code.contains('(')) {
        return true;
    }
    let is_named = code.contains(": ") && code.ends_with(',');
    is_named && enclosing(lines, at).is_some_and(|at| is_type(lines.get(at)))
}

fn is_type(line: Option<&&str>) -> bool {
    line.is_some_and(|line| has_word(line, &["struct", "enum"]))
}

/// Returns the line that opens the block around `at`.
fn enclosing(lines: &[&str], at: usize) -> Option<usize> {
    let depth = |line: &str| line.len().saturating_sub(line.trim_start().len());
    let own = depth(lines.get(at)?);
    let is_above = |line: &&str| !line.trim().is_empty() && depth(line) < own;
    lines.get(..at)?.iter().rposition(is_above)
}

/// Says whether the comment of a declaration, or of the type around it, names the ordering.
fn names_ordering(lines: &[&str], at: usize) -> bool {
    let around = enclosing(lines, at).filter(|at| is_type(lines.get(*at)));
    let mut said = comment_above(lines, at);
    said.extend(around.into_iter().flat_map(|at| comment_above(lines, at)));
    said.iter().any(|line| has_word(line, ORDERINGS))
}

/// Says whether a comment is right above the line or right below it.
fn has_comment_at(lines: &[&str], at: usize) -> bool {
    let below = lines.get(at.saturating_add(1));
    !comment_above(lines, at).is_empty()
        || below.is_some_and(|line| line.trim_start().starts_with("//"))
}

/// Returns the comment lines right above a line; attributes may stand between.
fn comment_above<'a>(lines: &[&'a str], at: usize) -> Vec<&'a str> {
    let above = lines.get(..at).unwrap_or_default().iter().rev();
    let above = above.map(|line| line.trim_start());
    above
        .take_while(|line| line.starts_with("//") || line.starts_with("#["))
        .filter(|line| line.starts_with("//"))
        .collect()
}

fn has_word(text: &str, words: &[&str]) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !is_part(c))
        .any(|word| words.contains(&word))
}

const ORDERINGS: &[&str] = &["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn places(text: &str) -> Vec<usize> {
        let lines: Vec<_> = text.lines().collect();
        let missing = missing_in("crates/a/src/b.rs", &lines);
        let place = |it: &String| it.split(':').nth(1).unwrap().parse().unwrap();
        missing.iter().map(place).collect()
    }

    #[test]
    fn lock_and_atomic_need_a_comment_where_they_are_declared() {
        let bare = "struct A {\n    a: Mutex<u8>,\n    b: Arc<AtomicU8>,\n}\nstruct B(RwLock<u8>);\n\
                    static C: AtomicBool = AtomicBool::new(false);\n";
        // The static is state of a library besides.
        assert_eq!(places(bare), [2, 3, 5, 6, 6]);
        let said = "struct A {\n    /// Held for one change.\n    a: Mutex<u8>,\n    \
                    /// Relaxed: a number to show.\n    b: Arc<AtomicU8>,\n}\n\
                    /// Held for one look.\n#[derive(Debug)]\nstruct B(RwLock<u8>);\n";
        assert_eq!(places(said), NONE);
    }

    #[test]
    fn comment_of_an_atomic_names_the_ordering_there_or_at_its_type() {
        assert_eq!(
            places("struct A {\n    /// A number.\n    a: AtomicU8,\n}\n"),
            [3]
        );
        let of_type =
            "/// Relaxed: numbers to show.\nstruct A {\n    a: AtomicU8,\n    b: AtomicU8,\n}\n";
        assert_eq!(places(of_type), NONE);
    }

    #[test]
    fn parameters_and_values_are_not_declarations() {
        let text = "fn f(\n    a: &AtomicU8,\n    b: Arc<Mutex<u8>>,\n) {\n    A {\n        \
                    a: Mutex::new(0),\n    }\n}\n";
        assert_eq!(places(text), NONE);
    }

    #[test]
    fn select_needs_a_comment_above_or_first_in_it() {
        assert_eq!(
            places("fn f() {\n    tokio::select! {\n        a => {}\n    }\n}\n"),
            [2]
        );
        for text in [
            "fn f() {\n    // Why.\n    let a = tokio::select! {\n    };\n}\n",
            "fn f() {\n    tokio::select! {\n        // Why.\n        biased;\n    }\n}\n",
        ] {
            assert_eq!(places(text), NONE, "{text}");
        }
    }

    #[test]
    fn times_are_named_in_one_place() {
        let text = "pub(crate) const A: Duration = Duration::from_secs(1);\n";
        assert_eq!(places(text), [1]);
        let lines: Vec<_> = text.lines().collect();
        assert!(missing_in("crates/a/src/timeouts.rs", &lines).is_empty());
        assert!(!missing_in("crates/a/src/b/timeouts.rs", &lines).is_empty());
    }

    #[test]
    fn statics_of_libraries_hold_no_state_but_those_that_are_listed() {
        for text in [
            "/// Held for one look.\nstatic A: Mutex<u8> = Mutex::new(0);\n",
            "/// A.\npub(crate) static A: OnceLock<u8> = OnceLock::new();\n",
            "/// A.\nstatic A: LazyLock<u8> = LazyLock::new(|| 1);\n",
        ] {
            assert_eq!(places(text), [2], "{text}");
            let lines: Vec<_> = text.lines().collect();
            let of_program = missing_in("crates/keyway-cli/src/b.rs", &lines);
            assert!(of_program.is_empty(), "{text}");
        }
        let text = "static A: &[&str] = &[];\nfn f(a: &'static OnceLock<u8>) {}\n";
        assert_eq!(places(text), NONE);
        let lines = ["static PROCESS: LazyLock<u8> = LazyLock::new(|| 1);"];
        let known = "crates/keyway-transport/src/message_memory.rs";
        assert!(missing_in(known, &lines).is_empty());
    }

    #[test]
    fn async_methods_say_what_dropping_them_does() {
        assert_eq!(places("/// A.\npub async fn a() {}\n"), [2]);
        for text in [
            "/// A.\n///\n/// Cancel safety: nothing is lost.\npub async fn a() {}\n",
            "/// A.\nasync fn a() {}\n",
        ] {
            assert_eq!(places(text), NONE, "{text}");
        }
    }

    #[test]
    fn what_only_tests_use_is_not_read() {
        assert!(is_product("crates/keyway/src/host.rs"));
        for path in [
            "crates/keyway-testkit/src/lib.rs",
            "crates/keyway-auth/src/oauth/testing/person.rs",
            "crates/keyway-store/src/conformance.rs",
            "crates/keyway/tests/host.rs",
            "xtask/src/main.rs",
        ] {
            assert!(!is_product(path), "{path}");
        }
    }
}
