//! What is wrong with the text of an `Authorization` header, and how it was meant.

use std::ops::Range;

use keyway_config::edit::Applicability;
use keyway_config::template::{MASK, Part, Template};

/// What is wrong, and what to do.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) message: &'static str,
    pub(super) hint: &'static str,
    pub(super) change: Option<Change>,
}

/// A replacement inside the value.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) range: Range<usize>,
    pub(super) text: &'static str,
    pub(super) applicability: Applicability,
}

/// Judges a value; `None` if it has the form `Scheme credential`, or says nothing at all.
pub(super) fn judge(template: &Template) -> Option<Verdict> {
    let masked = template.masked();
    let words = words_of(&masked);
    let (first, start) = *words.first()?;
    let Some(&(second, second_start)) = words.get(1) else {
        return one_word(template, first, start);
    };
    if first.eq_ignore_ascii_case("authorization:") {
        let message = "the value of `Authorization` repeats the name";
        return verdict(message, "remove the name", change(start..second_start, ""));
    }
    if let Some(scheme) = first.strip_suffix(':').and_then(known) {
        let colon = start + scheme.len()..start + first.len();
        let message = "`Authorization` has a colon between scheme and credential";
        return verdict(message, "remove the colon", change(colon, ""));
    }
    let scheme = known(first)?;
    let doubled = words
        .iter()
        .take_while(|(word, _)| word.eq_ignore_ascii_case(first));
    if let Some(&(_, last)) = doubled.last().filter(|&&(_, last)| last != start) {
        let message = "`Authorization` has its scheme twice";
        return verdict(message, "write the scheme once", change(start..last, ""));
    }
    if known(second).is_some() && words.len() > 2 {
        let change = change(start..second_start, "");
        return verdict(
            "`Authorization` has two schemes",
            "keep the second scheme",
            change,
        );
    }
    match scheme {
        "Bearer" if is_basic(template, second_start) => {
            let change = change(start..start + first.len(), "Basic");
            verdict(
                "`Authorization` has `Bearer` in front of Basic credentials",
                "use `Basic`",
                change,
            )
        }
        "Basic" if second.contains(':') => verdict(
            "`Authorization` has user and password behind `Basic` that are not encoded",
            "put the base64 of `user:password` into one variable: `Basic ${BASE64_CREDENTIALS}`",
            None,
        ),
        _ => None,
    }
}

/// Judges a value without any blank in it.
fn one_word(template: &Template, word: &str, start: usize) -> Option<Verdict> {
    if known(word).is_some() {
        let message = "`Authorization` has a scheme but no credential";
        return verdict(message, "add a variable, as in `Bearer ${API_TOKEN}`", None);
    }
    for scheme in ["Bearer", "Basic"] {
        let head = word.get(..scheme.len());
        if !head.is_some_and(|head| head.eq_ignore_ascii_case(scheme)) {
            continue;
        }
        let rest = word.get(scheme.len()..).unwrap_or_default();
        let credential = rest.trim_start_matches([':', '=']);
        let separator = rest.len() - credential.len();
        if separator > 0 || credential.starts_with(MASK) {
            let range = start..start + scheme.len() + separator;
            let text = if scheme == "Bearer" {
                "Bearer "
            } else {
                "Basic "
            };
            let message = "`Authorization` has no space between scheme and credential";
            return verdict(message, "write one blank", change(range, text));
        }
    }
    if holds_whole_header(template) {
        return None;
    }
    let message = "`Authorization` is a bare token without a scheme";
    if is_basic(template, start) {
        return verdict(
            message,
            "prefix it with `Basic `",
            change(start..start, "Basic "),
        );
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c) || c == MASK;
    let change = word
        .trim_end_matches('=')
        .chars()
        .all(is_plain)
        .then(|| change(start..start, "Bearer "))
        .flatten();
    verdict(message, "prefix it with `Bearer `", change)
}

/// Says whether the value is one variable whose name promises scheme and credential together.
fn holds_whole_header(template: &Template) -> bool {
    let [Part::Variable(variable)] = template.parts() else {
        return false;
    };
    parts_of(&variable.name).any(|part| matches!(part.as_str(), "HEADER" | "AUTHORIZATION"))
}

/// Says whether the credential from `start` on is meant for the Basic scheme.
fn is_basic(template: &Template, start: usize) -> bool {
    let mut parts = template.parts().iter();
    if let Some(Part::Variable(variable)) = parts.find(|part| part.range().start == start) {
        return parts_of(&variable.name).any(|part| matches!(part.as_str(), "BASIC" | "BASE64"));
    }
    let literal = template.as_str().get(start..).unwrap_or_default().trim();
    template.is_literal() && is_encoded_pair(literal)
}

fn parts_of(name: &str) -> impl Iterator<Item = String> {
    name.split('_').map(str::to_ascii_uppercase)
}

/// Says whether `text` is the base64 of a printable `user:password`.
fn is_encoded_pair(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let mut decoded = Vec::with_capacity(body.len());
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for byte in body.bytes() {
        let Some(value) = BASE64.iter().position(|&known| known == byte) else {
            return false;
        };
        buffer = (buffer << 6 | u32::try_from(value).unwrap_or_default()) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            decoded.push(u8::try_from(buffer >> bits & 0xff).unwrap_or_default());
        }
    }
    // The payload of a token may decode to anything; a user name is short and has no brackets.
    let user = decoded.iter().position(|&byte| byte == b':');
    user.is_some_and(|length| (1..=64).contains(&length))
        && decoded
            .iter()
            .all(|byte| byte.is_ascii_graphic() && !b"{}\"".contains(byte))
}

/// The scheme that a word is, in its usual spelling.
fn known(word: &str) -> Option<&'static str> {
    SCHEMES
        .iter()
        .find(|scheme| scheme.eq_ignore_ascii_case(word))
        .copied()
}

/// The words of a text with the offset of each.
fn words_of(text: &str) -> Vec<(&str, usize)> {
    let mut words = Vec::new();
    let mut at = 0;
    for word in text.split(char::is_whitespace) {
        if !word.is_empty() {
            words.push((word, at));
        }
        // `split` swallowed one separator, which may be longer than a byte.
        at += word.len();
        at += text
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(0, char::len_utf8);
    }
    words
}

fn verdict(message: &'static str, hint: &'static str, change: Option<Change>) -> Option<Verdict> {
    Some(Verdict {
        message,
        hint,
        change,
    })
}

/// Every change of a header changes what is sent, so none is safe.
fn change(range: Range<usize>, text: &'static str) -> Option<Change> {
    Some(Change {
        range,
        text,
        applicability: Applicability::Unsafe,
    })
}

/// Schemes that are recognised where they stand alone, doubled or with a colon.
const SCHEMES: &[&str] = &[
    "Bearer",
    "Basic",
    "Token",
    "ApiKey",
    "Api-Key",
    "Digest",
    "Negotiate",
    "DPoP",
    "OAuth",
    "Key",
    "JWT",
];

const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
