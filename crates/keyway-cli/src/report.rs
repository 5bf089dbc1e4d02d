//! What is printed: tables, failures and lines of `--debug`. Reports of a check, diffs and changes
//! come from `keyway-check` as text.

pub(crate) mod debug;
pub(crate) mod failure;

use clap::ValueEnum;
pub(crate) use keyway_check::Verbosity;
pub(crate) use keyway_check::report::counted;
use serde::Serialize;

/// Returns an object as every command prints it.
pub(crate) fn to_text(object: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(object).unwrap_or_default();
    text.push('\n');
    text
}

/// How to print what is for people, or for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Human,
    /// One JSON object
    Json,
}
