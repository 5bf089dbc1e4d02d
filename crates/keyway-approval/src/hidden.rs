//! Credentials that a file wrote into a command line, an address or a variable, hidden by their
//! place. What is hidden cannot be read, so that nothing is that could be a program.

use keyway_config::headers::is_credential_header;

use crate::command::inline_code;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A command line: what stands in it may run.
    Command,
    /// An address: nothing of it runs.
    Address,
}

/// Returns a command line or an address without the literals that stand where credentials do:
/// behind a flag named like one, in a parameter named like one, and before the `@` of an address.
///
/// In a command line only what is shaped like a token is hidden, and nothing where an interpreter is
/// handed code: any word of it may be evaluated.
pub(crate) fn hide_credentials(text: &str, place: Place) -> String {
    if place == Place::Command && inline_code(text.split(is_separator)).is_some() {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut is_value = false;
    for piece in text.split_inclusive(is_separator) {
        let word = piece.trim_end_matches(is_separator);
        let separator = piece.get(word.len()..).unwrap_or_default();
        if !word.is_empty() {
            shown.push_str(&match is_value {
                true => place.hidden(word),
                false => place.hide_in_word(word),
            });
            is_value = word.starts_with('-') && is_credential_name(word);
        }
        // A value in quotes is more than a token.
        is_value &= separator.chars().all(char::is_whitespace);
        shown.push_str(separator);
    }
    shown
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
        let (user, rest) = match address.split_once('@') {
            Some((user, rest)) if !scheme.is_empty() => (format!("{}@", self.hidden(user)), rest),
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
            Self::Command => is_credential_name(name),
            Self::Address => is_credential_header(name),
        }
    }

    /// A reference to a variable stays readable: it is what the approval is about.
    fn hidden(self, value: &str) -> String {
        let is_reference = value.starts_with("${") && value.ends_with('}');
        let is_shown = is_reference || (self == Self::Command && !is_token(value));
        if is_shown { value } else { "…" }.to_owned()
    }
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

#[cfg(test)]
mod tests {
    use super::{Place, hide_credentials};

    #[test]
    fn literals_in_the_place_of_a_credential_are_hidden_and_nothing_else_is() {
        for (text, shown) in [
            ("./run.sh --token p4ss", "./run.sh --token …"),
            ("'./run.sh --token=p4ss' x", "'./run.sh --token=…' x"),
            (
                "run --token ${TOKEN} --port 80",
                "run --token ${TOKEN} --port 80",
            ),
            (
                "run https://u:p4ss@h.example/?api_key=p4ss",
                "run https://…@h.example/?api_key=…",
            ),
            ("npx -y @scope/server@1.2", "npx -y @scope/server@1.2"),
        ] {
            assert_eq!(hide_credentials(text, Place::Command), shown);
        }
        let address = "https://h.example ('https://u:p$ss@h.example/mcp?api.key=p4!s&x=${V}')";
        let shown = "https://h.example ('https://…@h.example/mcp?api.key=…&x=${V}')";
        assert_eq!(hide_credentials(address, Place::Address), shown);
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
        ] {
            assert_eq!(hide_credentials(text, Place::Command), text);
        }
    }
}
