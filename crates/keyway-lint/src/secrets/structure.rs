//! Credentials inside a larger text: URLs, connection strings, assignments, header lines, JSON.
//!
//! The scanners are tolerant: they look for names and the values beside them and ignore what they
//! do not understand. Overlapping hits are sorted out by the caller.

use std::ops::Range;

use super::Reason;
use super::literal::{self, Place};
use super::name::{self, Promise};
use super::reference;

/// A credential in a text, before anyone asked whose it is.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    pub(super) range: Range<usize>,
    pub(super) reason: Reason,
    /// The name of the field that holds it.
    pub(super) name: Option<String>,
}

impl Hit {
    /// The same hit in a text that has `offset` more bytes before it.
    pub(super) fn shifted(mut self, offset: usize) -> Self {
        self.range = self.range.start + offset..self.range.end + offset;
        self
    }
}

/// How sure a scanner must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scrutiny {
    /// The text is configuration.
    Normal,
    /// The text is prose: only values that look random count.
    Strict,
}

impl Scrutiny {
    pub(super) const fn apply(self, promise: Promise) -> Promise {
        match self {
            Self::Normal => promise,
            Self::Strict => promise.weakened(),
        }
    }
}

/// The beginning of `text` from `from` on in which a scanner looks for an end.
///
/// Bounds the work on hostile input: without it, a text full of beginnings costs its square.
pub(super) fn window(text: &str, from: usize, length: usize) -> &str {
    let rest = text.get(from..).unwrap_or_default();
    let mut end = rest.len().min(length);
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    rest.get(..end).unwrap_or_default()
}

/// How much of one text a scanner may still judge.
///
/// Values can overlap, each up to the end of the text; with this they cost no more than its length
/// and a constant.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) const fn new() -> Self {
        Self(MOST_JUDGED)
    }

    /// Says whether a value of this many bytes may be judged as well.
    pub(super) fn take(&mut self, length: usize) -> bool {
        let left = self.0.checked_sub(length.max(LEAST_JUDGED));
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Everything in `text` that its own structure shows to be a credential.
pub(super) fn scan(text: &str, scrutiny: Scrutiny) -> Vec<Hit> {
    let mut hits = Vec::new();
    if text.contains(['"', '\'']) {
        super::pairs::json(text, scrutiny, &mut hits);
    }
    super::address::scan(text, scrutiny, &mut hits);
    if text.contains('=') {
        super::pairs::assignments(text, scrutiny, &mut hits);
    }
    if text.contains(':') {
        super::pairs::header_lines(text, scrutiny, &mut hits);
    }
    hits
}

/// Judges the value at `range` of `text` as the content of a field, with the defaults inside it.
pub(super) fn judge(
    text: &str,
    range: Range<usize>,
    place: Place<'_>,
    reason: Reason,
    hits: &mut Vec<Hit>,
) {
    let Some(value) = text.get(range.clone()) else {
        return;
    };
    if hits.len() >= MOST_HITS {
        return;
    }
    let name = place.name.map(str::to_owned);
    if let Some(found) = literal::credential_in(value, place) {
        hits.push(
            Hit {
                range: found,
                reason,
                name,
            }
            .shifted(range.start),
        );
        return;
    }
    for span in reference::spans(value) {
        let Some(default) = span.default else {
            continue;
        };
        let Some(inner) = value.get(default.clone()) else {
            continue;
        };
        if literal::credential_in(inner, place).is_some() {
            let hit = Hit {
                range: default,
                reason: Reason::Default,
                name: name.clone(),
            };
            hits.push(hit.shifted(range.start));
        }
    }
}

/// As [`judge`], for a value whose field has the given name.
pub(super) fn judge_named(
    text: &str,
    range: Range<usize>,
    field: &str,
    (scrutiny, reason): (Scrutiny, Reason),
    hits: &mut Vec<Hit>,
) {
    if let Some(promise) = name::classify(field) {
        let place = Place {
            promise: scrutiny.apply(promise),
            name: Some(field),
        };
        judge(text, range, place, reason, hits);
    }
}

/// No honest value holds more credentials than this.
pub(super) const MOST_HITS: usize = 64;

/// How many words of a command line are looked at, and cookies of a header.
pub(super) const MOST_FIELDS: usize = 256;

/// How many bytes of values one scanner judges: some long ones, or hundreds of short ones.
const MOST_JUDGED: usize = 32 * 1024;

/// What a value costs that is shorter.
const LEAST_JUDGED: usize = 128;

/// The longest name that is looked at.
pub(super) const LONGEST_KEY: usize = 128;

/// The longest value that is looked at, private keys and tokens of known shape aside.
pub(super) const LONGEST_VALUE: usize = 4096;
