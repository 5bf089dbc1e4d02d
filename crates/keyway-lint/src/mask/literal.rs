//! Which parts of one piece of text are hidden, by what kind of text it is.
//!
//! All functions take a text and the range to look at, and give ranges of that text.

use std::ops::Range;

use keyway_config::template::{Part, Template};

/// Hides a value all of which may be secret: shown are an authentication scheme and the first
/// four characters of something long.
pub(super) fn secret(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let mut start = part.start;
    loop {
        let rest = text.get(start..part.end).unwrap_or_default();
        let blank = rest.len() - rest.trim_start().len();
        start += blank;
        let rest = rest.trim_start();
        let word = rest.split(' ').next().unwrap_or_default();
        let is_scheme = SCHEMES
            .iter()
            .any(|scheme| scheme.eq_ignore_ascii_case(word));
        if !is_scheme {
            break;
        }
        start += word.len();
    }
    let rest = text.get(start..part.end).unwrap_or_default();
    if is_harmless(rest) {
        return Vec::new();
    }
    let mut hidden = start..part.end;
    hidden.start += shown_bytes(rest);
    vec![hidden]
}

/// Hides an argument of a program; `previous` is the argument before it.
pub(super) fn argument(text: &str, previous: Option<&str>) -> Vec<Range<usize>> {
    let whole = 0..text.len();
    let is_header = previous.is_some_and(|flag| HEADER_FLAGS.contains(&flag));
    let follows_flag = previous.is_some_and(|flag| {
        flag.starts_with('-') && !flag.contains('=') && !HARMLESS_FLAGS.contains(&flag)
    });
    let is_value = follows_flag && !previous.is_some_and(|flag| PAIR_FLAGS.contains(&flag));
    // Padding is not a value: a text that ends with it is base64, not a name with something behind.
    let pair = text
        .trim_end_matches('=')
        .find('=')
        .filter(|_| !text.contains("://") && (!is_value || text.starts_with('-')));
    if let Some(at) = pair {
        let mut hidden = runs(text, 0..at);
        hidden.extend(secret(text, at + 1..text.len()));
        return hidden;
    }
    if text.starts_with('-') {
        return runs(text, whole);
    }
    let is_address = text.contains("://");
    let has_structure = Template::parse(text).literal_text().contains(['{', '"']);
    if has_structure || follows_flag && !is_address && !is_header {
        return secret(text, whole);
    }
    if is_address {
        return address(text);
    }
    match colon(text) {
        Some(colon) => {
            let mut hidden = runs(text, 0..colon);
            hidden.extend(secret(text, colon + 1..text.len()));
            hidden
        }
        None if text.len() >= SHORTEST_WORD
            && is_mixed(text)
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            secret(text, whole)
        }
        None => runs(text, whole),
    }
}

/// Finds the first colon that is not part of a reference, as in `${NAME:-default}`.
fn colon(text: &str) -> Option<usize> {
    let template = Template::parse(text);
    let is_inside = |at: usize| {
        let mut references = template.parts().iter();
        references.any(|part| !matches!(part, Part::Literal { .. }) && part.range().contains(&at))
    };
    let mut colons = text.match_indices(':').map(|(at, _)| at);
    colons.find(|at| !is_inside(*at))
}

/// Hides user info, query values and the fragment of an address, and parts of its path that look
/// like tokens.
pub(super) fn address(text: &str) -> Vec<Range<usize>> {
    // Text in front of the address, such as the name of a variable, is not part of it.
    let scheme = text.find("://").map_or(0, |at| at + 3);
    let rest = text.get(scheme..).unwrap_or_default();
    let authority_end = scheme + rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let mut hidden = Vec::new();
    let authority = text.get(scheme..authority_end).unwrap_or_default();
    if let Some(at) = authority.rfind('@') {
        hidden.push(scheme..scheme + at);
    }
    let tail = text.get(authority_end..).unwrap_or_default();
    let path_end = authority_end + tail.find(['?', '#']).unwrap_or(tail.len());
    hidden.extend(runs(text, scheme..path_end));
    let mut at = path_end;
    for pair in text
        .get(path_end..)
        .unwrap_or_default()
        .split_inclusive(['&', '?', '#', ';'])
    {
        let value = pair.find('=').map_or(0, |equals| equals + 1);
        let is_separator = pair.len() == 1;
        let end = at + pair.trim_end_matches(['&', '?', '#', ';']).len();
        if !is_separator {
            hidden.extend(runs(text, at..at + value));
            hidden.extend(secret(text, at + value..end.max(at + value)));
        }
        at += pair.len();
    }
    hidden
}

/// Hides long runs that mix letters and digits inside one part of a path or a name.
pub(super) fn runs(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let mixed = |run: &str| {
        let mut parts = run.split(['/', '.', '-', '_']);
        parts.any(|part| part.len() >= SHORTEST_RUN && is_mixed(part)) || is_long_and_random(run)
    };
    find_runs(text, part, mixed)
}

/// Hides every long run that mixes letters and digits.
pub(super) fn strict_runs(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    find_runs(text, part, is_mixed)
}

/// Returns where `text` refers to variables by name; their defaults are not part of it.
pub(super) fn references(text: &str) -> Vec<Range<usize>> {
    let template = Template::parse(text);
    let mut references = Vec::new();
    for part in template.parts() {
        match part {
            Part::Variable(variable) => {
                // A token between braces is a name by its grammar only.
                let name = variable.range.start..variable.default_range.start;
                if runs(text, name.clone()).is_empty() {
                    references.push(name);
                }
                references.push(variable.default_range.end..variable.range.end);
            }
            Part::Foreign { range } if is_benign(text.get(range.clone()).unwrap_or_default()) => {
                references.push(range.clone());
            }
            _ => {}
        }
    }
    references
}

/// Hides what another host's syntax holds, unless that is a plain name.
pub(super) fn foreign(text: &str) -> Vec<Range<usize>> {
    let template = Template::parse(text);
    let mut hidden = Vec::new();
    for part in template.parts() {
        if let Part::Foreign { range } = part
            && !is_benign(text.get(range.clone()).unwrap_or_default())
        {
            hidden.extend(secret(text, range.start + 2..range.end));
        }
    }
    hidden
}

/// Returns where `text` holds defaults, and of which variables.
pub(super) fn defaults(text: &str) -> Vec<(String, Range<usize>)> {
    let template = Template::parse(text);
    let variables = template.variables();
    variables
        .map(|variable| (variable.name.clone(), variable.default_range.clone()))
        .collect()
}

/// Takes `shown`, which is in order and apart, out of `hidden`.
pub(super) fn without(hidden: Vec<Range<usize>>, shown: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::with_capacity(hidden.len());
    for range in hidden {
        let mut at = range.start;
        let first = shown.partition_point(|shown| shown.end <= range.start);
        let inside = shown.iter().skip(first);
        for shown in inside.take_while(|shown| shown.start < range.end) {
            left.push(at..shown.start);
            at = at.max(shown.end);
        }
        left.push(at..range.end);
    }
    left.retain(|range| range.start < range.end);
    left
}

fn find_runs(
    text: &str,
    part: Range<usize>,
    is_secret: impl Fn(&str) -> bool,
) -> Vec<Range<usize>> {
    let mut hidden = Vec::new();
    let mut start = part.start;
    let slice = text.get(part).unwrap_or_default();
    for piece in slice.split_inclusive(|c: char| !is_run(c)) {
        let run = piece.trim_end_matches(|c: char| !is_run(c));
        if run.len() >= SHORTEST_RUN && is_secret(run) {
            hidden.push(start + SHOWN_CHARS..start + run.len());
        }
        start += piece.len();
    }
    hidden
}

const fn is_run(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '_' | '.' | '-')
}

fn is_mixed(text: &str) -> bool {
    let has = |test: fn(&u8) -> bool| text.as_bytes().iter().any(test);
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Says whether a run has no separators to speak of but all kinds of characters, as base64 has.
fn is_long_and_random(run: &str) -> bool {
    let has = |test: fn(&u8) -> bool| run.as_bytes().iter().any(test);
    run.len() >= 32
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
}

/// Says whether a value is too plain to be a secret: no letters or digits, a switch, a small number.
fn is_harmless(text: &str) -> bool {
    let is_small_number = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    !text.chars().any(char::is_alphanumeric)
        || is_small_number
        || matches!(text, "true" | "false" | "yes" | "no" | "on" | "off")
}

/// Says whether another host's reference is a plain name, or the path of a file.
fn is_benign(reference: &str) -> bool {
    let inside = reference
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    // Continue writes two braces: `${{ secrets.NAME }}`.
    let inside = inside.map(|it| it.trim_start_matches('{').trim_end_matches('}').trim());
    inside.is_some_and(|inside| {
        let is_file = inside.starts_with("file:");
        let marks = if is_file { "_:.-/~" } else { "_:.-" };
        inside.len() <= 60
            && inside
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
            && runs(inside, 0..inside.len()).is_empty()
    })
}

fn shown_bytes(text: &str) -> usize {
    if text.chars().count() < SHORTEST_RUN {
        return 0;
    }
    text.chars().take(SHOWN_CHARS).map(char::len_utf8).sum()
}

const SHORTEST_RUN: usize = 12;
/// A shorter word with digits in it is a version or a name.
const SHORTEST_WORD: usize = 8;
const SHOWN_CHARS: usize = 4;
const SCHEMES: &[&str] = &["bearer", "basic", "token", "apikey", "digest", "bot"];
/// Flags that are followed by a header.
const HEADER_FLAGS: &[&str] = &["-H", "--header"];
/// Flags that are followed by a name with its value.
pub(super) const PAIR_FLAGS: &[&str] = &[
    "-e",
    "--env",
    "--build-arg",
    "--set",
    "--var",
    "-D",
    "--define",
];
/// Flags that are followed by a name, not by a value.
const HARMLESS_FLAGS: &[&str] = &["-y", "--yes", "-m", "--from", "--package", "-i", "--rm"];
