//! A program starts children through itself only if `main` calls `take_over` first.

use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs the program that never calls it, and returns the ids of all processes that it ever was.
fn run(marked: bool) -> (Output, Vec<String>) {
    let folder = TempDir::new().unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "the program under test is started as a shell would"
    )]
    let mut command = Command::new(env!("CARGO_BIN_EXE_transport-uninitialized"));
    command.current_dir(folder.path());
    if marked {
        command.env("KEYWAY_LAUNCHED", "1");
    }
    let output = command.output().unwrap();
    let started = std::fs::read_to_string(folder.path().join("started")).unwrap();
    (output, started.lines().map(str::to_owned).collect())
}

#[test]
fn program_without_init_gets_an_error_and_never_starts_a_second_self() {
    let (output, started) = run(false);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "launcher-not-initialized",
        "{output:?}"
    );
    assert_eq!(started.len(), 1, "{started:?}");
}

#[test]
fn launched_process_that_was_not_taken_over_exits() {
    let (output, started) = run(true);
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    assert!(output.stdout.is_empty());
    assert_eq!(started.len(), 1, "{started:?}");
}
