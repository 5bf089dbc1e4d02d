//! Text that stands where a credential will be put: `YOUR_API_KEY`, `<token>`, `sk-xxxx`.
//!
//! Only shapes that no credential has count here, since a value of such a shape is not sent. The linter
//! guesses more widely. `scope` says which variables are set; without it, every default counts.

use crate::environment::Scope;
use crate::template::{Part, Template};

/// Says whether a header holds a placeholder.
///
/// In a header for credentials one word is enough, as in `Bearer <token>`; in any other, where text
/// is free, the whole value must be one.
#[must_use]
pub fn in_header(template: &Template, is_for_credentials: bool, scope: Option<&Scope<'_>>) -> bool {
    let text = visible(template, scope);
    if is_placeholder(text.trim()) {
        return true;
    }
    is_for_credentials
        && (has_brackets(&text, is_between_words) || words(&text).any(is_placeholder))
}

/// Says whether an address holds a placeholder: in brackets, or in capitals between separators.
///
/// Lower case is not enough here: `your-team.example` may be a real host.
#[must_use]
pub fn in_address(template: &Template, scope: Option<&Scope<'_>>) -> bool {
    let text = visible(template, scope);
    let is_separator = |c: char| matches!(c, '/' | '.' | ':' | '?' | '&' | '=' | '@' | '#');
    let is_shouted = |word: &str| {
        let letters = || word.chars().filter(|c| c.is_alphabetic());
        letters().count() > 0 && letters().all(char::is_uppercase) && is_instruction(word)
    };
    has_brackets(&text, |_| true) || text.split(is_separator).any(is_shouted)
}

/// Says whether a member of `oauth` is a placeholder.
#[must_use]
pub fn in_oauth(template: &Template, scope: Option<&Scope<'_>>) -> bool {
    let text = visible(template, scope);
    is_placeholder(text.trim()) || text.contains("://") && in_address(template, scope)
}

/// Says whether one word only marks the place of a credential.
#[must_use]
pub fn is_placeholder(word: &str) -> bool {
    is_bracketed(word) || is_instruction(word) || is_crossed_out(word) || is_in_other_script(word)
}

/// What the file says: its text, the defaults of its variables, and a mark for each other variable.
///
/// A value that the person supplies is theirs; a default is the file's, unless `scope` has a value
/// that takes its place.
fn visible(template: &Template, scope: Option<&Scope<'_>>) -> String {
    let is_set = |name: &str| scope.is_some_and(|scope| scope.is_set(name));
    let parts = template.parts().iter().map(|part| match part {
        Part::Literal { text, .. } => text.clone(),
        Part::Variable(variable) => match &variable.default {
            Some(default) if !default.is_empty() && !is_set(&variable.name) => default.clone(),
            _ => VALUE.to_owned(),
        },
        Part::Foreign { .. } => VALUE.to_owned(),
    });
    parts.collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_between_words)
}

/// `YOUR_TOKEN`, `your-api-key`, `API_KEY_HERE`.
fn is_instruction(word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if word.len() < SHORTEST || !word.chars().all(is_name) {
        return false;
    }
    let lower = word.to_ascii_lowercase();
    let begins = ["your_", "your-"].iter().any(|it| lower.starts_with(it));
    begins || ["_here", "-here"].iter().any(|it| lower.ends_with(it))
}

/// `xxxx`, `****` or dots, alone or behind the beginning of a vendor's token, as in `sk-xxxx`.
fn is_crossed_out(word: &str) -> bool {
    let tail = word.rsplit(['-', '_']).next().unwrap_or(word);
    let is_run = |mark: char| tail.chars().count() >= 3 && tail.chars().all(|c| c == mark);
    ['x', 'X', '*', '.', '…', '•'].into_iter().any(is_run) || matches!(tail, "…" | "•")
}

/// `你的密钥`: letters beyond Latin, which no credential has, and no header may.
fn is_in_other_script(word: &str) -> bool {
    let is_beyond = |c: char| c.is_alphabetic() && c > LAST_LATIN;
    word.chars().any(is_beyond)
}

/// `<…>` around words, and not around an address such as that of a `Link`.
fn is_bracketed(word: &str) -> bool {
    let inner = word
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'));
    inner.is_some_and(is_wording)
}

/// Says whether words in brackets stand in `text`, at the borders that `is_border` knows.
fn has_brackets(text: &str, is_border: impl Fn(char) -> bool) -> bool {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('<')) {
        let (before, after) = text.split_at(at + found);
        if let Some((inner, behind)) = after.get(1..).and_then(|rest| rest.split_once('>')) {
            let begins = before.chars().next_back().is_none_or(&is_border);
            let ends = behind.chars().next().is_none_or(&is_border);
            if begins && ends && is_wording(inner) {
                return true;
            }
        }
        at += found + 1;
    }
    false
}

/// Says whether a character separates the words of a header.
fn is_between_words(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | ';' | '=' | ':' | '"' | '\'')
}

fn is_wording(inner: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '\'');
    inner.starts_with(char::is_alphabetic)
        && inner.len() <= LONGEST_WORDING
        && inner.chars().all(is_letter)
}

/// Stands for a value that the file does not hold; no placeholder has it.
const VALUE: &str = "\u{f8ff}";

const LAST_LATIN: char = '\u{24f}';
const SHORTEST: usize = 6;
const LONGEST_WORDING: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Template {
        Template::parse(text)
    }

    #[test]
    fn what_cannot_be_a_credential_is_told_by_its_shape() {
        for text in [
            "Bearer YOUR_API_KEY",
            "Bearer YOUR_API_KEY_HERE",
            "Bearer <your token>",
            "Bearer <token>",
            "Bearer xxx",
            "Bearer 你的密钥",
            "Bearer ваш_токен",
            "Bearer sk-xxxxxxxx",
            "Bearer ghp_****************",
            "token=your-api-key",
            "Basic <base64>",
            "${TOKEN:-YOUR_TOKEN}",
            "PUT_TOKEN_HERE",
        ] {
            assert!(in_header(&parse(text), true, None), "{text}");
        }
    }

    #[test]
    fn what_may_be_a_credential_is_left_alone() {
        for text in [
            "",
            "Bearer ${TOKEN}",
            "Bearer ${YOUR_TOKEN}",
            "Bearer abc123",
            "Bearer mytoken",
            "Bearer yourself",
            "Bearer a<b",
            "Bearer a<b>c-1:2",
            "Bearer nowhere",
            "Bearer sk-exxxb",
            "${A}xxx",
            "your_${A}",
        ] {
            assert!(!in_header(&parse(text), true, None), "{text}");
        }
    }

    #[test]
    fn a_header_without_a_credential_may_hold_words_in_brackets() {
        for text in [
            "text <b>",
            "<https://h.example>; rel=next",
            "see YOUR_GUIDE",
        ] {
            assert!(!in_header(&parse(text), false, None), "{text}");
        }
        for text in ["<tenant>", "YOUR_TENANT"] {
            assert!(in_header(&parse(text), false, None), "{text}");
        }
    }

    #[test]
    fn an_address_holds_one_in_brackets_or_in_capitals() {
        for text in [
            "https://<tenant>.h.example/mcp",
            "https://YOUR_TENANT.h.example/mcp",
            "https://h.example/YOUR_WORKSPACE/mcp",
            "https://h.example/mcp?key=YOUR_KEY",
            "https://h.example/mcp?key=API_KEY_HERE",
        ] {
            assert!(in_address(&parse(text), None), "{text}");
        }
        for text in [
            "https://your-team.example/mcp",
            "https://h.example/xxx/your-files",
            "https://${YOUR_TENANT}.h.example/mcp",
            "https://h.example/A_PATH",
        ] {
            assert!(!in_address(&parse(text), None), "{text}");
        }
    }

    #[test]
    fn members_of_oauth_are_judged_as_a_whole() {
        for text in [
            "YOUR_CLIENT_ID",
            "<client id>",
            "https://<tenant>.h.example/token",
        ] {
            assert!(in_oauth(&parse(text), None), "{text}");
        }
        for text in [
            "client-1",
            "${CLIENT_ID}",
            "https://h.example/token",
            "omit",
        ] {
            assert!(!in_oauth(&parse(text), None), "{text}");
        }
    }
}
