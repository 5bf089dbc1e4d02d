//! A gateway that runs while everything around it changes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests start servers, and stop where they cannot"
)]

mod changes;
mod gateway;
mod keeping;
mod official;
mod sharing;
mod upstream;

use keyway_testkit::{Folder, Keyway};

/// Prepares a call in a folder that has its home in it.
fn keyway(folder: &Folder, arguments: &[&str]) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .args(arguments.iter().copied())
}

fn done(folder: &Folder, arguments: &[&str]) {
    let outcome = keyway(folder, arguments).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
}
