//! Which parts of a configuration file are hidden, by where a value stands.

use std::ops::Range;

use keyway_config::json::{FaultKind, Inside, Node, Tree, Value};

use super::literal::{
    PAIR_FLAGS, address, argument, defaults, foreign, references, runs, secret, strict_runs,
    without,
};
use super::plain::{is_path, is_plain, is_reference};

/// Finds everything to hide in a configuration file.
pub(super) fn hidden(text: &str, tree: &Tree) -> Vec<Range<usize>> {
    let mut walk = Walk {
        text,
        hidden: Vec::new(),
        known: Vec::new(),
    };
    if let Some(root) = &tree.root {
        walk.node(root, ValuePlace::Other, Above::default());
    }
    walk.gaps();
    for fault in &tree.faults {
        if matches!(fault.kind, FaultKind::Comment) {
            // The comment can be found without its text, which may hold anything.
            let range = fault.span.range();
            walk.hidden.push(range.start + 2..range.end);
        }
    }
    walk.hidden
}

/// What a value is, judging by the keys above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValuePlace {
    /// Nothing is known about it.
    Other,
    /// Known to carry no credential: only what looks like one is hidden.
    Harmless,
    /// One word of a short list.
    Word,
    /// A program, perhaps with its arguments behind it.
    CommandLine,
    /// An address.
    Address,
    /// An argument of a program.
    Argument,
    /// A header, a variable or something named like a credential.
    Secret,
}

/// What stands before a value.
#[derive(Debug, Clone, Copy, Default)]
struct Above<'a> {
    /// The nearest key above it.
    key: &'a str,
    /// The string before it in an array.
    previous: Option<&'a str>,
}

struct Walk<'a> {
    text: &'a str,
    hidden: Vec<Range<usize>>,
    /// Strings and keys that were dealt with, in the order of the text.
    known: Vec<Range<usize>>,
}

impl Walk<'_> {
    fn node(&mut self, node: &Node, place: ValuePlace, above: Above<'_>) {
        match &node.value {
            Value::Object(object) => {
                for member in &object.members {
                    let key = member.key_span.range();
                    self.hidden.extend(runs(self.text, key.clone()));
                    self.known.push(key);
                    let above = Above {
                        key: &member.key,
                        previous: None,
                    };
                    self.node(&member.value, below(place, &member.key), above);
                }
            }
            Value::Array(items) => {
                // Other hosts write the program and its arguments as one list.
                let is_list = place == ValuePlace::CommandLine;
                let place = if is_list { ValuePlace::Argument } else { place };
                let mut previous = None;
                for item in items {
                    self.node(item, place, Above { previous, ..above });
                    previous = item.as_str();
                }
            }
            Value::String(value) => self.string(node, value, place, above),
            _ => self.scalar(node, place),
        }
    }

    fn string(&mut self, node: &Node, value: &str, place: ValuePlace, above: Above<'_>) {
        let hidden = match place {
            ValuePlace::Word if is_word(value) => Vec::new(),
            ValuePlace::Harmless => runs(value, 0..value.len()),
            ValuePlace::CommandLine => command_line(value),
            ValuePlace::Address => without(address(value), &plain_query(value)),
            ValuePlace::Argument if is_plain_argument(above.previous, value) => {
                runs(value, 0..value.len())
            }
            ValuePlace::Argument => argument(value, above.previous),
            ValuePlace::Other | ValuePlace::Secret if is_plain(above.key, value) => Vec::new(),
            ValuePlace::Other | ValuePlace::Secret if is_path(above.key, value) => {
                runs(value, 0..value.len())
            }
            ValuePlace::Other | ValuePlace::Secret if is_reference(value) => Vec::new(),
            ValuePlace::Other | ValuePlace::Secret | ValuePlace::Word => {
                secret(value, 0..value.len())
            }
        };
        // A default is judged by the name of its variable, not by what stands around it.
        let defaults = defaults(value);
        let mut apart = references(value);
        apart.extend(defaults.iter().map(|(_, range)| range.clone()));
        apart.retain(|range| !range.is_empty());
        apart.sort_by_key(|range| range.start);
        let mut hidden = without(hidden, &apart);
        hidden.extend(foreign(value));
        for (name, default) in defaults {
            hidden.extend(default_hidden(value, &name, default));
        }
        // What joins two variables tells nothing.
        let tells = |range: &Range<usize>| {
            let piece = value.get(range.clone()).unwrap_or_default();
            piece.chars().any(char::is_alphanumeric)
        };
        hidden.retain(tells);
        let raw = node.span.range();
        let inside = Inside::new(self.text, node.span);
        for range in hidden {
            let reaches_end = range.end == value.len();
            let mut span = inside.span_of(&range).range();
            if reaches_end {
                span.end = self.end_of_string(&raw);
            }
            self.hidden.push(span);
        }
        self.known.push(raw);
    }

    /// Returns where a string's inside ends; one that is never closed reaches to its very end.
    fn end_of_string(&self, raw: &Range<usize>) -> usize {
        let string = self.text.get(raw.clone()).unwrap_or_default();
        let quote = string.chars().next().unwrap_or('"');
        let is_closed = string.len() >= 2 && string.ends_with(quote);
        raw.end - usize::from(is_closed)
    }

    /// Hides a number that is too long, and a word that JSON does not know.
    fn scalar(&mut self, node: &Node, place: ValuePlace) {
        let range = node.span.range();
        let word = self.text.get(range.clone()).unwrap_or_default();
        let is_plain = match &node.value {
            Value::Number(_) => place != ValuePlace::Secret && word.len() < LONG_NUMBER,
            _ => matches!(word, "null" | "true" | "false"),
        };
        if !is_plain {
            self.hidden.extend(secret(self.text, range.clone()));
        }
        self.known.push(range);
    }

    /// Looks at what is neither key nor value: text that could not be read.
    fn gaps(&mut self) {
        let mut at = 0;
        let known = std::mem::take(&mut self.known);
        for range in known {
            if at < range.start {
                self.hidden.extend(strict_runs(self.text, at..range.start));
            }
            at = at.max(range.end);
        }
        self.hidden
            .extend(strict_runs(self.text, at..self.text.len()));
    }
}

/// Says whether an argument is a word or a path behind a flag that names no credential.
fn is_plain_argument(previous: Option<&str>, value: &str) -> bool {
    // `--mode=read-only`, and behind `-e` also `MODE=read-only`.
    let is_pair = value.starts_with("--") || previous.is_some_and(|it| PAIR_FLAGS.contains(&it));
    if let Some((name, value)) = value.split_once('=').filter(|_| is_pair) {
        let name = name.trim_start_matches('-');
        return is_plain(name, value) || is_path(name, value);
    }
    // A short flag does not say what it is for.
    let flag = previous.and_then(|flag| flag.strip_prefix("--"));
    let flag = flag.filter(|flag| !flag.contains('='));
    flag.is_some_and(|flag| is_plain(flag, value) || is_path(flag, value))
}

/// Says whether a value is one plain word, right or mistyped.
fn is_word(value: &str) -> bool {
    value
        .chars()
        .all(|c| c.is_ascii_alphabetic() || matches!(c, '-' | '_'))
}

/// Hides arguments that stand behind a program in the same string.
fn command_line(value: &str) -> Vec<Range<usize>> {
    let mut hidden = Vec::new();
    let mut at = 0;
    let mut previous = None;
    for word in value.split(' ') {
        let found = match previous {
            None => runs(word, 0..word.len()),
            Some(_) => argument(word, previous),
        };
        hidden.extend(found.iter().map(|range| range.start + at..range.end + at));
        at += word.len() + 1;
        previous = Some(word);
    }
    hidden
}

/// Returns where the query of an address holds words under names of no credential.
fn plain_query(value: &str) -> Vec<Range<usize>> {
    let Some(start) = value.find('?') else {
        return Vec::new();
    };
    let mut plain = Vec::new();
    let mut at = start + 1;
    let query = value.get(at..).unwrap_or_default();
    for pair in query.split_inclusive(['&', '#', ';']) {
        let whole = pair.trim_end_matches(['&', '#', ';']);
        if let Some((name, value)) = whole.split_once('=')
            && is_plain(name, value)
        {
            plain.push(at + name.len() + 1..at + whole.len());
        }
        at += pair.len();
    }
    plain
}

/// Hides a default, which is an address, a word or a path now and then.
fn default_hidden(value: &str, name: &str, default: Range<usize>) -> Vec<Range<usize>> {
    let text = value.get(default.clone()).unwrap_or_default();
    let hidden = if text.contains("://") {
        without(address(text), &plain_query(text))
    } else if is_plain(name, text) {
        Vec::new()
    } else if is_path(name, text) {
        runs(text, 0..text.len())
    } else {
        secret(text, 0..text.len())
    };
    let shifted = hidden.into_iter();
    shifted
        .map(|range| range.start + default.start..range.end + default.start)
        .collect()
}

fn below(place: ValuePlace, key: &str) -> ValuePlace {
    let key = key.to_ascii_lowercase();
    let key = key.as_str();
    match place {
        ValuePlace::Secret => ValuePlace::Secret,
        _ if SECRET_PLACES.contains(&key) => ValuePlace::Secret,
        ValuePlace::Argument => ValuePlace::Argument,
        _ if ARGUMENT_PLACES.contains(&key) => ValuePlace::Argument,
        _ if ADDRESS_ENDINGS.iter().any(|ending| key.ends_with(ending)) => ValuePlace::Address,
        _ if COMMAND_LINES.contains(&key) => ValuePlace::CommandLine,
        _ if WORDS.contains(&key) => ValuePlace::Word,
        _ if HARMLESS.contains(&key) => ValuePlace::Harmless,
        _ => ValuePlace::Other,
    }
}

/// Objects whose values are headers or variables, in our files and in those of other hosts.
const SECRET_PLACES: &[&str] = &["headers", "http_headers", "env", "environment", "envs"];
const ARGUMENT_PLACES: &[&str] = &["args", "arguments"];
const ADDRESS_ENDINGS: &[&str] = &[
    "url",
    "uri",
    "$schema",
    "homepage",
    "endpoint",
    "repository",
];
const COMMAND_LINES: &[&str] = &["command", "headershelper"];
/// Codex's `env_vars` has names of variables.
const WORDS: &[&str] = &["env_vars", "pkce", "refresh", "transport", "type"];
/// Keys, in lower case, whose values are names of things.
const HARMLESS: &[&str] = &[
    "author",
    "client_id",
    "clientid",
    "cwd",
    "description",
    "dxt_version",
    "env_keys",
    "envfile",
    "icon",
    "license",
    "manifest_version",
    "mcpservers",
    "name",
    "note",
    "resource",
    "scope",
    "scopes",
    "title",
    "tools",
    "version",
];
/// A number with so many digits may be a card, an account or a token.
const LONG_NUMBER: usize = 9;
