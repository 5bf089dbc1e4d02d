//! Masks secrets in what a server or a child prints before it is stored or shown.

use keyway_secret::{Secret, printable};

/// Masks known values, and words that look like a token.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// The longest first, so that a value that holds another is masked whole.
    values: Vec<Secret<String>>,
}

impl Redactor {
    /// Takes the values to mask; of values with several lines, each line. Those of fewer than six
    /// bytes are words that occur everywhere, and stay.
    #[must_use]
    pub fn new(secrets: &[Secret<String>]) -> Self {
        let lines = secrets.iter().flat_map(|secret| secret.expose().lines());
        let lines = lines
            .map(str::trim)
            .filter(|line| line.len() >= SHORTEST_VALUE);
        let mut values: Vec<_> = lines
            .flat_map(|line| {
                let plain = Secret::new(line.to_owned());
                [Some(plain), in_json(line)].into_iter().flatten()
            })
            .collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.expose().len()));
        Self { values }
    }

    /// Returns a line that may be kept and shown on a terminal.
    #[must_use]
    pub fn line(&self, bytes: &[u8]) -> String {
        let text = self.text(&String::from_utf8_lossy(bytes));
        mask_tokens(printable(&text).trim_end())
    }

    /// Returns a text without the known values, and otherwise as it is.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            if text.contains(value.expose()) {
                text = text.replace(value.expose(), MASK);
            }
        }
        text
    }
}

/// Returns a value as it stands inside a string of JSON, if that differs.
fn in_json(value: &str) -> Option<Secret<String>> {
    let quoted = Secret::new(serde_json::to_string(value).ok()?);
    let inner = quoted.expose().strip_prefix('"')?.strip_suffix('"')?;
    (inner != value).then(|| Secret::new(inner.to_owned()))
}

/// Masks words that look like a token, and whatever follows the name of a scheme.
fn mask_tokens(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut follows_scheme = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = is_token_char(first);
        let end = rest
            .find(|c| is_token_char(c) != is_word)
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        if is_word {
            let is_secret = follows_scheme || looks_like_a_token(piece);
            masked.push_str(if is_secret { MASK } else { piece });
            follows_scheme = SCHEMES.iter().any(|s| s.eq_ignore_ascii_case(piece));
        } else {
            masked.push_str(piece);
        }
        rest = after;
    }
    masked
}

fn looks_like_a_token(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.bytes().any(|byte| test(&byte));
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    (word.len() >= SHORTEST_TOKEN && is_mixed)
        || (word.len() >= SHORTEST_VALUE && PREFIXES.iter().any(|p| word.starts_with(p)))
}

/// The alphabets of tokens; not `/`, `.` or `:`, which would make tokens of paths and addresses.
const fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '~')
}

const MASK: &str = "[redacted]";
const SCHEMES: &[&str] = &["bearer", "basic", "token"];
const PREFIXES: &[&str] = &[
    "sk-",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "eyJ",
];
/// Shorter values are words that occur everywhere.
const SHORTEST_VALUE: usize = 6;
const SHORTEST_TOKEN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_are_masked_line_by_line_and_the_longest_first() {
        let secrets = [
            "hunter22",
            "hunter22-and-more",
            "-----BEGIN\nSECRETLINE",
            "a",
        ]
        .map(|value| Secret::new(value.to_owned()));
        let redactor = Redactor::new(&secrets);
        let line = redactor.line(b"a hunter22-and-more (hunter22) SECRETLINE \x1b[0m\xff");
        assert_eq!(line, "a [redacted] ([redacted]) [redacted] [0m\u{fffd}");
    }

    #[test]
    fn in_other_text_only_known_values_are_masked_also_json_escaped() {
        let secrets = [Secret::new("hun\"ter22".to_owned())];
        let redactor = Redactor::new(&secrets);
        assert_eq!(
            redactor.text("Bearer abc\n hun\"ter22 {\"a\":\"hun\\\"ter22\"}"),
            "Bearer abc\n [redacted] {\"a\":\"[redacted]\"}"
        );
    }

    #[test]
    fn words_that_look_like_a_token_are_masked_and_paths_are_not() {
        let redactor = Redactor::default();
        for (line, shown) in [
            (
                "Authorization: Bearer abc",
                "Authorization: Bearer [redacted]",
            ),
            ("key=sk-abcdef", "key=[redacted]"),
            ("id 0123456789abcdef0123", "id [redacted]"),
            (
                "eyJhbGciOiJ.eyJzdWIiOiIx.c2ln",
                "[redacted].[redacted].c2ln",
            ),
            (
                "at /usr/lib/node_modules/pkg2/index.js:10:5",
                "at /usr/lib/node_modules/pkg2/index.js:10:5",
            ),
            ("ModuleNotFoundErrorInPython", "ModuleNotFoundErrorInPython"),
        ] {
            assert_eq!(redactor.line(line.as_bytes()), shown);
        }
    }
}
