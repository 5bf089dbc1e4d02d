//! Judges one value in a place whose name promises a credential, and notes what is found.

use std::ops::Range;

use super::Reason;
use super::limits::MOST_HITS;
use super::literal::{self, NamedPlace};
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

/// Judges the value at `range` of `text` as the content of a field, with the defaults inside it.
pub(super) fn judge(
    text: &str,
    range: Range<usize>,
    place: NamedPlace<'_>,
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
        let place = NamedPlace {
            promise: scrutiny.apply(promise),
            name: Some(field),
        };
        judge(text, range, place, reason, hits);
    }
}
