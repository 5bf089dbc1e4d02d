//! Every credential found lies in the text, between characters, apart from the one before it.
//!
//! The first line of the input is the name of the field, the rest is what it holds.

#![no_main]

use keyway_lint::secrets::{Position, find, is_credential_name, is_placeholder, is_reference};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (name, value) = text.split_once('\n').unwrap_or(("", text));
    let args: Vec<&str> = value.split('\n').collect();
    for position in [
        Position::Header { name },
        Position::Env { name },
        Position::OAuthField { name },
        Position::Command,
        Position::Url,
        Position::Prose,
    ] {
        check(value, position);
    }
    for (index, arg) in args.iter().enumerate().take(8) {
        let args = &args;
        check(arg, Position::Argument { args, index });
    }
    let _ = (
        is_placeholder(value),
        is_reference(value),
        is_credential_name(name),
    );
});

fn check(value: &str, position: Position<'_>) {
    let mut end = 0;
    for finding in find(value, position) {
        let range = finding.range;
        assert!(range.start >= end && range.start < range.end, "{range:?}");
        assert!(value.get(range.clone()).is_some(), "{range:?}");
        end = range.end;
    }
}
