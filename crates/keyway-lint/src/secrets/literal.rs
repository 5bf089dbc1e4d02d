//! Whether a text in the place of a credential is one.
//!
//! The place has been judged by its name already; here the text must be neither a reference nor a
//! placeholder, and not one of the harmless things that stand in such places: paths, switches,
//! numbers, addresses.

use std::ops::Range;

use super::address;
use super::name::{Kind, Promise, Strength};
use super::placeholder::{self, Filling};
use super::reference;
use super::structure::LONGEST_VALUE;

/// Where a value stands, for judging it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) promise: Promise,
    pub(super) name: Option<&'a str>,
}

/// The part of `text` that is a literal credential, without quotes and authentication scheme.
pub(super) fn credential_in(text: &str, place: Place<'_>) -> Option<Range<usize>> {
    if text.len() > LONGEST_VALUE {
        return None;
    }
    let mut range = trimmed(text, 0..text.len());
    loop {
        let body = text.get(range.clone())?;
        let scheme = scheme_length(body);
        if scheme == 0 {
            break;
        }
        range = trimmed(text, range.start + scheme..range.end);
    }
    let body = text.get(range.clone())?;
    (is_credential(body, place) && !encodes_example_login(body)).then_some(range)
}

/// `user:password` in base 64, as every manual of HTTP shows it.
fn encodes_example_login(body: &str) -> bool {
    let decoded = base64(body).and_then(|bytes| String::from_utf8(bytes).ok());
    decoded
        .as_deref()
        .and_then(|login| login.split_once(':'))
        .is_some_and(|(user, password)| {
            let filling = Filling {
                name: None,
                chosen_by_person: true,
            };
            address::is_example(user, password, "")
                || placeholder::stands_for_credential(password, filling)
        })
}

fn base64(text: &str) -> Option<Vec<u8>> {
    if text.len() > 256 || !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    for (index, b) in text.trim_end_matches('=').bytes().enumerate() {
        let digit = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(digit)) & 0xFFFF;
        let pending = (index + 1) * 6 % 8;
        if index % 4 != 0 {
            bytes.push(u8::try_from(bits >> pending & 0xFF).ok()?);
        }
    }
    Some(bytes)
}

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
    if bytes.len() < 8 {
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

fn is_credential(body: &str, place: Place<'_>) -> bool {
    let kind = place.promise.kind;
    let filling = Filling {
        name: place.name,
        chosen_by_person: kind == Kind::Password,
    };
    let formed = match kind {
        Kind::Password => is_password(body),
        Kind::Token => is_token(body),
        Kind::Phrase => body.split_whitespace().count() >= 12 || looks_random(body),
    };
    formed
        && (place.promise.strength == Strength::Strong || looks_random(body))
        && !is_switch(body)
        && !is_path(body)
        && !body.contains("://")
        && !is_reference_here(body, kind)
        && !placeholder::stands_for_credential(body, filling)
}

/// A password may begin with a dollar sign; a variable is then written in capitals or in words.
fn is_reference_here(body: &str, kind: Kind) -> bool {
    if reference::mentions_reference(body) {
        return true;
    }
    if !reference::is_reference(body) {
        return false;
    }
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    match body.strip_prefix('$') {
        Some(name) if kind == Kind::Password => {
            name.bytes().all(plain) || !name.bytes().any(|b| b.is_ascii_digit())
        }
        _ => true,
    }
}

fn is_password(body: &str) -> bool {
    let words = body.split_whitespace().count();
    let length = body.chars().count();
    let app_password = words == 4
        && body
            .split_whitespace()
            .all(|w| w.len() == 4 && w.bytes().all(|b| b.is_ascii_lowercase()));
    let spoken =
        words > 1 && !app_password && !(words == 2 && looks_random(&body.replace(' ', "")));
    length >= 3 && !spoken
}

fn is_token(body: &str) -> bool {
    let alphabetic = body.bytes().all(|b| b.is_ascii_alphabetic());
    let numeric = body.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let shortest = if numeric {
        10
    } else if alphabetic {
        8
    } else {
        6
    };
    body.len() >= shortest
        && !body.contains(char::is_whitespace)
        && !is_address(body)
        && !is_json(body)
}

fn is_json(body: &str) -> bool {
    (body.starts_with('{') && body.ends_with('}')) || (body.starts_with('[') && body.ends_with(']'))
}

/// Words that select a behaviour.
fn is_switch(body: &str) -> bool {
    SWITCHES
        .iter()
        .any(|switch| body.eq_ignore_ascii_case(switch))
}

/// A path in a file system; a path to a key file is no credential.
pub(super) fn is_path(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let bytes = text.as_bytes();
    let drive = matches!(bytes, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let rooted = text.starts_with('/')
        && !text.contains(['+', '='])
        && (text.bytes().filter(|b| *b == b'/').count() >= 2 || text.contains('.'));
    let relative = ["./", "../", "~/", "@/", "@./", ".\\", "..\\", "~\\"]
        .iter()
        .any(|p| text.starts_with(p));
    drive || rooted || relative || FILE_ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// A mail address or a host name.
fn is_address(text: &str) -> bool {
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

/// Whether `body` begins with an authentication scheme.
pub(super) fn has_scheme(body: &str) -> bool {
    scheme_length(body) > 0
}

/// The length of a leading authentication scheme with the blanks after it, else 0.
fn scheme_length(body: &str) -> usize {
    for scheme in SCHEMES {
        let Some(head) = body.get(..scheme.len()) else {
            continue;
        };
        let Some(tail) = body.get(scheme.len()..) else {
            continue;
        };
        if !head.eq_ignore_ascii_case(scheme) {
            continue;
        }
        let rest = tail.trim_start_matches([' ', '\t']);
        let blanks = tail.len() - rest.len();
        if blanks > 0 && !rest.is_empty() {
            return scheme.len() + blanks;
        }
        if scheme.len() > 5 && tail.starts_with([':', '=']) && tail.len() > 1 {
            return scheme.len() + 1;
        }
    }
    if body.len() > 6
        && body
            .get(..6)
            .is_some_and(|head| head.eq_ignore_ascii_case("token="))
    {
        return 6;
    }
    0
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

const SCHEMES: &[&str] = &[
    "bearer",
    "basic",
    "token",
    "apikey",
    "api-key",
    "digest",
    "bot",
    "oauth",
    "ssws",
    "key",
    "negotiate",
    "apitoken",
    "jwt",
    "secret",
    "klaviyo-api-key",
    "deepl-auth-key",
];

#[rustfmt::skip]
const SWITCHES: &[&str] = &[
    "true", "false", "yes", "no", "on", "off", "none", "null", "auto", "basic", "bearer", "oauth",
    "oauth2", "oauth2.0", "oidc", "jwt", "apikey", "api_key", "api-key", "token", "sso", "saml",
    "ldap", "digest", "ntlm", "kerberos", "required", "optional", "enabled", "disabled", "default",
    "public", "private", "anonymous", "bearer_token", "service_account", "service-account",
    "client_credentials", "authorization_code", "device_code", "interactive", "azure-cli",
    "keychain", "keyring", "environment", "password", "inherit", "session", "cookie", "header",
];

#[rustfmt::skip]
const FILE_ENDINGS: &[&str] = &[
    ".json", ".pem", ".key", ".txt", ".crt", ".cer", ".p8", ".p12", ".pfx", ".env", ".yaml",
    ".yml", ".toml", ".ini", ".jks", ".keystore", ".pub", ".ppk", ".asc", ".gpg", ".conf", ".cfg",
    ".js", ".ts", ".py", ".sh", ".db", ".sqlite", ".pickle", ".kdbx", ".xml",
];
