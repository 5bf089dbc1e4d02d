//! The shapes of vendors' tokens, as data, and the search for them in a text.
//!
//! A shape is a prefix (or a part inside), the allowed lengths of the rest and its alphabet, taken
//! from the vendors' documentation. Lengths are lenient, since vendors change them. A search looks
//! only at word beginnings and only at the shapes that share the first byte.

mod ai;
mod cloud;
mod code;
mod data;
mod shape;
mod work;

use std::ops::Range;
use std::sync::LazyLock;

use shape::{Anchor, Runs, Shape};

use super::appearance::looks_random;
use super::encoded;
use super::limits::MOST_HITS;
use super::placeholder;

/// A vendor that issues tokens of a known shape.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Vendor {
    /// Stable identifier in kebab-case.
    pub id: &'static str,
    /// The name to show.
    pub name: &'static str,
    /// The environment variable that the vendor's own tools read.
    pub variable: &'static str,
    /// The known shapes; empty where tokens can be told only by their position.
    shapes: &'static [Shape],
}

impl Vendor {
    const fn new(
        id: &'static str,
        name: &'static str,
        variable: &'static str,
        shapes: &'static [Shape],
    ) -> Self {
        Self {
            id,
            name,
            variable,
            shapes,
        }
    }

    /// Whether a token of this vendor can be told by its shape alone.
    #[must_use]
    pub const fn has_shape(&self) -> bool {
        !self.shapes.is_empty()
    }
}

/// All known vendors, sorted by subject, not by name.
#[must_use]
pub fn vendors() -> &'static [Vendor] {
    &VENDORS
}

/// A token shape found in a text.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) range: Range<usize>,
    pub(super) vendor: &'static Vendor,
    pub(super) shape: &'static Shape,
}

/// All vendor shapes in `text`, from left to right, without overlap.
pub(super) fn matches(text: &str) -> Vec<Match> {
    let mut found: Vec<Match> = Vec::new();
    let mut runs = Runs::new(text);
    let mut at = 0;
    while at < text.len() && found.len() < MOST_HITS {
        let hit = starts_word(text, at).then(|| match_at(text, at, &mut runs));
        match hit.flatten() {
            Some(hit) => {
                at = hit.range.end.max(at + 1);
                found.push(hit);
            }
            None => at += 1,
        }
    }
    for (vendor, shape) in &INDEX.inside {
        if let Some(range) = shape.find_inside(text) {
            let free = found.iter().all(|hit| !overlaps(&hit.range, &range));
            if free && is_real(text, &range) {
                found.push(Match {
                    range,
                    vendor,
                    shape,
                });
            }
        }
    }
    found.sort_by_key(|hit| hit.range.start);
    found
}

/// The first private key in the PEM armour of `text`.
pub(super) fn private_key(text: &str) -> Option<(Range<usize>, &'static Vendor)> {
    let start = text.find("-----BEGIN ")?;
    let rest = text.get(start..)?;
    let title = rest.get(11..)?.split("-----").next()?;
    let body = rest.get(11 + title.len() + 5..)?;
    if !title.ends_with("PRIVATE KEY") && !title.ends_with("PRIVATE KEY BLOCK") {
        return None;
    }
    let key = body.split("-----END").next()?;
    let letters = key.bytes().filter(u8::is_ascii_alphanumeric).count();
    let length = rest.find("-----END").map_or(rest.len(), |end| {
        let close = rest.get(end + 8..).and_then(|tail| tail.find("-----"));
        close.map_or(rest.len(), |close| end + 8 + close + 5)
    });
    let vendor = vendors().iter().find(|vendor| vendor.id == "private-key")?;
    (letters >= 40 && !placeholder::is_placeholder(key.trim()))
        .then_some((start..start + length, vendor))
}

/// The vendor whose own tools read this variable.
pub(super) fn by_variable(name: &str) -> Option<&'static Vendor> {
    vendors()
        .iter()
        .find(|vendor| vendor.variable.eq_ignore_ascii_case(name))
}

pub(super) fn overlaps(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn match_at(text: &str, at: usize, runs: &mut Runs<'_>) -> Option<Match> {
    let first = *text.as_bytes().get(at)?;
    let candidates = INDEX.by_first_byte.get(usize::from(first))?;
    candidates.iter().find_map(|(vendor, shape)| {
        let range = shape.match_at(runs, at)?;
        is_real(text, &range).then_some(Match {
            range,
            vendor,
            shape,
        })
    })
}

fn is_real(text: &str, range: &Range<usize>) -> bool {
    text.get(range.clone()).is_some_and(|token| {
        let is_marked = placeholder::is_placeholder(token) && !outvotes_marks(token);
        !is_marked && !encoded::is_example_jwt(token)
    })
}

/// Says whether a token is so long and so random that a word in it, such as `test`, came about by
/// chance or is part of its form.
fn outvotes_marks(token: &str) -> bool {
    let tail = token
        .len()
        .checked_sub(OUTVOTING)
        .and_then(|at| token.get(at..));
    let Some(tail) = tail else { return false };
    let mut letters: Vec<u8> = tail.bytes().collect();
    letters.sort_unstable();
    letters.dedup();
    let is_crossed = [
        "xxx", "XXX", "...", "***", "___", "000", "1234", "abcd", "ABCD",
    ]
    .iter()
    .any(|mark| token.contains(mark));
    looks_random(tail) && letters.len() >= DISTINCT && !is_crossed && !token.contains(['<', '['])
}

/// Whether a token may begin at `at`: after nothing, punctuation, a percent-encoded byte, or the
/// `:-` in front of a default.
fn starts_word(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let Some(before) = at.checked_sub(1).and_then(|i| bytes.get(i)) else {
        return true;
    };
    if !before.is_ascii_alphanumeric() && !matches!(before, b'_' | b'-') {
        return text.is_char_boundary(at);
    }
    let encoded = at.checked_sub(3).and_then(|i| bytes.get(i..at));
    let escaped = at.checked_sub(2).and_then(|i| bytes.get(i..at));
    matches!(encoded, Some([b'%', a, b]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
        || matches!(escaped, Some([b'\\', b'n' | b't'] | [b':', b'-']))
}

type Candidates = Vec<(&'static Vendor, &'static Shape)>;

struct Index {
    by_first_byte: Vec<Candidates>,
    inside: Candidates,
}

static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
    [
        ai::VENDORS,
        code::VENDORS,
        cloud::VENDORS,
        data::VENDORS,
        work::VENDORS,
    ]
    .concat()
});

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index {
        by_first_byte: vec![Vec::new(); 256],
        inside: Vec::new(),
    };
    for vendor in vendors() {
        for shape in vendor.shapes {
            match shape.anchor {
                Anchor::Inside(_) | Anchor::After(_) => index.inside.push((vendor, shape)),
                Anchor::Prefix(prefix) => {
                    let first = prefix.as_bytes().first().copied().unwrap_or_default();
                    if let Some(list) = index.by_first_byte.get_mut(usize::from(first)) {
                        list.push((vendor, shape));
                    }
                }
            }
        }
    }
    for list in &mut index.by_first_byte {
        list.sort_by_key(|(_, shape)| std::cmp::Reverse(shape.prefix_length()));
    }
    index
});

/// How many random characters at the end of a token outvote words in it, and how many of them differ.
const OUTVOTING: usize = 28;
const DISTINCT: usize = 14;
