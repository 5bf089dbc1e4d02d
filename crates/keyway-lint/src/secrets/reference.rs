//! Text that only points at a value kept elsewhere, in the dialects of all known hosts.
//!
//! `${X}`, `${env:X}`, `${input:x}`, `$X`, `%X%`, `{env:X}`, `{{x}}`, `${{ secrets.X }}`, shell
//! substitutions and the addresses of secret managers. Nothing is resolved here.

use std::ops::Range;

/// Whether the whole value only refers to something, so that no literal is left in it.
#[must_use]
pub fn is_reference(value: &str) -> bool {
    let value = value.trim();
    if value.is_empty() {
        return false;
    }
    is_shell_variable(value)
        || is_percent_variable(value)
        || is_secret_address(value)
        || is_code_lookup(value)
        || is_made_of_spans(value)
}

/// Whether a bracketed reference stands somewhere in `text`.
pub(super) fn mentions_reference(text: &str) -> bool {
    !spans(text).is_empty() || text.split([':', '@', '/', ' ']).any(is_percent_variable)
}

/// A bracketed reference inside a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// From the first character of the opening mark to the last of the closing one.
    pub(super) range: Range<usize>,
    /// What stands after `:-` (or `:=`, `-`) in `${X:-default}`.
    pub(super) default: Option<Range<usize>>,
}

/// All bracketed references of `text`, in order, without overlap.
pub(super) fn spans(text: &str) -> Vec<Span> {
    // What is opened behind the last closing mark stays open.
    let end = text.rfind(['}', ')']).map_or(0, |last| last + 1);
    let text = text.get(..end).unwrap_or_default();
    let mut found = Vec::new();
    let mut marks = Marks::new(text);
    let mut at = 0;
    while let Some(step) = text.get(at..).and_then(|rest| rest.find(['$', '{'])) {
        let start = at + step;
        match marks.span_at(start) {
            Some(span) => {
                at = span.range.end;
                found.push(span);
            }
            None => at = start + 1,
        }
    }
    found
}

/// The closing marks of a text, for beginnings that are asked about from left to right.
///
/// Each mark is looked for once: a text full of beginnings must not be read again from each.
struct Marks<'a> {
    text: &'a str,
    braces: Vec<(usize, usize)>,
    double: NextMark,
    single: NextMark,
    round: NextMark,
}

impl<'a> Marks<'a> {
    fn new(text: &'a str) -> Self {
        let braces = if text.contains("${") {
            matching_braces(text)
        } else {
            Vec::new()
        };
        Self {
            text,
            braces,
            double: NextMark::new(text, "}}"),
            single: NextMark::new(text, "}"),
            round: NextMark::new(text, ")"),
        }
    }

    fn span_at(&mut self, start: usize) -> Option<Span> {
        let text = self.text;
        let rest = text.get(start..)?;
        if rest.starts_with("${") && !rest.starts_with("${{") {
            return self.braced(start);
        }
        let (open, close) = if rest.starts_with("${{") {
            (3, &mut self.double)
        } else if rest.starts_with("$(") {
            (2, &mut self.round)
        } else if rest.starts_with("{{") {
            (2, &mut self.double)
        } else {
            let inner = rest.strip_prefix('{')?;
            LOOKUP_PREFIXES.iter().find(|p| inner.starts_with(**p))?;
            (1, &mut self.single)
        };
        let inner = start + open;
        let end = close.at_or_after(text, inner)?;
        let range = start..end + close.mark.len();
        (end > inner && range.len() <= LONGEST_REFERENCE).then_some(Span {
            range,
            default: None,
        })
    }

    /// `${…}` with nested braces, such as `${A:-${B}}`.
    fn braced(&self, start: usize) -> Option<Span> {
        let index = self
            .braces
            .binary_search_by_key(&(start + 1), |pair| pair.0);
        let &(open, close) = self.braces.get(index.ok()?)?;
        let range = start..close + 1;
        if range.len() > LONGEST_REFERENCE {
            return None;
        }
        let default = default_in(self.text.get(open + 1..close)?);
        Some(Span {
            range,
            default: default.map(|from| open + 1 + from..close),
        })
    }
}

/// Every brace that is closed with the one that closes it, in the order of the opening ones.
fn matching_braces(text: &str) -> Vec<(usize, usize)> {
    let mut open = Vec::new();
    let mut pairs = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push(at),
            b'}' => pairs.extend(open.pop().map(|start| (start, at))),
            _ => {}
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Where a closing mark comes next.
struct NextMark {
    mark: &'static str,
    next: Option<usize>,
}

impl NextMark {
    fn new(text: &str, mark: &'static str) -> Self {
        let next = text.find(mark);
        Self { mark, next }
    }

    fn at_or_after(&mut self, text: &str, from: usize) -> Option<usize> {
        if self.next? < from {
            let found = text.get(from..).and_then(|rest| rest.find(self.mark));
            self.next = found.map(|offset| from + offset);
        }
        self.next
    }
}

/// Where the default begins inside the braces.
fn default_in(inner: &str) -> Option<usize> {
    let name = inner.strip_prefix("env:").map_or(inner, |name| name);
    let skipped = inner.len() - name.len();
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.'))?;
    let tail = name.get(end..)?;
    [":-", ":=", "-", "="]
        .iter()
        .find(|mark| tail.starts_with(*mark))
        .map(|mark| skipped + end + mark.len())
}

fn is_made_of_spans(value: &str) -> bool {
    let spans = spans(value);
    if spans.is_empty() {
        return false;
    }
    let mut at = 0;
    for span in &spans {
        let has_literal = span
            .default
            .clone()
            .and_then(|range| value.get(range))
            .is_some_and(|default| !default.is_empty() && !is_reference(default));
        let between = value.get(at..span.range.start).unwrap_or_default();
        if has_literal || !is_glue(between) {
            return false;
        }
        at = span.range.end;
    }
    is_glue(value.get(at..).unwrap_or_default())
}

fn is_glue(text: &str) -> bool {
    text.len() <= 3 && text.bytes().all(|b| b.is_ascii_punctuation() || b == b' ')
}

/// `$NAME` and PowerShell's `$env:NAME`.
fn is_shell_variable(value: &str) -> bool {
    let Some(name) = value.strip_prefix('$') else {
        return false;
    };
    is_identifier(name.strip_prefix("env:").unwrap_or(name))
}

/// `%NAME%`.
fn is_percent_variable(value: &str) -> bool {
    value
        .strip_prefix('%')
        .and_then(|v| v.strip_suffix('%'))
        .is_some_and(is_identifier)
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Addresses in secret managers, and files.
fn is_secret_address(value: &str) -> bool {
    let lower = value
        .get(..value.len().min(64))
        .unwrap_or(value)
        .to_ascii_lowercase();
    SECRET_ADDRESSES
        .iter()
        .any(|prefix| lower.starts_with(prefix))
        || (lower.starts_with("projects/") && value.contains("/secrets/"))
}

/// A lookup written in a programming or shell language.
fn is_code_lookup(value: &str) -> bool {
    CODE_LOOKUPS.iter().any(|prefix| value.starts_with(prefix))
        || (value.len() > 2 && value.starts_with('`') && value.ends_with('`'))
}

/// The longest reference that is looked at, with its default.
const LONGEST_REFERENCE: usize = 1024;

const LOOKUP_PREFIXES: &[&str] = &["env:", "file:", "input:", "secret:", "secrets.", "vault:"];

const SECRET_ADDRESSES: &[&str] = &[
    "op://",
    "vault:",
    "vault://",
    "ref+",
    "secret://",
    "secrets://",
    "keyring:",
    "keyring://",
    "keychain:",
    "keychain://",
    "env:",
    "env://",
    "file:",
    "file://",
    "doppler://",
    "infisical://",
    "bws://",
    "bw://",
    "awssm://",
    "aws-sm://",
    "aws-secretsmanager:",
    "ssm:/",
    "ssm://",
    "secretsmanager:",
    "@secret:",
    "pass://",
    "bitwarden:",
    "gopass:",
    "arn:aws",
    "sm://",
    "gcp-sm://",
    "gcpsm://",
    "gsm://",
    "akv://",
    "azurekv://",
    "keyvault:",
    "@microsoft.keyvault(",
    "!secret ",
    "!env ",
    "!vault ",
    "cmd:",
    "exec:",
    "lastpass:",
    "sops:",
    "secretref:",
];

const CODE_LOOKUPS: &[&str] = &[
    "process.env.",
    "process.env[",
    "import.meta.env.",
    "os.environ",
    "os.getenv(",
    "ENV[",
    "env.",
    "getenv(",
    "Deno.env.get(",
    "std::env::var(",
    "$ENV{",
    "secrets.",
    "System.getenv(",
];
