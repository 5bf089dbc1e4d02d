//! Text in base 64 that holds a credential, and what a JSON Web Token says about itself.
//!
//! A key file or a server's whole configuration is often put into one variable, argument or query
//! field this way; its letters say nothing, what it decodes to does.

use std::ops::Range;

use super::limits::{Budget, LONGEST_VALUE, MOST_HITS, window};

/// Finds the texts in base 64 that decode to something that `holds` a credential.
pub(super) fn scan(text: &str, holds: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut budget = Budget::new();
    let mut from = 0;
    while let Some(start) = next_beginning(text, from) {
        let rest = window(text, start, LONGEST_ENCODED);
        let is_part = |byte: &u8| digit(*byte).is_some() || *byte == b'=';
        let length = rest.bytes().take_while(is_part).count();
        from = start + length.max(1);
        if length < SHORTEST || found.len() >= MOST_HITS {
            continue;
        }
        if !budget.take(length.min(LONGEST_VALUE)) {
            break;
        }
        let content = decode(rest.get(..length).unwrap_or_default());
        let content = content.and_then(|bytes| String::from_utf8(bytes).ok());
        if content.is_some_and(|content| holds(&content)) {
            found.push(start..start + length);
        }
    }
    found
}

/// Says whether a JSON Web Token is one that documentation shows: its claims are made up.
pub(super) fn is_example_jwt(token: &str) -> bool {
    let mut parts = token.split('.');
    let (Some(_), Some(claims), Some(_), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    if !token.starts_with("eyJ") || claims.len() > LONGEST_VALUE {
        return false;
    }
    let claims = decode(claims).and_then(|bytes| String::from_utf8(bytes).ok());
    claims.is_some_and(|claims| EXAMPLE_CLAIMS.iter().any(|claim| claims.contains(claim)))
}

/// Decodes either alphabet of base 64, padded or not.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end_matches('=');
    if body.len() % 4 == 1 || text.len() - body.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(body.len() / 4 * 3 + 2);
    let mut bits = 0_u32;
    for (index, byte) in body.bytes().enumerate() {
        bits = (bits << 6 | u32::from(digit(byte)?)) & 0xFFFF;
        let pending = (index + 1) * 6 % 8;
        if index % 4 != 0 {
            bytes.push(u8::try_from(bits >> pending & 0xFF).ok()?);
        }
    }
    Some(bytes)
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Where the next text begins that decodes to an object or to the armour of a key.
fn next_beginning(text: &str, mut from: usize) -> Option<usize> {
    loop {
        let start = from + text.get(from..)?.find(['e', 'L'])?;
        let rest = text.get(start..)?;
        let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        // A slash is a digit, and what separates the parts of a path.
        let is_edge = before.is_none_or(|before| digit(*before).is_none() || *before == b'/');
        if is_edge && BEGINNINGS.iter().any(|it| rest.starts_with(it)) {
            return Some(start);
        }
        from = start + 1;
    }
}

/// `{"`, `{` and a blank or a line feed, and `-----BEGIN`, encoded.
const BEGINNINGS: &[&str] = &["eyJ", "eyA", "ewo", "ew0", "LS0tLS1CRUdJTi"];

/// Claims of the tokens that manuals, and a database's setup for development, show to everyone.
const EXAMPLE_CLAIMS: &[&str] = &[
    "\"sub\":\"1234567890\"",
    "\"name\":\"John Doe\"",
    "\"iss\":\"supabase-demo\"",
];

/// The shortest text that can hold a name and a credential.
const SHORTEST: usize = 32;

/// The longest: a key file of the usual size, encoded.
const LONGEST_ENCODED: usize = 16 * 1024;
