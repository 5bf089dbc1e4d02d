//! What a text looks like by its characters alone: random, an id, a path, an address.

use std::ops::Range;

/// Whether `text` looks made by a machine: letters and digits mixed without sense.
pub(super) fn looks_random(text: &str) -> bool {
    if text.len() < 12 || !text.bytes().all(|b| b.is_ascii_graphic()) || is_address(text) {
        return false;
    }
    is_uuid(text)
        || text.split(['-', '_', '.', '/', ':', ',']).any(is_scrambled)
        || is_symbols(text)
}

/// A dictionary-free test of one run of characters.
fn is_scrambled(part: &str) -> bool {
    let bytes = part.as_bytes();
    if bytes.len() < 8 || is_camel_case(part) {
        return false;
    }
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let class = |b: u8| match b {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let changes = bytes
        .windows(2)
        .filter(|w| matches!(w, [a, b] if class(*a) != class(*b)))
        .count();
    let letters_only = bytes.iter().all(u8::is_ascii_alphabetic);
    if letters_only {
        bytes.len() >= 16 && changes >= 6
    } else {
        digits > 0 && digits < bytes.len() && changes >= 3
    }
}

/// `securePassword123`: words that a person chose, each begun by a capital, perhaps with a number.
fn is_camel_case(part: &str) -> bool {
    let words = part.trim_end_matches(|c: char| c.is_ascii_digit());
    if part.len() - words.len() > LONGEST_NUMBER || !words.bytes().all(|b| b.is_ascii_alphabetic())
    {
        return false;
    }
    let mut length = 0;
    let mut shortest = usize::MAX;
    for byte in words.bytes() {
        if byte.is_ascii_uppercase() && length > 0 {
            shortest = shortest.min(length);
            length = 0;
        }
        length += 1;
    }
    shortest.min(length) >= SHORTEST_WORD
}

/// A password-like mix with punctuation inside.
fn is_symbols(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_alphabetic())
        && text.bytes().any(|b| b"!#$%^&*+=~".contains(&b))
}

pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, b)| match index {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// A path in a file system; a path to a key file is not a credential.
pub(crate) fn is_path(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let bytes = text.as_bytes();
    let drive = matches!(bytes, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let rooted = text.starts_with('/')
        && !text.contains(['+', '='])
        && (text.bytes().filter(|b| *b == b'/').count() >= 2 || text.contains('.'));
    let relative = ["./", "../", "~/", "@/", "@./", ".\\", "..\\", "~\\"]
        .iter()
        .any(|p| text.starts_with(p));
    drive
        || rooted
        || relative
        || is_place_of_secret(text)
        || FILE_ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// `secret/data/app#token`: where a manager of secrets keeps one, in words and not at random.
fn is_place_of_secret(text: &str) -> bool {
    let (path, field) = text.split_once('#').unwrap_or((text, "value"));
    let is_word = |part: &str| {
        let is_letter = |b: u8| b.is_ascii_lowercase() || matches!(b, b'-' | b'_');
        !part.is_empty() && part.bytes().all(is_letter)
    };
    path.matches('/').count() >= 2 && path.split('/').chain([field]).all(is_word)
}

/// A mail address or a host name.
pub(super) fn is_address(text: &str) -> bool {
    let host = text.rsplit('@').next().unwrap_or(text);
    let host = host.split(':').next().unwrap_or(host);
    let mut labels = host.split('.').peekable();
    if !host.contains('.') || host.len() > 80 {
        return false;
    }
    let last = host.rsplit('.').next().unwrap_or_default();

    last.len() >= 2
        && last.len() <= 12
        && last.bytes().all(|b| b.is_ascii_lowercase())
        && labels.all(|label| {
            !label.is_empty()
                && label.len() <= 40
                && label
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        })
}

/// `range` of `text` without blanks and quotes at its ends.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(part) = text.get(range.clone()) else {
        return range.start..range.start;
    };
    let is_border = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
    let left = part.trim_start_matches(is_border);
    let start = range.start + (part.len() - left.len());
    let kept = left.trim_end_matches(is_border);
    // An escaped closing quote leaves its backslash behind.
    let kept = if kept.len() < left.len() {
        kept.strip_suffix('\\').unwrap_or(kept)
    } else {
        kept
    };
    start..start + kept.len()
}

/// A year, or what follows a word when a rule demands digits.
const LONGEST_NUMBER: usize = 4;

/// A run of small letters in a random text is rarely as long, let alone all of them.
const SHORTEST_WORD: usize = 4;

#[rustfmt::skip]
const FILE_ENDINGS: &[&str] = &[
    ".json", ".pem", ".key", ".txt", ".crt", ".cer", ".p8", ".p12", ".pfx", ".env", ".yaml",
    ".yml", ".toml", ".ini", ".jks", ".keystore", ".pub", ".ppk", ".asc", ".gpg", ".conf", ".cfg",
    ".js", ".ts", ".py", ".sh", ".db", ".sqlite", ".pickle", ".kdbx", ".xml",
];
