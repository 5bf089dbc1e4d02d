//! References to variables as other hosts, shells and tools write them.
//!
//! A `${…}` that is not of the contract arrives here as a [`crate::template::Part::Foreign`];
//! everything else is plain text to the contract, and is recognised only where a whole value, or
//! what follows an authentication scheme, can hardly be anything but a reference.

use std::ops::Range;

use crate::template::{Part, Template, environment_name, is_variable_name};

/// A reference in another syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForeignReference {
    /// Where it stands in the template.
    pub range: Range<usize>,
    /// Whose syntax it is.
    pub syntax: ReferenceSyntax,
    /// The name that the variable would have here, if one can be told.
    pub name: Option<String>,
    /// What stands in when the variable is unset.
    pub default: Option<String>,
}

/// The syntaxes that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceSyntax {
    /// `${NAME}`, `${NAME:-text}` or `${env:NAME}`, where the host of the file replaces none of them.
    Contract,
    /// `${input:name}`, `${workspaceFolder:x}`, `${command:x}` of VS Code.
    VsCode,
    /// `${user_config.key}` of a Claude Desktop extension.
    DesktopExtension,
    /// `${{ secrets.NAME }}` of GitHub Actions.
    Actions,
    /// `{env:NAME}` of opencode.
    Opencode,
    /// `{{NAME}}` of template engines.
    Mustache,
    /// `$NAME` or `$(…)` of a POSIX shell.
    Shell,
    /// `${NAME%x}`, `${NAME:?x}` and the like of a POSIX shell.
    ShellExpansion,
    /// `$env:NAME` of PowerShell.
    PowerShell,
    /// `%NAME%` of Windows.
    Windows,
    /// A `${…}` whose default holds another variable.
    NestedDefault,
    /// A `${` that is never closed.
    Unclosed,
    /// Any other `${…}`.
    Other,
}

impl ReferenceSyntax {
    /// Says what was written, in a form that follows "has".
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Contract => "the syntax of `.mcp.json`",
            Self::VsCode => "the syntax of VS Code",
            Self::DesktopExtension => "the syntax of a Claude Desktop extension",
            Self::Actions => "the syntax of GitHub Actions",
            Self::Opencode => "the syntax of opencode",
            Self::Mustache => "the syntax of a template engine",
            Self::Shell | Self::ShellExpansion => "the syntax of a shell",
            Self::PowerShell => "the syntax of PowerShell",
            Self::Windows => "the syntax of the Windows command prompt",
            Self::NestedDefault => "a variable inside the default of another",
            Self::Unclosed => "a `${` without its `}`",
            Self::Other => "a `${…}` that names no variable",
        }
    }

    /// Says whether `${NAME}` in its place means exactly the same.
    #[must_use]
    pub const fn is_plain(self) -> bool {
        matches!(
            self,
            Self::Shell | Self::PowerShell | Self::Windows | Self::Opencode
        )
    }
}

/// Returns every `${…}` of a template that is not of the contract.
#[must_use]
pub fn foreign_parts(template: &Template) -> Vec<ForeignReference> {
    let text = template.as_str();
    let ranges = template.parts().iter().filter_map(|part| match part {
        Part::Foreign { range } => Some(range.clone()),
        _ => None,
    });
    ranges.map(|range| classify(text, range)).collect()
}

/// Returns the reference that a value without any `${…}` plainly is.
///
/// It is the whole value, or all that follows a scheme such as `Bearer`. A `$` elsewhere is left
/// alone: passwords and patterns have it too.
#[must_use]
pub fn lookalike(value: &Template) -> Option<ForeignReference> {
    let text = value.as_str();
    if text.contains("${") {
        return None;
    }
    let trimmed = text.trim();
    let word = match trimmed.split_once(' ') {
        Some((scheme, rest)) if is_scheme(scheme) => rest.trim_start(),
        _ => trimmed,
    };
    let (syntax, name) = whole_reference(word)?;
    let end = text.trim_end().len();
    Some(ForeignReference {
        range: end - word.len()..end,
        syntax,
        name,
        default: None,
    })
}

/// Returns the references inside an address or a path, where they may stand between separators.
#[must_use]
pub fn lookalikes_between_separators(value: &Template) -> Vec<ForeignReference> {
    let mut found = Vec::new();
    for part in value.parts() {
        let Part::Literal { text, range } = part else {
            continue;
        };
        // An escaped `$${` is shorter than what it was read from, and plainly meant.
        if text.len() != range.len() {
            continue;
        }
        let mut start = 0;
        for piece in text.split(['/', '\\', '.', '?', '&', '=', '@', ',']) {
            // A port may follow; the colon of `{env:NAME}` and `$env:NAME` does not count.
            let word = match piece.rsplit_once(':') {
                Some((word, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => word,
                _ => piece,
            };
            let reference = whole_reference(word).filter(|(syntax, _)| {
                *syntax != ReferenceSyntax::Windows || !looks_percent_encoded(word)
            });
            if let Some((syntax, name)) = reference {
                let at = range.start + start;
                found.push(ForeignReference {
                    range: at..at + word.len(),
                    syntax,
                    name,
                    default: None,
                });
            }
            start += piece.len() + 1;
        }
    }
    found
}

fn classify(text: &str, range: Range<usize>) -> ForeignReference {
    let written = text.get(range.clone()).unwrap_or_default();
    let reference = |syntax, name| ForeignReference {
        range: range.clone(),
        syntax,
        name,
        default: None,
    };
    // What the contract would fill in, in the file of a host that does not.
    if let [Part::Variable(variable)] = Template::parse(written).parts() {
        return ForeignReference {
            default: variable.default.clone(),
            ..reference(ReferenceSyntax::Contract, Some(variable.name.clone()))
        };
    }
    let inside = written.strip_prefix("${").unwrap_or_default();
    let Some(inside) = inside.strip_suffix('}') else {
        return reference(ReferenceSyntax::Unclosed, None);
    };
    if let Some(expression) = inside.strip_prefix('{') {
        // The template ends at the first brace; the second belongs to it as well.
        let doubled = text
            .get(range.end..)
            .is_some_and(|rest| rest.starts_with('}'));
        let last = expression.trim().rsplit('.').next().unwrap_or_default();
        let name = is_variable_name(last).then(|| last.to_owned());
        return ForeignReference {
            range: range.start..range.end + usize::from(doubled),
            ..reference(ReferenceSyntax::Actions, name)
        };
    }
    if let Some(key) = inside.strip_prefix("user_config.") {
        return reference(ReferenceSyntax::DesktopExtension, environment_name(key));
    }
    let of_vs_code = inside
        .split_once(':')
        .filter(|(prefix, _)| VS_CODE.contains(prefix));
    if let Some((prefix, rest)) = of_vs_code {
        let name = environment_name(rest).filter(|_| prefix == "input");
        return reference(ReferenceSyntax::VsCode, name);
    }
    if inside.contains("${") {
        return reference(ReferenceSyntax::NestedDefault, None);
    }
    let name = inside.strip_prefix("env:").unwrap_or(inside);
    shell_expansion(name).map_or_else(
        || reference(ReferenceSyntax::Other, None),
        |(name, default)| ForeignReference {
            default,
            ..reference(ReferenceSyntax::ShellExpansion, name)
        },
    )
}

/// Reads `NAME-default`, `NAME:?message`, `NAME%x`, `#NAME`, `NAME[0]` and the like.
fn shell_expansion(inside: &str) -> Option<(Option<String>, Option<String>)> {
    if inside
        .strip_prefix(['#', '!'])
        .is_some_and(is_variable_name)
    {
        return Some((None, None));
    }
    let operator = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = inside.split_at_checked(operator)?;
    if !is_variable_name(name) {
        return None;
    }
    // `my-key` and `A-default` look the same; only capitals tell a variable.
    let is_capital = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    match rest.strip_prefix([':', '-', '=', '?', '+', '%', '#', '/', '^', ',', '[', '@'])? {
        default if rest.starts_with('-') => {
            is_capital.then(|| (Some(name.to_owned()), Some(default.to_owned())))
        }
        _ => Some((None, None)),
    }
}

/// Reads a word that is a reference from its first character to its last.
fn whole_reference(word: &str) -> Option<(ReferenceSyntax, Option<String>)> {
    let named = |syntax, name: &str| {
        let name = name.trim();
        is_variable_name(name).then(|| (syntax, Some(name.to_owned())))
    };
    let inside = |open: &str, close: &str| word.strip_prefix(open)?.strip_suffix(close);
    if let Some(name) = inside("{env:", "}") {
        return named(ReferenceSyntax::Opencode, name);
    }
    if let Some(path) = inside("{{", "}}") {
        return named(
            ReferenceSyntax::Mustache,
            path.trim().rsplit('.').next().unwrap_or_default(),
        );
    }
    if let Some(name) = inside("%", "%") {
        return named(ReferenceSyntax::Windows, name);
    }
    if inside("$(", ")").is_some() {
        return Some((ReferenceSyntax::Shell, None));
    }
    if let Some(name) = word.strip_prefix("$env:") {
        return named(ReferenceSyntax::PowerShell, name);
    }
    // A password may begin with a dollar; a variable is written in capitals.
    let name = word.strip_prefix('$')?;
    let is_capital = name.len() > 1 && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    named(ReferenceSyntax::Shell, name).filter(|_| is_capital)
}

/// Says whether the text after a `%` could be an encoded byte, as in `%2F%`.
fn looks_percent_encoded(word: &str) -> bool {
    let hex = word.bytes().skip(1).take(2);
    hex.filter(u8::is_ascii_hexdigit).count() == 2
}

fn is_scheme(word: &str) -> bool {
    SCHEMES
        .iter()
        .any(|scheme| scheme.eq_ignore_ascii_case(word))
}

const SCHEMES: &[&str] = &[
    "Bearer", "Basic", "Token", "ApiKey", "Api-Key", "Key", "Digest",
];

/// What stands before the colon in a variable of VS Code, `env` excepted.
const VS_CODE: &[&str] = &[
    "input",
    "command",
    "config",
    "workspaceFolder",
    "workspaceFolderBasename",
    "file",
    "relativeFile",
];

#[cfg(test)]
mod tests;
