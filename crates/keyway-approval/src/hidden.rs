//! Credentials that a file wrote into a command line, an address or a variable.
//!
//! Hidden is a whole value in the place of a credential, and nothing else: never a part of code, a
//! host, a path or a name. What is hidden cannot be read, so that in doubt a text is shown: it is one
//! that the author of the file published.

use std::collections::HashSet;

use keyway_config::headers::is_credential_header;
use keyway_lint::mask;
use keyway_lint::secrets::{self, Position};

use crate::code_variables::is_code_variable;
use crate::inline_code::inline_code;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A command line: what stands in it may run.
    Command,
    /// An address: nothing of it runs.
    Address,
}

/// Returns a text without the literals that stand in its addresses where credentials do: in a query
/// parameter named like one, and before the `@`.
pub(crate) fn hide_in_address(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_separator) {
        let word = piece.trim_end_matches(is_separator);
        shown.push_str(&Place::Address.hide_in_word(word));
        shown.push_str(piece.get(word.len()..).unwrap_or_default());
    }
    shown
}

/// Returns a command line without the words that stand where credentials do and look like one: behind
/// a flag or in a header named like one, in a parameter named like one, and before the `@` of an
/// address. `readable` are the parts of words that are shown whatever they look like.
///
/// Where an interpreter is handed code any word may be a part of it, so that all are shown.
pub(crate) fn hide_in_command(text: &str, readable: &HashSet<String>) -> String {
    if inline_code(text.split(is_separator)).is_some() {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = Before::Nothing;
    for piece in text.split_inclusive(is_separator) {
        let word = piece.trim_end_matches(is_separator);
        let separator = piece.get(word.len()..).unwrap_or_default();
        if !word.is_empty() {
            match before {
                _ if is_readable(word, readable) => shown.push_str(word),
                Before::Flag | Before::Header => shown.push_str(&Place::Command.hidden(word)),
                Before::Nothing => shown.push_str(&Place::Command.hide_in_word(word)),
            }
            before = before.then(word);
        }
        // A value in quotes is more than a token.
        if !separator.chars().all(char::is_whitespace) && before == Before::Flag {
            before = Before::Nothing;
        }
        shown.push_str(separator);
    }
    shown
}

/// What stands before a word, as far as it says that the word is a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A flag of two dashes that is named like a credential, and not like a program.
    Flag,
    /// A header that is named like a credential, with the scheme behind it.
    Header,
    /// Anything else.
    Nothing,
}

impl Before {
    fn then(self, word: &str) -> Self {
        if let Some(header) = word.strip_suffix(':') {
            let is_header = is_credential_name(header) && !names_program(header);
            return if is_header {
                Self::Header
            } else {
                Self::Nothing
            };
        }
        let is_scheme = SCHEMES.iter().any(|it| it.eq_ignore_ascii_case(word));
        match word.strip_prefix("--") {
            _ if self == Self::Header && is_scheme => Self::Header,
            Some(name) if is_credential_name(name) && !names_program(name) => Self::Flag,
            _ => Self::Nothing,
        }
    }
}

/// Says whether the value of a variable that a file wrote is a credential, and nothing else.
pub(crate) fn is_credential_value(name: &str, value: &str) -> bool {
    let is_code = is_code_variable(name);
    let is_named = match is_code {
        true => ends_as_credential(name),
        false => is_secret_variable(name),
    };
    let is_shaped = match is_named {
        true => is_credential(value),
        false => !is_code && is_vendors(value),
    };
    is_shaped && !names_program(name)
}

/// Says whether a variable is named like one that holds a credential.
pub(crate) fn is_secret_variable(name: &str) -> bool {
    is_credential_header(name) || secrets::is_credential_name(name)
}

/// Says whether the last part of a name is one of a credential: `GIT_TOKEN` is, and
/// `GIT_CONFIG_KEY_0` is not.
fn ends_as_credential(name: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or(name);
    is_credential_header(last)
}

/// Returns the value of a header that is filled in, without the literals in it that may be credentials.
pub(crate) fn hide_in_header(name: &str, template: &str) -> String {
    if !is_credential_header(name) {
        return template.to_owned();
    }
    let hidden = |word| match is_credential(word) {
        true => "…",
        false => word,
    };
    let words: Vec<&str> = template.split(' ').map(hidden).collect();
    words.join(" ")
}

/// Returns the parts of a word as they stand in a command line.
pub(crate) fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.split(is_separator).filter(|part| !part.is_empty())
}

/// Says whether a word, or what follows `=` in it, is among those that are shown.
fn is_readable(word: &str, readable: &HashSet<String>) -> bool {
    let value = word.split_once('=').map(|(_, value)| value);
    readable.contains(word) || value.is_some_and(|value| readable.contains(value))
}

/// Says whether the name of a flag or of a variable is one of a program or of a file, whatever else
/// it is: `password-command`, `VAULT_PASSWORD_FILE`.
pub(crate) fn names_program(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let is_known = |part: &str| PROGRAM_PARTS.iter().any(|known| part.contains(known));
    parts.any(|part| part != "profile" && is_known(part))
}

/// Says whether a text has no other characters than tokens have, and is not a path: no shell or
/// interpreter would find a program in it.
fn is_token(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.~+/=:%-".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain) && !text.starts_with(['/', '.', '~', '-'])
}

impl Place {
    fn hide_in_word(self, word: &str) -> String {
        if let Some((scheme, address)) = word.split_once("://") {
            return format!("{scheme}://{}", self.hide_in_rest(address));
        }
        match word.split_once('=') {
            _ if self == Self::Address => self.hide_in_query(word),
            Some((name, value)) if self.is_name(name) => format!("{name}={}", self.hidden(value)),
            _ => word.to_owned(),
        }
    }

    /// Hides in what follows the scheme of an address.
    fn hide_in_rest(self, address: &str) -> String {
        // Behind the host an `@` is part of a path: what stands before it is where the address leads.
        let is_user = |user: &str| !user.contains(['/', '?', '#', '\\']);
        match address.split_once('@') {
            Some((user, rest)) if is_user(user) => {
                format!("{}@{}", self.hidden_user(user), self.hide_in_query(rest))
            }
            _ => self.hide_in_query(address),
        }
    }

    /// Hides values of parameters; what stands before the `?` is where the address leads.
    fn hide_in_query(self, address: &str) -> String {
        let Some((path, query)) = address.split_once('?') else {
            return address.to_owned();
        };
        let is_end = |c: char| matches!(c, '&' | ';' | '#');
        let mut shown = format!("{path}?");
        for part in query.split_inclusive(is_end) {
            let pair = part.trim_end_matches(is_end);
            match pair.split_once('=') {
                Some((name, value)) if self.is_name(name) => {
                    shown.push_str(&format!("{name}={}", self.hidden(value)));
                }
                _ => shown.push_str(pair),
            }
            shown.push_str(part.get(pair.len()..).unwrap_or_default());
        }
        shown
    }

    fn is_name(self, name: &str) -> bool {
        match self {
            Self::Command => {
                let is_short = name.starts_with('-') && !name.starts_with("--");
                !is_short && is_credential_name(name) && !names_program(name)
            }
            Self::Address => is_credential_header(name),
        }
    }

    /// A reference to a variable stays readable: it is what the approval is about.
    fn hidden(self, value: &str) -> String {
        let is_shown = is_reference(value) || (self == Self::Command && !is_credential(value));
        if is_shown { value } else { "…" }.to_owned()
    }

    /// The user of an address is never a program, so that a short password is hidden as well.
    fn hidden_user(self, user: &str) -> String {
        let is_shown = is_reference(user) || (self == Self::Command && !is_token(user));
        if is_shown { user } else { "…" }.to_owned()
    }
}

fn is_reference(value: &str) -> bool {
    value.starts_with("${") && value.ends_with('}')
}

/// Says whether a text as a whole has the shape of a credential: that of a vendor, or one in which no
/// host, no path and no name with an ending can be written.
fn is_credential(text: &str) -> bool {
    let is_opaque = |byte: u8| byte.is_ascii_alphanumeric() || b"_+=-".contains(&byte);
    let is_plain = !text.starts_with('-') && text.bytes().all(is_opaque);
    (is_plain && looks_secret(text)) || is_vendors(text)
}

/// Says whether a text is a token of a vendor, and nothing else.
fn is_vendors(text: &str) -> bool {
    let found = secrets::find(text, Position::Prose);
    let is_whole = |it: &secrets::Finding| it.vendor.is_some() && it.range == (0..text.len());
    found.iter().any(is_whole)
}

/// Says whether a text has the shape of a credential: a token, or a password such as `p4ssw0rd`.
pub(crate) fn looks_secret(text: &str) -> bool {
    mask::looks_secret(text) || is_password(text)
}

/// Names of programs and modules have digits at their end, if at all, or other signs in them.
fn is_password(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_inner =
        |pair: &[u8]| matches!(pair, [a, b] if a.is_ascii_digit() && b.is_ascii_alphabetic());
    bytes.len() >= SHORTEST_PASSWORD
        && bytes.iter().all(u8::is_ascii_alphanumeric)
        && bytes.windows(2).any(is_inner)
}

/// Says whether a flag or a parameter is named like a credential: the name of a setting with dots in
/// it, such as `alias.token`, is not.
fn is_credential_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    name.bytes().all(is_plain) && is_credential_header(name)
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | '(' | ')')
}

const SHORTEST_PASSWORD: usize = 8;
/// Words before the credential in a header.
const SCHEMES: &[&str] = &["basic", "bearer", "token"];

/// Parts of names that lead to something that is run or read.
const PROGRAM_PARTS: &[&str] = &[
    "askpass", "cmd", "command", "exec", "file", "helper", "hook", "path", "program", "script",
];

#[cfg(test)]
mod tests;
