//! What tries to make Keyway lose a sign-in: many processes at once, and everything that can happen
//! to a process, to an answer, to the clock and to the disk while a token is renewed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests stop where they cannot go on, and their length is set from outside"
)]

mod chain;
mod chaos;
mod clock;
mod disk;
mod faults;
mod first_sign_in;
mod lane;
mod namespace;
mod races;
mod seed;
mod system_calls;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// Says that something cannot be done on this machine. Where the tools are given, as they are to the
/// checks of this repository, everything can, and what is skipped there would pass for tested.
fn skipped(why: &str) {
    let must_run = std::env::var_os("KEYWAY_TOOLS").is_some();
    assert!(!must_run, "must not be skipped here: {why}");
    println!("skipped: {why}");
}

/// A number that was set from outside.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
