//! What must not be seen of a text: every literal that may be a secret, beyond its first characters.
//!
//! A finding shows the line it is about, and that line may hold a token, its own or another's. So
//! masking does not depend on what the rules found: in a configuration file every literal in the
//! place of a value is masked unless its place or its form is known to be harmless. Too much is
//! masked rather than too little. References to variables in any syntax and placeholders stay
//! readable, since they are what a finding is about; so do keys, columns and line breaks.

mod literal;
mod plain;
mod values;

use std::ops::Range;

use crate::secrets::{self, Position};
use keyway_code::Code;
use keyway_config::diagnostic::Diagnostic;
use keyway_config::json::Tree;
use keyway_config::source::{Source, Span};

use self::literal::{references, runs, secret, strict_runs, without};

/// The parts of one text that are not shown.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// Byte ranges, sorted and apart.
    ranges: Vec<Range<usize>>,
}

impl Mask {
    /// Finds what to hide in `source`: a configuration file if there is a `tree`, else prose.
    ///
    /// What `diagnostics` about secrets point to is hidden in any case.
    #[must_use]
    pub fn new(source: &Source, tree: Option<&Tree>, diagnostics: &[Diagnostic]) -> Self {
        let text = source.text();
        let mut ranges = match tree {
            Some(tree) => values::hidden(text, tree),
            None => strict_runs(text, 0..text.len()),
        };
        for diagnostic in diagnostics {
            if !SECRET_CODES.contains(&diagnostic.code) {
                continue;
            }
            let own = diagnostic.location.iter();
            let related = diagnostic.related.iter().map(|related| &related.location);
            for location in own.chain(related) {
                if &*location.file == source.path() {
                    ranges.extend(pointed_at(text, location.span));
                }
            }
        }
        Self {
            ranges: merged(ranges),
        }
    }

    /// Returns a part of the text with as many characters as it has, the hidden ones replaced.
    #[must_use]
    pub fn apply(&self, text: &str, part: Range<usize>) -> String {
        let start = part.start;
        let first = self.ranges.partition_point(|range| range.end <= start);
        let mut hidden = self.ranges.iter().skip(first).peekable();
        let visible = text.get(part).unwrap_or_default();
        let masked = visible.char_indices().map(|(index, c)| {
            let at = start + index;
            while hidden.next_if(|range| range.end <= at).is_some() {}
            let is_hidden = hidden.peek().is_some_and(|range| range.start <= at);
            if is_hidden && c != '\n' && c != '\r' {
                BULLET
            } else {
                c
            }
        });
        masked.collect()
    }

    /// Says whether any of `span` is hidden.
    #[must_use]
    pub fn touches(&self, span: Span) -> bool {
        let span = span.range();
        let first = self.ranges.partition_point(|range| range.end <= span.start);
        let next = self.ranges.get(first);
        next.is_some_and(|range| range.start < span.end)
    }
}

/// Returns a sentence of ours with the names in it that look like a token masked.
#[must_use]
pub fn in_words(sentence: &str) -> String {
    let ranges = merged(runs(sentence, 0..sentence.len()));
    Mask { ranges }.apply(sentence, 0..sentence.len())
}

/// Returns a literal with every long run in it that mixes letters and digits masked, and the rest as
/// it is.
#[must_use]
pub fn in_literal(literal: &str) -> String {
    let ranges = merged(strict_runs(literal, 0..literal.len()));
    Mask { ranges }.apply(literal, 0..literal.len())
}

/// Returns the name of a server, or the pointer of a value, with tokens of known shape masked.
///
/// Programs look names up, so nothing else is changed in them.
#[must_use]
pub fn in_name(name: &str) -> String {
    let mut shown = Vec::new();
    for part in name.split('/') {
        let found = secrets::find(part, Position::Prose).into_iter();
        let hidden = found.flat_map(|finding| secret(part, finding.range));
        let ranges = merged(hidden.collect());
        shown.push(Mask { ranges }.apply(part, 0..part.len()));
    }
    shown.join("/")
}

/// Masks in every sentence what looks like a token.
pub fn in_diagnostics(diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics {
        let related = diagnostic.related.as_mut().map(|found| &mut found.message);
        let title = diagnostic.fix.as_mut().map(|fix| &mut fix.title);
        let others = diagnostic
            .hint
            .as_mut()
            .into_iter()
            .chain(related)
            .chain(title);
        for text in others.chain([&mut diagnostic.message]) {
            *text = in_words(text);
        }
    }
}

/// Says whether a text that is not from a file, such as a replacement, may hold a secret.
#[must_use]
pub fn looks_secret(text: &str) -> bool {
    !strict_runs(text, 0..text.len()).is_empty()
}

/// Hides what a finding points to, quotes, variables and the first characters excepted.
fn pointed_at(text: &str, span: Span) -> Vec<Range<usize>> {
    let pointed = text.get(span.range()).unwrap_or_default();
    let inside = pointed.trim_matches(['"', '\'', '`']);
    let start =
        span.start as usize + (pointed.len() - pointed.trim_start_matches(['"', '\'', '`']).len());
    let hidden = secret(inside, 0..inside.len());
    let hidden = without(hidden, &references(inside));
    let shifted = hidden.into_iter();
    shifted
        .map(|range| range.start + start..range.end + start)
        .collect()
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Findings whose place is the secret itself.
const SECRET_CODES: &[Code] = &[
    Code::LiteralDefault,
    Code::LiteralSecret,
    Code::SecretInDocs,
];

const BULLET: char = '•';

#[cfg(test)]
mod tests;
