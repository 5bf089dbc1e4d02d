//! Credentials that a file wrote into a command line, an address or a variable, hidden by their
//! place and their shape. What is hidden cannot be read, so that nothing is that could be a program:
//! a file of the plugin, the word that an interpreter or a runner of packages takes for its program,
//! and the value of a flag that is named like one.

use std::collections::HashSet;

use keyway_config::headers::is_credential_header;
use keyway_lint::mask;

use crate::command::inline_code;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A command line: what stands in it may run.
    Command,
    /// An address: nothing of it runs.
    Address,
}

/// Returns an address without the literals that stand where credentials do: in a parameter named
/// like one, and before its `@`.
pub(crate) fn hide_in_address(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_separator) {
        let word = piece.trim_end_matches(is_separator);
        shown.push_str(&Place::Address.hide_in_word(word));
        shown.push_str(piece.get(word.len()..).unwrap_or_default());
    }
    mask::in_words(&shown)
}

/// Returns a command line without what stands where credentials do and looks like one: behind a flag
/// named like one, in a parameter named like one, and before the `@` of an address. `readable` are
/// the parts of words that are shown whatever they look like.
///
/// Where an interpreter is handed code any word may be evaluated, so that a place says nothing.
pub(crate) fn hide_in_command(text: &str, readable: &HashSet<String>) -> String {
    let is_code = inline_code(text.split(is_separator)).is_some();
    let mut shown = Shown::default();
    let mut before = Before::Nothing;
    for piece in text.split_inclusive(is_separator) {
        let word = piece.trim_end_matches(is_separator);
        let separator = piece.get(word.len()..).unwrap_or_default();
        if !word.is_empty() {
            match before {
                _ if is_readable(word, readable) => shown.push_readable(word),
                Before::ProgramFlag if !is_code => shown.push_readable(word),
                // One dash may be the flag of anything: only tokens of known vendors are hidden.
                Before::ShortFlag if !is_code && !word.contains('=') => {
                    shown.push_readable(&mask::in_name(word));
                }
                Before::CredentialFlag if !is_code => shown.push(&Place::Command.hidden(word)),
                _ if is_code => shown.push(word),
                _ => shown.push(&Place::Command.hide_in_word(word)),
            }
            before = Before::of(word);
        }
        // A value in quotes is more than a token.
        if !separator.chars().all(char::is_whitespace) && before == Before::CredentialFlag {
            before = Before::Nothing;
        }
        shown.push(separator);
    }
    shown.finish()
}

/// What stands before a word, as far as it says what the word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A flag of two dashes that is named like a credential.
    CredentialFlag,
    /// A flag that is named like a program or a file.
    ProgramFlag,
    /// A flag of one dash.
    ShortFlag,
    /// Anything else.
    Nothing,
}

impl Before {
    fn of(word: &str) -> Self {
        match word.strip_prefix("--") {
            _ if word.contains('=') || !word.starts_with('-') => Self::Nothing,
            Some(name) if names_program(name) => Self::ProgramFlag,
            Some(name) if is_credential_name(name) => Self::CredentialFlag,
            Some(_) => Self::Nothing,
            None => Self::ShortFlag,
        }
    }
}

/// A line that is put together: what need not be readable goes through the mask for what looks like
/// a token.
#[derive(Default)]
struct Shown {
    text: String,
    /// Not yet through the mask.
    unmasked: String,
}

impl Shown {
    fn push(&mut self, text: &str) {
        self.unmasked.push_str(text);
    }

    fn push_readable(&mut self, text: &str) {
        let unmasked = std::mem::take(&mut self.unmasked);
        self.text.push_str(&mask::in_words(&unmasked));
        self.text.push_str(text);
    }

    fn finish(mut self) -> String {
        self.push_readable("");
        self.text
    }
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
pub(crate) fn is_token(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.~+/=:%-".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain) && !text.starts_with(['/', '.', '~', '-'])
}

impl Place {
    fn hide_in_word(self, word: &str) -> String {
        let (scheme, address) = match word.split_once("://") {
            Some((scheme, address)) => (format!("{scheme}://"), address),
            None => (String::new(), word),
        };
        // Behind the host an `@` is part of a path: what stands before it is where the address leads.
        let is_user = |user: &str| !scheme.is_empty() && !user.contains(['/', '?', '#', '\\']);
        let (user, rest) = match address.split_once('@') {
            Some((user, rest)) if is_user(user) => (format!("{}@", self.hidden_user(user)), rest),
            _ => (String::new(), address),
        };
        let mut shown = scheme + &user;
        // Elsewhere than in an address they are part of the value.
        let is_address = self == Self::Address || !shown.is_empty();
        let is_end = |c: char| is_address && matches!(c, '?' | '&' | ';');
        for part in rest.split_inclusive(is_end) {
            let pair = part.trim_end_matches(is_end);
            let end = part.get(pair.len()..).unwrap_or_default();
            match pair.split_once('=') {
                Some((name, value)) if self.is_name(name) => {
                    shown.push_str(&format!("{name}={}", self.hidden(value)));
                }
                _ => shown.push_str(pair),
            }
            shown.push_str(end);
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

/// Says whether a text has the shape of a credential, and could not be found as a program.
fn is_credential(text: &str) -> bool {
    is_token(text) && looks_secret(text)
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

/// Parts of names that lead to something that is run or read.
const PROGRAM_PARTS: &[&str] = &[
    "askpass", "cmd", "command", "exec", "file", "helper", "hook", "path", "program", "script",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> String {
        ["kT8vQ2mX9w", "Lz4Rb7Yc3N"].concat()
    }

    #[test]
    fn literals_in_the_place_of_a_credential_are_hidden_and_nothing_else_is() {
        for (text, shown) in [
            ("./run.sh --token LITERAL", "./run.sh --token …"),
            ("'./run.sh --token=LITERAL' x", "'./run.sh --token=…' x"),
            ("run --password p4ssw0rdX", "run --password …"),
            (
                "docker run -e API_TOKEN=LITERAL image",
                "docker run -e API_TOKEN=… image",
            ),
            (
                "run --token ${TOKEN} --port 80",
                "run --token ${TOKEN} --port 80",
            ),
            (
                "run https://u:p4ss@h.example/?api_key=LITERAL",
                "run https://…@h.example/?api_key=…",
            ),
            ("npx -y @scope/server@1.2", "npx -y @scope/server@1.2"),
        ] {
            let text = text.replace("LITERAL", &token());
            assert_eq!(hide_in_command(&text, &HashSet::new()), shown);
        }
        let address = "https://h.example ('https://u:p$ss@h.example/mcp?api.key=p4!s&x=${V}')";
        let shown = "https://h.example ('https://…@h.example/mcp?api.key=…&x=${V}')";
        assert_eq!(hide_in_address(address), shown);
    }

    #[test]
    fn e07_what_could_run_is_never_hidden_as_a_credential() {
        for text in [
            "git -c 'alias.token=!node$IFS/outside/x.js' token",
            "git -c alias.token=status token",
            r#"sh -c 'eval "$1"' --token node"#,
            "sh -c 'exec node server.js --auth-key=$(touch${IFS}x)'",
            "run --token '$(touch x)'",
            "run --token /outside/x.js",
            "run --token=../x.js",
            "run --token --eval=x",
            "env TOKEN=a;b run",
            "run --api-key '!x' y",
            "python3 -Xapi-token evil.py",
            "java -Dapi-token Evil",
            "java -Dapi-token=evil x",
            "restic --password-command evil",
            "uvx --token evil",
            "run --token python3",
            "run --token a1-server2",
            "npx -y --always-auth evil",
            "uvx https://evil.example/x@good.example",
        ] {
            assert_eq!(hide_in_command(text, &HashSet::new()), text);
        }
    }

    /// A program may be given the name of a token.
    #[test]
    fn e07_a_program_that_is_named_like_a_token_is_shown() {
        let token = token();
        for text in [
            format!("java -Dapi-token {token}"),
            format!("restic --password-command {token}"),
            format!("run --secret-file {token}"),
        ] {
            assert_eq!(hide_in_command(&text, &HashSet::new()), text);
        }
        let known = HashSet::from([token.clone()]);
        for text in [
            format!("run --token {token}"),
            format!("run --token={token}"),
        ] {
            assert_ne!(hide_in_command(&text, &HashSet::new()), text);
            assert_eq!(hide_in_command(&text, &known), text);
        }
    }
}
