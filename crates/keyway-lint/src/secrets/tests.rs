//! Cases for the whole decision; every credential here is invented, vendors' tokens at run time.

mod positions;
mod properties;
mod reach;
mod reality;
mod shapes;
mod wording;

use super::*;

/// A made-up run of characters: the same for the same seed, different otherwise.
fn noise(alphabet: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    (0..length)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            letters[usize::try_from(state >> 33).unwrap() % letters.len()]
        })
        .collect()
}

fn alnum(length: usize) -> String {
    noise(
        "ABCDEFGHJKLMNPQRSTUVWYZabcdefghjkmnpqrstuvwyz23456789",
        length,
        7,
    )
}

fn hex(length: usize) -> String {
    noise("0123456789abcdef", length, 11)
}

fn uuid() -> String {
    let digits = hex(32);
    format!(
        "{}-{}-{}-{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..]
    )
}

/// What `find` points at.
fn found<'a>(value: &'a str, position: Position<'_>) -> Vec<&'a str> {
    find(value, position)
        .into_iter()
        .map(|finding| &value[finding.range])
        .collect()
}

fn env<'a>(name: &str, value: &'a str) -> Vec<&'a str> {
    found(value, Position::Env { name })
}

fn header<'a>(name: &str, value: &'a str) -> Vec<&'a str> {
    found(value, Position::Header { name })
}

/// What is found in the last of `args`.
fn last<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let index = args.len() - 1;
    found(args[index], Position::Argument { args, index })
}

/// Compares many cases and fails once, with all that differ.
#[derive(Default)]
struct Cases(Vec<String>);

impl Cases {
    fn same<T: PartialEq + std::fmt::Debug>(&mut self, given: T, expected: T, case: &str) {
        if given != expected {
            self.0
                .push(format!("{case}: {given:?} instead of {expected:?}"));
        }
    }

    fn done(self) {
        assert!(self.0.is_empty(), "{:#?}", self.0);
    }
}
