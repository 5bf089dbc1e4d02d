//! `keyway doctor`: every fault is provoked for real, reported by its code and repaired as it says.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests stop where they cannot go on"
)]

mod bundle;
mod codes;
mod credentials;
mod discovery;
mod ends;
mod identity;
mod migrations;
mod network;
mod plain;
mod programs;
mod reader;
mod rotate;
mod server;
mod sign_in;
mod socket;
mod unattended;
mod whole;

use keyway_testkit::{Folder, Keyway, Outcome};
use serde_json::Value;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// Prepares a call that approves what it finds.
fn doctor(folder: &Folder) -> Keyway {
    Keyway::new(KEYWAY, folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .args(["doctor", "--trust", "--format", "json"])
}

/// Asserts the code, the exit status and a part of the fix; returns the diagnostic.
#[track_caller]
fn assert_fault(outcome: &Outcome, code: &str, exit: i32, fix: &str) -> Value {
    let all = outcome.everything();
    assert_eq!(outcome.code, exit, "{all}");
    assert!(!all.contains("CANARY"), "{all}");
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let found = &object["diagnostics"][0];
    assert_eq!(found["code"], code, "{all}");
    let hint = found["hint"].as_str().unwrap();
    assert!(hint.contains(fix), "{fix}: {all}");
    // A page is for people who want to know more; it is not a next step.
    assert!(hint.len() > 10 && !hint.contains("explain"), "{all}");
    assert!(found["why"].as_str().unwrap().len() > 15, "{all}");
    found.clone()
}

#[track_caller]
fn assert_works(outcome: &Outcome) {
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let object: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(object["servers"][0]["result"], "ok");
    assert_eq!(object["diagnostics"], Value::Array(Vec::new()));
}
