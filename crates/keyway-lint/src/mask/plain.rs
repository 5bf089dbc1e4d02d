//! What is not a credential by its own form, whatever its place: references, placeholders, words,
//! dates.

use crate::secrets::is_credential_name;
use keyway_config::placeholder::is_placeholder;
use keyway_config::reference::{ReferenceSyntax, lookalike};
use keyway_config::template::Template;

use super::literal::runs;

/// Says whether a value names a credential, or its place, instead of being one.
///
/// What stands behind an authentication scheme counts, as in `Bearer $TOKEN`.
pub(super) fn is_reference(value: &str) -> bool {
    let word = value.trim().rsplit(' ').next().unwrap_or_default();
    if !runs(word, 0..word.len()).is_empty() {
        return false;
    }
    // opencode and Windsurf read a file by its path.
    let file = word.trim_start_matches('$').strip_prefix("{file:");
    if file.is_some_and(|file| file.ends_with('}')) {
        return true;
    }
    let found = lookalike(&Template::parse(value));
    found.is_some_and(|reference| match reference.syntax {
        // A password may begin with a dollar sign, but hardly one all in capitals.
        ReferenceSyntax::Shell => word.bytes().all(|byte| !byte.is_ascii_lowercase()),
        _ => true,
    }) || is_placeholder(value.trim())
        || is_placeholder(word)
}

/// Says whether a value below a key that names no credential is plain: one or two words, a date, or
/// too short to be one.
pub(super) fn is_plain(key: &str, value: &str) -> bool {
    let is_short = value.len() <= SHORTEST && value.bytes().all(|b| b.is_ascii_alphanumeric());
    !is_credential_key(key) && (is_short || is_date(value) || is_words(value))
}

/// Says whether a value is a path, in which only what looks like a token is hidden.
pub(super) fn is_path(key: &str, value: &str) -> bool {
    let begins = ["/", "./", "../", "~/", "\\"];
    let is_drive = matches!(value.as_bytes(), [_, b':', b'\\', ..]);
    let has_parts = value.matches(['/', '\\']).count() >= 2;
    let is_spoken = value.contains([' ', '=', '@', '?', '"', '\'']);
    let is_rooted = is_drive || begins.iter().any(|start| value.starts_with(start));
    // A folder that the host knows, as in `${workspaceFolder}/bin`.
    let behind = value.strip_prefix("${").and_then(|it| it.split_once('}'));
    let is_below_variable = behind.is_some_and(|(_, rest)| rest.starts_with(['/', '\\']));
    !is_credential_key(key) && !is_spoken && (is_rooted && has_parts || is_below_variable)
}

/// Says whether a key may name a credential: as the rules judge names, and more.
fn is_credential_key(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    key.is_empty()
        || is_credential_name(key)
        || CREDENTIAL_PARTS.iter().any(|part| lower.contains(part))
}

/// `Medium`, `read-only`, `very hard`, `us-east-1`, `1.2.3`; longer texts may be pass phrases.
fn is_words(value: &str) -> bool {
    let is_word = |word: &str| {
        let is_short = word.len() <= SHORTEST && word.bytes().all(|b| b.is_ascii_alphanumeric());
        let is_spelt = word.bytes().all(|b| b.is_ascii_alphabetic());
        (1..=LONGEST_WORD).contains(&word.len()) && (is_short || is_spelt)
    };
    let words: Vec<&str> = value.split([' ', '-', '_', '.', ',']).collect();
    words.len() <= MOST_WORDS && words.into_iter().all(is_word)
}

/// `2026-11-15`, `2026-11-15T08:30:00.000Z`.
fn is_date(value: &str) -> bool {
    let (day, time) = value.split_once('T').unwrap_or((value, ""));
    let parts: Vec<&str> = day.split('-').collect();
    let is_number = |part: &str, digits: usize| {
        part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_day = matches!(parts.as_slice(), [year, month, day]
        if is_number(year, 4) && is_number(month, 2) && is_number(day, 2));
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, ':' | '.' | '+' | '-' | 'Z');
    is_day && time.len() <= LONGEST_TIME && time.chars().all(is_time)
}

const SHORTEST: usize = 4;
const LONGEST_WORD: usize = 12;
const MOST_WORDS: usize = 3;
const LONGEST_TIME: usize = 20;
const CREDENTIAL_PARTS: &[&str] = &[
    "auth", "code", "cookie", "cred", "key", "login", "pass", "pin", "pw", "secret", "session",
    "sig", "token",
];
