//! How much of a text is looked at, so that no file makes the scan slow.

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

/// No honest value holds more credentials than this.
pub(super) const MOST_HITS: usize = 64;

/// How many words of a command line are looked at, and cookies of a header.
pub(super) const MOST_FIELDS: usize = 256;

/// The longest name that is looked at.
pub(super) const LONGEST_KEY: usize = 128;

/// The longest value that is looked at, private keys and tokens of known shape aside.
pub(super) const LONGEST_VALUE: usize = 4096;

/// How many bytes of values one scanner judges: some long ones, or hundreds of short ones.
const MOST_JUDGED: usize = 32 * 1024;

/// What a value costs that is shorter.
const LEAST_JUDGED: usize = 128;
