//! One token shape and how a text is compared with it.

use std::ops::Range;

use crate::secrets::appearance;

/// What a token looks like.
#[derive(Debug)]
pub(in crate::secrets) struct Shape {
    pub(in crate::secrets) anchor: Anchor,
    /// Allowed numbers of characters after the prefix, or on both sides of the inner part.
    min: usize,
    max: usize,
    alphabet: Alphabet,
    /// What the alphabet cannot say, asked of the whole token.
    check: Option<fn(&str) -> bool>,
    /// Whether the vendor's checksum fits; a token of this shape counts either way.
    pub(in crate::secrets) checksum: Option<fn(&str) -> bool>,
    /// Identifiers and publishable keys, which are meant to be seen.
    pub(in crate::secrets) public: bool,
    /// Several vendors issue tokens of this shape; the field's name knows better.
    pub(in crate::secrets) shared: bool,
}

/// The part of a token that is always the same.
#[derive(Clone, Copy, Debug)]
pub(in crate::secrets) enum Anchor {
    Prefix(&'static str),
    Inside(&'static str),
    /// Stands before the token: an address whose next path segments are the credential.
    After(&'static str),
}

/// The characters of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::secrets) enum Alphabet {
    LowerHex,
    LowerAlnum,
    UpperAlnum,
    Alnum,
    /// Letters, digits, `-` and `_`.
    Url,
    /// [`Alphabet::Url`] and `.`.
    Dotted,
    /// Letters, digits, `+`, `/`, `=`, `-`, `_`.
    Base64,
    /// Everything that a token may hold, with `.`, `:`, `%`, `~`, `!`, `|` and `$`.
    Wide,
}

impl Shape {
    /// A prefix, then `min` to `max` characters of `alphabet`.
    pub(super) const fn prefix(
        prefix: &'static str,
        min: usize,
        max: usize,
        alphabet: Alphabet,
    ) -> Self {
        Self::new(Anchor::Prefix(prefix), min, max, alphabet)
    }

    /// A part that stands inside, with `min` to `max` characters in all beside it.
    pub(super) const fn inside(
        part: &'static str,
        min: usize,
        max: usize,
        alphabet: Alphabet,
    ) -> Self {
        Self::new(Anchor::Inside(part), min, max, alphabet)
    }

    /// A token of `min` to `max` characters right after the beginning of an address.
    pub(super) const fn after(
        address: &'static str,
        min: usize,
        max: usize,
        alphabet: Alphabet,
    ) -> Self {
        Self::new(Anchor::After(address), min, max, alphabet)
    }

    const fn new(anchor: Anchor, min: usize, max: usize, alphabet: Alphabet) -> Self {
        Self {
            anchor,
            min,
            max,
            alphabet,
            check: None,
            checksum: None,
            public: false,
            shared: false,
        }
    }

    pub(super) const fn check(mut self, check: fn(&str) -> bool) -> Self {
        self.check = Some(check);
        self
    }

    pub(super) const fn checksum(mut self, checksum: fn(&str) -> bool) -> Self {
        self.checksum = Some(checksum);
        self
    }

    pub(super) const fn public(mut self) -> Self {
        self.public = true;
        self
    }

    pub(super) const fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    pub(super) const fn prefix_length(&self) -> usize {
        match self.anchor {
            Anchor::Prefix(prefix) => prefix.len(),
            Anchor::Inside(_) | Anchor::After(_) => 0,
        }
    }

    /// The token that begins at `at`.
    pub(super) fn match_at(&self, runs: &mut Runs<'_>, at: usize) -> Option<Range<usize>> {
        let Anchor::Prefix(prefix) = self.anchor else {
            return None;
        };
        let body = at + prefix.len();
        if !runs.text.get(at..)?.starts_with(prefix) {
            return None;
        }
        let end = self.run_from(runs, body);
        self.accepts(runs.text, at..end, end - body)
            .then_some(at..end)
    }

    /// The first token in `text` around the inner part, or after the address.
    pub(super) fn find_inside(&self, text: &str) -> Option<Range<usize>> {
        let (part, around) = match self.anchor {
            Anchor::Inside(part) => (part, true),
            Anchor::After(part) => (part, false),
            Anchor::Prefix(_) => return None,
        };
        let mut runs = Runs::new(text);
        let mut from = 0;
        while let Some(found) = text.get(from..)?.find(part) {
            let at = from + found;
            from = at + part.len();
            let before = text.as_bytes().get(..at)?.iter().rev();
            let left = before
                .take(self.max + 1)
                .take_while(|b| around && self.alphabet.holds(**b))
                .count();
            let end = self.run_from(&mut runs, from);
            let range = if around { at - left..end } else { from..end };
            let free = left + (end - from);
            if self.accepts(text, range.clone(), free) {
                return Some(range);
            }
        }
        None
    }

    fn run_from(&self, runs: &mut Runs<'_>, from: usize) -> usize {
        let end = runs.end(self.alphabet, from).min(from + self.max + 1);
        let run = runs.text.as_bytes().get(from..end).unwrap_or_default();
        let dots = run.iter().rev();
        end - dots
            .take_while(|b| matches!(b, b'.' | b':' | b'|' | b'!'))
            .count()
    }

    fn accepts(&self, text: &str, range: Range<usize>, free: usize) -> bool {
        if free < self.min || free > self.max {
            return false;
        }
        let continues = text
            .as_bytes()
            .get(range.end)
            .is_some_and(u8::is_ascii_alphanumeric);
        let Some(token) = text.get(range) else {
            return false;
        };
        let tail = token
            .get(token.len().saturating_sub(free)..)
            .unwrap_or(token);
        let spoken = || free < 60 && self.alphabet.holds(b'-') && !appearance::looks_random(tail);
        // What a shape asks itself stops early; the rest reads the whole token.
        !continues && self.check.is_none_or(|check| check(token)) && !spoken() && is_mixed(tail)
    }
}

/// Where the runs of each alphabet end in a text that is read from left to right.
///
/// Remembers the last one, so that a text full of beginnings is not read again from each of them.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    text: &'a str,
    last: [Range<usize>; Alphabet::COUNT],
}

impl<'a> Runs<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let last = std::array::from_fn(|_| 0..0);
        Self { text, last }
    }

    fn end(&mut self, alphabet: Alphabet, from: usize) -> usize {
        let Some(last) = self.last.get_mut(alphabet as usize) else {
            return from;
        };
        if !last.contains(&from) {
            let tail = self.text.as_bytes().get(from..).unwrap_or_default();
            let length = tail.iter().position(|b| !alphabet.holds(*b));
            *last = from..from + length.unwrap_or(tail.len());
        }
        last.end
    }
}

impl Alphabet {
    const COUNT: usize = Self::Wide as usize + 1;

    const fn holds(self, b: u8) -> bool {
        match self {
            Self::LowerHex => b.is_ascii_digit() || matches!(b, b'a'..=b'f'),
            Self::LowerAlnum => b.is_ascii_digit() || b.is_ascii_lowercase(),
            Self::UpperAlnum => b.is_ascii_digit() || b.is_ascii_uppercase(),
            Self::Alnum => b.is_ascii_alphanumeric(),
            Self::Url => b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'),
            Self::Dotted => b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'),
            Self::Base64 => {
                b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'+' | b'/' | b'=')
            }
            Self::Wide => {
                b.is_ascii_alphanumeric()
                    || matches!(b, b'!' | b'$' | b'%' | b'+' | b'-'..=b'/')
                    || matches!(b, b':' | b'=' | b'_' | b'|' | b'~')
            }
        }
    }
}

/// Words of one kind of character are names; a token mixes them.
fn is_mixed(tail: &str) -> bool {
    let digit = tail.bytes().any(|b| b.is_ascii_digit());
    let upper = tail.bytes().any(|b| b.is_ascii_uppercase());
    let lower = tail.bytes().any(|b| b.is_ascii_lowercase());
    if tail.len() < 30 {
        digit && (upper || lower)
    } else {
        digit || (upper && lower)
    }
}

/// The last six characters are the CRC-32 of those before them, in base 62 (GitHub, npm).
pub(super) fn crc32_base62(token: &str) -> bool {
    let Some((_, body)) = token.rsplit_once('_') else {
        return false;
    };
    let Some(at) = body.len().checked_sub(6) else {
        return false;
    };
    let (Some(random), Some(given)) = (body.get(..at), body.get(at..)) else {
        return false;
    };
    let decoded = given.bytes().try_fold(0_u64, |value, b| {
        let digit = match b {
            b'0'..=b'9' => b - b'0',
            b'A'..=b'Z' => b - b'A' + 10,
            b'a'..=b'z' => b - b'a' + 36,
            _ => return None,
        };
        Some(value * 62 + u64::from(digit))
    });
    decoded == Some(u64::from(crc32(random.as_bytes())))
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            }
        })
    })
}

/// A UUID after the prefix.
pub(super) fn ends_with_uuid(token: &str) -> bool {
    token.len() >= 36
        && token
            .get(token.len() - 36..)
            .is_some_and(appearance::is_uuid)
}

/// Parts of exactly these lengths between dots; 0 is any length from 4.
pub(super) fn dotted_parts(token: &str, lengths: &[usize]) -> bool {
    token.split('.').take(lengths.len() + 1).count() == lengths.len()
        && token
            .split('.')
            .zip(lengths)
            .all(|(part, length)| match length {
                0 => part.len() >= 4,
                length => part.len() == *length,
            })
}
