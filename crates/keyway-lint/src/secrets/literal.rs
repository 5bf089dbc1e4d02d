//! Whether the text of a credential field is a credential.
//!
//! The place has been judged by its name already; here the text must be neither a reference nor a
//! placeholder, and not one of the harmless things that stand in such places: paths, switches,
//! numbers, addresses.

use std::ops::Range;

use super::appearance::{is_address, is_path, looks_random, trimmed};
use super::example_login::is_example;
use super::limits::LONGEST_VALUE;
use super::name::{CredentialKind, Promise, Strength};
use super::placeholder::{self, Filling};
use super::reference;

/// Where a value stands, for judging it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedPlace<'a> {
    pub(super) promise: Promise,
    pub(super) name: Option<&'a str>,
}

/// The part of `text` that is a literal credential, without quotes and authentication scheme.
pub(super) fn credential_in(text: &str, place: NamedPlace<'_>) -> Option<Range<usize>> {
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
            is_example(user, password, "") || placeholder::stands_for_credential(password, filling)
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

fn is_credential(body: &str, place: NamedPlace<'_>) -> bool {
    let kind = place.promise.kind;
    let filling = Filling {
        name: place.name,
        chosen_by_person: kind == CredentialKind::Password,
    };
    let formed = match kind {
        CredentialKind::Password => is_password(body),
        CredentialKind::Token => is_token(body),
        CredentialKind::Phrase => body.split_whitespace().count() >= 12 || looks_random(body),
    };
    formed
        && (place.promise.strength == Strength::Strong || looks_random(body))
        && !is_switch(body)
        && !(kind == CredentialKind::Token && is_words(body))
        && !is_path(body)
        && !body.contains("://")
        && !is_reference_here(body, kind)
        && !placeholder::stands_for_credential(body, filling)
}

/// A password may begin with a dollar sign; a variable is then written in capitals or in words.
fn is_reference_here(body: &str, kind: CredentialKind) -> bool {
    if reference::mentions_reference(body) {
        return true;
    }
    if !reference::is_reference(body) {
        return false;
    }
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    match body.strip_prefix('$') {
        Some(name) if kind == CredentialKind::Password => {
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

/// `checkout-redesign`, `production`: words that a person chose, as no vendor issues them.
fn is_words(body: &str) -> bool {
    let mut words = body.split(['-', '_']);
    let is_word = |word: &str| {
        (3..=LONGEST_WORD).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_lowercase())
            && word.bytes().any(|byte| b"aeiouy".contains(&byte))
    };
    // A name that says "secret" means one.
    let says_so = ["secret", "token", "password", "passwd", "credential"]
        .iter()
        .any(|word| body.contains(word));
    !says_so && words.clone().count() <= MOST_WORDS && words.all(is_word)
}

/// Words that select a behaviour.
fn is_switch(body: &str) -> bool {
    SWITCHES
        .iter()
        .any(|switch| body.eq_ignore_ascii_case(switch))
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

const LONGEST_WORD: usize = 12;
const MOST_WORDS: usize = 4;

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
