//! A fault of Keyway itself: the command ends at once, its place is shown, and nothing that it held
//! in its hands.

#![expect(
    clippy::panic,
    clippy::disallowed_methods,
    reason = "this is about panics, and a process has to be told that it is the one that breaks"
)]

#[path = "../src/panics.rs"]
mod panics;

use std::time::{Duration, Instant};

use keyway_testkit::{Canary, Folder, Keyway, Outcome};
use serde_json::Value;

const VALUE: &str = "vQ9x7Lk2Wp4Zt8Rb3Nc6Ym1Hd5";

#[track_caller]
fn assert_place_only(outcome: &Outcome, place: &str, payload: &str) {
    let all = outcome.everything();
    assert_eq!(outcome.code, 1, "{all}");
    let told = "error: internal error in Keyway, at ";
    let line = outcome.stderr.lines().find(|line| line.starts_with(told));
    assert!(line.is_some_and(|line| line.contains(place)), "{all}");
    assert!(!all.contains(payload), "{all}");
    for printed in [&outcome.stdout, &outcome.stderr] {
        assert_eq!(Canary::hidden(VALUE).leak(printed), None, "{all}");
    }
}

/// This test is the process that breaks as well: only a process of its own has a hook of its own.
#[test]
fn a_panic_that_quotes_a_value_shows_its_place_only() {
    if let Ok(thread) = std::env::var("BREAKS_IN") {
        panics::end_at_once(|| {});
        panics::owe_object();
        let breaks = || panic!("cannot slice `{VALUE}`");
        if thread == "main" {
            breaks();
        }
        drop(std::thread::spawn(breaks).join());
        // The process has ended before this returns, or the test fails by what comes after.
        loop {
            std::thread::park();
        }
    }
    let this = std::env::current_exe().unwrap();
    let folder = Folder::new();
    for thread in ["main", "another"] {
        for backtrace in ["0", "full"] {
            let name = "a_panic_that_quotes_a_value_shows_its_place_only";
            let outcome = Keyway::new(this.to_str().unwrap(), folder.path())
                .args(["--exact", name, "--nocapture"])
                .env("BREAKS_IN", thread)
                .env("RUST_BACKTRACE", backtrace)
                .run();
            assert_place_only(&outcome, "tests/panics.rs:", "cannot slice");
            // The object that a script waits for, among what the harness of the test prints.
            let object = outcome.stdout.lines().find(|line| line.starts_with('{'));
            let object: Value = serde_json::from_str(object.unwrap()).unwrap();
            let found = &object["diagnostics"][0];
            assert_eq!(found["code"], "internal", "{}", outcome.everything());
            assert!(found["hint"].as_str().unwrap().contains("--bundle"));
        }
    }
}

/// No thread can be started with a stack that is larger than all memory; Tokio would panic then.
#[test]
fn a_thread_that_the_system_refuses_is_an_error_and_no_fault_of_the_program() {
    let folder = Folder::with_entries(
        r#"{"s": {"type": "http", "url": "https://nowhere.invalid/mcp?key=${T}", "oauth": false,
            "headers": {"Authorization": "Bearer ${T}"}}}"#,
    );
    for command in ["probe", "doctor", "tools"] {
        let began = Instant::now();
        let outcome = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
            .args([command, "--trust", "--debug", "--format", "json"])
            .env("T", VALUE)
            .env("RUST_MIN_STACK", (1_u64 << 60).to_string())
            .run();
        let all = outcome.everything();
        assert_eq!(outcome.code, 1, "{all}");
        assert!(!all.contains("fault of its own"), "{all}");
        let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let found = &object["diagnostics"][0];
        assert_eq!(found["code"], "system-limit", "{all}");
        assert!(found["hint"].as_str().unwrap().contains("ulimit -u"));
        assert!(began.elapsed() < Duration::from_secs(25), "{command}");
    }
}
