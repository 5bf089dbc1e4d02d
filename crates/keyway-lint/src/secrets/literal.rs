//! Whether the text of a credential field is a credential.
//!
//! The place has been judged by its name already; here the text must be neither a reference nor a
//! placeholder, and not one of the harmless things that stand in such places: paths, switches,
//! numbers, addresses.

use std::ops::Range;

use super::appearance::{is_address, is_path, looks_random, trimmed};
use super::encoded;
use super::example_login::is_example;
use super::limits::LONGEST_VALUE;
use super::name::{CredentialKind, Promise, Strength};
use super::placeholder::{self, Filling};
use super::reference;
use super::{Vendor, vendor_of_variable};

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
    let is_example = encodes_example_login(body) || encoded::is_example_jwt(body);
    (is_credential(body, place) && !is_example).then_some(range)
}

/// `user:password` in base 64, as every manual of HTTP shows it.
fn encodes_example_login(body: &str) -> bool {
    let short = (body.len() <= LONGEST_LOGIN).then_some(body);
    let decoded = short.and_then(encoded::decode);
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
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
        && !(kind == CredentialKind::Token && (is_words(body) || is_not_of_vendor(body, place)))
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
    let is_pair = words == 2 && looks_random(&body.replace(' ', ""));
    let is_made = app_password || is_pair || is_in_groups(body);
    length >= 3 && (words <= 1 || is_made)
}

/// `h4Kd 9sQx T2mv 7LpW pQ3z rN8b`, as a site shows a password that it made.
fn is_in_groups(body: &str) -> bool {
    let is_group =
        |group: &str| group.len() == 4 && group.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_mixed = |group: &str| {
        let mut inside = group.bytes().skip(1);
        inside.any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    };
    let groups = || body.split(' ');
    groups().count() >= 4
        && groups().all(is_group)
        && groups().filter(|it| is_mixed(it)).count() >= 2
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
        && body.is_ascii()
        && !body.contains(char::is_whitespace)
        && !is_address(body)
        && !is_json(body)
}

fn is_json(body: &str) -> bool {
    (body.starts_with('{') && body.ends_with('}')) || (body.starts_with('[') && body.ends_with(']'))
}

/// `checkout-redesign`, `production`: words that a person chose, as no vendor issues them.
fn is_words(body: &str) -> bool {
    let words = body.split(['-', '_']);
    let is_word = |word: &str| {
        (3..=LONGEST_WORD).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_lowercase())
            && word.bytes().any(|byte| b"aeiouy".contains(&byte))
    };
    // A name that says "secret" means one.
    let says_so = ["secret", "token", "password", "passwd", "credential"]
        .iter()
        .any(|word| body.contains(word));
    let is_version = |word: &str| {
        let number = word.strip_prefix('v').unwrap_or_default();
        !number.is_empty() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let last = body.rsplit(['-', '_']).next().unwrap_or_default();
    let is_versioned = is_version(last) && last.len() < body.len();
    let count = words.clone().count() - usize::from(is_versioned);
    !says_so && count <= MOST_WORDS && words.take(count).all(is_word)
}

/// Words where a vendor's token belongs, all of which have a shape: `az_on_tokene`, in whatever
/// language.
fn is_not_of_vendor(body: &str, place: NamedPlace<'_>) -> bool {
    let vendor = place.name.and_then(vendor_of_variable);
    let is_shaped = |vendor: &Vendor| vendor.has_shape() && !vendor.variable.is_empty();
    let is_word = |word: &str| {
        let is_all = |test: fn(&u8) -> bool| word.bytes().all(|byte| test(&byte));
        word.len() <= LONGEST_WORD
            && (is_all(u8::is_ascii_lowercase) || is_all(u8::is_ascii_uppercase))
    };
    vendor.is_some_and(is_shaped)
        && body.contains(['-', '_'])
        && body.split(['-', '_']).all(is_word)
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

/// The longest `user:password`, encoded, that may be an example.
const LONGEST_LOGIN: usize = 256;
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
